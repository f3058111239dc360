// Opens report.html in headless Chromium and uses it: no error, no request, sorting, switching a method.
// Usage: node tests/report_page.mjs CHROMIUM REPORT.HTML [DIRECTORY FOR SCREENSHOTS]
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, report, shots] = process.argv.slice(2);
const page = pathToFileURL(resolve(report)).href;
const profile = mkdtempSync(join(tmpdir(), "report-page-"));
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"];
const browser = spawn(chromium, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const [into, from] = [browser.stdio[3], browser.stdio[4]];

let next = 1, rest = "", listener = () => {};
const waiting = new Map();
from.on("data", (bytes) => {
  rest += bytes.toString("utf8");
  for (let end; (end = rest.indexOf("\0")) >= 0; rest = rest.slice(end + 1)) {
    const message = JSON.parse(rest.slice(0, end));
    if (message.id) {
      const { yes, no } = waiting.get(message.id);
      waiting.delete(message.id);
      message.error ? no(new Error(JSON.stringify(message.error))) : yes(message.result);
    } else listener(message);
  }
});
function call(method, params = {}, sessionId) {
  const id = next++;
  into.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
  return new Promise((yes, no) => waiting.set(id, { yes, no }));
}
function check(holds, words) {
  if (!holds) throw new Error(words);
}

async function look(width, scheme) {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  const tab = (method, params) => call(method, params, sessionId);
  const run = async (expression) => {
    const { result, exceptionDetails } = await tab("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    check(!exceptionDetails, `${expression}: ${JSON.stringify(exceptionDetails)}`);
    return result.value;
  };
  const requests = [], complaints = [];
  let loaded;
  const done = new Promise((yes) => (loaded = yes));
  listener = ({ method, params }) => {
    if (method === "Network.requestWillBeSent" && !params.request.url.startsWith("data:")) requests.push(params.request.url);
    if (method === "Runtime.exceptionThrown") complaints.push(params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled") complaints.push(params.args.map((arg) => arg.value).join(" "));
    if (method === "Log.entryAdded") complaints.push(params.entry.text);
    if (method === "Page.loadEventFired") loaded();
  };
  for (const domain of ["Network", "Runtime", "Log", "Page"]) await tab(`${domain}.enable`);
  await tab("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 });
  await tab("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  await tab("Page.navigate", { url: page });
  await done;
  const name = `${width}-${scheme}`;

  const overflow = await run("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  check(overflow <= 0, `${name}: the page is ${overflow} pixels too wide`);
  check((await run("document.querySelectorAll('figure svg').length")) > 5, `${name}: figures are missing`);
  const order = await run("[...document.querySelectorAll('main > section')].map((part) => part.id).join()");
  check(order.startsWith("answer,tested,cautions,figures"), `${name}: the sections are ${order}`);
  const dark = await run("getComputedStyle(document.body).backgroundColor");
  check((dark === "rgb(255, 255, 255)") === (scheme === "light"), `${name}: the background is ${dark}`);

  if (shots) {
    const metrics = await tab("Page.getLayoutMetrics");
    const height = Math.min(Math.ceil(metrics.cssContentSize.height), 16000);
    const { data } = await tab("Page.captureScreenshot", { captureBeyondViewport: true, clip: { x: 0, y: 0, width, height, scale: 1 } });
    writeFileSync(join(shots, `report-${name}.png`), Buffer.from(data, "base64"));
  }

  // A click on "mean rank" sorts the features, a second one the other way round.
  const column = (words) => `(() => {
    const table = [...document.querySelectorAll("#tables table")][0];
    const heads = [...table.tHead.rows[0].cells];
    const at = heads.findIndex((head) => head.textContent === "mean rank");
    ${words}
  })()`;
  const values = column("return [...table.tBodies[0].rows].map((row) => Number(row.cells[at].dataset.v));");
  const press = column('heads[at].querySelector("button").click(); return heads[at].getAttribute("aria-sort");');
  const rises = (list) => list.every((value, i) => i === 0 || list[i - 1] <= value);
  const before = await run(values);
  check((await run(press)) === "ascending" && rises(await run(values)), `${name}: the table is not sorted`);
  check((await run(press)) === "descending" && rises((await run(values)).reverse()), `${name}: the table is not sorted backwards`);
  check(before.length === (await run(values)).length, `${name}: rows were lost`);

  // Switching to one method hides the cards, figures and rows of the others; "all" brings them back.
  const shown = "[...new Set([...document.querySelectorAll('[data-method]')].filter((part) => !part.hidden).map((part) => part.dataset.method))].sort().join()";
  const all = await run(shown);
  const methods = all.split(",");
  if (methods.length > 1) {
    const choose = (value) => `document.querySelector('.switch button[value="${value}"]').click()`;
    await run(choose(methods[1]));
    check((await run(shown)) === methods[1], `${name}: other methods are still shown`);
    check(await run("document.querySelectorAll('#answer .card:not([hidden])').length === 1"), `${name}: more than one card`);
    await run(choose(""));
    check((await run(shown)) === all, `${name}: not all methods came back`);
  }
  check(complaints.length === 0, `${name}: the console says ${complaints.join("; ")}`);
  check(requests.length === 1 && requests[0] === page, `${name}: asked for ${requests.join(" ")}`);
  await call("Target.closeTarget", { targetId });
  console.log(`${name}: no error, no request; sorted and switched`);
}

let code = 0;
try {
  for (const width of [1280, 400]) for (const scheme of ["light", "dark"]) await look(width, scheme);
} catch (error) {
  console.error(`report_page: ${error.message}`);
  code = 1;
}
browser.kill();
browser.on("exit", () => {
  try {
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  } catch {
    // Helper processes of the browser may still write to it; the page is not to blame.
  }
  process.exit(code);
});

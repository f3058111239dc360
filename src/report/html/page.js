"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row, at) => {
        const cell = row.cells[column];
        const number = cell.dataset.v === undefined ? NaN : Number(cell.dataset.v);
        return { row, at, number, text: cell.textContent };
      });
      const sign = descending ? -1 : 1;
      keyed.sort((a, b) => {
        const empty = (a.text === "") - (b.text === "");
        if (empty) return empty;
        const both = !Number.isNaN(a.number) && !Number.isNaN(b.number);
        const order = both ? a.number - b.number : a.text.localeCompare(b.text, undefined, { numeric: true });
        return sign * order || a.at - b.at;
      });
      body.append(...keyed.map((entry) => entry.row));
    });
  });
}
const buttons = [...document.querySelectorAll(".switch button")];
for (const button of buttons) {
  button.addEventListener("click", () => {
    const method = button.value;
    buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    for (const part of document.querySelectorAll("[data-method]")) {
      part.hidden = method !== "" && part.dataset.method !== method;
    }
  });
}

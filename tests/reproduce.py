"""Tables in every form that is read, each run once: the command that report.html prints must give the same tables, and reproduce.py
must find the same order with scikit-learn. Usage: python tests/reproduce.py PROGRAM (with scikit-learn at hand)."""
import csv
import gzip
import html
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(sys.argv[1]).resolve()
HEART = list(csv.reader(open(Path(__file__).parent.parent / "data" / "heart.csv", newline="")))
AGE, CLASS = HEART[0].index("age"), HEART[0].index("class")
NUMBERS = [i for i, cell in enumerate(HEART[1]) if re.fullmatch(r"-?\d+(\.\d+)?", cell) and i != CLASS]


def text(rows, delimiter=",", end="\n"):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end).writerows(rows)
    return out.getvalue()


def renamed(name, column=AGE):
    return [[name if i == column else cell for i, cell in enumerate(HEART[0])]] + HEART[1:]


def changed(change, column=AGE):
    """The table with other cells in a column; `change` gets the number of the row."""
    rows = [[change(r, cell) if i == column else cell for i, cell in enumerate(row)] for r, row in enumerate(HEART[1:])]
    return HEART[:1] + rows


def with_column(name, cell):
    """The table with one more column in front."""
    return [[name] + HEART[0]] + [[cell(r)] + row for r, row in enumerate(HEART[1:])]


comma = HEART[:1] + [[c.replace(".", ",") if i in NUMBERS else c for i, c in enumerate(row)] for row in HEART[1:]]
rare = changed(lambda r, cell: f"rare{r % 3}" if r < 9 else cell, CLASS)
accent = changed(lambda r, cell: {0: "né", 1: "pâle"}.get(r % 3, "Zürich"), HEART[0].index("chest pain"))
twins = renamed(HEART[0][NUMBERS[1]], NUMBERS[2])
lines = text(HEART).splitlines(keepends=True)

# What the file is called, its bytes, the options, the splits that are run.
VARIANTS = {
    "as it is": (text(HEART).encode(), ""),
    "decimal comma": (text(comma, ";").encode(), ""),
    "decimal comma, told": (text(comma, ";").encode(), "--decimal , --delimiter ';'"),
    "tabulator": (text(HEART, "\t").encode(), ""),
    "gzip": (gzip.compress(text(HEART).encode()), ""),
    "UTF-16": (text(HEART).encode("utf-16"), ""),
    "UTF-16 without a mark": (text(HEART).encode("utf-16-be"), ""),
    "Windows-1252": (text(accent).encode("cp1252"), ""),
    "byte order mark, carriage returns": (text(HEART, end="\r\n").encode("utf-8-sig"), ""),
    "carriage returns alone": (text(HEART, end="\r").encode(), ""),
    "transposed": (text(zip(*HEART)).encode(), "--transpose"),
    "twin names": (text(twins).encode(), "--dedup-names"),
    "censored, bound": (text(changed(lambda r, cell: "<=" + cell if r % 50 == 7 else cell)).encode(), "--censored bound"),
    "censored, missing": (text(changed(lambda r, cell: "> " + cell if r % 50 == 7 else cell)).encode(), "--censored na"),
    "rare classes left out": (text(rare).encode(), "--rare drop:5"),
    "rare classes merged": (text(rare).encode(), "--rare merge:4:other"),
    "blank lines": ("".join(lines[:5] + ["  \n", "\n"] + lines[5:] + ["\n", "   \n"]).encode(), ""),
    "a name full of semicolons": (text(renamed(";".join("abcdefghijklmnopqrstuvw"))).encode(), ""),
    "a line separator in a name": (text(renamed("a\u2028ge")).encode(), ""),
    "a line feed and quotes in a name": (text(renamed('the "age",\nin years = 1')).encode(), ""),
    "no header": (text(HEART[1:]).encode(), f"--no-header --target {CLASS + 1}"),
    "words for missing": (text(changed(lambda r, c: " -9" if r % 60 == 3 else c)).encode(), "--na=-9,none --impute median"),
    "answers in any case": (text(with_column("smokes", lambda r: ["yes", "No", "YES", "no"][r % 4])).encode(), ""),
    "row names in front": (text(with_column("", lambda r: str(r + 1))).encode(), ""),
    "empty columns behind": ("".join(line.rstrip("\n") + ",,\n" for line in lines).encode(), ""),
    "a name with a comma is dropped": (text(renamed("notes, free")).encode(), """--drop '"notes, free"' --keep gender --step 3"""),
    "other settings": (text(HEART).encode(), "--method rfe,smfs --cost 0.1 --lambda 0.3 --class-weight balanced --scale minmax --seed 5 --categorical age"),
    "standard input": (text(HEART).encode(), ""),
}


def run(command, desk, **more):
    environment = {"PATH": f"{desk}:{os.environ['PATH']}", "HOME": "/nonexistent", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=desk, env=environment, capture_output=True, **more)
    if done.returncode != 0:
        sys.exit(f"{command}: exit code {done.returncode}\n{(done.stdout + done.stderr).decode(errors='replace')}")
    return done.stdout.decode()


def check(name, data, options):
    with tempfile.TemporaryDirectory() as desk:
        desk = Path(desk)
        (desk / "crfe-tui").symlink_to(PROGRAM)
        (desk / "it's data.csv").write_bytes(data)
        piped = name == "standard input"
        source = "- < \"it's data.csv\"" if piped else "\"it's data.csv\""
        run(["bash", "-c", f"crfe-tui run {source} --splits 2 --quiet {options} --out FIRST"], desk)
        page = (desk / "FIRST" / "report.html").read_text()
        command = html.unescape(re.search(r'id="command">(.*?)</pre>', page, re.S)[1])
        run(["bash", "-c", command.replace("DATA.CSV", "\"it's data.csv\"") if piped else command], desk)
        for table in ["metrics.csv", "ranking.csv", "selected.txt", "predictions.csv"]:
            first, again = ((desk / directory / table).read_bytes() for directory in ("FIRST", "RUN"))
            assert first == again, f"{name}: {table} of the printed command differs: {command}"
        file = ["it's data.csv"] if piped else []
        said = run([sys.executable, "FIRST/reproduce.py", *file], desk)
        counts = re.findall(r": (\d+) of (\d+) eliminations are the same", said)
        assert counts and all(same == of and int(of) > 0 for same, of in counts), f"{name}: {said}"
        missing = subprocess.run([sys.executable, "FIRST/reproduce.py", "none.csv"], cwd=desk, capture_output=True)
        assert missing.returncode == 1 and missing.stderr.startswith(b"none.csv: cannot be read"), missing.stderr
        if piped:
            refused = subprocess.run([sys.executable, "FIRST/reproduce.py"], cwd=desk, capture_output=True)
            assert refused.returncode == 1 and b"standard input" in refused.stderr, refused.stderr
        print(f"{name}: {', '.join(f'{same} of {of}' for same, of in counts)}")


for name, (data, options) in VARIANTS.items():
    check(name, data, options)
print(f"{len(VARIANTS)} forms of a table are reproduced")

"""The table of tests/README.md: what runs, what passes, what is explained, what does not run.

    python3 tests/table.py            the table of the last `make test`
    python3 tests/table.py --write    the same, and its numbers into tests/README.md

The numbers in tests/README.md are frozen: the gate fails when a suite runs fewer cases than stand there, unless what it
needs is not on this machine. More cases are only noted; `make test-table` freezes the new numbers.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "target" / "gate"
README = ROOT / "tests" / "README.md"
SHARED = Path(os.environ.get("PORTCULLIS_SHARED") or ROOT.parent / "shared")
BEGIN, END = "<!-- table: written by `make test-table` -->", "<!-- end of table -->"

# The lines in which suites say what they counted.
COUNTS = [
    r"COUNT: (?P<name>.+): (?P<run>\d+) run, (?P<passed>\d+) passed, (?P<explained>\d+) explained, (?P<skipped>\d+) skipped",
    r"(?P<name>conformance-\w+ [\d.]+): (?P<run>\d+) run, (?P<passed>\d+) passed, (?P<explained>\d+) classified, \d+ failed",
    r"(?P<name>differential [\d.]+): (?P<run>\d+) requests, (?P<passed>\d+) same, (?P<explained>\d+) classified, \d+ unexplained",
    r"(?P<name>libinjection): (?P<run>\d+) compared, (?P<different>\d+) differences, (?P<explained>\d+) explained",
]
COLUMNS = ("run", "passed", "explained", "skipped")


class Row:
    """A line of the table: its title, the gate's suite whose log has its numbers, their names, what they need."""

    def __init__(self, title, suite, *names, needs=None):
        self.title, self.suite, self.names, self.needs = title, suite, names or (title,), needs

    def absent(self, log):
        """Why there may be no number: an input that is not there, or a program that the suite missed."""
        if self.needs == "a program":
            return "SKIPPED: " in log
        return self.needs is not None and not (SHARED / self.needs).exists()


ROWS = [
    Row("CRS 4.28.0, regression tests", "conformance", "CRS 4.28.0", needs="crs/4.28.0"),
    Row("CRS 3.3.10, regression tests", "conformance", "CRS 3.3.10", needs="crs/3.3.10"),
    Row("CRS 4.28.0 through Envoy", "conformance-envoy", "conformance-envoy 4.28.0", needs="a program"),
    Row("CRS 3.3.10 through Envoy", "conformance-envoy", "conformance-envoy 3.3.10", needs="a program"),
    Row("CRS 4.28.0 through Traefik", "conformance-traefik", "conformance-traefik 4.28.0", needs="a program"),
    Row("CRS 3.3.10 through Traefik", "conformance-traefik", "conformance-traefik 3.3.10", needs="a program"),
    Row("verdicts in blocking mode", "blocking", needs="crs"),
    Row("operators, ModSecurity's vectors", "test", "operators, secrules-language-tests", needs="vectors"),
    Row("operators, Coraza's vectors", "test", "operators, coraza", needs="vectors"),
    Row("operators, our own", "test"),
    Row("transformations, ModSecurity's vectors", "test", "transformations, secrules-language-tests", needs="vectors"),
    Row("transformations, Coraza's vectors", "test", "transformations, coraza", needs="vectors"),
    Row("transformations, our own", "test"),
    Row("engine, ModSecurity's cases, whole", "test", "engine, judged whole", needs="vectors"),
    Row("engine, ModSecurity's cases, but for log wording", "test", "engine, judged without the log's wording",
        needs="vectors"),
    Row("engine, our own", "test"),
    Row("public cases", "test", needs="crs"),
    Row("exclusions", "test"),
    Row("orders of a request's parts", "test", needs="crs/4.28.0"),
    Row("ordinary requests, what the CRS says", "test", needs="crs/4.28.0"),
    Row("exclusion profiles", "test", needs="crs/4.28.0"),
    Row("baseline rules", "test"),
    Row("baseline rules, ordinary requests", "test"),
    Row("fuzz seeds", "test"),
    Row("differential, CRS 4.28.0", "differential", "differential 4.28.0", needs="a program"),
    Row("differential, CRS 3.3.10", "differential", "differential 3.3.10", needs="a program"),
    Row("libinjection, against the C library", "libinjection", "libinjection", needs="a program"),
    Row("the prefilter against the plain path", "prefilter", "prefilter", needs="crs"),
    Row("real proxies", "e2e", "e2e", needs="a program"),
    Row("packages beside the product", "packages", "packages", needs="a program"),
    Row("unit tests", "test"),
    Row("integration tests", "test"),
    Row("documentation tests", "doctest"),
]


def read_log(suite):
    path = LOGS / f"{suite}.log"
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def counts(suite, log):
    """Everything that a log counts: name to numbers by column."""
    found = {}
    for line in log.splitlines():
        for pattern in COUNTS:
            if match := re.fullmatch(pattern, line.strip()):
                groups = match.groupdict()
                numbers = {column: int(groups.get(column) or 0) for column in COLUMNS}
                if "different" in groups:
                    numbers["passed"] = numbers["run"] - int(groups["different"])
                add(found, groups["name"], numbers)
    if suite == "test":
        add_cargo(found, log)
    elif suite == "doctest":
        add(found, "documentation tests", cargo_result(log))
    elif last := re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", log, re.M):
        passed, failed, skipped = map(int, last[-1])
        add(found, suite, {"run": passed + failed, "passed": passed, "explained": 0, "skipped": skipped})
    return found


def add(found, name, numbers):
    sums = found.setdefault(name, dict.fromkeys(COLUMNS, 0))
    for column in COLUMNS:
        sums[column] += numbers[column]


def add_cargo(found, log):
    """Test functions: those of the library and the binary, and those of tests/it."""
    for part in re.split(r"^ +Running ", log, flags=re.M)[1:]:
        add(found, "integration tests" if part.startswith("tests/") else "unit tests", cargo_result(part))


def cargo_result(log):
    results = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", log, re.M)
    passed, failed, ignored = (sum(int(row[column]) for row in results) for column in range(3))
    return {"run": passed + failed, "passed": passed, "explained": 0, "skipped": ignored}


def collect(suites=None):
    """The rows of these suites, all by default: row, numbers or None, and whether what it needs is absent."""
    logs = {row.suite: read_log(row.suite) for row in ROWS if suites is None or row.suite in suites}
    found = {suite: counts(suite, log) for suite, log in logs.items() if log is not None}
    rows = []
    for row in ROWS:
        log = logs.get(row.suite)
        if log is not None:
            parts = [found[row.suite][name] for name in row.names if name in found[row.suite]]
            numbers = {column: sum(part[column] for part in parts) for column in COLUMNS} if parts else None
            rows.append((row, numbers, row.absent(log)))
    return rows


def frozen():
    """The table of tests/README.md: title to numbers by column."""
    text = README.read_text(encoding="utf-8")
    table = text.partition(BEGIN)[2].partition(END)[0]
    rows = re.findall(r"^\| ([^|]+?) \|" + r" *([\d,]+) \|" * len(COLUMNS) + "$", table, re.M)
    numbers = {title: [int(cell.replace(",", "")) for cell in cells] for title, *cells in rows}
    return {title: dict(zip(COLUMNS, cells)) for title, cells in numbers.items() if title != "all"}


def judge(rows, before):
    """What is wrong with the numbers, and what is only worth a note."""
    wrong, notes = [], []
    for row, numbers, absent in rows:
        wanted = before.get(row.title)
        run = numbers["run"] if numbers else 0
        if absent and (numbers is None or (wanted and run < wanted["run"])):
            notes.append(f"SKIPPED: {row.title}: what it needs is not here; {wanted['run'] if wanted else 'its'} cases did not run")
        elif numbers is None and wanted:
            wrong.append(f"{row.title}: the log of suite `{row.suite}` has no such number")
        elif wanted and run < wanted["run"]:
            wrong.append(f"{row.title}: {run} cases ran, {wanted['run']} are frozen in tests/README.md")
        elif numbers and (wanted is None or run > wanted["run"]):
            notes.append(f"NOTE: {row.title}: {run} cases, more than tests/README.md says; `make test-table` writes it")
    titles = {row.title for row in ROWS}
    wrong += [f"{title}: in tests/README.md, but no row of tests/table.py" for title in before if title not in titles]
    return wrong, notes


def total(numbers):
    numbers = list(numbers)
    return {column: sum(row[column] for row in numbers) for column in COLUMNS}


def printed(rows):
    """The table for a terminal; a row without its input says so."""
    lines = [f"{'what':<52}" + "".join(f"{column:>11}" for column in COLUMNS)]
    for row, numbers, absent in rows:
        if numbers:
            lines.append(line(row.title, numbers))
        elif absent:
            lines.append(f"{row.title:<52}{'SKIPPED: what it needs is not here':>44}")
    lines.append(line("all", total(numbers for _, numbers, _ in rows if numbers)))
    return "\n".join(lines)


def line(title, numbers):
    return f"{title:<52}" + "".join(f"{numbers[column]:>11,}" for column in COLUMNS)


def markdown(numbers):
    head = ["| what |" + "".join(f" {column} |" for column in COLUMNS), "|---|" + "---:|" * len(COLUMNS)]
    body = [*numbers.items(), ("all", total(numbers.values()))]
    return "\n".join([*head, *(f"| {title} |" + "".join(f" {row[c]:,} |" for c in COLUMNS) for title, row in body)])


def write(rows):
    """Freezes the numbers of these rows; a row that did not run, or not whole for want of an input, keeps what it had."""
    merged = frozen()
    for row, numbers, absent in rows:
        less = absent and row.title in merged and numbers and numbers["run"] < merged[row.title]["run"]
        if numbers and not less:
            merged[row.title] = numbers
    ordered = {row.title: merged[row.title] for row in ROWS if row.title in merged}
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(f"{before}{BEGIN}\n{markdown(ordered)}\n{END}{after}", encoding="utf-8")


def main(arguments):
    rows = collect()
    if not rows:
        print("no logs in target/gate; run `make test` first")
        return 2
    print(printed(rows))
    if arguments == ["--write"]:
        write(rows)
    wrong, notes = judge(rows, frozen())
    print("\n".join([*notes, *wrong]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

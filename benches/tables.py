"""Puts what the benchmarks measured last into README.md: target/bench/NAME.md between `<!-- NAME: begin -->` and
`<!-- NAME: end -->`. `make bench-tables`, or `python3 benches/tables.py NAME ...` for some of them.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
MEASURED = HERE.parent / "target" / "bench"


def marks(name):
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def replace(text, name, content):
    """The text with this content between the marks; `None` where they are not."""
    begin, end = marks(name)
    head, found, rest = text.partition(begin)
    _, also, tail = rest.partition(end)
    return f"{head}{begin}\n{content.strip()}\n{end}{tail}" if found and also else None


def main(names):
    text, missing = README.read_text(encoding="utf-8"), []
    measured = {path.stem: path for path in sorted(MEASURED.glob("*.md"))}
    for name in names or measured:
        if name not in measured:
            missing.append(f"{name}: target/bench/{name}.md is not there; its benchmark writes it")
            continue
        changed = replace(text, name, measured[name].read_text(encoding="utf-8"))
        if changed is None:
            missing.append(f"{name}: README.md has no `{marks(name)[0]}` before `{marks(name)[1]}`")
        else:
            text = changed
            print(f"wrote {name}")
    README.write_text(text, encoding="utf-8")
    print("\n".join(missing or ([] if measured else ["nothing was measured yet"])))
    return 1 if missing or not measured else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

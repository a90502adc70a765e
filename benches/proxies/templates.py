"""The files of `deploy/` and of `templates/` with what a run must change. A text that is to be changed must be there, so
that a file that moved on stops the run instead of measuring something else."""

from pathlib import Path

from .processes import Failure

ROOT = Path(__file__).resolve().parents[2]
OURS = Path(__file__).resolve().parent / "templates"


def deployed(file, changes):
    """A file of `deploy/`."""
    return change(f"deploy/{file}", (ROOT / "deploy" / file).read_text(encoding="utf-8"), changes)


def ours(file, changes):
    """A file of `templates/`."""
    return change(file, (OURS / file).read_text(encoding="utf-8"), changes)


def change(name, text, changes):
    """The text with each key replaced by its value."""
    for old, new in changes.items():
        if old not in text:
            raise Failure(f"{name} no longer holds `{old}`")
        text = text.replace(old, str(new))
    return text


def without_lines(name, text, marks):
    """The text without the lines that hold one of the marks."""
    for mark in marks:
        if mark not in text:
            raise Failure(f"{name} no longer holds `{mark}`")
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not any(mark in line for mark in marks))


def without_block(name, text, start, end):
    """The text without what lies between two marks, the first one included."""
    head, found, rest = text.partition(start)
    _, also, tail = rest.partition(end)
    if not (found and also):
        raise Failure(f"{name} no longer holds `{start}` before `{end}`")
    return head + end + tail

"""Draws the results of the benchmarks as SVG beside them: `python3 benches/plot.py`. Python's standard library is enough.

results/proxies.json becomes results/proxies-rate.svg (requests per second) and results/proxies-cpu.svg (CPU a request).
"""

import json
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"

# One colour for what is measured, in all charts; they differ in lightness, too.
COLOURS = {
    "none": "#b9bec5", "allow-all": "#7f8894", "portcullis-off": "#7fb3dd", "portcullis": "#1d6fb8", "portcullis-cache": "#0b3d6e",
    "portcullis-quiet": "#2f8f83", "portcullis-cache-quiet": "#14524b",
    "modsecurity": "#d98032", "proxy": "#b9bec5", "waf": "#1d6fb8",
}
COLUMNS = 2
PANEL, LABEL, VALUE, BAR, ROW, GAP = 640, 270, 90, 13, 18, 26
TEXT = 'font-family="system-ui, sans-serif" fill="#1f2328"'


@dataclass
class Bar:
    """A row of a panel: its label, the lengths of its parts with their colours, and what stands at its end."""

    label: str
    parts: list
    value: str


def chart(title, notes, legend, panels):
    """Panels in columns, each with a scale of its own that begins at nought. A panel is a title and its bars."""
    height = max(len(bars) for _, bars in panels) * ROW + 2 * GAP
    top = 74 + 16 * len(notes)
    rows = -(-len(panels) // COLUMNS)
    size = (COLUMNS * PANEL + 40, top + rows * height + 10)
    body = [text(20, 30, title, 18, "bold"), *(text(20, 50 + 16 * at, note, 12) for at, note in enumerate(notes))]
    body += keys(legend, top - 16)
    for at, (name, bars) in enumerate(panels):
        body += panel(name, bars, 20 + at % COLUMNS * PANEL, top + at // COLUMNS * height)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" viewBox="0 0 {size[0]} {size[1]}" '
        f'role="img" aria-label="{escape(title)}">',
        f'<rect width="{size[0]}" height="{size[1]}" fill="#ffffff"/>', *body, "</svg>", "",
    ])


def keys(legend, y):
    """What the colours mean."""
    parts, x = [], 20
    for name, colour in legend:
        parts += [rect(x, y - 10, 11, 11, colour), text(x + 16, y, name, 12)]
        x += 40 + 7 * len(name)
    return parts


def panel(name, bars, x, y):
    """One panel."""
    longest = max((sum(length for length, _ in bar.parts) for bar in bars), default=0) or 1
    scale = (PANEL - LABEL - VALUE) / longest
    parts = [text(x, y + 20, name, 13, "bold")]
    for at, bar in enumerate(bars):
        base, left = y + GAP + 4 + at * ROW, x + LABEL
        parts.append(text(left - 6, base + 11, bar.label, 11, anchor="end"))
        for length, colour in bar.parts:
            parts.append(rect(left, base, length * scale, BAR, colour))
            left += length * scale
        parts.append(text(left + 5, base + 11, bar.value, 11))
    return parts


def text(x, y, words, size, weight="normal", anchor="start"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" {TEXT}>'
            f"{escape(words)}</text>")


def rect(x, y, width, height, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" fill="{colour}"/>'


def proxies(whole):
    """Two charts of `benches/proxies.py`: {file name: SVG}."""
    facts, systems = whole["about"], whole["systems"]
    places = {(row["scenario"], row["system"]): row for row in whole["rows"]}

    def panels(bar):
        return [(scenario["title"], [bar(system, places[scenario["key"], system["key"]]) for system in systems])
                for scenario in whole["scenarios"]]

    def rate(system, row):
        value = row["requests_per_second"]
        return Bar(system["title"], [(value, COLOURS[system["waf"]])], f"{value:,.0f}")

    def cpu(system, row):
        proxy, waf = row["cpu_us"]["proxy"], row["cpu_us"]["waf"]
        colour = COLOURS["modsecurity" if system["waf"] == "modsecurity" else "proxy"]
        return Bar(system["title"], [(proxy, colour), (waf, COLOURS["waf"])], f"{proxy + waf:,.0f} µs")

    where = f"{facts['cores']} cores; CRS {facts['crs']}, paranoia level {facts['paranoia_level']}, blocking"
    when = f"{facts['date']}, commit {facts['commit']}; medians, rounds: {facts['rounds']}"
    wafs = dict.fromkeys(system["waf"] for system in systems)
    names = {system["waf"]: system["title"].partition(", ")[2] for system in systems}
    return {
        "proxies-rate.svg": chart(
            "Requests per second (longer is better)", [f"Client, proxy, authorizer and application share {where}.", when],
            [(names[waf], COLOURS[waf]) for waf in wafs], panels(rate)),
        "proxies-cpu.svg": chart(
            "CPU time a request (shorter is better)", [f"The proxy and the authorizer beside it; {where}.", when],
            [("proxy", COLOURS["proxy"]), ("authorizer", COLOURS["waf"]),
             ("proxy with ModSecurity inside", COLOURS["modsecurity"])], panels(cpu)),
    }


CHARTS = {"proxies.json": proxies}


def main():
    drawn = 0
    for name, draw in CHARTS.items():
        path = RESULTS / name
        if not path.is_file():
            print(f"SKIPPED: {path.name} is not there; its benchmark writes it")
            continue
        for file, svg in draw(json.loads(path.read_text(encoding="utf-8"))).items():
            (RESULTS / file).write_text(svg, encoding="utf-8")
            print(f"wrote {(RESULTS / file).relative_to(RESULTS.parent.parent)}")
            drawn += 1
    return 0 if drawn else 1


if __name__ == "__main__":
    sys.exit(main())

"""From the samples to medians, ratios and tables."""

import os
import platform
import re
import time
from pathlib import Path
from statistics import median

import tables

from .peers import output
from .processes import Failure
from .systems import ALLOW_ALL, CACHE_OFF, CACHE_ON, CRS, MODE_OFF, NONE, QUIET_OFF, QUIET_ON, WAFS

# Share of the CPU time that may be others' before rates are worth little.
BUSY = 0.1
# Of the allow-all authorizer's rate behind Envoy, on requests that pass.
MARKS = {CACHE_OFF: 0.8, CACHE_ON: 0.95, QUIET_OFF: 0.8, QUIET_ON: 0.95}


def about(versions, skipped):
    """The circumstances."""
    cpu = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    changed = output(["git", "status", "--porcelain", "--untracked-files=no"]).strip()
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": output(["git", "rev-parse", "--short", "HEAD"]).strip() + ("+changes" if changed else ""),
        "cpu": cpu[1] if cpu else platform.machine(), "cores": os.cpu_count(), "kernel": platform.release(),
        "crs": CRS, "paranoia_level": 1, "versions": versions, "skipped": skipped, "load_before": os.getloadavg()[0],
    }


def result(circumstances, scenarios, systems, samples, rounds, seconds):
    """Everything, ready to be written as JSON. A ratio is the median of the rounds' ratios: what was measured one right
    after the other is compared."""
    rows = [row(scenario, system, systems, samples) for scenario in scenarios for system in systems]
    every = [sample for taken in samples.values() for sample in taken]
    busy = sum(sample["busy_seconds"] for sample in every)
    return {
        "about": {
            **circumstances, "load_after": os.getloadavg()[0], "rounds": rounds, "seconds": round(seconds),
            "others_share": round(sum(sample["others_seconds"] for sample in every) / busy, 3) if busy else 0.0,
        },
        "scenarios": [{"key": scenario.key, "title": scenario.title, "attack": scenario.attack} for scenario in scenarios],
        "systems": [{"key": system.key, "title": system.title, "proxy": system.proxy, "waf": system.waf}
                    for system in systems],
        "rows": rows,
    }


def row(scenario, system, systems, samples):
    mine = samples[scenario.key, system.key]

    def against(waf, compare):
        other = next((one for one in systems if one.proxy == system.proxy and one.waf == waf), None)
        pairs = zip(mine, samples[scenario.key, other.key]) if other else []
        values = [compare(ours, theirs) for ours, theirs in pairs]
        return round(median(values), 3) if values else None

    def rate(ours, theirs):
        return ours["requests_per_second"] / theirs["requests_per_second"]

    middle = {name: round(median(sample[name] for sample in mine), 3)
              for name in ("requests_per_second", "p50_ms", "p99_ms")}
    return {
        "scenario": scenario.key, "system": system.key, **middle,
        "rate_to_none": against(NONE, rate), "rate_to_allow_all": against(ALLOW_ALL, rate),
        "added_p50_ms": against(NONE, lambda ours, theirs: ours["p50_ms"] - theirs["p50_ms"]),
        "added_p99_ms": against(NONE, lambda ours, theirs: ours["p99_ms"] - theirs["p99_ms"]),
        "cpu_us": {part: round(median(sample["cpu_us"][part] for sample in mine), 1) for part in mine[0]["cpu_us"]},
        "rounds": [rounded(sample) for sample in mine],
    }


def rounded(sample):
    """A sample as it is kept: no digits that mean nothing."""
    if isinstance(sample, dict):
        return {name: rounded(value) for name, value in sample.items()}
    return round(sample, 3) if isinstance(sample, float) else sample


def table(whole, head, cell, systems):
    """One row a system, one column a scenario."""
    by_place = {(row["scenario"], row["system"]): row for row in whole["rows"]}
    lines = [f"| {head} | " + " | ".join(scenario["title"] for scenario in whole["scenarios"]) + " |",
             "|---|" + "---|" * len(whole["scenarios"])]
    for system in systems:
        cells = (cell(by_place[scenario["key"], system["key"]]) for scenario in whole["scenarios"])
        lines.append(f"| {system['title']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def markdown(whole):
    """The circumstances and the tables."""
    systems = whole["systems"]
    ours = [system for system in systems if system["waf"] in (MODE_OFF, *MARKS)]
    return "\n\n".join([
        circumstances(whole["about"]),
        "Requests per second, and in brackets as a share of the same proxy's without a WAF:",
        table(whole, "system", rate_cell, systems),
        "Requests per second with Portcullis, as a share of those with the allow-all authorizer:",
        table(whole, "system", lambda row: f"{row['rate_to_allow_all']:.2f}", ours),
        "Milliseconds a request at the median / the 99th percentile, and in brackets how much more than the same proxy's "
        "without a WAF:",
        table(whole, "system", time_cell, systems),
        "CPU microseconds a request: the proxy's + the authorizer's (ModSecurity works inside the proxy):",
        table(whole, "system", cpu_cell, systems),
        *marks(whole),
        "![Requests per second of each system in each scenario](results/proxies-rate.svg)\n"
        "![CPU time per request of each system in each scenario](results/proxies-cpu.svg)",
    ])


def circumstances(facts):
    names = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    lines = [
        f"{facts['date']}, commit {facts['commit']}, CRS {facts['crs']}, paranoia level {facts['paranoia_level']}, blocking.",
        f"{facts['cores']} cores ({facts['cpu']}), Linux {facts['kernel']}; {names}.",
        f"Medians; interleaved rounds: {facts['rounds']}, {facts['seconds']} s in all. Load average before the run "
        f"{facts['load_before']:.1f}; other processes took {facts['others_share']:.0%} of the CPU time that was used while measuring.",
        *(["NOTE: the machine was busy with other work. Rates and times say little then; CPU a request says more."]
          if facts["others_share"] > BUSY else []),
        *(f"SKIPPED: {reason}." for reason in facts["skipped"]),
    ]
    return "\n".join(lines)


def rate_cell(row):
    share = "" if row["rate_to_none"] is None or row["system"].endswith(f"-{NONE}") else f" ({row['rate_to_none']:.2f})"
    return f"{row['requests_per_second']:,.0f}{share}"


def time_cell(row):
    added = "" if row["added_p50_ms"] is None or row["system"].endswith(f"-{NONE}") else (
        f" ({row['added_p50_ms']:+.2f} / {row['added_p99_ms']:+.2f})")
    return f"{row['p50_ms']:.2f} / {row['p99_ms']:.2f}{added}"


def cpu_cell(row):
    cpu = row["cpu_us"]
    return f"{cpu['proxy']:,.0f} + {cpu['waf']:,.0f}" if cpu["waf"] else f"{cpu['proxy']:,.0f}"


def marks(whole):
    """Whether Portcullis behind Envoy keeps the rate that it aims at: the worst of the scenarios that pass decides."""
    passing = {scenario["key"] for scenario in whole["scenarios"] if not scenario["attack"]}
    lines = []
    for waf, mark in MARKS.items():
        ratios = [row["rate_to_allow_all"] for row in whole["rows"]
                  if row["system"] == f"envoy-{waf}" and row["scenario"] in passing]
        if ratios:
            word = "kept" if min(ratios) >= mark else "MISSED"
            lines.append(f"Mark behind Envoy, {WAFS[waf]}: at least {mark} of allow-all where requests pass; "
                         f"lowest {min(ratios):.3f}: {word}.")
    return ["\n".join(lines)] if lines else []


def into_readme(path, whole):
    """Between the marks, nothing else is touched."""
    changed = tables.replace(path.read_text(encoding="utf-8"), "proxies", markdown(whole))
    if changed is None:
        raise Failure(f"{path.name} has no {tables.marks('proxies')}")
    path.write_text(changed, encoding="utf-8")

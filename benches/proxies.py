"""Whole systems on loopback, side by side: Envoy, Traefik and nginx without a WAF, with an authorizer that allows
everything and with Portcullis; nginx and Apache with ModSecurity. `make bench-proxies`; method in README.md.

    python3 benches/proxies.py                        everything, five rounds
    python3 benches/proxies.py --proxies envoy,nginx  these proxies
    python3 benches/proxies.py --rounds 0             only start everything and look at each answer

Writes results/proxies.json and the tables in README.md; `python3 benches/plot.py` draws. Needs `target/release/portcullis`
and Python's standard library. Every process that it starts ends with it.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from proxies import peers, report
from proxies.load import SCENARIOS, measure, verify
from proxies.processes import Failure, end_on_signals, stop_all
from proxies.systems import PROXIES, Builder

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "proxies.json"
# No round is begun that would not end by then, and one that does not end by the second is given up.
SECONDS, LAST = 450, 475


def say(text=""):
    print(text, flush=True)


def run(options, folder, allow_all):
    """Starts, verifies, measures; returns the whole result, or `None` when nothing was to be measured."""
    start = time.monotonic()
    builder = Builder(folder, options.proxies, allow_all)
    systems = builder.build()
    for reason in builder.skipped:
        say(f"SKIPPED: {reason}")
    for system in systems:
        for scenario in SCENARIOS:
            verify(system, scenario)
    say(f"{len(systems)} systems, {len(SCENARIOS)} scenarios: every answer is as it should be")
    about = report.about(peers.versions(), builder.skipped)
    samples, rounds = {}, 0
    for number in range(options.rounds):
        began = time.monotonic()
        taken = one_round(systems, number, builder.upstream, Path(folder), start + LAST if rounds else None)
        if taken is None:
            say(f"NOTE: round {number + 1} is given up after {LAST} s")
            break
        for place, sample in taken.items():
            samples.setdefault(place, []).append(sample)
        rounds += 1
        took = time.monotonic() - began
        say(f"round {rounds} of {options.rounds}: {took:.0f} s")
        if rounds < options.rounds and time.monotonic() - start + took > SECONDS:
            say(f"NOTE: no time for another round within {SECONDS} s")
            break
    return report.result(about, SCENARIOS, systems, samples, rounds, time.monotonic() - start) if rounds else None


def one_round(systems, number, upstream, folder, deadline):
    """All systems in all scenarios once, or `None` at the deadline. What comes first in one round comes later in the next."""
    first = number * 5 % len(systems)
    taken = {}
    for scenario in SCENARIOS:
        began = time.monotonic()
        for system in systems[first:] + systems[:first]:
            if deadline and time.monotonic() > deadline:
                return None
            taken[scenario.key, system.key] = measure(system, scenario, upstream, folder)
        say(f"   {scenario.title}: {time.monotonic() - began:.0f} s")
    return taken


def main():
    parser = argparse.ArgumentParser(description="whole systems on loopback, side by side")
    parser.add_argument("--proxies", type=lambda text: text.split(","), default=list(PROXIES))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    end_on_signals()
    peers.install(options.proxies)
    try:
        allow_all = peers.allow_all()
        with tempfile.TemporaryDirectory(prefix="portcullis-proxies-") as folder:
            try:
                result = run(options, folder, allow_all)
            finally:
                stop_all()
    except Failure as failure:
        say(f"FAILED: {failure}")
        return 1
    if result:
        say(report.markdown(result))
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        report.into_readme(HERE / "README.md", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())

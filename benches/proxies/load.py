"""The load: `ab`, as in the field's published reports, bounded in requests and in seconds. Every answer is checked."""

import csv
import re
import resource
import subprocess
import time
from dataclasses import dataclass, replace

from .processes import Failure, cpu_by_thread, get, machine_busy, spent
from .systems import ALLOW_ALL, CACHE_OFF, CACHE_ON, HOST, PAGE, QUIET_OFF, QUIET_ON

HEADERS = {
    "Host": HOST,
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
}
WARM_UP = 150
# Of fewer answers than this, and than connections, nothing can be said.
FEWEST = 5
# More than this is no accident of a closing connection any more.
FAILED_SHARE = 0.001


@dataclass(frozen=True)
class Scenario:
    """One kind of load. At most `seconds` long; slow systems do not come to the end of `requests`."""

    key: str
    title: str
    target: str
    connections: int
    requests: int
    seconds: int
    keep_alive: bool = True
    attack: bool = False


SCENARIOS = [
    Scenario("static-10", "static file, -n 5000 -c 10", "/page.html", 10, 5000, 2, keep_alive=False),
    Scenario("static-100", "static file, -n 10000 -c 100", "/page.html", 100, 10000, 2, keep_alive=False),
    Scenario("one-innocent", "1 connection, ?test=innocent", "/page.html?test=innocent", 1, 4000, 1),
    Scenario("one-attack", "1 connection, ?test=/etc/passwd", "/page.html?test=/etc/passwd", 1, 4000, 1, attack=True),
    Scenario("many-pass", "125 connections, a page", "/page.html", 125, 20000, 2),
    Scenario("many-attack", "125 connections, ?test=../etc", "/page.html?test=../etc", 125, 20000, 2, attack=True),
]


class TooFew(Failure):
    """There were too few answers for figures."""


def expected(system, scenario):
    return 403 if scenario.attack and system.blocks else 200


def verify(system, scenario):
    """One request by hand: the right status, and the page itself or none of it. Returns the answer's length."""
    status, body = get(system.port, scenario.target, HEADERS) or (None, b"")
    wanted = expected(system, scenario)
    if status != wanted or (body == PAGE) != (wanted == 200):
        raise Failure(f"{system.title}: {scenario.target} was answered {status} (expected {wanted}): {body[:200]}")
    return len(body)


def measure(system, scenario, upstream, folder):
    """A warm-up and a run; the figures of the run. On a busy machine a slow system may need more time for anything at
    all to come back; it gets it once."""
    try:
        return measure_for(system, scenario, upstream, folder)
    except TooFew as short:
        print(f"NOTE: {short}; once more with more time", flush=True)
        return measure_for(system, replace(scenario, seconds=4 * scenario.seconds), upstream, folder)


def measure_for(system, scenario, upstream, folder):
    length = verify(system, scenario)
    guards = system.guard.groups if system.guard else []
    groups = [upstream, system.front, *guards]
    # Few connections: what they leave behind when time is out is done soon.
    run_ab(system, replace(scenario, connections=min(10, scenario.connections), seconds=1), folder, WARM_UP)
    settle(groups)
    counters = system.guard.counters() if system.guard else {}
    busy, own, before = machine_busy(), client_seconds(), cpu_by_thread(groups)
    figures = run_ab(system, scenario, folder, scenario.requests)
    after, own, busy = cpu_by_thread(groups), client_seconds() - own, machine_busy() - busy
    settle(groups)
    check(system, scenario, figures, length)
    each = 1e6 / figures["completed"]
    asked = sum(spent(group, before, after) for group in guards) * each
    if system.waf == ALLOW_ALL:
        check_asked(system, scenario, asked)
    elif system.guard:
        check_counters(system, scenario, figures, counters, system.guard.counters())
    ours = own + sum(spent(group, before, after) for group in groups)
    return {
        "requests_per_second": figures["rate"], "p50_ms": figures["p50"], "p99_ms": figures["p99"],
        "completed": figures["completed"], "failed": int(figures["failed"]),
        "cpu_us": {
            "proxy": spent(system.front, before, after) * each,
            "waf": asked,
            "upstream": spent(upstream, before, after) * each,
        },
        "busy_seconds": busy, "others_seconds": max(0.0, busy - ours),
    }


def settle(groups):
    """Waits until these processes have nothing to do any more, at most five seconds."""
    for _ in range(100):
        before = cpu_by_thread(groups)
        time.sleep(0.03)
        after = cpu_by_thread(groups)
        if sum(spent(group, before, after) for group in groups) < 0.002:
            return


def client_seconds():
    """CPU seconds of all clients so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_ab(system, scenario, folder, requests):
    """One run of `ab`, its report taken apart."""
    table = folder / "percentiles.csv"
    argv = ["ab", "-q", "-t", str(scenario.seconds), "-n", str(requests), "-c", str(scenario.connections),
            "-e", str(table), *(["-k"] if scenario.keep_alive else [])]
    for name, value in HEADERS.items():
        argv += ["-H", f"{name}: {value}"]
    argv.append(f"http://127.0.0.1:{system.port}{scenario.target}")
    run = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    if run.returncode != 0:
        raise Failure(f"{system.title}, {scenario.title}: ab ended with {run.returncode}\n{run.stdout}{run.stderr}")

    def number(label, absent=None):
        found = re.search(rf"^{label}:\s+([\d.]+)", run.stdout, re.M)
        if not found and absent is None:
            raise Failure(f"ab did not say `{label}`:\n{run.stdout}")
        return float(found[1]) if found else absent

    with open(table, encoding="ascii") as rows:
        percentiles = {row[0]: float(row[1]) for row in csv.reader(rows) if row[0].isdigit()}
    return {
        "rate": number("Requests per second"), "completed": int(number("Complete requests")),
        "failed": number("Failed requests"), "not_2xx": number("Non-2xx responses", 0.0),
        "length": number("Document Length"), "p50": percentiles["50"], "p99": percentiles["99"], "report": run.stdout,
    }


def check(system, scenario, figures, length):
    """The answers of the run were as the one that was looked at: status class and length. A 403 and an error differ in
    length, which `ab` counts as failed, as it does a kept connection that the server closes while a request is on its
    way. Requests under way when time was out may be in one count and not in the other."""
    completed, refused = figures["completed"], expected(system, scenario) == 403
    if completed < max(FEWEST, scenario.connections):
        raise TooFew(f"{system.title}, {scenario.title}: {completed} answers in {scenario.seconds} s")
    wrong = abs(figures["not_2xx"] - (completed if refused else 0))
    allowed = scenario.connections if refused else 0
    few = completed * FAILED_SHARE
    if figures["failed"] and figures["failed"] <= few:
        print(f"NOTE: {system.title}, {scenario.title}: {figures['failed']:.0f} of {completed} failed", flush=True)
    if figures["failed"] > few or figures["length"] != length or wrong > allowed + few:
        raise Failure(f"{system.title}, {scenario.title}: not what it should measure "
                      f"(expected {expected(system, scenario)}, {length} bytes)\n{figures['report']}")


def check_asked(system, scenario, micros):
    """Nobody answers a call in less than a microsecond, so the server that counts nothing was asked each time."""
    if micros < 1:
        raise Failure(f"{system.title}, {scenario.title}: the authorizer used {micros:.2f} µs a request: it was not asked")


def check_counters(system, scenario, figures, before, after):
    """Portcullis itself says the same: verdicts, and whether the cache answered."""
    def grown(start, part=""):
        return sum(value - before.get(name, 0) for name, value in after.items() if name.startswith(start) and part in name)

    verdict = "deny" if expected(system, scenario) == 403 else "allow"
    asked, right = grown("portcullis_requests_total"), grown("portcullis_requests_total", f'verdict="{verdict}"')
    hits, evaluated = grown("portcullis_cache_hits_total"), grown("portcullis_evaluation_seconds_count")
    slack = scenario.connections + 1
    wrong = right != asked or asked < figures["completed"]
    uncached = system.waf in (CACHE_OFF, QUIET_OFF)
    if system.waf in (CACHE_ON, QUIET_ON) and not scenario.attack:
        wrong |= hits + slack < asked
    elif uncached or system.waf in (CACHE_ON, QUIET_ON):
        wrong |= evaluated + hits + slack < asked or (uncached and hits > 0)
    else:
        wrong |= evaluated > 0
    if wrong:
        raise Failure(f"{system.title}, {scenario.title}: Portcullis counted {asked:.0f} requests, {right:.0f} {verdict}, "
                      f"{hits:.0f} from the cache, {evaluated:.0f} evaluated; {figures['completed']} were completed")

"""How soon the server is ready, and how much memory it holds then: `make bench-start`.

Starts `target/release/portcullis serve` on loopback, several times at each paranoia level, and asks `/readyz` until it
answers 200. Figures are printed and go to target/bench/start.md, with the marks.
"""

import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from proxies import report
from proxies.processes import Failure, Group, end_on_signals, free_port, get, stop_all
from proxies.systems import find
from proxies.templates import ROOT

STARTS = 5
LEVELS = (1, 4)
MOST_SECONDS, MOST_MEGABYTES = 0.5, 40


def start(level, folder):
    """Seconds until it was ready, CPU seconds until then, and resident megabytes two seconds later: until then what loading left is kept."""
    admin = free_port()
    settings = {
        "listen.admin": f"127.0.0.1:{admin}", "listen.ext_authz": f"127.0.0.1:{free_port()}",
        "listen.forward_auth": f"127.0.0.1:{free_port()}", "audit.when": "off",
        "crs.paranoia": level, "crs.detection_paranoia": level,
    }
    argv = [find("portcullis"), "serve"]
    for name, value in settings.items():
        argv += ["--set", f"{name}={value}"]
    began = time.monotonic()
    group = Group("portcullis", argv, folder, cwd=ROOT)
    group.wait_until(lambda: (get(admin, "/readyz") or (0,))[0] == 200, 60, 0.002)
    seconds = time.monotonic() - began
    stat = Path(f"/proc/{group.leader.pid}/stat").read_text().rpartition(")")[2].split()
    cpu = (int(stat[11]) + int(stat[12])) / 100
    time.sleep(2)
    status = Path(f"/proc/{group.leader.pid}/status").read_text()
    group.stop()
    return seconds, cpu, int(re.search(r"^VmRSS:\s+(\d+) kB$", status, re.M)[1]) / 1024


def main():
    end_on_signals()
    facts = report.about({}, [])
    lines = [
        f"{facts['date']}, commit {facts['commit']}; {facts['cores']} cores ({facts['cpu']}); load average before the run "
        f"{facts['load_before']:.1f}. Medians of {STARTS} starts.", "",
        "| paranoia level | seconds to ready | CPU seconds to ready | MB resident two seconds later |", "|---:|---:|---:|---:|",
    ]
    worst = [0, 0]
    with tempfile.TemporaryDirectory(prefix="portcullis-start-") as folder:
        try:
            for level in LEVELS:
                taken = [start(level, folder) for _ in range(STARTS)]
                seconds, cpu, megabytes = (statistics.median(column) for column in zip(*taken))
                worst = [max(worst[0], seconds), max(worst[1], megabytes)]
                lines.append(f"| {level} | {seconds:.2f} | {cpu:.2f} | {megabytes:.0f} |")
        except (Failure, subprocess.SubprocessError, OSError) as failure:
            print(f"FAILED: {failure}")
            return 1
        finally:
            stop_all()
    for value, most, what in zip(worst, (MOST_SECONDS, MOST_MEGABYTES), ("seconds to ready", "MB resident after loading")):
        lines += ["", f"Mark, under {most} {what}: {value:.2f}: {'met' if value < most else 'MISSED'}."]
    print("\n".join(lines))
    folder = ROOT / "target" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "start.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

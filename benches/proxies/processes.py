"""Child processes, each in a process group of its own: what they cost, and that none of them outlives the run."""

import atexit
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

STARTED = []


class Failure(Exception):
    """What makes the figures worthless; it ends the run."""


class Group:
    """A program and the workers that it starts. It has no session of its own, so that it is scheduled with its caller."""

    def __init__(self, name, argv, folder, **options):
        self.name, self.log = name, Path(folder) / f"{name}.log"
        with open(self.log, "wb") as out:
            self.leader = subprocess.Popen(
                [str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                process_group=0, **options,
            )
        STARTED.append(self)

    def wait_until(self, ready, seconds=30, pause=0.05):
        """Waits until it is ready; it may not end before."""
        end = time.monotonic() + seconds
        while not ready():
            if self.leader.poll() is not None or time.monotonic() > end:
                tail = self.log.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise Failure(f"{self.name} is not ready (exit code {self.leader.poll()})\n{tail}")
            time.sleep(pause)

    def stop(self):
        """Ends all its processes at once; the leader may be gone already, its workers are not."""
        try:
            os.killpg(self.leader.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.leader.wait()


@atexit.register
def stop_all():
    """Also runs when the run fails; signals end in `SystemExit`, see `end_on_signals`."""
    while STARTED:
        STARTED.pop().stop()


def end_on_signals():
    """Python ends without its exit handlers on these, unless told otherwise."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: exit(128 + number))


def cpu_by_thread(groups):
    """CPU nanoseconds of all threads of these groups: {group: {thread: nanoseconds}}. `stat` counts in ticks of 10 ms,
    too coarse for a run of a second, so this is the scheduler's own count."""
    found = {group.leader.pid: {} for group in groups}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            threads = found.get(int(fields[2]))
            if threads is not None:
                for thread in (process / "task").iterdir():
                    threads[thread.name] = int((thread / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def spent(group, before, after):
    """CPU seconds of a group between two calls of `cpu_by_thread`."""
    old = before.get(group.leader.pid, {})
    return sum(now - old.get(thread, 0) for thread, now in after[group.leader.pid].items()) / 1e9


def machine_busy():
    """CPU seconds that the whole machine has worked, whoever for."""
    user, nice, system, _idle, _wait, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def listens(port):
    """Whether somebody does."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def get(port, target, headers=None):
    """Status and body of one request; `None` while nobody answers."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{target}", headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except (OSError, ValueError):
        return None

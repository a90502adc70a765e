"""The systems that are measured: a proxy, what guards it, and the application behind it. All run at the same time, on
loopback, with the files of `deploy/`; idle ones cost nothing."""

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from .processes import Failure, Group, free_port, get, listens
from .templates import ROOT, change, deployed, ours, without_block, without_lines

CRS = "4.28.0"
HOST = "shop.example.com"
PAGE = b"<!doctype html><title>A page</title>\n" + b"<p>Nothing but text, as on any static page.</p>\n" * 40

NONE, ALLOW_ALL, MODE_OFF = "none", "allow-all", "portcullis-off"
CACHE_OFF, CACHE_ON, MODSECURITY = "portcullis", "portcullis-cache", "modsecurity"
QUIET_OFF, QUIET_ON = "portcullis-quiet", "portcullis-cache-quiet"
WAFS = {
    NONE: "no WAF",
    ALLOW_ALL: "allow-all",
    MODE_OFF: "Portcullis, mode off",
    CACHE_OFF: "Portcullis, cache off",
    CACHE_ON: "Portcullis, cache on",
    QUIET_OFF: "Portcullis, cache off, relevant only",
    QUIET_ON: "Portcullis, cache on, relevant only",
    MODSECURITY: "ModSecurity",
}
PROXIES = {"envoy": "Envoy", "traefik": "Traefik", "nginx": "nginx", "apache": "Apache"}

# The time-outs of the files are for a machine that is not driven to its limit; a request that waits is to be counted.
PATIENCE = "5s"


@dataclass
class System:
    """One of them. `guard` is the authorizer beside the proxy; ModSecurity runs inside."""

    proxy: str
    waf: str
    port: int
    front: Group
    guard: "Sidecar | AllowAll | None" = None

    @property
    def key(self):
        return f"{self.proxy}-{self.waf}"

    @property
    def title(self):
        return f"{PROXIES[self.proxy]}, {WAFS[self.waf]}"

    @property
    def blocks(self):
        return self.waf not in (NONE, ALLOW_ALL, MODE_OFF)


class Sidecar:
    """`portcullis serve` with `deploy/portcullis.yaml`; all proxies share one per setting."""

    def __init__(self, name, folder, changes):
        self.ext_authz, self.forward_auth, self.admin = free_port(), free_port(), free_port()
        config = folder / f"{name}.yaml"
        config.write_text(deployed("portcullis.yaml", {
            "127.0.0.1:9191": f"127.0.0.1:{self.ext_authz}",
            "127.0.0.1:9292": f"127.0.0.1:{self.forward_auth}",
            "127.0.0.1:9393": f"127.0.0.1:{self.admin}",
            "deadline: 200ms": f"deadline: {PATIENCE}",
            "to: stdout": f"to: {folder / name}-audit.json",
            **changes,
        }), encoding="utf-8")
        self.groups = [Group(name, [find("portcullis"), "serve", "--config", config], folder, cwd=ROOT)]
        self.groups[0].wait_until(lambda: (get(self.admin, "/readyz") or (0,))[0] == 200, 60)
        rules = json.loads(get(self.admin, "/status")[1])["policies"]["default"]["rules"]
        if rules.get("version") != CRS:
            raise Failure(f"{name} runs {rules}, not the CRS {CRS}: run rules/fetch-crs")

    def counters(self):
        """`/metrics`, by whole name."""
        lines = get(self.admin, "/metrics")[1].decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}


class AllowAll:
    """A server that allows everything and does nothing else, as fast as can be: the one that `benches/transport` compares
    with. A process for each door."""

    def __init__(self, folder, program):
        self.ext_authz, self.forward_auth = free_port(), free_port()
        doors = [("grpc", self.ext_authz), ("http", self.forward_auth)]
        self.groups = [Group(f"allow-all-{door}", [program, "allow-all", door, port], folder) for door, port in doors]
        for group, (_, port) in zip(self.groups, doors):
            group.wait_until(lambda port=port: listens(port))

    @staticmethod
    def counters():
        """It counts nothing."""
        return {}


class Builder:
    """Starts everything; what is not installed it notes in `skipped`."""

    def __init__(self, folder, wanted, allow_all):
        self.folder, self.wanted, self.skipped, self.systems = Path(folder), wanted, [], []
        self.folder.chmod(0o755)  # workers of nginx and Apache are other users
        self.upstream, self.upstream_port = self.start_upstream()
        self.sidecars = {
            ALLOW_ALL: AllowAll(self.folder, allow_all),
            MODE_OFF: Sidecar("mode-off", self.folder, {"mode: block ": "mode: off "}),
            CACHE_OFF: Sidecar("cache-off", self.folder, {"enabled: true": "enabled: false"}),
            CACHE_ON: Sidecar("cache-on", self.folder, {}),
            **self.quiet_sidecars(),
        }

    def quiet_sidecars(self):
        """Metadata and headers only where something was found, which Envoy alone is told."""
        if "envoy" not in self.wanted:
            return {}
        relevant = {"metadata: all ": "metadata: relevant ", "upstream_headers: all ": "upstream_headers: relevant "}
        return {
            QUIET_OFF: Sidecar("cache-off-quiet", self.folder, {"enabled: true": "enabled: false", **relevant}),
            QUIET_ON: Sidecar("cache-on-quiet", self.folder, relevant),
        }

    def room(self, name):
        """A folder of its own for a server."""
        folder = self.folder / name
        folder.mkdir()
        return folder

    def start_upstream(self):
        program = find("nginx")
        if not program:
            raise Failure("nginx is not installed; the application behind the proxies is one")
        folder, port = self.room("upstream"), free_port()
        (folder / "www").mkdir()
        (folder / "www" / "page.html").write_bytes(PAGE)
        config = folder / "upstream.conf"
        config.write_text(ours("upstream.conf", {"@DIR@": folder, "@PORT@": port}), encoding="utf-8")
        group = Group("upstream", [program, "-p", folder, "-c", config], folder)
        group.wait_until(lambda: get(port, "/page.html"))
        return group, port

    def build(self):
        """All wanted systems, in the order of the tables."""
        for proxy, program in (("envoy", "envoy"), ("traefik", "traefik"), ("nginx", "nginx"), ("apache", "apache2")):
            if proxy not in self.wanted:
                continue
            path = find(program)
            if not path:
                self.skipped.append(f"{PROXIES[proxy]}: `{program}` is not installed")
                continue
            # What our answer costs without rules is told apart behind one proxy; time is short.
            unwanted = {"apache": set(self.sidecars), "envoy": set()}.get(proxy, {MODE_OFF, QUIET_OFF, QUIET_ON})
            beside = [waf for waf in self.sidecars if waf not in unwanted]
            for waf in (NONE, *beside):
                self.add(proxy, waf, getattr(self, proxy)(path, waf))
            self.add_modsecurity(proxy, path)
        return self.systems

    def add(self, proxy, waf, started):
        group, port = started
        group.wait_until(lambda: (get(port, "/page.html", {"Host": HOST}) or (0,))[0] == 200)
        self.systems.append(System(proxy, waf, port, group, self.sidecars.get(waf)))

    def add_modsecurity(self, proxy, program):
        modules = {"nginx": ("libnginx-mod-http-modsecurity", nginx_module()),
                   "apache": ("libapache2-mod-security2", apache_modules() / "mod_security2.so")}
        if proxy not in modules:
            return
        package, module = modules[proxy]
        if module.is_file():
            self.add(proxy, MODSECURITY, getattr(self, proxy)(program, MODSECURITY))
        else:
            self.skipped.append(f"{PROXIES[proxy]} with ModSecurity: Debian's `{package}` is not installed")

    def envoy(self, program, waf):
        name, port = f"envoy-{waf}", free_port()
        text = deployed("envoy/envoy.yaml", {
            "address: 0.0.0.0, port_value: 10000}": f"address: 127.0.0.1, port_value: {port}}}",
            "port_value: 9901}": f"port_value: {free_port()}}}",
            "port_value: 8000}": f"port_value: {self.upstream_port}}}",
            " timeout: 0.25s": f" timeout: {PATIENCE}",
            # `ab` speaks HTTP/1.0.
            "use_remote_address: true": "use_remote_address: true\n                http_protocol_options: {accept_http_10: true}",
        })
        if waf == NONE:
            text = without_block(name, text, "- name: envoy.filters.http.ext_authz", "- name: envoy.filters.http.router")
        else:
            text = change(name, text, {"port_value: 9191}": f"port_value: {self.sidecars[waf].ext_authz}}}"})
        config = self.folder / f"{name}.yaml"
        config.write_text(text, encoding="utf-8")
        return Group(name, [program, "--disable-hot-restart", "-l", "warning", "-c", config], self.folder), port

    def traefik(self, program, waf):
        name, port = f"traefik-{waf}", free_port()
        folder = self.room(name)
        text = deployed("traefik/dynamic.yaml", {"http://127.0.0.1:8000": f"http://127.0.0.1:{self.upstream_port}"})
        if waf == NONE:
            text = without_lines(name, text, ["middlewares: [portcullis]"])
        else:
            text = change(name, text, {"127.0.0.1:9292/": f"127.0.0.1:{self.sidecars[waf].forward_auth}/"})
        (folder / "dynamic.yaml").write_text(text, encoding="utf-8")
        config = folder / "traefik.yaml"
        config.write_text(deployed("traefik/traefik.yaml", {
            "0.0.0.0:8081": f"127.0.0.1:{port}", "deploy/traefik/dynamic.yaml": folder / "dynamic.yaml",
        }), encoding="utf-8")
        return Group(name, [program, f"--configFile={config}"], folder, cwd=folder), port

    def nginx(self, program, waf):
        name, port = f"nginx-{waf}", free_port()
        folder = self.room(name)
        text = "daemon off;\n" + deployed("nginx/nginx.conf", {
            "0.0.0.0:8082": f"127.0.0.1:{port} backlog=1024",
            "server 127.0.0.1:8000": f"server 127.0.0.1:{self.upstream_port}",
            "proxy_read_timeout 1s": f"proxy_read_timeout {PATIENCE}",
        })
        if waf in self.sidecars:
            text = change(name, text, {"server 127.0.0.1:9292": f"server 127.0.0.1:{self.sidecars[waf].forward_auth}"})
        else:
            text = without_lines(name, text, ["auth_request", "X-Waf-"])
        if waf == MODSECURITY:
            rules = self.modsecurity_rules(folder, Path("/etc/nginx/unicode.mapping"))
            inside = f"backlog=1024;\n        modsecurity on;\n        modsecurity_rules_file {rules};"
            text = f"load_module {nginx_module()};\n" + change(name, text, {"backlog=1024;": inside})
        config = folder / "nginx.conf"
        config.write_text(text, encoding="utf-8")
        return Group(name, [program, "-p", folder, "-c", config], folder), port

    def apache(self, program, waf):
        name, port = f"apache-{waf}", free_port()
        folder, modules = self.room(name), apache_modules()
        text = ours("apache.conf", {
            "@DIR@": folder, "@PORT@": port, "@MODULES@": modules, "@UPSTREAM@": self.upstream_port,
        })
        if waf == MODSECURITY:
            rules = self.modsecurity_rules(folder, Path("/etc/modsecurity/unicode.mapping"))
            text += f"LoadModule unique_id_module {modules}/mod_unique_id.so\n"
            text += f"LoadModule security2_module {modules}/mod_security2.so\nInclude {rules}\n"
        if os.geteuid() != 0:
            text = without_lines(name, text, ["User www-data", "Group www-data"])
        config = folder / "apache.conf"
        config.write_text(text, encoding="utf-8")
        return Group(name, [program, "-f", config, "-DFOREGROUND"], folder), port

    def modsecurity_rules(self, folder, unicode_map):
        rules = folder / "modsecurity.conf"
        rules.write_text(ours("modsecurity.conf", {
            "@DIR@": folder, "@UNICODE@": unicode_map,
            "@SETUP@": ROOT / "rules" / "crs-setup.conf", "@CRS@": ROOT / "rules" / "crs",
        }), encoding="utf-8")
        return rules


def find(program):
    """Where a program is: as for `tests/e2e` an environment variable's word, what the tests installed, PATH, or Debian's
    sbin, which an ordinary user's PATH may lack."""
    named = os.environ.get(f"PORTCULLIS_E2E_{program.upper()}")
    if named:
        return named
    if program == "portcullis":
        return str(ROOT / "target" / "release" / program)
    folders = [str(ROOT / ".venv" / "bin"), os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]
    return shutil.which(program, path=os.pathsep.join(folders))


def nginx_module():
    return Path("/usr/lib/nginx/modules/ngx_http_modsecurity_module.so")


def apache_modules():
    return Path("/usr/lib/apache2/modules")

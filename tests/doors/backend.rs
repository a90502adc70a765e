//! The application behind the proxy: keeps what it gets, byte for byte, under the id of the sidecar's decision.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::http;

/// The header in which the proxy tells the application which decision let the request through.
pub(crate) const REQUEST_ID: &str = "x-waf-request-id";

type Kept = Arc<Mutex<HashMap<String, Vec<u8>>>>;

/// A running backend. Its threads end with the process.
pub(crate) struct Backend {
    pub(crate) port: u16,
    kept: Kept,
}

impl Backend {
    /// Starts one on a free port.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let backend = Self { port: listener.local_addr().unwrap().port(), kept: Kept::default() };
        let kept = Arc::clone(&backend.kept);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || serve(stream, &kept));
            }
        });
        backend
    }

    /// Everything kept so far.
    pub(crate) fn take(&self) -> HashMap<String, Vec<u8>> {
        std::mem::take(&mut *self.kept.lock().unwrap())
    }
}

/// One request per connection.
fn serve(mut stream: TcpStream, kept: &Kept) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let mut bytes = Vec::new();
    let id = loop {
        if let Some((_, headers, end)) = http::head(&bytes)
            && http::body(&headers, &bytes[end..]).is_some()
        {
            let id = headers.iter().find(|(name, _)| name == REQUEST_ID);
            break id.map_or_else(String::new, |(_, id)| String::from_utf8_lossy(id).into_owned());
        }
        let mut buffer = [0; 16 << 10];
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            count => bytes.extend(&buffer[..count]),
        }
    };
    kept.lock().unwrap().insert(id.clone(), bytes);
    let head = format!("HTTP/1.1 200 OK\r\nX-Backend: {id}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()
}

//! The application behind the proxies: answers every request with what it got, byte for byte.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::http;

/// A running echo backend. Its threads end with the process.
#[derive(Clone)]
pub(crate) struct Backend {
    pub(crate) port: u16,
    served: Arc<AtomicUsize>,
}

impl Backend {
    /// Starts one on a free port.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let backend = Self { port: listener.local_addr().unwrap().port(), served: Arc::default() };
        let served = Arc::clone(&backend.served);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = Arc::clone(&served);
                thread::spawn(move || serve(stream, &served));
            }
        });
        backend
    }

    /// How many requests it has begun to read, the incomplete ones included.
    pub(crate) fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }
}

/// One request per connection.
fn serve(mut stream: TcpStream, served: &AtomicUsize) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let mut bytes = Vec::new();
    let mut counted = false;
    loop {
        if let Some((_, headers, end)) = http::head(&bytes) {
            if !counted {
                served.fetch_add(1, Ordering::SeqCst);
                counted = true;
            }
            if http::body(&headers, &bytes[end..]).is_some() {
                break;
            }
        }
        let mut buffer = [0; 16 << 10];
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            count => bytes.extend(&buffer[..count]),
        }
    }
    let length = bytes.len();
    let head = format!("HTTP/1.1 200 OK\r\nX-Backend: echo\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(&[head.as_bytes(), &bytes].concat()).ok()
}

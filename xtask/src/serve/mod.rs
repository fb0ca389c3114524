//! A small static file server for the built page, used by `demo` and by the browser tests.
//!
//! It answers on the loopback address only, from one folder only, to GET and HEAD, several
//! requests at a time. It knows byte ranges, validators and gzip, as a host of static pages does.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! let server = xtask::serve::Server::start(std::path::Path::new("dist"), 0)?;
//! println!("{}", server.url());
//! # Ok(())
//! # }
//! ```

mod answer;
mod mime;
mod negotiate;
mod site;

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use anyhow::{Result, anyhow};
use tiny_http::{Header, Method, Request, Response, StatusCode};

use answer::{Answer, Ask};
use site::Site;

/// Requests that are answered at the same time; a browser opens up to six connections.
const WORKERS: usize = 8;

/// A running server; it stops when dropped.
pub struct Server {
    addr: SocketAddr,
    http: Arc<tiny_http::Server>,
}

impl Server {
    /// Serves `folder` at `127.0.0.1:port`; port 0 takes any free port.
    ///
    /// # Errors
    /// Fails where `folder` does not exist or the port is in use, and says what to do.
    pub fn start(folder: &Path, port: u16) -> Result<Self> {
        let site = Arc::new(Site::open(folder)?);
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|e| busy(port, &e))?;
        let addr = listener.local_addr()?;
        let http = tiny_http::Server::from_listener(listener, None)
            .map_err(|e| anyhow!("cannot serve at {addr}: {e}"))?;
        let http = Arc::new(http);
        for _ in 0..WORKERS {
            let (http, site) = (Arc::clone(&http), Arc::clone(&site));
            // `recv` ends with an error when the server is dropped, and the thread with it.
            thread::spawn(move || {
                while let Ok(request) = http.recv() {
                    respond(&site, request);
                }
            });
        }
        Ok(Self { addr, http })
    }

    /// Address and port that the server listens on.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Address of the page, with a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.addr)
    }
}

impl Drop for Server {
    /// Takes no new requests. Answers under way are finished by their threads, which are not
    /// waited for: a client that reads no more must not hold up a test.
    fn drop(&mut self) {
        for _ in 0..WORKERS {
            self.http.unblock();
        }
    }
}

/// Whether a server could listen on `port` now.
///
/// # Errors
/// As [`Server::start`] for a port in use.
pub fn check_port(port: u16) -> Result<()> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map(drop)
        .map_err(|e| busy(port, &e))
}

fn respond(site: &Site, request: Request) {
    let header = |name: &'static str| {
        request
            .headers()
            .iter()
            .find(|h| h.field.equiv(name))
            .map(|h| h.value.as_str())
    };
    let answer = answer::answer(
        site,
        &Ask {
            readable: matches!(request.method(), Method::Get | Method::Head),
            url: request.url(),
            range: header("Range"),
            if_range: header("If-Range"),
            if_none_match: header("If-None-Match"),
            accept_encoding: header("Accept-Encoding"),
        },
    );
    // The client may be gone; that is its right.
    send(request, answer).ok();
}

fn send(request: Request, answer: Answer) -> io::Result<()> {
    let headers = answer
        .headers
        .iter()
        .filter_map(|(name, value)| Header::from_bytes(name.as_bytes(), value.as_bytes()).ok())
        .collect();
    let body: Box<dyn Read + Send> = answer.body;
    let length = usize::try_from(answer.length).ok();
    let response = Response::new(StatusCode(answer.status), headers, body, length, None)
        // A length in the header, however long: progress bars count on it.
        .with_chunked_threshold(usize::MAX);
    request.respond(response)
}

fn busy(port: u16, error: &io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::AddrInUse {
        let other = port.checked_add(1).unwrap_or(8080);
        anyhow!(
            "port {port} is already in use: stop the program that listens there, \
             or choose another port with `--port {other}`"
        )
    } else {
        anyhow!("cannot listen on port {port}: {error}; choose another with `--port`")
    }
}

#[cfg(test)]
mod tests;

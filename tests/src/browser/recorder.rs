//! A proxy for all connections of the browser, so that a test sees every request that leaves it:
//! those of the page, of its workers and of the browser itself.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::lock;

/// A request that left the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// `GET`, or `CONNECT` for an address with TLS.
    pub method: String,
    /// The whole address; host and port alone for `CONNECT`.
    pub url: String,
    /// Bytes of the request without its body.
    pub head: usize,
    /// Bytes of the body, as the headers declare them.
    pub body: Option<u64>,
}

impl Seen {
    /// Returns whether the request only reads and carries no data beyond its address and headers.
    pub fn only_reads(&self) -> bool {
        self.method == "GET" && self.body.is_none()
    }
}

/// What the connections of a proxy share.
#[derive(Default)]
struct State {
    seen: Mutex<Vec<Seen>>,
    /// Part of the addresses whose responses are paused.
    held: Mutex<Option<String>>,
    stopped: AtomicBool,
}

impl State {
    fn holds(&self, url: &str) -> bool {
        let held = lock(&self.held);
        held.as_ref().is_some_and(|part| url.contains(part))
    }
}

/// Answers `GET` from servers on this machine, refuses everything else, and records all requests.
pub struct Recorder {
    addr: SocketAddr,
    state: Arc<State>,
}

impl Recorder {
    /// Listens on a free port of the loopback address.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (addr, state) = (listener.local_addr().unwrap(), Arc::<State>::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if shared.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let state = Arc::clone(&shared);
                // Ignores errors: the browser may close the connection at any time.
                thread::spawn(move || serve(&connection, &state).ok());
            }
        });
        Self { addr, state }
    }

    /// Returns the address that the proxy listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Pauses the responses to requests whose address contains `part` half-way, until
    /// [`release`](Self::release). This simulates a network that is slow for one file.
    pub fn hold(&self, part: &str) {
        *lock(&self.state.held) = Some(part.to_owned());
    }

    /// Resumes all paused responses.
    pub fn release(&self) {
        *lock(&self.state.held) = None;
    }

    /// Returns every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.state.seen).clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::Relaxed);
        // Opens one last connection, so that the listener wakes up and sees the flag.
        TcpStream::connect(self.addr).ok();
    }
}

/// Serves one request per connection: the response ends with the connection.
fn serve(mut client: &TcpStream, state: &State) -> io::Result<()> {
    let mut lines = Vec::new();
    let mut head = 0;
    let mut reader = BufReader::new(client);
    loop {
        let mut line = String::new();
        head += reader.read_line(&mut line)?;
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let Some(first) = lines.first() else {
        return Ok(());
    };
    let mut words = first.split(' ').map(str::to_owned);
    let request = Seen {
        method: words.next().unwrap_or_default(),
        url: words.next().unwrap_or_default(),
        head,
        body: announced(&lines),
    };
    lock(&state.seen).push(request.clone());
    match local(&request.url).filter(|_| request.only_reads()) {
        Some((addr, path)) => {
            let mut server = TcpStream::connect(addr)?;
            server.write_all(forwarded(path, &lines[1..]).as_bytes())?;
            if state.holds(&request.url) {
                // Enough for the head and some of the body.
                io::copy(&mut (&mut server).take(20_000), &mut client)?;
                while state.holds(&request.url) {
                    thread::sleep(Duration::from_millis(20));
                }
            }
            io::copy(&mut server, &mut client)?;
            client.shutdown(Shutdown::Both)
        }
        None => client
            .write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    }
}

/// Returns the bytes of the body: its declared length, the largest number if it is chunked, `None`
/// without a body.
fn announced(lines: &[String]) -> Option<u64> {
    lines.iter().skip(1).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        match name.to_ascii_lowercase().as_str() {
            "content-length" => value.trim().parse().ok().filter(|length| *length > 0),
            "transfer-encoding" => Some(u64::MAX),
            _ => None,
        }
    })
}

/// Returns the address and the path if the URL is that of a server on this machine.
fn local(url: &str) -> Option<(SocketAddr, &str)> {
    let rest = url.strip_prefix("http://")?;
    let slash = rest.find('/').unwrap_or(rest.len());
    let addr: SocketAddr = rest[..slash].parse().ok()?;
    let path = &rest[slash..];
    (addr.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST))
        .then_some((addr, if path.is_empty() { "/" } else { path }))
}

/// Returns the request for a path with these headers, after whose response the connection ends.
fn forwarded(path: &str, headers: &[String]) -> String {
    let kept = headers.iter().filter(|line| {
        let name = line.split(':').next().unwrap_or_default();
        !["connection", "proxy-connection", "keep-alive"]
            .iter()
            .any(|dropped| name.eq_ignore_ascii_case(dropped))
    });
    let kept: String = kept.flat_map(|line| [line.as_str(), "\r\n"]).collect();
    format!("GET {path} HTTP/1.1\r\n{kept}Connection: close\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_forwarded() {
        let addr = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        assert_eq!(
            local("http://127.0.0.1:81/a?b=c"),
            Some((addr(81), "/a?b=c"))
        );
        assert_eq!(local("http://127.0.0.1:81"), Some((addr(81), "/")));
        for other in [
            "http://192.0.2.1:80/",
            "http://example.org/",
            "example.org:443",
            "/a",
            "",
        ] {
            assert_eq!(local(other), None, "{other}");
        }
    }

    #[test]
    fn a_request_with_a_body_is_more_than_reading() {
        let seen = |method: &str, lines: &[&str]| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            Seen {
                method: method.into(),
                url: String::new(),
                head: 0,
                body: announced(&lines),
            }
        };
        assert!(seen("GET", &["GET / HTTP/1.1", "Host: a", "Content-Length: 0"]).only_reads());
        assert!(!seen("GET", &["GET / HTTP/1.1", "content-length: 5"]).only_reads());
        assert!(!seen("GET", &["GET / HTTP/1.1", "Transfer-Encoding: chunked"]).only_reads());
        assert!(!seen("POST", &["POST / HTTP/1.1", "Content-Length: 0"]).only_reads());
    }
}

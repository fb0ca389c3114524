//! A proxy for all connections of the browser, so that a test sees every request that leaves it:
//! those of the page, of its workers and of the browser itself.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

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

/// Answers `GET` from servers on this machine, refuses everything else, and records all requests.
pub struct Recorder {
    addr: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    held: Arc<Mutex<Option<String>>>,
    stopped: Arc<AtomicBool>,
}

impl Recorder {
    /// Listens on a free port of the loopback address.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let recorder = Self {
            addr: listener.local_addr()?,
            seen: Arc::default(),
            held: Arc::default(),
            stopped: Arc::default(),
        };
        let (seen, stopped) = (Arc::clone(&recorder.seen), Arc::clone(&recorder.stopped));
        let held = Arc::clone(&recorder.held);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (seen, held) = (Arc::clone(&seen), Arc::clone(&held));
                // Ignores errors: the browser may close the connection at any time.
                thread::spawn(move || serve(&connection, &seen, &held).ok());
            }
        });
        Ok(recorder)
    }

    /// Returns the address that the proxy listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Pauses the responses to requests whose address contains `part` half-way, until
    /// [`release`](Self::release). This simulates a network that is slow for one file.
    pub fn hold(&self, part: &str) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(part.to_owned());
    }

    /// Resumes all paused responses.
    pub fn release(&self) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Opens one last connection, so that the listener wakes up and sees the flag.
        TcpStream::connect(self.addr).ok();
    }
}

/// Serves one request per connection: the response ends with the connection.
fn serve(
    client: &TcpStream,
    seen: &Mutex<Vec<Seen>>,
    held: &Mutex<Option<String>>,
) -> io::Result<()> {
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
    let mut words = first.split(' ');
    let (method, url) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let request = Seen {
        method: method.to_owned(),
        url: url.to_owned(),
        head,
        body: announced(&lines),
    };
    let reads = request.only_reads();
    seen.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(request);
    match local(url).filter(|_| reads) {
        Some((addr, path)) => forward(client, addr, path, &lines[1..], &|| {
            let held = held.lock().unwrap_or_else(PoisonError::into_inner);
            held.as_ref()
                .is_some_and(|part| url.contains(part.as_str()))
        }),
        None => {
            let mut client = client;
            client.write_all(
                b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            )
        }
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

fn forward(
    client: &TcpStream,
    addr: SocketAddr,
    path: &str,
    headers: &[String],
    is_held: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut server = TcpStream::connect(addr)?;
    let kept = headers.iter().filter(|line| {
        let name = line
            .split(':')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        !["connection", "proxy-connection", "keep-alive"].contains(&name.as_str())
    });
    let mut request = format!("GET {path} HTTP/1.1\r\n");
    for line in kept {
        request.push_str(line);
        request.push_str("\r\n");
    }
    request.push_str("Connection: close\r\n\r\n");
    server.write_all(request.as_bytes())?;
    let mut client = client;
    if is_held() {
        // Enough for the head and some of the body.
        io::copy(&mut (&mut server).take(20_000), &mut client)?;
        while is_held() {
            thread::sleep(Duration::from_millis(20));
        }
    }
    io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)
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

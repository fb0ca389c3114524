//! A static file server for the built page, used by `demo` and by the browser tests.
//!
//! It listens on the loopback address only and serves one folder only. It supports byte ranges,
//! validators and gzip, as a host of static pages does.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! let server = xtask::serve::Server::start(std::path::Path::new("dist"), 0)?;
//! println!("{}", server.url());
//! # Ok(())
//! # }
//! ```

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use tokio::runtime::Runtime;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

/// A running server; it stops when dropped.
pub struct Server {
    addr: SocketAddr,
    runtime: Option<Runtime>,
}

impl Server {
    /// Serves `folder` at `127.0.0.1:port`; port 0 takes any free port.
    ///
    /// # Errors
    /// Fails if `folder` does not exist or the port is in use; the error says what to do.
    pub fn start(folder: &Path, port: u16) -> Result<Self> {
        Self::start_over(folder, folder, port)
    }

    /// As [`Server::start`], with a folder below: it has the files that `folder`, which may still be
    /// missing, does not have yet.
    ///
    /// # Errors
    /// Fails if `below` does not exist or the port is in use; the error says what to do.
    pub fn start_over(folder: &Path, below: &Path, port: u16) -> Result<Self> {
        if !below.is_dir() {
            bail!("there is no folder {} to serve", below.display());
        }
        Self::of(app(folder, below), port)
    }

    /// Serves what `app` answers, at the same address.
    ///
    /// # Errors
    /// Fails if the port is in use; the error says what to do.
    pub fn of(app: Router, port: u16) -> Result<Self> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|e| busy(port, &e))?;
        let addr = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("cannot start the server's threads")?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        runtime.spawn(async move {
            // Returns only when the runtime ends: accepting is retried after a failure.
            axum::serve(listener, app).await.ok();
        });
        let runtime = Some(runtime);
        Ok(Self { addr, runtime })
    }

    /// Returns the address and port that the server listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the address of the page, with a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}/", self.addr)
    }

    /// Stops the server without waiting for open responses: a client that no longer reads must not
    /// block a test.
    pub fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn app(folder: &Path, below: &Path) -> Router {
    // Weights and images do not compress; everything else is text or wasm.
    let is_compressible = SizeAbove::new(512)
        .and(NotForContentType::new("application/octet-stream"))
        .and(NotForContentType::IMAGES);
    let zip = CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(is_compressible);
    let header = SetResponseHeaderLayer::overriding;
    Router::new()
        .fallback_service(ServeDir::new(folder).fallback(ServeDir::new(below)))
        .layer(zip)
        // A reload must show a rebuilt page.
        .layer(header(CACHE_CONTROL, HeaderValue::from_static("no-cache")))
        // Pages of other sites may embed what is served here.
        .layer(header(
            ACCESS_CONTROL_ALLOW_ORIGIN,
            HeaderValue::from_static("*"),
        ))
        .layer(header(
            X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
}

/// Checks whether a server could listen on `port` now.
///
/// # Errors
/// As [`Server::start`] for a port in use.
pub fn check_port(port: u16) -> Result<()> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map(drop)
        .map_err(|e| busy(port, &e))
}

fn busy(port: u16, error: &io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::AddrInUse {
        let next = port.checked_add(1).unwrap_or(8080);
        anyhow!(
            "port {port} is already in use: stop the program that listens there, \
             or choose another port with `--port {next}`"
        )
    } else {
        anyhow!("cannot listen on port {port}: {error}; choose another with `--port`")
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;

    /// Returns a served folder with a file outside it.
    fn site() -> (tempfile::TempDir, Server) {
        let outer = tempfile::tempdir().unwrap();
        let dist = outer.path().join("dist");
        std::fs::create_dir_all(dist.join("models")).unwrap();
        std::fs::write(outer.path().join("secret.txt"), "secret").unwrap();
        std::fs::write(dist.join("index.html"), "<!doctype html>".repeat(100)).unwrap();
        std::fs::write(dist.join("app_bg.wasm"), [0_u8; 4096]).unwrap();
        std::fs::write(dist.join("models/image.safetensors"), [7_u8; 1000]).unwrap();
        let server = Server::start(&dist, 0).unwrap();
        (outer, server)
    }

    /// Returns the head and body of one response.
    fn get(server: &Server, path: &str, extra: &str) -> (String, Vec<u8>) {
        let mut socket = TcpStream::connect(server.addr()).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        write!(
            socket,
            "GET {path} HTTP/1.1\r\nHost: t\r\nConnection: close\r\n{extra}\r\n"
        )
        .unwrap();
        let mut bytes = Vec::new();
        socket.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        (head.to_ascii_lowercase(), bytes[end + 4..].to_vec())
    }

    #[test]
    fn files_have_content_types_and_are_revalidated() {
        let (_dir, server) = site();
        let (head, body) = get(&server, "/?x=1", "");
        assert!(head.starts_with("http/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/html"), "{head}");
        assert!(head.contains("cache-control: no-cache"), "{head}");
        assert_eq!(body.len(), 1500);
        let (head, _) = get(&server, "/app_bg.wasm", "");
        assert!(head.contains("content-type: application/wasm"), "{head}");
    }

    #[test]
    fn programs_are_compressed_and_weights_are_not() {
        let (_dir, server) = site();
        let zip = "Accept-Encoding: gzip\r\n";
        let (head, body) = get(&server, "/app_bg.wasm", zip);
        assert!(head.contains("content-encoding: gzip"), "{head}");
        assert!(body.len() < 1000);
        let (head, body) = get(&server, "/models/image.safetensors", zip);
        assert!(!head.contains("content-encoding"), "{head}");
        assert!(head.contains("content-length: 1000"), "{head}");
        assert_eq!(body.len(), 1000);
    }

    #[test]
    fn a_broken_download_can_be_resumed() {
        let (_dir, server) = site();
        let range = "Range: bytes=990-\r\nAccept-Encoding: gzip\r\n";
        let (head, body) = get(&server, "/models/image.safetensors", range);
        assert!(head.starts_with("http/1.1 206"), "{head}");
        assert!(head.contains("content-range: bytes 990-999/1000"), "{head}");
        assert_eq!(body, [7; 10]);
    }

    #[test]
    fn nothing_outside_of_the_folder_is_served() {
        let (_dir, server) = site();
        for path in [
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/models/..%2f..%2fsecret.txt",
            "/no",
        ] {
            let (head, body) = get(&server, path, "");
            assert!(head.starts_with("http/1.1 404"), "{path}: {head}");
            assert!(!body.windows(6).any(|w| w == b"secret"), "{path}");
        }
    }

    #[test]
    fn files_come_from_the_folder_below_until_the_upper_one_has_them() {
        let outer = tempfile::tempdir().unwrap();
        let (upper, below) = (outer.path().join("upper"), outer.path().join("below"));
        std::fs::create_dir(&below).unwrap();
        std::fs::write(below.join("index.html"), "first").unwrap();
        std::fs::write(below.join("engine.js"), "engine").unwrap();
        let server = Server::start_over(&upper, &below, 0).unwrap();
        let body = |path| get(&server, path, "").1;
        assert_eq!(body("/"), b"first");
        std::fs::create_dir(&upper).unwrap();
        assert_eq!(body("/"), b"first");
        std::fs::write(upper.join("index.html"), "second").unwrap();
        assert_eq!(body("/"), b"second");
        assert_eq!(body("/engine.js"), b"engine");
        let (head, _) = get(&server, "/none", "");
        assert!(head.starts_with("http/1.1 404"), "{head}");
    }

    #[test]
    fn many_connections_at_once_are_all_answered() {
        // Many connections, as a browser opens them; kept open, so that none can wait for another
        // to end.
        let (_dir, server) = site();
        let mut sockets: Vec<TcpStream> = (0..16)
            .map(|_| {
                let mut socket = TcpStream::connect(server.addr()).unwrap();
                socket
                    .set_read_timeout(Some(Duration::from_secs(20)))
                    .unwrap();
                write!(socket, "GET /app_bg.wasm HTTP/1.1\r\nHost: t\r\n\r\n").unwrap();
                socket
            })
            .collect();
        for socket in &mut sockets {
            let mut first = [0; 12];
            socket.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 200");
        }
    }

    #[test]
    fn a_port_in_use_is_named_with_another_to_try() {
        let (_dir, server) = site();
        let message = check_port(server.addr().port()).unwrap_err().to_string();
        assert!(message.contains("already in use"), "{message}");
        assert!(message.contains("--port"), "{message}");
    }

    #[test]
    fn a_missing_folder_is_named() {
        let Err(error) = Server::start(Path::new("/no/such/folder"), 0) else {
            panic!("served a missing folder");
        };
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}

//! A site on the loopback address that serves folders and takes one result.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::routing::post;
use tokio::runtime::Runtime;
use tower_http::services::ServeDir;

/// A running site; it stops when dropped.
pub(super) struct Site {
    addr: SocketAddr,
    results: Receiver<String>,
    _runtime: Runtime,
}

impl Site {
    /// Serves a folder, whose page sends its result to `/result`, and other folders at addresses
    /// like `/app`.
    pub(super) fn start(folder: &Path, others: &[(&str, &Path)]) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot start the site's thread")?;
        let (sender, results) = channel();
        let take = move |body: String| async move {
            // The receiver lives as long as the site.
            let _ = sender.send(body);
        };
        let mut app = Router::new()
            .route("/result", post(take))
            .fallback_service(ServeDir::new(folder));
        for (address, other) in others {
            app = app.nest_service(address, ServeDir::new(other));
        }
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        runtime.spawn(async move {
            // Returns only when the runtime ends.
            axum::serve(listener, app).await.ok();
        });
        Ok(Self {
            addr,
            results,
            _runtime: runtime,
        })
    }

    /// Returns the address of the page, with a trailing slash.
    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.addr)
    }

    /// Waits for the result; `is_alive` tells whether the page can still send one.
    pub(super) fn result(
        &self,
        limit: Duration,
        mut is_alive: impl FnMut() -> bool,
    ) -> Result<String> {
        let begun = Instant::now();
        loop {
            match self.results.recv_timeout(Duration::from_millis(500)) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Disconnected) => bail!("the site stopped"),
                Err(RecvTimeoutError::Timeout) if !is_alive() => {
                    bail!("the browser ended before it sent a result")
                }
                Err(RecvTimeoutError::Timeout) if begun.elapsed() > limit => {
                    bail!("expected a result within {limit:?}, found none")
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn exchange(site: &Site, request: &str) -> String {
        let mut socket = TcpStream::connect(site.addr).unwrap();
        write!(socket, "{request}").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn files_are_served_and_a_result_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("settings.json"), "{}").unwrap();
        std::fs::write(other.path().join("engines.json"), "{}").unwrap();
        let site = Site::start(folder.path(), &[("/app", other.path())]).unwrap();
        let end = "Host: t\r\nConnection: close\r\n";
        for path in ["/settings.json", "/app/engines.json"] {
            let got = exchange(&site, &format!("GET {path} HTTP/1.1\r\n{end}\r\n"));
            let is_file = got.starts_with("HTTP/1.1 200") && got.ends_with("{}");
            assert!(is_file, "{path}: {got}");
        }
        let body = "Content-Length: 4\r\n\r\n1234";
        exchange(&site, &format!("POST /result HTTP/1.1\r\n{end}{body}"));
        let result = site.result(Duration::from_secs(20), || true);
        assert_eq!(result.unwrap(), "1234");
    }

    #[test]
    fn a_browser_that_ends_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::start(folder.path(), &[]).unwrap();
        let error = site.result(Duration::from_secs(20), || false).unwrap_err();
        assert!(error.to_string().contains("the browser ended"), "{error}");
    }
}

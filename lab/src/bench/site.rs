//! A site on the loopback address that serves folders and takes one result.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use axum::Router;
use axum::routing::post;
use tower_http::services::ServeDir;
use xtask::serve::Server;

/// A running site; it stops when dropped.
pub(super) struct Site {
    pub(super) server: Server,
    results: Receiver<String>,
}

impl Site {
    /// Serves a folder, whose page sends its result to `/result`, and other folders at addresses
    /// like `/app`.
    pub(super) fn start(folder: &Path, others: &[(&str, &Path)]) -> Result<Self> {
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
        let server = Server::of(app, 0)?;
        Ok(Self { server, results })
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
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn exchange(site: &Site, request: &str) -> String {
        let mut socket = TcpStream::connect(site.server.addr()).unwrap();
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

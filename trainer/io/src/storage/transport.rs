//! Sends the requests of the stores with the HTTP client of the trainer.
//!
//! A response is read as a whole, within the call, so that one that breaks off is asked for again by
//! the retries of `object_store` like one that failed. Requests block the thread that waits for them.

use std::io::{self, Read};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientOptions, Result};
use ureq::http::{HeaderMap, Method, Response, StatusCode};
use ureq::{Agent, Body};

use super::address::without_secrets;
use super::traffic;
use crate::output::note;

/// Most bytes of a response: far more than a request asks for, or than a page of a listing has.
const MAX_BODY: u64 = 64 << 20;
/// Times for connecting, for the head of a response, and for its body.
const TIMEOUTS: [Duration; 3] = [
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(120),
];
/// Time between messages about requests that failed.
const NOTE_EVERY: Duration = Duration::from_secs(10);

/// Creates clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connector {
    redirects: u32,
    timeouts: [Duration; 3],
}

impl Connector {
    /// Creates a connector whose clients follow this many redirects.
    pub(super) fn new(redirects: u32) -> Self {
        Self {
            redirects,
            timeouts: TIMEOUTS,
        }
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let allows_http = allows_http.is_some_and(|value| {
            ["1", "true", "on", "yes", "y"].contains(&value.to_ascii_lowercase().as_str())
        });
        let [connect, head, body] = self.timeouts;
        let config = Agent::config_builder()
            // A store with TLS cannot send the client on to an address without it.
            .https_only(!allows_http)
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .max_redirects(self.redirects)
            .max_redirects_will_error(false)
            .timeout_connect(Some(connect))
            .timeout_recv_response(Some(head))
            .timeout_recv_body(Some(body))
            .user_agent(concat!("espalier/", env!("CARGO_PKG_VERSION")));
        Ok(HttpClient::new(Client {
            agent: config.build().into(),
            last_note: Mutex::new(None),
        }))
    }
}

#[derive(Debug)]
struct Client {
    agent: Agent,
    /// Time of the last message about a request that failed.
    last_note: Mutex<Option<Instant>>,
}

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let place = request
            .uri()
            .authority()
            .map_or_else(String::new, |a| a.host().to_owned());
        let answer = self.send(request);
        match &answer {
            Ok(response) if is_retried(response.status()) => {
                self.tell(
                    &place,
                    &format!("answered with the status {}", response.status()),
                );
            }
            Err(e) if e.kind() != HttpErrorKind::Unknown => self.tell(&place, &e.to_string()),
            _ => {}
        }
        answer
    }
}

fn is_retried(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

impl Client {
    fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let (method, ranged) = (parts.method.clone(), parts.headers.contains_key("range"));
        let sent = match body.as_bytes() {
            Some(bytes) if !bytes.is_empty() => self
                .agent
                .run(ureq::http::Request::from_parts(parts, bytes.to_vec())),
            _ => self.agent.run(ureq::http::Request::from_parts(parts, ())),
        };
        let (parts, mut body) = sent.map_err(failed)?.into_parts();
        // The whole object in place of a part of it is not read.
        let is_unread = method == Method::HEAD || ranged && parts.status == StatusCode::OK;
        let bytes = if is_unread {
            Bytes::new()
        } else {
            read(&mut body, &parts.headers, parts.status)?
        };
        traffic::add_answer(bytes.len());
        Ok(Response::from_parts(parts, HttpResponseBody::from(bytes)))
    }

    /// Says that a request failed and is sent again, now and then.
    fn tell(&self, place: &str, what: &str) {
        // If another thread holds the lock, it is saying so.
        let Ok(mut last) = self.last_note.try_lock() else {
            return;
        };
        if last.is_none_or(|last| last.elapsed() >= NOTE_EVERY) {
            *last = Some(Instant::now());
            let what = without_secrets(what);
            note(format_args!("storage at {place}: {what}; trying again"));
        }
    }
}

/// Returns the number of bytes that the head of a response announces.
fn announced(headers: &HeaderMap, status: StatusCode) -> Option<u64> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if status == StatusCode::PARTIAL_CONTENT {
        let range = text("content-range")?.strip_prefix("bytes ")?;
        let (first, last) = range.split('/').next()?.split_once('-')?;
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        return last.checked_add(1)?.checked_sub(first);
    }
    text("content-length")?.parse().ok()
}

fn read(body: &mut Body, headers: &HeaderMap, status: StatusCode) -> Result<Bytes, HttpError> {
    let expected = announced(headers, status);
    let wrong = |kind, text: String| HttpError::new(kind, io::Error::other(text));
    if expected.is_none() && status == StatusCode::PARTIAL_CONTENT {
        let text = "expected a part of an object with its range, found another range".to_owned();
        return Err(wrong(HttpErrorKind::Unknown, text));
    }
    if let Some(expected) = expected.filter(|n| *n > MAX_BODY) {
        let text = format!("expected at most {MAX_BODY} bytes, found {expected} announced");
        return Err(wrong(HttpErrorKind::Unknown, text));
    }
    let mut bytes = Vec::with_capacity(expected.unwrap_or(0) as usize);
    // One byte more than expected shows that there are too many.
    let most = expected.unwrap_or(MAX_BODY) + 1;
    let copied = body.as_reader().take(most).read_to_end(&mut bytes);
    copied.map_err(|e| failed(ureq::Error::from(e)))?;
    match expected {
        Some(expected) if bytes.len() as u64 != expected => {
            let text = format!("expected {expected} bytes, found {} of them", bytes.len());
            Err(wrong(HttpErrorKind::Interrupted, text))
        }
        None if bytes.len() as u64 > MAX_BODY => {
            let text = format!("expected at most {MAX_BODY} bytes, found more");
            Err(wrong(HttpErrorKind::Unknown, text))
        }
        _ => Ok(bytes.into()),
    }
}

/// Sorts an error by whether the request may succeed when it is sent again.
fn failed(error: ureq::Error) -> HttpError {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
    let kind = match &error {
        ureq::Error::Timeout(_) => HttpErrorKind::Timeout,
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => HttpErrorKind::Connect,
        ureq::Error::Io(e) => match e.kind() {
            TimedOut => HttpErrorKind::Timeout,
            ConnectionRefused | HostUnreachable | NetworkUnreachable => HttpErrorKind::Connect,
            _ => HttpErrorKind::Interrupted,
        },
        ureq::Error::Protocol(_) => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use object_store::client::HttpRequestBody;
    use ureq::http::Request;

    use super::*;

    /// Starts a server that gives each connection the next of these answers, and none for an empty one.
    fn serve(answers: Vec<String>) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let served = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&served);
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for (answer, stream) in answers.into_iter().zip(listener.incoming().flatten()) {
                count.fetch_add(1, Ordering::SeqCst);
                let mut request = [0; 4096];
                let _ = (&stream).read(&mut request);
                if !answer.is_empty() {
                    let _ = (&stream).write_all(answer.as_bytes());
                }
                open.push(stream);
            }
        });
        (address, served)
    }

    fn get(url: &str, allow_http: bool, redirects: u32) -> Result<HttpResponse, HttpError> {
        let short = Duration::from_millis(300);
        let connector = Connector {
            redirects,
            timeouts: [short; 3],
        };
        let options = ClientOptions::new().with_allow_http(allow_http);
        let client = connector.connect(&options).unwrap();
        let request = Request::get(url).header("range", "bytes=0-3");
        let request = request.body(HttpRequestBody::empty()).unwrap();
        pollster::block_on(client.execute(request))
    }

    fn kind(url: &str) -> HttpErrorKind {
        get(url, true, 0).unwrap_err().kind()
    }

    #[test]
    fn what_may_succeed_later_is_told_from_what_will_not() {
        let part = "HTTP/1.1 206 Partial Content\r\nContent-Length: 4\r\nContent-Range: bytes 0-3/9\r\n\r\n";
        let (address, _) = serve(vec![
            String::new(),
            format!("{part}ab"),
            part.replace("0-3/9", "0-4/9") + "abcd",
            part.replace("0-3/9", "0-99999999999/9") + "abcd",
            part.replace("0-3/9", "0-18446744073709551615/9") + "abcd",
        ]);
        assert_eq!(kind(&address), HttpErrorKind::Timeout);
        // Half of the bytes: the connection stays open, or breaks.
        let half = kind(&address);
        assert!(
            [HttpErrorKind::Timeout, HttpErrorKind::Interrupted].contains(&half),
            "{half:?}"
        );
        assert_eq!(kind(&address), HttpErrorKind::Interrupted);
        assert_eq!(kind(&address), HttpErrorKind::Unknown);
        assert_eq!(kind(&address), HttpErrorKind::Unknown);
        // Nobody listens.
        let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap();
        assert_eq!(kind(&format!("http://{closed}")), HttpErrorKind::Connect);
    }

    #[test]
    fn a_store_with_tls_cannot_lead_to_an_open_address() {
        let (elsewhere, reached) =
            serve(vec!["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into()]);
        let error = get(&elsewhere, false, 5).unwrap_err();
        assert_eq!(
            (error.kind(), reached.load(Ordering::SeqCst)),
            (HttpErrorKind::Unknown, 0)
        );
        // A signed request is not led anywhere, since its store allows no redirects.
        let redirect =
            format!("HTTP/1.1 302 Found\r\nLocation: {elsewhere}/\r\nContent-Length: 0\r\n\r\n");
        let (store, _) = serve(vec![redirect.clone(), redirect]);
        assert_eq!(get(&store, true, 0).unwrap().status(), 302);
        assert_eq!(reached.load(Ordering::SeqCst), 0);
        assert_eq!(get(&store, true, 1).unwrap().status(), 200);
        assert_eq!(reached.load(Ordering::SeqCst), 1);
    }
}

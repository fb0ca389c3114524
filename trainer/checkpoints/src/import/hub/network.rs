//! HTTP requests to the hub.

use std::fs;
use std::time::Duration;

use ureq::{Agent, Body, http::Response};

use super::cache::home;

const ENDPOINT: &str = "https://huggingface.co";
/// Timeout for connecting to the hub; three times as long for the head of a response. Downloads
/// have no timeout.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the URL of the hub.
pub(super) fn endpoint() -> String {
    let set = std::env::var("HF_ENDPOINT").ok().filter(|e| !e.is_empty());
    set.map_or_else(
        || ENDPOINT.to_owned(),
        |e| e.trim_end_matches('/').to_owned(),
    )
}

fn token() -> Option<String> {
    let set = std::env::var("HF_TOKEN").ok();
    let stored = || fs::read_to_string(home().ok()?.join("token")).ok();
    let token = set.or_else(stored)?.trim().to_owned();
    (!token.is_empty()).then_some(token)
}

/// Returns the client for a hub. A hub that is reached by TLS cannot send the client on to an
/// address without it, where anybody on the way could change configurations, which have no hash.
pub(super) fn agent(endpoint: &str) -> Agent {
    let version = concat!("espalier/", env!("CARGO_PKG_VERSION"));
    let config = Agent::config_builder()
        .https_only(endpoint.starts_with("https://"))
        .timeout_connect(Some(TIMEOUT))
        .timeout_recv_response(Some(3 * TIMEOUT))
        .user_agent(version);
    config.build().into()
}

/// Requests the bytes of a URL from `from` on. The token is not sent on when the hub redirects.
pub(super) fn request(
    agent: &Agent,
    url: &str,
    from: u64,
) -> Result<Response<Body>, Box<ureq::Error>> {
    let mut builder = agent.get(url);
    if from > 0 {
        builder = builder.header("range", format!("bytes={from}-"));
    }
    if let Some(token) = token() {
        builder = builder.header("authorization", format!("Bearer {token}"));
    }
    builder.call().map_err(Box::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_with_tls_cannot_send_the_client_to_an_address_without_it() {
        assert!(agent(ENDPOINT).config().https_only());
        let error = request(&agent(ENDPOINT), "http://127.0.0.1:9/x", 0).unwrap_err();
        assert!(
            matches!(*error, ureq::Error::RequireHttpsOnly(_)),
            "{error}"
        );
        // A mirror in a laboratory may have none.
        assert!(!agent("http://127.0.0.1:9").config().https_only());
    }
}

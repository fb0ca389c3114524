//! What the page and its workers say to each other, and the links that visitors open.

use espalier_web::messages::protocol::{Request, Response};
use espalier_web::messages::query::{Query, Reply};
use espalier_web::state::link::{Link, MAX_MODELS};
use serde_json::{from_str, to_string};

/// Reads a text as each kind of message, and as the query of a link.
///
/// # Panics
/// If a message cannot be written, or if a link that was written means something else.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Ok(request) = from_str::<Request>(text) {
        assert!(to_string(&request).is_ok(), "{request:?}");
    }
    if let Ok(response) = from_str::<Response>(text) {
        assert!(to_string(&response).is_ok(), "{response:?}");
    }
    if let Ok(query) = from_str::<Query>(text) {
        assert!(to_string(&query).is_ok(), "{query:?}");
    }
    if let Ok(reply) = from_str::<Reply>(text) {
        assert!(to_string(&reply).is_ok(), "{reply:?}");
    }
    let link = Link::from_query(text);
    assert!(link.models.len() <= MAX_MODELS);
    assert_eq!(Link::from_query(&link.to_query()), link);
}

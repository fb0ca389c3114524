//! Fetches a file, reports progress in bytes, and resumes after a broken connection.

use futures::FutureExt as _;
use gloo_net::http::{Request, Response};
use gloo_timers::future::TimeoutFuture;
use js_sys::{Reflect, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{ReadableStreamDefaultReader, RequestCache};

use crate::ui_error::UiError;

/// Attempts per file, including the first.
const TRIES: u32 = 4;
/// Milliseconds before the second attempt; doubled for each further one.
const PAUSE_MS: u32 = 400;
/// Milliseconds without a byte after which a connection counts as broken.
const STALL_MS: u32 = 20_000;

/// A file to fetch.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Absolute address.
    pub url: &'a str,
    /// Name shown in messages.
    pub name: &'a str,
    /// Expected length in bytes; 0 if unknown.
    pub bytes: u64,
    /// How to treat the browser's HTTP cache, which may hold an older version.
    pub cache: RequestCache,
}

/// Fetches a whole file. `arrived` is called with the number of bytes received so far.
///
/// # Errors
/// When the file is not on the server, or the connection broke in all [`TRIES`] attempts.
pub async fn whole(wanted: Wanted<'_>, mut arrived: impl FnMut(u64)) -> Result<Vec<u8>, UiError> {
    let mut held = Vec::with_capacity(usize::try_from(wanted.bytes).unwrap_or(0));
    let mut pause = PAUSE_MS;
    let mut tried = 1;
    loop {
        match attempt(wanted, &mut held, &mut arrived).await {
            Ok(()) => return Ok(held),
            Err(Fault::Final(error)) => return Err(error),
            Err(Fault::Broken(reason)) if tried == TRIES => {
                return Err(UiError::network(wanted.name, reason));
            }
            Err(Fault::Broken(_)) => {
                TimeoutFuture::new(pause).await;
                pause *= 2;
                tried += 1;
            }
        }
    }
}

/// Why an attempt ended.
enum Fault {
    /// Trying again would not help.
    Final(UiError),
    /// The connection broke.
    Broken(String),
}

async fn attempt(
    wanted: Wanted<'_>,
    held: &mut Vec<u8>,
    arrived: &mut impl FnMut(u64),
) -> Result<(), Fault> {
    let mut request = Request::get(wanted.url).cache(wanted.cache);
    if !held.is_empty() {
        request = request.header("Range", &format!("bytes={}-", held.len()));
    }
    let response = request
        .send()
        .await
        .map_err(|error| Fault::Broken(error.to_string()))?;
    match response.status() {
        // The remainder of a partial file.
        206 => {}
        // The whole file: the server may ignore the requested range.
        200 => held.clear(),
        // The server is overloaded or restarting: the same request may succeed later.
        status @ (408 | 425 | 429 | 500..) => {
            return Err(Fault::Broken(format!("the server answered {status}")));
        }
        status => return Err(Fault::Final(UiError::missing_file(wanted.name, status))),
    }
    drain(&response, held, arrived).await
}

async fn drain(
    response: &Response,
    held: &mut Vec<u8>,
    arrived: &mut impl FnMut(u64),
) -> Result<(), Fault> {
    let broken = |error: JsValue| Fault::Broken(in_words(&error));
    let Some(body) = response.body() else {
        // An empty response: the later check of length and hash reports it.
        return Ok(());
    };
    let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    loop {
        let next = JsFuture::from(reader.read()).fuse();
        let stall = TimeoutFuture::new(STALL_MS).fuse();
        futures::pin_mut!(next, stall);
        let piece = futures::select! {
            piece = next => piece.map_err(broken)?,
            () = stall => {
                let _ = reader.cancel();
                return Err(Fault::Broken("no byte for 20 seconds".into()));
            }
        };
        let done = Reflect::get(&piece, &"done".into()).map_err(broken)?;
        if done.is_truthy() {
            return Ok(());
        }
        let value = Reflect::get(&piece, &"value".into()).map_err(broken)?;
        let bytes: Uint8Array = value.unchecked_into();
        let from = held.len();
        held.resize(from + bytes.length() as usize, 0);
        bytes.copy_to(&mut held[from..]);
        arrived(held.len() as u64);
    }
}

/// Returns the message of a thrown JavaScript value.
#[must_use]
pub fn in_words(error: &JsValue) -> String {
    error
        .dyn_ref::<js_sys::Error>()
        .map(|error| String::from(error.message()))
        .or_else(|| error.as_string())
        .unwrap_or_else(|| format!("{error:?}"))
}

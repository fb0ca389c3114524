//! Fetches a file, reports progress in bytes, and resumes after a broken connection.

use futures::FutureExt as _;
use gloo_net::http::{Request, Response};
use gloo_timers::future::TimeoutFuture;
use js_sys::{Reflect, Uint8Array};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{ReadableStreamDefaultReader, RequestCache};

use super::js::message_of;
use crate::ui_error::UiError;

/// Attempts per file, including the first.
const MAX_ATTEMPTS: u32 = 4;
/// Milliseconds before the second attempt; doubled for each further one.
const PAUSE_MS: u32 = 400;
/// Milliseconds without a byte after which a connection counts as broken.
const STALL_MS: u32 = 20_000;

/// A file to fetch.
#[derive(Clone, Copy, Debug)]
pub struct FileRequest<'a> {
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
/// When the file is not on the server, or the connection broke in all [`MAX_ATTEMPTS`] attempts.
pub async fn fetch_file(
    file: FileRequest<'_>,
    mut arrived: impl FnMut(u64),
) -> Result<Vec<u8>, UiError> {
    let mut received = Vec::with_capacity(usize::try_from(file.bytes).unwrap_or(0));
    let mut pause = PAUSE_MS;
    let mut attempts = 1;
    loop {
        match attempt(file, &mut received, &mut arrived).await {
            Ok(()) => return Ok(received),
            Err(AttemptError::Final(error)) => return Err(error),
            Err(AttemptError::Retryable(reason)) if attempts == MAX_ATTEMPTS => {
                return Err(UiError::network(file.name, reason));
            }
            Err(AttemptError::Retryable(_)) => {
                TimeoutFuture::new(pause).await;
                pause *= 2;
                attempts += 1;
            }
        }
    }
}

/// Fetches a small file in one attempt; `name` is shown in messages.
///
/// # Errors
/// When the file is not on the server, or the connection breaks.
pub async fn fetch_small(url: &str, name: &str) -> Result<Vec<u8>, UiError> {
    let broken = |error: gloo_net::Error| UiError::network(name, error.to_string());
    let response = Request::get(url).send().await.map_err(broken)?;
    if !response.ok() {
        return Err(UiError::missing_file(name, response.status()));
    }
    response.binary().await.map_err(broken)
}

/// Why an attempt ended.
enum AttemptError {
    /// Trying again would not help.
    Final(UiError),
    /// The connection broke or the server was busy.
    Retryable(String),
}

async fn attempt(
    file: FileRequest<'_>,
    received: &mut Vec<u8>,
    arrived: &mut impl FnMut(u64),
) -> Result<(), AttemptError> {
    let mut request = Request::get(file.url).cache(file.cache);
    if !received.is_empty() {
        request = request.header("Range", &format!("bytes={}-", received.len()));
    }
    let response = request
        .send()
        .await
        .map_err(|error| AttemptError::Retryable(error.to_string()))?;
    match response.status() {
        // The remainder of a partial file.
        206 => {}
        // The whole file: the server may ignore the requested range.
        200 => received.clear(),
        // The server is overloaded or restarting: the same request may succeed later.
        status @ (408 | 425 | 429 | 500..) => {
            return Err(AttemptError::Retryable(format!(
                "the server answered {status}"
            )));
        }
        status => {
            return Err(AttemptError::Final(UiError::missing_file(
                file.name, status,
            )));
        }
    }
    read_body(&response, received, arrived).await
}

async fn read_body(
    response: &Response,
    received: &mut Vec<u8>,
    arrived: &mut impl FnMut(u64),
) -> Result<(), AttemptError> {
    let broken = |error: JsValue| AttemptError::Retryable(message_of(&error));
    let Some(body) = response.body() else {
        // An empty response: the later check of length and hash reports it.
        return Ok(());
    };
    let reader: ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    loop {
        let next = JsFuture::from(reader.read()).fuse();
        let stall = TimeoutFuture::new(STALL_MS).fuse();
        futures::pin_mut!(next, stall);
        let chunk = futures::select! {
            chunk = next => chunk.map_err(broken)?,
            () = stall => {
                let _ = reader.cancel();
                return Err(AttemptError::Retryable("no byte for 20 seconds".into()));
            }
        };
        let done = Reflect::get(&chunk, &"done".into()).map_err(broken)?;
        if done.is_truthy() {
            return Ok(());
        }
        let value = Reflect::get(&chunk, &"value".into()).map_err(broken)?;
        let bytes: Uint8Array = value.unchecked_into();
        let start = received.len();
        received.resize(start + bytes.length() as usize, 0);
        bytes.copy_to(&mut received[start..]);
        arrived(received.len() as u64);
    }
}

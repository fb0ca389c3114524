//! The worker's end of the wire: owns the model and answers one request after the other.

use std::collections::VecDeque;
use std::rc::Rc;

use espalier_core::caption::Captioner;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use futures::stream::StreamExt as _;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::Closure;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

use super::ask::{Ask, AskId, Reply};
use super::clock::now;
use super::device;
use super::inquiry::{Inquiry, is_fatal};
use super::protocol::{Backend, EngineInfo, PhotoId, Progress, Request, Response, Stage};
use crate::load::bundle;
use crate::ui_error::{Cause, UiError};

/// Cosine below which a device computes wrongly.
const TRUSTED: f32 = 0.995;

/// A request and, for a photo, its bytes.
type Job = (Request, Option<Vec<u8>>);

/// Listens for requests until the worker is ended. Called once, by the worker's program.
pub fn serve(backend: Backend) {
    std::panic::set_hook(Box::new(|panic| {
        lost(panic.payload_as_str().unwrap_or("panic").to_owned());
    }));
    let (inbox, jobs) = unbounded::<Job>();
    let listen = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
        match understood(&message) {
            // The receiver lives as long as the worker.
            Ok(job) => drop(inbox.unbounded_send(job)),
            Err(error) => say(&Response::Failed {
                id: None,
                fatal: true,
                error,
            }),
        }
    });
    if let Some(scope) = scope() {
        scope.set_onmessage(Some(listen.as_ref().unchecked_ref()));
    }
    // Lives as long as the worker.
    listen.forget();
    wasm_bindgen_futures::spawn_local(work(backend, jobs));
    say(&Response::Booted);
}

/// The loop: a photo that has been overtaken by a newer one is answered, but not read.
async fn work(backend: Backend, mut inbox: UnboundedReceiver<Job>) {
    let mut inquiry = None;
    let mut waiting: VecDeque<Job> = VecDeque::new();
    loop {
        if waiting.is_empty() {
            match inbox.next().await {
                Some(job) => waiting.push_back(job),
                None => return,
            }
        }
        // Messages that came while the engine was busy are delivered only when the event loop gets
        // a turn.
        TimeoutFuture::new(0).await;
        while let Ok(job) = inbox.try_recv() {
            waiting.push_back(job);
        }
        let Some((request, photo)) = waiting.pop_front() else {
            continue;
        };
        match request {
            Request::Load { manifest_url } => match load(backend, &manifest_url).await {
                Ok((ready, info)) => {
                    inquiry = Some(ready);
                    say(&Response::Ready(info));
                }
                Err(error) => say(&Response::Failed {
                    id: None,
                    fatal: true,
                    error,
                }),
            },
            Request::Caption { id } => {
                let overtaken = waiting
                    .iter()
                    .any(|(next, _)| matches!(next, Request::Caption { .. }));
                if overtaken {
                    say(&Response::Superseded { id });
                    continue;
                }
                let photo = photo.unwrap_or_default();
                say(&answer(inquiry.as_mut(), id, &photo).await);
            }
            Request::Ask { id, ask } => {
                reply(inquiry.as_mut(), id, ask, &photo.unwrap_or_default()).await;
            }
        }
    }
}

async fn answer(inquiry: Option<&mut Inquiry>, id: PhotoId, photo: &[u8]) -> Response {
    let result = match inquiry {
        Some(inquiry) => inquiry.read(id, photo, None).await,
        None => Err(too_early()),
    };
    match result.and_then(|result| {
        serde_json::to_string_pretty(&result)
            .map_err(|error| UiError::mixed_versions(error.to_string()))
    }) {
        Ok(json) => Response::Result { id, json },
        // A photo at fault leaves the engine fit for the next one; a device at fault does not.
        Err(error) => Response::Failed {
            id: Some(id),
            fatal: error.cause != Cause::Photo,
            error,
        },
    }
}

/// Answers a question; an engine that broke over it is told to be lost.
async fn reply(inquiry: Option<&mut Inquiry>, id: AskId, ask: Ask, photo: &[u8]) {
    let report = |loaded, total| {
        let reply = Reply::Fetching { loaded, total };
        say(&Response::Told { id, reply });
    };
    let answer = match inquiry {
        Some(inquiry) => inquiry.answer(ask, photo, report).await,
        None => Err(too_early()),
    };
    let broken = answer
        .as_ref()
        .err()
        .filter(|error| is_fatal(error))
        .cloned();
    let reply = match answer {
        Ok(told) => Reply::Done { told },
        Err(error) => Reply::Failed { error },
    };
    say(&Response::Told { id, reply });
    if let Some(error) = broken {
        say(&Response::Failed {
            id: None,
            fatal: true,
            error,
        });
    }
}

fn too_early() -> UiError {
    UiError::mixed_versions("a photo came before the model was asked for")
}

async fn load(backend: Backend, manifest_url: &str) -> Result<(Inquiry, EngineInfo), UiError> {
    let told = |error| UiError::from(&error);
    let bundle = bundle::load(manifest_url, |progress| say(&Response::Progress(progress))).await?;
    step(Stage::SelfTest);
    let device = device::open(backend, lost).await?;
    let captioner = Captioner::open(&bundle.manifest, &bundle.files, &device).map_err(told)?;
    drop(bundle);
    let cosine = captioner.self_test().await.map_err(told)?;
    // Written so that a cosine that is not a number fails too.
    if cosine.is_nan() || cosine < TRUSTED {
        return Err(UiError::wrong_self_test(cosine, TRUSTED));
    }
    step(Stage::WarmUp);
    let start = now();
    captioner.self_test().await.map_err(told)?;
    let info = captioner.info();
    let info = EngineInfo {
        backend,
        model: info.name.clone(),
        version: info.version.clone(),
        sha256: info.sha256.clone(),
        self_test: cosine,
        warm_ms: now() - start,
    };
    Ok((
        Inquiry::new(backend, manifest_url, Rc::new(captioner), device),
        info,
    ))
}

fn step(stage: Stage) {
    say(&Response::Progress(Progress {
        stage,
        loaded: 0,
        total: 0,
        file: None,
    }));
}

/// Tells the page that the engine is gone: a panic, or a graphics device that went away.
fn lost(said: String) {
    say(&Response::Failed {
        id: None,
        fatal: true,
        error: UiError::died(said),
    });
}

fn say(response: &Response) {
    // Neither can fail in a worker: the types serialise, and text can be posted.
    if let (Some(scope), Ok(text)) = (scope(), serde_json::to_string(response)) {
        let _ = scope.post_message(&text.into());
    }
}

fn scope() -> Option<DedicatedWorkerGlobalScope> {
    js_sys::global().dyn_into().ok()
}

fn understood(message: &MessageEvent) -> Result<Job, UiError> {
    let parts = Array::from(&message.data());
    let text = parts.get(0).as_string().unwrap_or_default();
    let request =
        serde_json::from_str(&text).map_err(|error| UiError::mixed_versions(error.to_string()))?;
    let photo = parts.get(1);
    let bytes = photo.is_object().then(|| Uint8Array::new(&photo).to_vec());
    Ok((request, bytes))
}

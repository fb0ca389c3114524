//! The worker's end of the wire: owns the model and answers one request after the other.

use std::collections::{BTreeMap, VecDeque};

use espalier_core::bundle::sha256_hex;
use espalier_core::caption::{CaptionResult, Captioner, PhotoInfo};
use espalier_core::input::decode;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use futures::stream::StreamExt as _;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::Closure;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

use super::device;
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
    let mut captioner = None;
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
                    captioner = Some(ready);
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
                say(&answer(backend, captioner.as_ref(), id, &photo).await);
            }
        }
    }
}

async fn answer(
    backend: Backend,
    captioner: Option<&Captioner>,
    id: PhotoId,
    photo: &[u8],
) -> Response {
    let result = match captioner {
        Some(captioner) => caption(backend, captioner, photo).await,
        None => Err(UiError::mixed_versions(
            "a photo came before the model was asked for",
        )),
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

/// Reads a photo: the same decoding, the same preprocessing and the same ranking as the command
/// line's.
async fn caption(
    backend: Backend,
    captioner: &Captioner,
    photo: &[u8],
) -> Result<CaptionResult, UiError> {
    let told = |error| UiError::from(&error);
    let mut clock = Clock::start();
    let picture = decode(photo).map_err(told)?;
    let image = PhotoInfo {
        width: picture.width(),
        height: picture.height(),
        sha256: sha256_hex(photo),
    };
    clock.lap("decode");
    let embedding = captioner
        .embed(std::slice::from_ref(&picture))
        .await
        .map_err(told)?;
    clock.lap("embed");
    let caption = captioner.rank(&embedding[0]);
    clock.lap("rank");
    Ok(CaptionResult {
        model: captioner.info().clone(),
        backend: backend.as_str().to_owned(),
        image,
        ladder: caption.ladder,
        taxonomy: caption.taxonomy,
        timing_ms: clock.stop(),
    })
}

async fn load(backend: Backend, manifest_url: &str) -> Result<(Captioner, EngineInfo), UiError> {
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
    Ok((captioner, info))
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

/// Milliseconds since the worker began.
fn now() -> f64 {
    scope()
        .and_then(|scope| scope.performance())
        .map_or(0.0, |clock| clock.now())
}

/// Times of the stages of one photo.
struct Clock {
    start: f64,
    last: f64,
    laps: BTreeMap<String, f64>,
}

impl Clock {
    fn start() -> Self {
        let start = now();
        Self {
            start,
            last: start,
            laps: BTreeMap::new(),
        }
    }

    fn lap(&mut self, stage: &str) {
        let now = now();
        self.laps.insert(stage.to_owned(), round(now - self.last));
        self.last = now;
    }

    fn stop(mut self) -> BTreeMap<String, f64> {
        self.laps
            .insert("total".to_owned(), round(now() - self.start));
        self.laps
    }
}

/// Browsers blur their clocks; more than a tenth of a millisecond would be made up.
fn round(milliseconds: f64) -> f64 {
    (milliseconds * 10.0).round() / 10.0
}

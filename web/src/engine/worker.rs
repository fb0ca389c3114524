//! The worker's side of the protocol: owns the model and answers one request after the other.

use std::collections::VecDeque;

use espalier_core::bundle::{BundleFiles, Part, VerifiedFile};
use espalier_core::caption::BundleLoader;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::stream::StreamExt as _;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::Closure;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

use super::clock::now;
use super::device;
use super::photo_store::PhotoStore;
use super::query_handler::{QueryHandler, is_fatal};
use crate::load::bundle::RemoteModel;
use crate::messages::ask::{Ask, AskId, Reply};
use crate::messages::protocol::{Backend, EngineInfo, Progress, Request, Response, Stage};
use crate::ui_error::{Cause, UiError};

/// Minimum cosine of the self-test; below it, the device counts as computing wrongly.
const TRUSTED: f32 = 0.995;

/// A loaded model.
struct Open {
    photo_store: PhotoStore,
    query_handler: QueryHandler,
}

/// A task of the worker.
enum Job {
    /// A request and, for a photo, its bytes.
    Asked(Request, Option<Vec<u8>>),
    /// A later shard of the captions has arrived.
    Grown(u32, BundleFiles),
}

impl Job {
    const fn is_photo(&self) -> bool {
        matches!(self, Self::Asked(Request::Caption { .. }, _))
    }
}

/// Handles requests until the worker is terminated. Called once, by the worker's program.
pub fn serve(backend: Backend) {
    std::panic::set_hook(Box::new(|panic| {
        lost(panic.payload_as_str().unwrap_or("panic").to_owned());
    }));
    let (inbox, jobs) = unbounded::<Job>();
    let own = inbox.clone();
    let listen = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
        match understood(&message) {
            // The receiver lives as long as the worker.
            Ok(job) => drop(inbox.unbounded_send(job)),
            Err(error) => say(&failed(error)),
        }
    });
    if let Some(scope) = scope() {
        scope.set_onmessage(Some(listen.as_ref().unchecked_ref()));
    }
    // Lives as long as the worker.
    listen.forget();
    wasm_bindgen_futures::spawn_local(work(backend, own, jobs));
    say(&Response::Booted);
}

/// Runs the worker's loop. A photo that is superseded by a newer one is answered but not read.
async fn work(backend: Backend, own: UnboundedSender<Job>, mut inbox: UnboundedReceiver<Job>) {
    let mut open: Option<Open> = None;
    let mut waiting: VecDeque<Job> = VecDeque::new();
    loop {
        if waiting.is_empty() {
            match inbox.next().await {
                Some(job) => waiting.push_back(job),
                None => return,
            }
        }
        // Yields to the event loop, which then delivers the messages that came in the meantime.
        TimeoutFuture::new(0).await;
        while let Ok(job) = inbox.try_recv() {
            waiting.push_back(job);
        }
        let Some(job) = waiting.pop_front() else {
            continue;
        };
        match job {
            Job::Asked(Request::Load { manifest_url }, _) => {
                match load(backend, &manifest_url).await {
                    Ok((found, ready, info)) => {
                        open = Some(ready);
                        say(&Response::Ready(info));
                        wasm_bindgen_futures::spawn_local(finer(found, own.clone()));
                    }
                    Err(error) => say(&failed(error)),
                }
            }
            Job::Asked(Request::Caption { id }, _) if waiting.iter().any(Job::is_photo) => {
                say(&Response::Superseded { id });
            }
            Job::Asked(Request::Ask { id, ask }, photo) => {
                reply(open.as_mut(), id, ask, &photo.unwrap_or_default()).await;
            }
            Job::Asked(request, photo) => {
                say(&answer(open.as_mut(), request, photo.unwrap_or_default()).await);
            }
            Job::Grown(shard, files) => {
                match open
                    .as_mut()
                    .map(|open| open.photo_store.grow(shard, &files))
                {
                    Some(Ok(answers)) => answers.iter().for_each(say),
                    Some(Err(error)) => say(&Response::Coarse { error }),
                    None => {}
                }
            }
        }
    }
}

async fn answer(open: Option<&mut Open>, request: Request, photo: Vec<u8>) -> Response {
    let Some(Open { photo_store, .. }) = open else {
        return failed(too_early());
    };
    let (id, result) = match request {
        Request::Caption { id } => (id, photo_store.caption(id, &photo).await),
        Request::Rank { id, below } => (id, photo_store.rank(id, below)),
        Request::Phrase { id, json } => (id, photo_store.phrase(id, &json)),
        Request::Placement { id, node } => (id, photo_store.place(id, &node)),
        Request::Load { .. } | Request::Ask { .. } => {
            return failed(UiError::mixed_versions("a second model"));
        }
    };
    // After a faulty photo the engine stays usable; after a device error it does not.
    result.unwrap_or_else(|error| Response::Failed {
        id: Some(id),
        fatal: error.cause != Cause::Photo,
        error,
    })
}

/// Answers a query. Also reports the engine as failed if the error is fatal.
async fn reply(open: Option<&mut Open>, id: AskId, ask: Ask, photo: &[u8]) {
    let report = |loaded, total| {
        let reply = Reply::Fetching { loaded, total };
        say(&Response::Told { id, reply });
    };
    let answer = match open {
        Some(Open {
            photo_store,
            query_handler,
        }) => query_handler.answer(photo_store, ask, photo, report).await,
        None => Err(too_early()),
    };
    let broken = answer.as_ref().err().filter(|error| is_fatal(error));
    let broken = broken.cloned().map(failed);
    let reply = match answer {
        Ok(told) => Reply::Done { told },
        Err(error) => Reply::Failed { error },
    };
    say(&Response::Told { id, reply });
    broken.iter().for_each(say);
}

fn too_early() -> UiError {
    UiError::mixed_versions("a photo came before the model was asked for")
}

/// Fetches a model and prepares it. Files of the image encoder are moved to the device and dropped
/// as they arrive, so that a large model is never held twice.
async fn load(
    backend: Backend,
    manifest_url: &str,
) -> Result<(RemoteModel, Open, EngineInfo), UiError> {
    let told = |error| UiError::from(&error);
    step(Stage::Manifest);
    let found = RemoteModel::at(manifest_url).await?;
    let device = device::open(backend, lost).await?;
    let mut bundle_loader = Some(BundleLoader::new(&found.bytes, &device).map_err(told)?);
    let report = |progress| say(&Response::Progress(progress));
    let take = |file: VerifiedFile| {
        if let Some(held) = bundle_loader.take() {
            bundle_loader = Some(held.with(file).map_err(told)?);
        }
        Ok(())
    };
    found.first(report, take).await?;
    step(Stage::SelfTest);
    let Some(bundle_loader) = bundle_loader else {
        return Err(UiError::mixed_versions("a model that was never opened"));
    };
    let captioner = bundle_loader.finish().map_err(told)?;
    let begun = now();
    let cosine = captioner.self_test().await.map_err(told)?;
    // A NaN fails too.
    if cosine.is_nan() || cosine < TRUSTED {
        return Err(UiError::wrong_self_test(cosine, TRUSTED));
    }
    let mut warm_ms = now() - begun;
    if backend == Backend::WebGpu {
        // The first image compiled the kernels; the second gives the time per image.
        step(Stage::WarmUp);
        let begun = now();
        captioner.self_test().await.map_err(told)?;
        warm_ms = now() - begun;
    }
    let info = captioner.info();
    let info = EngineInfo {
        backend,
        model: info.name.clone(),
        version: info.version.clone(),
        sha256: info.sha256.clone(),
        self_test: cosine,
        warm_ms,
    };
    let open = Open {
        photo_store: PhotoStore::new(backend, found.manifest.clone(), captioner),
        query_handler: QueryHandler::new(found.clone(), device),
    };
    Ok((found, open, info))
}

/// Fetches the finer captions while photos are already being read. If the visitor is offline by
/// then, the general captions stay in use and the rest is fetched at the next visit.
async fn finer(found: RemoteModel, own: UnboundedSender<Job>) {
    let files = found.manifest.finer_of(&[Part::Captions]);
    for shard in files.chunk_by(|a, b| a.shard == b.shard) {
        let mut arrived = BundleFiles::default();
        for file in shard {
            let kept = found.file(file, |_| ()).await;
            let kept = kept.and_then(|file| arrived.insert(file).map_err(|e| UiError::from(&e)));
            if let Err(error) = kept {
                return say(&Response::Coarse { error });
            }
        }
        // The receiver lives as long as the worker.
        let _ = own.unbounded_send(Job::Grown(shard[0].shard, arrived));
    }
    found.sweep().await;
}

fn step(stage: Stage) {
    say(&Response::Progress(Progress {
        stage,
        loaded: 0,
        total: 0,
        file: None,
    }));
}

fn failed(error: UiError) -> Response {
    Response::Failed {
        id: None,
        fatal: true,
        error,
    }
}

/// Reports to the page that the engine is lost: a panic, or a lost graphics device.
fn lost(said: String) {
    say(&failed(UiError::died(said)));
}

fn say(response: &Response) {
    // Cannot fail in a worker: the types are serialisable, and text can be posted.
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
    Ok(Job::Asked(request, bytes))
}

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

use super::device;
use super::photo_store::PhotoStore;
use super::query_handler::QueryHandler;
use crate::load::bundle::RemoteModel;
use crate::load::js::now;
use crate::messages::protocol::{BUILD, Backend, EngineInfo, Progress, Request, Response, Stage};
use crate::messages::query::{Query, QueryId, Reply};
use crate::ui_error::{Cause, UiError};

/// A task of the worker.
enum Job {
    /// A request and, for a photo, its bytes.
    Request(Request, Option<Vec<u8>>),
    /// A later shard of the captions has arrived.
    CaptionsArrived(u32, BundleFiles),
}

impl Job {
    const fn is_photo(&self) -> bool {
        matches!(self, Self::Request(Request::Caption { .. }, _))
    }
}

/// Handles requests until the worker is terminated. Called once, by the worker's program.
pub fn serve(backend: Backend) {
    std::panic::set_hook(Box::new(|panic| {
        report_lost(panic.payload_as_str().unwrap_or("panic").to_owned());
    }));
    let (inbox, jobs) = unbounded::<Job>();
    let own_inbox = inbox.clone();
    let listen = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
        match parse_message(&message) {
            // The receiver lives as long as the worker.
            Ok(job) => drop(inbox.unbounded_send(job)),
            Err(error) => post(&fatal_failure(error)),
        }
    });
    if let Some(scope) = scope() {
        scope.set_onmessage(Some(listen.as_ref().unchecked_ref()));
    }
    // Lives as long as the worker.
    listen.forget();
    wasm_bindgen_futures::spawn_local(work(backend, own_inbox, jobs));
    post(&Response::Booted);
}

/// Runs the worker's loop. A photo that is superseded by a newer one is answered but not read.
async fn work(
    backend: Backend,
    own_inbox: UnboundedSender<Job>,
    mut inbox: UnboundedReceiver<Job>,
) {
    let mut model: Option<QueryHandler> = None;
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
            Job::Request(
                Request::Load {
                    manifest_url,
                    build,
                },
                _,
            ) => match load(backend, &manifest_url, build.as_deref()).await {
                Ok((remote, ready, info)) => {
                    model = Some(ready);
                    post(&Response::Ready(info));
                    wasm_bindgen_futures::spawn_local(load_finer_captions(
                        remote,
                        own_inbox.clone(),
                    ));
                }
                Err(error) => post(&fatal_failure(error)),
            },
            Job::Request(Request::Caption { id }, _) if waiting.iter().any(Job::is_photo) => {
                post(&Response::Superseded { id });
            }
            Job::Request(Request::Query { id, query }, photo) => {
                reply(model.as_mut(), id, query, &photo.unwrap_or_default()).await;
            }
            Job::Request(request, photo) => {
                post(&answer(model.as_mut(), request, photo.unwrap_or_default()).await);
            }
            Job::CaptionsArrived(shard, files) => {
                let open = model.as_mut();
                match open.map(|model| model.photo_store.grow(shard, &files)) {
                    Some(Ok(answers)) => answers.iter().for_each(post),
                    Some(Err(error)) => post(&Response::Coarse { error }),
                    None => {}
                }
            }
        }
    }
}

async fn answer(model: Option<&mut QueryHandler>, request: Request, photo: Vec<u8>) -> Response {
    let Some(QueryHandler { photo_store, .. }) = model else {
        return fatal_failure(not_loaded());
    };
    let (id, result) = match request {
        Request::Caption { id } => {
            let json = photo_store.read(id, &photo, None).await;
            (id, json.map(|json| Response::Result { id, json }))
        }
        Request::Rank { id, below } => (id, photo_store.rank(id, below)),
        Request::Narrate { id, json } => (id, photo_store.narrate(id, &json)),
        Request::Lineage { id, node } => (id, photo_store.lineage(id, &node)),
        Request::Load { .. } | Request::Query { .. } => {
            return fatal_failure(UiError::version_mismatch("a second model"));
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
async fn reply(model: Option<&mut QueryHandler>, id: QueryId, query: Query, photo: &[u8]) {
    let report = |loaded, total| {
        let reply = Reply::Fetching { loaded, total };
        post(&Response::Reply { id, reply });
    };
    let (answer, changed) = match model {
        Some(model) => {
            let answer = model.answer(query, photo, report).await;
            (answer, std::mem::take(&mut model.changed))
        }
        None => (Err(not_loaded()), Vec::new()),
    };
    let is_fatal = |error: &&UiError| matches!(error.cause, Cause::Gpu | Cause::Engine);
    let fatal = answer.as_ref().err().filter(is_fatal);
    let fatal = fatal.cloned().map(fatal_failure);
    let reply = match answer {
        Ok(answer) => Reply::Done { answer },
        Err(error) => Reply::Failed { error },
    };
    post(&Response::Reply { id, reply });
    changed.iter().for_each(post);
    fatal.iter().for_each(post);
}

fn not_loaded() -> UiError {
    UiError::version_mismatch("a photo arrived before the model was requested")
}

/// Fetches a model and prepares it. Files of the image encoder are moved to the device and dropped
/// as they arrive, so that a large model is never held twice.
async fn load(
    backend: Backend,
    manifest_url: &str,
    build: Option<&str>,
) -> Result<(RemoteModel, QueryHandler, EngineInfo), UiError> {
    if let Some(build) = build.filter(|build| *build != BUILD) {
        return Err(UiError::version_mismatch(format!(
            "page {build}, engine {BUILD}"
        )));
    }
    report_stage(Stage::Manifest);
    let remote = RemoteModel::at(manifest_url).await?;
    let engine = device::open(backend, report_lost).await?;
    let mut bundle_loader = Some(BundleLoader::new(&remote.bytes, &engine)?);
    let report = |progress| post(&Response::Progress(progress));
    let on_file = |file: VerifiedFile| -> Result<(), UiError> {
        if let Some(loader) = bundle_loader.take() {
            bundle_loader = Some(loader.with(file)?);
        }
        Ok(())
    };
    remote.first_files(report, on_file).await?;
    report_stage(Stage::SelfTest);
    let Some(bundle_loader) = bundle_loader else {
        return Err(UiError::version_mismatch("a model that was never opened"));
    };
    let captioner = bundle_loader.finish()?;
    let start = now();
    let cosine = captioner.self_test().await?;
    // A NaN fails too.
    if cosine.is_nan() || cosine < captioner.least_cosine() {
        return Err(UiError::wrong_self_test(cosine, captioner.least_cosine()));
    }
    let mut warm_ms = now() - start;
    if backend == Backend::WebGpu {
        // The first image compiled the kernels; the second gives the time per image.
        report_stage(Stage::WarmUp);
        let start = now();
        captioner.self_test().await?;
        warm_ms = now() - start;
    }
    let cautions = captioner.cautions().iter();
    let cautions = cautions.map(|caution| caution.sentence().to_owned());
    let info = captioner.info();
    let info = EngineInfo {
        backend,
        model: info.name.clone(),
        version: info.version.clone(),
        sha256: info.sha256.clone(),
        self_test: cosine,
        warm_ms,
        cautions: cautions.collect(),
    };
    let photo_store = PhotoStore::new(backend, remote.manifest.clone(), captioner);
    let model = QueryHandler::new(photo_store, remote.clone(), engine);
    Ok((remote, model, info))
}

/// Fetches the finer captions while photos are already being read. If the visitor is offline by
/// then, the general captions stay in use and the rest is fetched at the next visit.
async fn load_finer_captions(remote: RemoteModel, own_inbox: UnboundedSender<Job>) {
    let files = remote.manifest.later_files_of(&[Part::Captions]);
    for shard in files.chunk_by(|a, b| a.shard == b.shard) {
        let mut arrived = BundleFiles::default();
        for file in shard {
            let loaded = remote.file(file, |_| ()).await;
            let inserted = loaded.and_then(|file| Ok(arrived.insert(file)?));
            if let Err(error) = inserted {
                return post(&Response::Coarse { error });
            }
        }
        // The receiver lives as long as the worker.
        let _ = own_inbox.unbounded_send(Job::CaptionsArrived(shard[0].shard, arrived));
    }
    remote.remove_old_files().await;
}

fn report_stage(stage: Stage) {
    post(&Response::Progress(Progress {
        stage,
        loaded: 0,
        total: 0,
        file: None,
    }));
}

fn fatal_failure(error: UiError) -> Response {
    Response::Failed {
        id: None,
        fatal: true,
        error,
    }
}

/// Reports to the page that the engine is lost: a panic, or a lost graphics device.
fn report_lost(reason: String) {
    post(&fatal_failure(UiError::died(reason)));
}

fn post(response: &Response) {
    // Cannot fail in a worker: the types are serialisable, and text can be posted.
    if let (Some(scope), Ok(text)) = (scope(), serde_json::to_string(response)) {
        let _ = scope.post_message(&text.into());
    }
}

fn scope() -> Option<DedicatedWorkerGlobalScope> {
    js_sys::global().dyn_into().ok()
}

fn parse_message(message: &MessageEvent) -> Result<Job, UiError> {
    let parts = Array::from(&message.data());
    let text = parts.get(0).as_string().unwrap_or_default();
    let request = serde_json::from_str(&text)?;
    let photo = parts.get(1);
    let bytes = photo.is_object().then(|| Uint8Array::new(&photo).to_vec());
    Ok(Job::Request(request, bytes))
}

//! Executes the session's commands and feeds the outcomes back as events.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, Shared};
use gloo_timers::callback::Timeout;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::File;

use crate::engine::client::Client;
use crate::engine::probe::probe;
use crate::load::lists::{self, Lists};
use crate::load::{crash, manifest_of};
use crate::messages::protocol::{BUILD, Backend, Request, Response};
use crate::messages::query::{PhotoId, Query, QueryAnswer};
use crate::pending_queries::{PendingQueries, Progress};
use crate::photo::{Photo, bytes_of};
use crate::state::choice::{Missing, Probe};
use crate::state::session::{Answer, Command, Engine, Event, Session};
use crate::ui_error::UiError;

/// The session, the displayed photo, and the resources to execute commands; cheap to copy.
#[derive(Clone, Copy)]
pub struct AppController {
    /// The page's state.
    pub session: RwSignal<Session>,
    /// The displayed photo.
    pub photo: RwSignal<Option<Rc<Photo>>, LocalStorage>,
    /// Whether raw numbers are shown next to the text.
    pub numbers: RwSignal<bool>,
    resources: StoredValue<Rc<Resources>, LocalStorage>,
}

struct Resources {
    base: String,
    model: String,
    manifest_url: String,
    client: Client,
    pending_queries: PendingQueries,
    lists: Shared<LocalBoxFuture<'static, Lists>>,
    watchdog: RefCell<Option<Timeout>>,
    last_id: Cell<u64>,
}

impl AppController {
    /// Creates a controller for the page at `base` (its folder's address) with the model of this name.
    pub fn new(base: String, model: String, requested: Option<Backend>) -> Self {
        let manifest_url = format!("{base}{}", manifest_of(&model));
        let (folder, manifest) = (base.clone(), manifest_url.clone());
        let lists = async move { lists::read(&folder, &manifest).await };
        let resources = Resources {
            base,
            model,
            manifest_url,
            client: Client::default(),
            pending_queries: PendingQueries::default(),
            lists: lists.boxed_local().shared(),
            watchdog: RefCell::default(),
            last_id: Cell::new(0),
        };
        let controller = Self {
            session: RwSignal::new(Session::new(requested)),
            photo: RwSignal::new_local(None),
            numbers: RwSignal::new(false),
            resources: StoredValue::new_local(Rc::new(resources)),
        };
        if let Some(backend) = crash::take_crashed() {
            controller.session.update(|session| {
                session.next(Event::CrashedBefore(backend));
            });
        }
        // Leaving the page during a load is not a crash.
        leptos::leptos_dom::helpers::window_event_listener_untyped("pagehide", |_| {
            crash::clear_marker();
        });
        spawn_local(controller.prepare());
        controller
    }

    /// Reads the sizes. Starts the engine before a photo is chosen if that needs no download, so
    /// that the photo does not wait for it; not in a tab in the background, and not where an engine
    /// crashed.
    async fn prepare(self) {
        let resources = self.resources();
        let lists = resources.lists.clone().await;
        self.dispatch(Event::SizesKnown(lists.sizes));
        if crash::has_started() && !document().hidden() && lists.are_stored(&resources.base).await {
            self.dispatch(Event::ModelStored);
        }
    }

    /// Returns a new, unused photo number.
    pub fn next_id(self) -> PhotoId {
        let resources = self.resources();
        let id = PhotoId(resources.last_id.get() + 1);
        resources.last_id.set(id.0);
        id
    }

    /// Takes a photo with its sample name, if it is a sample, or the error that occurred instead.
    pub fn set_photo(self, input: Result<(File, Option<String>), UiError>) {
        let id = self.next_id();
        match input.and_then(|(file, sample)| Photo::new(id, file, sample)) {
            Ok(photo) => {
                self.photo.set(Some(Rc::new(photo)));
                self.dispatch(Event::PhotoChosen(id));
            }
            Err(error) => {
                self.photo.set(None);
                self.dispatch(Event::PhotoRefused(error));
            }
        }
    }

    /// Sends a query to the worker, optionally with a photo's bytes and with a signal for its
    /// progress.
    ///
    /// # Errors
    /// As [`bytes_of`], the worker's error, or when no worker is running.
    pub async fn ask(
        self,
        query: Query,
        photo: Option<&File>,
        progress: Option<Progress>,
    ) -> Result<QueryAnswer, UiError> {
        let bytes = match photo {
            Some(file) => Some(bytes_of(file).await?),
            None => None,
        };
        let resources = self.resources();
        let (id, answer) = resources.pending_queries.open(progress);
        resources
            .client
            .send(&Request::Query { id, query }, bytes.as_ref())?;
        answer
            .await
            .unwrap_or_else(|_| Err(UiError::died("the engine stopped before it answered")))
    }

    /// Sends a query without a photo and without progress reports.
    ///
    /// # Errors
    /// As [`AppController::ask`].
    pub async fn ask_about(self, query: Query) -> Result<QueryAnswer, UiError> {
        self.ask(query, None, None).await
    }

    /// Reads a photo, or a region of it as in [`Query::Read`], whatever photo is displayed. Returns its
    /// answer and its distance to the root.
    ///
    /// # Errors
    /// As [`AppController::ask`], and when page and engine are of different versions.
    pub async fn read(
        self,
        photo: PhotoId,
        file: &File,
        region: Option<[f32; 4]>,
    ) -> Result<(Answer, f64), UiError> {
        let query = Query::Read { photo, region };
        match self.ask(query, Some(file), None).await? {
            QueryAnswer::Read { json, radius } => Ok((Answer::parse(photo, json)?, radius)),
            _ => Err(UiError::other_answer()),
        }
    }

    /// Calls `react` whenever another photo is given, or none.
    pub fn on_new_photo(self, react: impl Fn() + 'static) {
        Effect::new(move |before: Option<Option<PhotoId>>| {
            let photo = self
                .photo
                .with(|photo| photo.as_ref().map(|photo| photo.id));
            if before.is_some_and(|before| before != photo) {
                react();
            }
            photo
        });
    }

    /// Returns whether the engine is ready.
    pub fn is_ready(self) -> bool {
        self.session
            .with(|session| matches!(session.engine, Engine::Ready(_)))
    }

    /// Returns the address of the page's folder.
    pub fn base(self) -> String {
        self.resources().base.clone()
    }

    /// Returns the address of the model's manifest.
    pub fn manifest_url(self) -> String {
        self.resources().manifest_url.clone()
    }

    /// Returns the name of the model's folder.
    pub fn model(self) -> String {
        self.resources().model.clone()
    }

    /// Passes an event to the session and executes the resulting command, if any.
    pub fn dispatch(self, event: Event) {
        if matches!(event, Event::Received(Response::Ready(_))) {
            crash::note_started();
        }
        let command = self.session.try_update(|session| session.next(event));
        if !self
            .session
            .with_untracked(|session| matches!(session.engine, Engine::Loading { .. }))
        {
            crash::clear_marker();
        }
        if let Some(command) = command.flatten() {
            self.execute(command);
        }
        self.restart_watchdog();
    }

    fn resources(self) -> Rc<Resources> {
        self.resources.get_value()
    }

    fn execute(self, command: Command) {
        match command {
            Command::Probe { adapter } => {
                let lists = self.resources().lists.clone();
                spawn_local(async move {
                    let lists = lists.await;
                    self.dispatch(Event::SizesKnown(lists.sizes));
                    let answer = if !adapter {
                        Probe::NotAsked
                    } else if lists.engines.worker_gpu.is_none() {
                        Probe::Missing(Missing::NoEngine)
                    } else {
                        probe().await
                    };
                    self.dispatch(Event::Probed(answer));
                });
            }
            Command::Start(backend) => self.start(backend),
            Command::Load => {
                let resources = self.resources();
                let request = Request::Load {
                    manifest_url: resources.manifest_url.clone(),
                    build: Some(BUILD.to_owned()),
                };
                self.report_failure(resources.client.send(&request, None));
            }
            Command::Send(id) => self.send(id),
            Command::Stop => {
                let resources = self.resources();
                resources.client.stop();
                resources.pending_queries.clear();
            }
        }
    }

    fn start(self, backend: Backend) {
        let resources = self.resources();
        resources.pending_queries.clear();
        // Known by now: the session probes before it starts, and probing waits for the lists.
        let folder = resources.lists.peek().map(|lists| &lists.engines.folder);
        let folder = format!("{}{}", resources.base, folder.map_or("", String::as_str));
        let handler = Rc::new(move |event| match event {
            Event::Received(Response::Reply { id, reply }) => {
                self.resources().pending_queries.resolve(id, reply);
            }
            other => self.dispatch(other),
        });
        crash::set_marker(backend);
        self.report_failure(resources.client.start(&folder, backend, handler));
    }

    fn send(self, id: PhotoId) {
        let Some(photo) = self.photo.get_untracked().filter(|photo| photo.id == id) else {
            return;
        };
        spawn_local(async move {
            match bytes_of(&photo.file).await {
                Ok(bytes) => {
                    let request = Request::Caption { id };
                    self.report_failure(self.resources().client.send(&request, Some(&bytes)));
                }
                Err(error) => {
                    self.dispatch(Event::Received(Response::Failed {
                        id: Some(id),
                        fatal: false,
                        error,
                    }));
                }
            }
        });
    }

    fn report_failure(self, outcome: Result<(), UiError>) {
        if let Err(error) = outcome {
            self.dispatch(Event::WorkerFailed(error));
        }
    }

    /// Restarts the timer for a silent worker; every event counts as a sign of life.
    fn restart_watchdog(self) {
        let limit = self.session.with_untracked(Session::silence_limit);
        let watchdog = limit.map(|seconds| {
            let milliseconds = u32::try_from(seconds * 1_000).unwrap_or(u32::MAX);
            Timeout::new(milliseconds, move || {
                // Runs in a separate task, because the dispatch drops this timer.
                spawn_local(async move { self.dispatch(Event::Silent) });
            })
        });
        // Dropping the old timer stops it.
        self.resources().watchdog.replace(watchdog);
    }
}

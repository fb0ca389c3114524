//! Executes the session's commands and feeds the outcomes back as events.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, Shared};
use gloo_timers::callback::Timeout;
use js_sys::ArrayBuffer;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::File;

use crate::asking::{Asking, Report};
use crate::engine::client::Client;
use crate::engine::probe::probe;
use crate::load::plan::{self, Engines};
use crate::load::sizes::Plan;
use crate::load::{crash, manifest_of};
use crate::messages::ask::{Ask, AskAnswer};
use crate::messages::photo_id::PhotoId;
use crate::messages::protocol::{Backend, Request, Response};
use crate::photo::Photo;
use crate::state::choice::{Preference, Probe};
use crate::state::session::{Command, Engine, Event, Session};
use crate::ui_error::UiError;

/// The session, the displayed photo, and the resources to execute commands; cheap to copy.
#[derive(Clone, Copy)]
pub struct AppController {
    /// The page's state.
    pub session: RwSignal<Session>,
    /// The displayed photo.
    pub photo: RwSignal<Option<Rc<Photo>>, LocalStorage>,
    /// Whether raw numbers are shown beside the text.
    pub numbers: RwSignal<bool>,
    hands: StoredValue<Rc<Inner>, LocalStorage>,
}

struct Inner {
    base: String,
    model: String,
    client: Client,
    asking: Asking,
    plan: Shared<LocalBoxFuture<'static, (Plan, Engines)>>,
    watch: RefCell<Option<Timeout>>,
    last_id: Cell<u64>,
}

impl Inner {
    fn manifest_url(&self) -> String {
        format!("{}{}", self.base, manifest_of(&self.model))
    }
}

impl AppController {
    /// Creates a controller for the page at `base` (its folder's address) with the model of this name.
    #[must_use]
    pub fn new(base: String, model: String, preference: Preference) -> Self {
        let manifest_url = format!("{base}{}", manifest_of(&model));
        let folder = base.clone();
        let plan = async move { plan::read(&folder, &manifest_url).await };
        let hands = Inner {
            base,
            model,
            client: Client::default(),
            asking: Asking::default(),
            plan: plan.boxed_local().shared(),
            watch: RefCell::default(),
            last_id: Cell::new(0),
        };
        let controller = Self {
            session: RwSignal::new(Session::new(preference)),
            photo: RwSignal::new_local(None),
            numbers: RwSignal::new(false),
            hands: StoredValue::new_local(Rc::new(hands)),
        };
        if let Some(backend) = crash::last() {
            controller
                .session
                .update(|session| drop(session.next(Event::CrashedBefore(backend))));
        }
        // Leaving the page during a load is not a crash.
        leptos::leptos_dom::helpers::window_event_listener_untyped("pagehide", |_| crash::over());
        let plan = controller.hands().plan.clone();
        spawn_local(async move { controller.dispatch(Event::Planned(plan.await.0)) });
        controller
    }

    /// Returns a new, unused photo number.
    #[must_use]
    pub fn next_id(self) -> PhotoId {
        let hands = self.hands();
        let id = PhotoId(hands.last_id.get() + 1);
        hands.last_id.set(id.0);
        id
    }

    /// Takes a photo with its sample name, if it is a sample, or the error that occurred instead.
    pub fn give(self, given: Result<(File, Option<String>), UiError>) {
        let id = self.next_id();
        match given.and_then(|(file, sample)| Photo::new(id, file, sample)) {
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

    /// Sends a query to the worker, optionally with a photo's bytes. `report` receives the progress
    /// of downloads that the query needs.
    ///
    /// # Errors
    /// The worker's error, or when no worker is running.
    pub async fn ask(
        self,
        ask: Ask,
        photo: Option<ArrayBuffer>,
        report: Report,
    ) -> Result<AskAnswer, UiError> {
        let hands = self.hands();
        let (id, answer) = hands.asking.open(report);
        hands
            .client
            .send(&Request::Ask { id, ask }, photo.as_ref())?;
        answer
            .await
            .unwrap_or_else(|_| Err(UiError::died("the engine stopped before it answered")))
    }

    /// Sends a query without a photo and without progress reports.
    ///
    /// # Errors
    /// As [`AppController::ask`].
    pub async fn ask_about(self, ask: Ask) -> Result<AskAnswer, UiError> {
        self.ask(ask, None, Rc::new(|_, _| ())).await
    }

    /// Returns whether the engine is ready.
    #[must_use]
    pub fn is_ready(self) -> bool {
        self.session
            .with(|session| matches!(session.engine, Engine::Ready(_)))
    }

    /// Returns the page's folder and the address of the model's manifest.
    #[must_use]
    pub fn addresses(self) -> (String, String) {
        let hands = self.hands();
        (hands.base.clone(), hands.manifest_url())
    }

    /// Returns the name of the model's folder.
    #[must_use]
    pub fn model(self) -> String {
        self.hands().model.clone()
    }

    /// Passes an event to the session and executes the resulting commands.
    pub fn dispatch(self, event: Event) {
        let commands = self.session.try_update(|session| session.next(event));
        if !self
            .session
            .with_untracked(|session| matches!(session.engine, Engine::Loading { .. }))
        {
            crash::over();
        }
        for command in commands.unwrap_or_default() {
            self.carry_out(command);
        }
        self.watch();
    }

    fn hands(self) -> Rc<Inner> {
        self.hands.get_value()
    }

    fn carry_out(self, command: Command) {
        match command {
            Command::Probe { adapter } => {
                let plan = self.hands().plan.clone();
                spawn_local(async move {
                    let (plan, _) = plan.await;
                    self.dispatch(Event::Planned(plan));
                    let answer = if adapter {
                        probe().await
                    } else {
                        Probe::NotAsked
                    };
                    self.dispatch(Event::Probed(answer));
                });
            }
            Command::Start(backend) => self.start(backend),
            Command::Load => {
                let hands = self.hands();
                let request = Request::Load {
                    manifest_url: hands.manifest_url(),
                };
                self.died_on(hands.client.send(&request, None));
            }
            Command::Send(id) => self.send(id),
            Command::Stop => {
                let hands = self.hands();
                hands.client.stop();
                hands.asking.clear();
            }
        }
    }

    fn start(self, backend: Backend) {
        let hands = self.hands();
        hands.asking.clear();
        // Known by now: the session probes before it starts, and probing waits for the plan.
        let engines = hands
            .plan
            .peek()
            .map(|(_, engines)| engines.clone())
            .unwrap_or_default();
        let folder = format!("{}{}", hands.base, engines.folder);
        let sink = Rc::new(move |event| match event {
            Event::Said(Response::Told { id, reply }) => self.hands().asking.hear(id, reply),
            other => self.dispatch(other),
        });
        crash::begin(backend);
        self.died_on(hands.client.start(&folder, backend, sink));
    }

    fn send(self, id: PhotoId) {
        let Some(photo) = self.photo.get_untracked().filter(|photo| photo.id == id) else {
            return;
        };
        spawn_local(async move {
            match photo.bytes().await {
                Ok(bytes) => {
                    let request = Request::Caption { id };
                    self.died_on(self.hands().client.send(&request, Some(&bytes)));
                }
                Err(error) => {
                    self.dispatch(Event::Said(Response::Failed {
                        id: Some(id),
                        fatal: false,
                        error,
                    }));
                }
            }
        });
    }

    fn died_on(self, outcome: Result<(), UiError>) {
        if let Err(error) = outcome {
            self.dispatch(Event::Died(error));
        }
    }

    /// Restarts the timer for a silent worker; every event counts as a sign of life.
    fn watch(self) {
        let patience = self.session.with_untracked(Session::patience);
        let watch = patience.map(|seconds| {
            let milliseconds = u32::try_from(seconds * 1_000).unwrap_or(u32::MAX);
            Timeout::new(milliseconds, move || {
                // Runs in a separate task, because the dispatch drops this timer.
                spawn_local(async move { self.dispatch(Event::Silent) });
            })
        });
        // Dropping the old timer stops it.
        self.hands().watch.replace(watch);
    }
}

/// Returns the controller of the current component.
///
/// # Panics
/// Never on this page: `app::start` provides it to every component.
#[must_use]
pub fn use_controller() -> AppController {
    expect_context::<AppController>()
}

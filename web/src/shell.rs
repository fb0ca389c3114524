//! Carries out what the session decides, and feeds what comes of it back.

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

/// The session, the photo on show, and the hands that move them; copied freely.
#[derive(Clone, Copy)]
pub struct Shell {
    /// What the page is doing.
    pub session: RwSignal<Session>,
    /// The photo on show.
    pub photo: RwSignal<Option<Rc<Photo>>, LocalStorage>,
    /// Whether raw numbers are shown beside the words.
    pub numbers: RwSignal<bool>,
    hands: StoredValue<Rc<Hands>, LocalStorage>,
}

struct Hands {
    base: String,
    model: String,
    client: Client,
    asking: Asking,
    plan: Shared<LocalBoxFuture<'static, (Plan, Engines)>>,
    watch: RefCell<Option<Timeout>>,
    last_id: Cell<u64>,
}

impl Hands {
    fn manifest_url(&self) -> String {
        format!("{}{}", self.base, manifest_of(&self.model))
    }
}

impl Shell {
    /// A shell for the page at `base` (its folder's address), working with the model of this name.
    #[must_use]
    pub fn new(base: String, model: String, preference: Preference) -> Self {
        let manifest_url = format!("{base}{}", manifest_of(&model));
        let folder = base.clone();
        let plan = async move { plan::read(&folder, &manifest_url).await };
        let hands = Hands {
            base,
            model,
            client: Client::default(),
            asking: Asking::default(),
            plan: plan.boxed_local().shared(),
            watch: RefCell::default(),
            last_id: Cell::new(0),
        };
        let shell = Self {
            session: RwSignal::new(Session::new(preference)),
            photo: RwSignal::new_local(None),
            numbers: RwSignal::new(false),
            hands: StoredValue::new_local(Rc::new(hands)),
        };
        if let Some(backend) = crash::last() {
            shell
                .session
                .update(|session| drop(session.next(Event::CrashedBefore(backend))));
        }
        // Leaving in the middle of a load is no crash.
        leptos::leptos_dom::helpers::window_event_listener_untyped("pagehide", |_| crash::over());
        let plan = shell.hands().plan.clone();
        spawn_local(async move { shell.dispatch(Event::Planned(plan.await.0)) });
        shell
    }

    /// A number for a photo that no other photo has had.
    #[must_use]
    pub fn next_id(self) -> PhotoId {
        let hands = self.hands();
        let id = PhotoId(hands.last_id.get() + 1);
        hands.last_id.set(id.0);
        id
    }

    /// Takes a photo, or what came instead of one; `sample` is the name of the sample that it is.
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

    /// Puts a question to the worker; a photo's bytes may go along. `report` is told of what has to
    /// be fetched for it.
    ///
    /// # Errors
    /// What the worker says, or that there is none at work.
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

    /// The same without a photo and without anything to report.
    ///
    /// # Errors
    /// As [`Shell::ask`].
    pub async fn ask_about(self, ask: Ask) -> Result<AskAnswer, UiError> {
        self.ask(ask, None, Rc::new(|_, _| ())).await
    }

    /// Whether the engine waits for work.
    #[must_use]
    pub fn is_ready(self) -> bool {
        self.session
            .with(|session| matches!(session.engine, Engine::Ready(_)))
    }

    /// Folder of the page, and address of the model's manifest.
    #[must_use]
    pub fn addresses(self) -> (String, String) {
        let hands = self.hands();
        (hands.base.clone(), hands.manifest_url())
    }

    /// Name of the model's folder.
    #[must_use]
    pub fn model(self) -> String {
        self.hands().model.clone()
    }

    /// Lets the session take an event in, and does what it says.
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

    fn hands(self) -> Rc<Hands> {
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
        // Known by now: the session probes, and with it waits for the plan, before it starts.
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

    /// Starts the clock of the worker's silence again; every event counts as a sign of life.
    fn watch(self) {
        let patience = self.session.with_untracked(Session::patience);
        let watch = patience.map(|seconds| {
            let milliseconds = u32::try_from(seconds * 1_000).unwrap_or(u32::MAX);
            Timeout::new(milliseconds, move || {
                // In a turn of its own: what follows drops the timer that is running here.
                spawn_local(async move { self.dispatch(Event::Silent) });
            })
        });
        // Dropping the old one stops it.
        self.hands().watch.replace(watch);
    }
}

/// The shell of the component at hand.
///
/// # Panics
/// Never on this page: `app::start` provides it to every component.
#[must_use]
pub fn use_shell() -> Shell {
    expect_context::<Shell>()
}

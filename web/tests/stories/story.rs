//! A session on its way, and what happens to it.

use espalier_core::caption::{CaptionResult, TaxonomyResult};
use espalier_web::load::progress::{DownloadSizes, EngineSizes};
use espalier_web::messages::protocol::{Backend, EngineInfo, Progress, Response, Stage};
use espalier_web::messages::query::PhotoId;
use espalier_web::state::choice::Probe;
use espalier_web::state::session::{Command, Event, Session};
use espalier_web::ui_error::{Cause, UiError};

use super::sample;

pub const A: PhotoId = PhotoId(1);
pub const B: PhotoId = PhotoId(2);
pub const SIZES: DownloadSizes = DownloadSizes {
    cpu: engine(100),
    gpu: engine(900),
    model: 1_000,
    text: 0,
};

const fn engine(wire: u64) -> EngineSizes {
    EngineSizes {
        wire,
        unpacked: 2 * wire,
    }
}

pub fn error(cause: Cause) -> UiError {
    UiError::new(cause, "what", "todo")
}

pub fn info(backend: Backend) -> EngineInfo {
    EngineInfo {
        backend,
        model: "m".into(),
        version: "1".into(),
        sha256: "00".into(),
        self_test: 1.0,
        warm_ms: 20.0,
        cautions: Vec::new(),
    }
}

/// A result whose ladder has these rungs.
pub fn result(rungs: &[&str]) -> CaptionResult {
    let ladder = rungs.iter().map(|text| sample::rung(text, None)).collect();
    let taxonomy = TaxonomyResult {
        path: sample::steps(&[("entity", 1.0)]),
        stop: "entity".into(),
    };
    sample::result(ladder, taxonomy)
}

/// The ladder of an answer as it first comes.
pub const FIRST: [&str; 1] = ["animal"];

pub fn answered(id: PhotoId) -> Event {
    let json = serde_json::to_string_pretty(&result(&FIRST)).unwrap();
    Event::Received(Response::Result { id, json })
}

/// A finer answer, asked for by nobody.
pub fn finer(id: PhotoId, rungs: &[&str]) -> Event {
    let json = serde_json::to_string_pretty(&result(rungs)).unwrap();
    Event::Received(Response::Finer { id, json })
}

/// Word that the captions which make answers finer cannot be used.
pub fn coarse() -> Event {
    Event::Received(Response::Coarse {
        error: error(Cause::Network),
    })
}

pub fn failed(id: Option<PhotoId>, fatal: bool, cause: Cause) -> Event {
    Event::Received(Response::Failed {
        id,
        fatal,
        error: error(cause),
    })
}

pub fn moved(stage: Stage) -> Event {
    Event::Received(Response::Progress(Progress {
        stage,
        loaded: 10,
        total: 1_000,
        file: None,
    }))
}

pub fn ready(backend: Backend) -> Event {
    Event::Received(Response::Ready(info(backend)))
}

/// A session on its way, the command of each event checked against what is expected.
pub struct Story(pub Session);

impl Story {
    pub fn with(requested: impl Into<Option<Backend>>) -> Self {
        let mut story = Self(Session::new(requested.into()));
        story.then(Event::SizesKnown(SIZES), None);
        story
    }

    pub fn then(&mut self, event: Event, expected: impl Into<Option<Command>>) -> &mut Self {
        let context = format!("{event:?}");
        assert_eq!(self.0.next(event), expected.into(), "after {context}");
        self
    }

    /// Up to the moment in which `backend` is ready, from nothing, with photo A waiting.
    pub fn loaded(&mut self, probe: Probe, backend: Backend) -> &mut Self {
        let adapter = self.0.requested != Some(Backend::Cpu);
        self.then(Event::PhotoChosen(A), Command::Probe { adapter })
            .then(Event::Probed(probe), Command::Start(backend))
            .then(moved(Stage::Engine), None)
            .then(Event::Received(Response::Booted), Command::Load)
            .then(moved(Stage::Model), None)
            .then(moved(Stage::SelfTest), None)
            .then(ready(backend), Command::Send(A))
    }

    /// From nothing to a WebGPU engine on its way, with photo A waiting.
    pub fn gpu_started(&mut self) -> &mut Self {
        let probe = Probe::Hardware("gpu".into());
        self.then(Event::PhotoChosen(A), Command::Probe { adapter: true })
            .then(Event::Probed(probe), Command::Start(Backend::WebGpu))
    }

    /// Photo A answered by the CPU engine, from nothing.
    pub fn answered(&mut self) -> &mut Self {
        self.started(Event::PhotoChosen(A))
            .then(ready(Backend::Cpu), Command::Send(A))
            .then(answered(A), None)
    }

    /// From nothing to a CPU engine on its way.
    pub fn started(&mut self, first: Event) -> &mut Self {
        self.then(first, Command::Probe { adapter: false })
            .then(Event::Probed(Probe::NotAsked), Command::Start(Backend::Cpu))
    }
}

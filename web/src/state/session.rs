//! The page's state as one value, and the only function that changes it.
//!
//! [`Session::next`] is pure: it takes an [`Event`] and may return a [`Command`]. The controller
//! (`crate::controller`) executes it and feeds the outcome back as an event. There are two state
//! machines: the [`Engine`] (off → probing → loading → ready) and the [`Work`] on the photo (none →
//! waiting → running → done). They are separate because a photo may be chosen at any time and may
//! have to wait for the engine.

use std::sync::Arc;

use espalier_core::caption::CaptionResult;

use super::choice::{FallbackReason, Probe, choose};
use crate::load::progress::{Bar, DownloadSizes};
use crate::messages::protocol::{Backend, EngineInfo, Response, Stage};
use crate::messages::query::PhotoId;
use crate::ui_error::UiError;

/// State of the engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Engine {
    /// Not requested yet, or stopped.
    #[default]
    Off,
    /// Reading the sizes and asking the browser for a graphics adapter.
    Probing,
    /// A worker is starting.
    Loading {
        /// Which engine.
        backend: Backend,
        /// The progress.
        bar: Bar,
    },
    /// A worker is ready for photos.
    Ready(EngineInfo),
    /// No engine could be made ready.
    Failed(UiError),
}

/// State of the photo.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Work {
    /// No photo yet.
    #[default]
    None,
    /// Shown, and waiting for the engine.
    Waiting(PhotoId),
    /// Being read by the engine.
    Running(PhotoId),
    /// Read.
    Done(Arc<Answer>),
    /// Could not be read.
    Failed {
        /// The photo; `None` if the dropped or pasted data held none.
        photo: Option<PhotoId>,
        /// The reason.
        error: UiError,
    },
}

impl Work {
    /// Returns whether there is a photo, or an attempt to give one failed.
    pub const fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }
}

/// A photo's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The photo.
    pub photo: PhotoId,
    /// The parsed result, for display.
    pub result: CaptionResult,
    /// The result exactly as the engine wrote it, for the visitor to copy.
    pub json: String,
}

impl Answer {
    /// Parses the result of a photo.
    ///
    /// # Errors
    /// When the JSON is not a result, because page and engine are of different versions.
    pub fn parse(photo: PhotoId, json: String) -> Result<Self, UiError> {
        let result = serde_json::from_str(&json)?;
        Ok(Self {
            photo,
            result,
            json,
        })
    }
}

/// An event in a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The sizes are known.
    SizesKnown(DownloadSizes),
    /// This browser stores all files that an answer needs.
    ModelStored,
    /// The visitor requested the model.
    LoadRequested,
    /// The visitor chose a photo.
    PhotoChosen(PhotoId),
    /// The data from the visitor holds no photo.
    PhotoRefused(UiError),
    /// The visitor asked to try again.
    Retry,
    /// The visitor cancelled the load of the model.
    CancelRequested,
    /// The browser killed an earlier page while this engine started.
    CrashedBefore(Backend),
    /// The browser answered about its graphics adapter.
    Probed(Probe),
    /// The worker sent a message.
    Received(Response),
    /// The worker failed without sending an error message.
    WorkerFailed(UiError),
    /// The worker has been silent for longer than [`Session::silence_limit`].
    Silent,
}

impl Event {
    /// Returns whether the visitor caused the event.
    const fn is_from_visitor(&self) -> bool {
        matches!(
            self,
            Self::LoadRequested
                | Self::PhotoChosen(_)
                | Self::PhotoRefused(_)
                | Self::Retry
                | Self::CancelRequested
        )
    }
}

/// An action for the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Wait until the sizes are known and, if `adapter` is set, ask the browser for a graphics
    /// adapter.
    Probe {
        /// Whether to ask for an adapter.
        adapter: bool,
    },
    /// Terminate the worker, if there is one, and start this one.
    Start(Backend),
    /// Send `Load`.
    Load,
    /// Send the photo.
    Send(PhotoId),
    /// Terminate the worker.
    Stop,
}

/// The state of the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// The engine requested by the page's address.
    pub requested: Option<Backend>,
    /// Known sizes.
    pub sizes: DownloadSizes,
    /// The engine.
    pub engine: Engine,
    /// Why WebGPU is not used, once that is decided.
    pub fallback_reason: Option<FallbackReason>,
    /// Why answers stay general, if the finer captions could not be loaded.
    pub coarse: Option<UiError>,
    /// The photo.
    pub work: Work,
    /// Number of visitor actions and of finer answers so far. It distinguishes two occurrences of
    /// the same error.
    pub turn: u64,
}

impl Session {
    /// Creates the session of a page that was just opened.
    pub fn new(requested: Option<Backend>) -> Self {
        Self {
            requested,
            ..Self::default()
        }
    }

    /// Returns the bytes of a load, for the engine that is tried first as far as that is known;
    /// `None` while the sizes are unknown.
    pub fn likely_download(&self) -> Option<u64> {
        let backend = match (self.requested, &self.fallback_reason) {
            (Some(Backend::Cpu), _) | (_, Some(_)) => Backend::Cpu,
            // Without a fast graphics adapter the CPU engine is used, which is smaller.
            (Some(Backend::WebGpu) | None, None) => Backend::WebGpu,
        };
        self.sizes.for_backend(backend).total()
    }

    /// Applies one event and returns the command to execute, if any. Ignores events that do not fit
    /// the current state (a late message, a second press).
    pub fn next(&mut self, event: Event) -> Option<Command> {
        if event.is_from_visitor() {
            self.turn += 1;
        }
        match event {
            Event::SizesKnown(sizes) => {
                // A bar that is already shown keeps its total.
                self.sizes = sizes;
                None
            }
            // Nobody waits for this start: once the visitor has done something, for example stopped
            // it, their action decides.
            Event::ModelStored if self.turn > 0 => None,
            Event::ModelStored | Event::LoadRequested => self.request_engine(),
            Event::PhotoChosen(photo) => self.read_photo(photo),
            Event::PhotoRefused(error) => {
                self.work = Work::Failed { photo: None, error };
                None
            }
            Event::Retry => self.retry(),
            Event::CancelRequested => self.cancel(),
            Event::CrashedBefore(backend) => {
                // There is no fallback below the CPU engine.
                if backend == Backend::WebGpu {
                    self.fallback_reason = Some(FallbackReason::Crashed);
                }
                None
            }
            Event::Probed(probe) => self.on_probed(&probe),
            Event::Received(response) => self.on_response(response),
            Event::WorkerFailed(error) => self.engine_lost(error),
            Event::Silent => {
                let seconds = self.silence_limit()?;
                self.engine_lost(UiError::silent(seconds))
            }
        }
    }

    /// Returns the time in seconds that the worker may be silent in the current state; `None` where
    /// silence is normal.
    ///
    /// WebGPU compiles its kernels at the first image. This takes seconds on a hardware adapter and
    /// minutes on a software adapter, which is used only if the address forces it.
    pub const fn silence_limit(&self) -> Option<u64> {
        let gpu = match self.requested {
            Some(Backend::WebGpu) => 420,
            Some(Backend::Cpu) | None => 60,
        };
        match (&self.engine, &self.work) {
            (Engine::Loading { backend, bar }, _) => match (bar.stage(), backend) {
                (Stage::Engine | Stage::Manifest | Stage::Model, _) => Some(60),
                (Stage::SelfTest | Stage::WarmUp, Backend::WebGpu) => Some(gpu),
                (Stage::SelfTest | Stage::WarmUp, Backend::Cpu) => Some(180),
            },
            (Engine::Ready(info), Work::Running(_)) => match info.backend {
                Backend::WebGpu => Some(gpu),
                Backend::Cpu => Some(180),
            },
            _ => None,
        }
    }

    fn request_engine(&mut self) -> Option<Command> {
        if !matches!(self.engine, Engine::Off | Engine::Failed(_)) {
            return None;
        }
        self.engine = Engine::Probing;
        // An engine that failed on this device once is not tried again.
        let adapter = self.requested != Some(Backend::Cpu) && self.fallback_reason.is_none();
        Some(Command::Probe { adapter })
    }

    fn start(&mut self, backend: Backend) -> Option<Command> {
        self.coarse = None;
        self.engine = Engine::Loading {
            backend,
            bar: Bar::new(self.sizes.for_backend(backend)),
        };
        Some(Command::Start(backend))
    }

    fn read_photo(&mut self, photo: PhotoId) -> Option<Command> {
        if matches!(self.engine, Engine::Ready(_)) {
            self.work = Work::Running(photo);
            return Some(Command::Send(photo));
        }
        self.work = Work::Waiting(photo);
        self.request_engine()
    }

    fn retry(&mut self) -> Option<Command> {
        match self.work {
            Work::Failed {
                photo: Some(photo), ..
            } => self.read_photo(photo),
            _ => self.request_engine(),
        }
    }

    /// Cancels a load. Files that have arrived completely stay cached for the next load.
    fn cancel(&mut self) -> Option<Command> {
        if !matches!(self.engine, Engine::Probing | Engine::Loading { .. }) {
            return None;
        }
        self.engine = Engine::Off;
        if let Work::Waiting(photo) = self.work {
            self.work = Work::Failed {
                photo: Some(photo),
                error: UiError::cancelled(),
            };
        }
        Some(Command::Stop)
    }

    fn on_probed(&mut self, probe: &Probe) -> Option<Command> {
        if self.engine != Engine::Probing {
            return None;
        }
        if self.fallback_reason.is_none() {
            match choose(self.requested, probe) {
                Ok(backend) => return self.start(backend),
                Err(reason) => self.fallback_reason = Some(reason),
            }
        }
        self.start(Backend::Cpu)
    }

    fn on_response(&mut self, response: Response) -> Option<Command> {
        match response {
            Response::Booted if matches!(self.engine, Engine::Loading { .. }) => {
                Some(Command::Load)
            }
            Response::Progress(progress) => {
                if let Engine::Loading { bar, .. } = &mut self.engine {
                    bar.advance(&progress);
                }
                None
            }
            Response::Ready(info) if self.is_loading(info.backend) => {
                self.engine = Engine::Ready(info);
                match self.work {
                    Work::Waiting(photo) => self.read_photo(photo),
                    _ => None,
                }
            }
            Response::Result { id, json } if self.work == Work::Running(id) => {
                self.set_answer(id, json);
                None
            }
            Response::Finer { id, json } if self.is_done(id) => {
                // Counts as a turn, so that the answer is redrawn.
                self.turn += 1;
                self.set_answer(id, json);
                None
            }
            Response::Coarse { error } => {
                self.coarse = Some(error);
                None
            }
            Response::Failed {
                fatal: true, error, ..
            } => self.engine_lost(error),
            Response::Failed {
                id: Some(id),
                error,
                ..
            } if self.work == Work::Running(id) => {
                self.work = Work::Failed {
                    photo: Some(id),
                    error,
                };
                None
            }
            Response::Booted
            | Response::Ready(_)
            | Response::Result { .. }
            | Response::Finer { .. }
            | Response::Failed { .. }
            | Response::Narrated { .. }
            | Response::Lineage { .. }
            | Response::Reply { .. }
            | Response::Superseded { .. } => None,
        }
    }

    fn is_done(&self, photo: PhotoId) -> bool {
        matches!(&self.work, Work::Done(answer) if answer.photo == photo)
    }

    fn is_loading(&self, expected: Backend) -> bool {
        matches!(self.engine, Engine::Loading { backend, .. } if backend == expected)
    }

    fn set_answer(&mut self, photo: PhotoId, json: String) {
        self.work = match Answer::parse(photo, json) {
            Ok(answer) => Work::Done(Arc::new(answer)),
            Err(error) => Work::Failed {
                photo: Some(photo),
                error,
            },
        };
    }

    /// Handles the loss of the engine. WebGPU falls back to the CPU engine, which then reads a
    /// photo that was in progress. The CPU engine is restarted only by the next photo, so that a
    /// photo that crashes it does not cause an endless loop.
    fn engine_lost(&mut self, error: UiError) -> Option<Command> {
        let backend = match &self.engine {
            Engine::Loading { backend, .. } => *backend,
            Engine::Ready(info) => info.backend,
            Engine::Off | Engine::Probing | Engine::Failed(_) => return None,
        };
        if backend == Backend::WebGpu && !error.cause.is_shared_by_engines() {
            if let Work::Running(photo) = self.work {
                self.work = Work::Waiting(photo);
            }
            self.fallback_reason = Some(FallbackReason::Failed(error));
            return self.start(Backend::Cpu);
        }
        if matches!(self.engine, Engine::Loading { .. }) {
            self.engine = Engine::Failed(error);
        } else {
            self.engine = Engine::Off;
            if let Work::Running(photo) = self.work {
                self.work = Work::Failed {
                    photo: Some(photo),
                    error,
                };
            }
        }
        Some(Command::Stop)
    }
}

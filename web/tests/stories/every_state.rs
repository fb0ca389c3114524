//! Every state of the page against every event.

use espalier_web::load::progress::{Bar, Sizes};
use espalier_web::messages::protocol::{Backend, Response, Stage};
use espalier_web::state::choice::{FallbackReason, Missing, Probe};
use espalier_web::state::session::{Answer, Command, Engine, Event, Session, Work};
use espalier_web::ui_error::Cause;
use proptest::prelude::*;

use super::story::{
    A, B, FIRST, SIZES, answered, error, failed, finer, info, moved, ready, result,
};

/// What an address may request.
const REQUESTED: [Option<Backend>; 3] = [None, Some(Backend::Cpu), Some(Backend::WebGpu)];

fn every_event() -> Vec<Event> {
    let mut events = vec![
        Event::SizesKnown(SIZES),
        Event::ModelStored,
        Event::LoadRequested,
        Event::PhotoChosen(A),
        Event::PhotoChosen(B),
        Event::PhotoRefused(error(Cause::Photo)),
        Event::Retry,
        Event::CancelRequested,
        Event::CrashedBefore(Backend::WebGpu),
        Event::CrashedBefore(Backend::Cpu),
        Event::Probed(Probe::Hardware("gpu".into())),
        Event::Probed(Probe::Software("soft".into())),
        Event::Probed(Probe::Missing(Missing::NoAdapter)),
        Event::Probed(Probe::NotAsked),
        Event::Received(Response::Booted),
        Event::Received(Response::Superseded { id: A }),
        Event::Received(Response::Result {
            id: A,
            json: "not json".into(),
        }),
        ready(Backend::Cpu),
        ready(Backend::WebGpu),
        answered(A),
        answered(B),
        finer(A, &FIRST),
        finer(B, &FIRST),
        Event::WorkerFailed(error(Cause::Engine)),
        Event::Silent,
    ];
    for stage in [
        Stage::Engine,
        Stage::Manifest,
        Stage::Model,
        Stage::SelfTest,
        Stage::WarmUp,
    ] {
        events.push(moved(stage));
    }
    for cause in [
        Cause::Photo,
        Cause::Bundle,
        Cause::Network,
        Cause::Gpu,
        Cause::Engine,
    ] {
        for (id, fatal) in [
            (None, true),
            (Some(A), false),
            (Some(A), true),
            (Some(B), false),
        ] {
            events.push(failed(id, fatal, cause));
        }
    }
    events
}

fn every_state() -> Vec<Session> {
    let bar = || {
        Bar::new(Sizes {
            engine: SIZES.cpu,
            model: 1_000,
        })
    };
    let engines = [
        Engine::Off,
        Engine::Probing,
        Engine::Loading {
            backend: Backend::Cpu,
            bar: bar(),
        },
        Engine::Loading {
            backend: Backend::WebGpu,
            bar: bar(),
        },
        Engine::Ready(info(Backend::Cpu)),
        Engine::Ready(info(Backend::WebGpu)),
        Engine::Failed(error(Cause::Bundle)),
    ];
    let json = serde_json::to_string(&result(&FIRST)).unwrap();
    let works = [
        Work::None,
        Work::Waiting(A),
        Work::Running(A),
        Work::Done(
            Answer {
                photo: A,
                result: result(&FIRST),
                json,
            }
            .into(),
        ),
        Work::Failed {
            photo: Some(A),
            error: error(Cause::Photo),
        },
        Work::Failed {
            photo: None,
            error: error(Cause::Photo),
        },
    ];
    let mut states = Vec::new();
    for requested in REQUESTED {
        for fallback_reason in [None, Some(FallbackReason::Missing(Missing::NoAdapter))] {
            for engine in &engines {
                for work in &works {
                    let session = Session {
                        sizes: SIZES,
                        engine: engine.clone(),
                        fallback_reason: fallback_reason.clone(),
                        work: work.clone(),
                        ..Session::new(requested)
                    };
                    if sound(&session).is_ok() {
                        states.push(session);
                    }
                }
            }
        }
    }
    states
}

/// What holds in every state.
fn sound(session: &Session) -> Result<(), String> {
    let ready = matches!(session.engine, Engine::Ready(_));
    match session.work {
        Work::Running(_) if !ready => Err("a photo is with an engine that is not there".into()),
        Work::Waiting(_) if ready => Err("a photo waits for an engine that waits for it".into()),
        Work::Waiting(_) if session.engine == Engine::Off => {
            Err("a photo waits for an engine that nobody starts".into())
        }
        _ => Ok(()),
    }
}

/// What holds for every step: the command fits the state that it leads to.
fn check(before: &Session, event: &Event, after: &Session, command: Option<Command>) {
    let context = || format!("{before:?}\n  + {event:?}\n  = {after:?}\n  {command:?}");
    assert_eq!(sound(after), Ok(()), "{}", context());
    let may_use_gpu = after.requested != Some(Backend::Cpu) && after.fallback_reason.is_none();
    let fits = match command {
        Some(Command::Probe { adapter }) => {
            after.engine == Engine::Probing && adapter == may_use_gpu
        }
        Some(Command::Start(backend)) => {
            matches!(after.engine, Engine::Loading { backend: b, .. } if b == backend)
                && (backend == Backend::Cpu || may_use_gpu)
        }
        Some(Command::Load) => matches!(after.engine, Engine::Loading { .. }),
        Some(Command::Send(photo)) => after.work == Work::Running(photo),
        Some(Command::Stop) => matches!(after.engine, Engine::Off | Engine::Failed(_)),
        // Nobody is left waiting for something that was not asked for.
        None => {
            !matches!(before.engine, Engine::Off | Engine::Failed(_))
                || !matches!(after.engine, Engine::Probing | Engine::Loading { .. })
        }
    };
    assert!(fits, "{}", context());
    // A machine that is at work is watched, and one that is not is left alone.
    let at_work =
        matches!(after.engine, Engine::Loading { .. }) || matches!(after.work, Work::Running(_));
    assert_eq!(after.silence_limit().is_some(), at_work, "{}", context());
}

#[test]
fn every_event_in_every_state_leads_to_a_sound_state() {
    let states = every_state();
    assert!(states.len() > 150, "found {}", states.len());
    for before in &states {
        for event in every_event() {
            let mut after = before.clone();
            let command = after.next(event.clone());
            check(before, &event, &after, command);
        }
    }
}

proptest! {
    #[test]
    fn no_row_of_events_leads_out_of_the_sound_states(
        requested in prop::sample::select(REQUESTED.to_vec()),
        events in prop::collection::vec(prop::sample::select(every_event()), 0..60),
    ) {
        let mut session = Session::new(requested);
        for event in events {
            let before = session.clone();
            let command = session.next(event.clone());
            check(&before, &event, &session, command);
        }
    }
}

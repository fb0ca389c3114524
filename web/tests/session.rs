//! Every state of the page against every event, and the stories that matter told one by one.
#![allow(clippy::unwrap_used)]

use espalier_core::caption::{CaptionResult, ModelInfo, PathStep, PhotoInfo, Rung, TaxonomyResult};
use espalier_web::engine::protocol::{Backend, EngineInfo, PhotoId, Progress, Response, Stage};
use espalier_web::load::progress::{Bar, Sizes};
use espalier_web::state::choice::{Missing, PassedOver, Preference, Probe};
use espalier_web::state::session::{Answer, Command, Engine, Event, Plan, Session, Work};
use espalier_web::ui_error::{Cause, UiError};
use proptest::prelude::*;

const A: PhotoId = PhotoId(1);
const B: PhotoId = PhotoId(2);
const PLAN: Plan = Plan {
    cpu: 100,
    gpu: 900,
    model: 1_000,
    text: 0,
};

fn error(cause: Cause) -> UiError {
    UiError::new(cause, "what", "todo")
}

fn info(backend: Backend) -> EngineInfo {
    EngineInfo {
        backend,
        model: "m".into(),
        version: "1".into(),
        sha256: "00".into(),
        self_test: 1.0,
        warm_ms: 20.0,
    }
}

fn result() -> CaptionResult {
    CaptionResult {
        model: ModelInfo {
            name: "m".into(),
            version: "1".into(),
            sha256: "00".into(),
        },
        backend: "cpu".into(),
        image: PhotoInfo {
            width: 2,
            height: 3,
            sha256: "ff".into(),
        },
        ladder: vec![Rung {
            text: "animal".into(),
            radius: 0.1,
            similarity: 0.5,
            node: None,
        }],
        taxonomy: TaxonomyResult {
            path: vec![PathStep {
                id: "n1".into(),
                name: "entity".into(),
                p: 1.0,
            }],
            stop: "n1".into(),
        },
        timing_ms: [("total".to_owned(), 12.5)].into(),
    }
}

fn answered(id: PhotoId) -> Event {
    let json = serde_json::to_string_pretty(&result()).unwrap();
    Event::Said(Response::Result { id, json })
}

fn failed(id: Option<PhotoId>, fatal: bool, cause: Cause) -> Event {
    Event::Said(Response::Failed {
        id,
        fatal,
        error: error(cause),
    })
}

fn moved(stage: Stage) -> Event {
    Event::Said(Response::Progress(Progress {
        stage,
        loaded: 10,
        total: 1_000,
        file: None,
    }))
}

fn ready(backend: Backend) -> Event {
    Event::Said(Response::Ready(info(backend)))
}

fn every_event() -> Vec<Event> {
    let mut events = vec![
        Event::Planned(PLAN),
        Event::LoadWanted,
        Event::PhotoChosen(A),
        Event::PhotoChosen(B),
        Event::PhotoRefused(error(Cause::Photo)),
        Event::Retry,
        Event::CancelWanted,
        Event::CrashedBefore(Backend::WebGpu),
        Event::CrashedBefore(Backend::Cpu),
        Event::Probed(Probe::Hardware("gpu".into())),
        Event::Probed(Probe::Software("soft".into())),
        Event::Probed(Probe::Missing(Missing::NoAdapter)),
        Event::Probed(Probe::NotAsked),
        Event::Said(Response::Booted),
        Event::Said(Response::Superseded { id: A }),
        Event::Said(Response::Result {
            id: A,
            json: "not json".into(),
        }),
        ready(Backend::Cpu),
        ready(Backend::WebGpu),
        answered(A),
        answered(B),
        Event::Died(error(Cause::Engine)),
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
            engine: 100,
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
    let json = serde_json::to_string(&result()).unwrap();
    let works = [
        Work::None,
        Work::Waiting(A),
        Work::Running(A),
        Work::Done(
            Answer {
                photo: A,
                result: result(),
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
    for preference in [Preference::Auto, Preference::Cpu, Preference::WebGpu] {
        for passed_over in [None, Some(PassedOver::Missing(Missing::NoAdapter))] {
            for engine in &engines {
                for work in &works {
                    let session = Session {
                        plan: PLAN,
                        engine: engine.clone(),
                        passed_over: passed_over.clone(),
                        work: work.clone(),
                        ..Session::new(preference)
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

/// What holds for every step: the commands fit the state that they lead to.
fn check(before: &Session, event: &Event, after: &Session, commands: &[Command]) {
    let told = || format!("{before:?}\n  + {event:?}\n  = {after:?}\n  {commands:?}");
    assert_eq!(sound(after), Ok(()), "{}", told());
    assert!(commands.len() <= 1, "one thing at a time: {}", told());
    match commands.first() {
        Some(Command::Probe { adapter }) => {
            assert_eq!(after.engine, Engine::Probing, "{}", told());
            let matters = after.preference != Preference::Cpu && after.passed_over.is_none();
            assert_eq!(*adapter, matters, "{}", told());
        }
        Some(Command::Start(backend)) => {
            assert!(
                matches!(after.engine, Engine::Loading { backend: b, .. } if b == *backend),
                "{}",
                told()
            );
            if *backend == Backend::WebGpu {
                assert_ne!(after.preference, Preference::Cpu, "{}", told());
                assert_eq!(after.passed_over, None, "{}", told());
            }
        }
        Some(Command::Load) => {
            assert!(matches!(after.engine, Engine::Loading { .. }), "{}", told());
        }
        Some(Command::Send(photo)) => assert_eq!(after.work, Work::Running(*photo), "{}", told()),
        Some(Command::Stop) => {
            assert!(
                matches!(after.engine, Engine::Off | Engine::Failed(_)),
                "{}",
                told()
            );
        }
        None => {
            // Nobody is left waiting for something that was not asked for.
            let woken = matches!(before.engine, Engine::Off | Engine::Failed(_))
                && matches!(after.engine, Engine::Probing | Engine::Loading { .. });
            assert!(!woken, "{}", told());
        }
    }
    // A machine that is at work is watched, and one that is not is left alone.
    let at_work =
        matches!(after.engine, Engine::Loading { .. }) || matches!(after.work, Work::Running(_));
    assert_eq!(after.patience().is_some(), at_work, "{}", told());
}

#[test]
fn every_event_in_every_state_leads_to_a_sound_state() {
    let states = every_state();
    assert!(states.len() > 150, "found {}", states.len());
    for before in &states {
        for event in every_event() {
            let mut after = before.clone();
            let commands = after.next(event.clone());
            check(before, &event, &after, &commands);
        }
    }
}

proptest! {
    #[test]
    fn no_row_of_events_leads_out_of_the_sound_states(
        preference in prop::sample::select(vec![
            Preference::Auto, Preference::Cpu, Preference::WebGpu,
        ]),
        events in prop::collection::vec(prop::sample::select(every_event()), 0..60),
    ) {
        let mut session = Session::new(preference);
        for event in events {
            let before = session.clone();
            let commands = session.next(event.clone());
            check(&before, &event, &session, &commands);
        }
    }
}

/// A session on its way, the commands of each event checked against what is expected.
struct Story(Session);

impl Story {
    fn with(preference: Preference) -> Self {
        let mut story = Self(Session::new(preference));
        story.then(Event::Planned(PLAN), &[]);
        story
    }

    fn then(&mut self, event: Event, expected: &[Command]) -> &mut Self {
        let told = format!("{event:?}");
        assert_eq!(self.0.next(event), expected, "after {told}");
        self
    }

    /// Up to the moment in which `backend` is ready, from nothing, with photo A waiting.
    fn loaded(&mut self, probe: Probe, backend: Backend) -> &mut Self {
        let adapter = self.0.preference != Preference::Cpu;
        self.then(Event::PhotoChosen(A), &[Command::Probe { adapter }])
            .then(Event::Probed(probe), &[Command::Start(backend)])
            .then(moved(Stage::Engine), &[])
            .then(Event::Said(Response::Booted), &[Command::Load])
            .then(moved(Stage::Model), &[])
            .then(moved(Stage::SelfTest), &[])
            .then(ready(backend), &[Command::Send(A)])
    }
}

#[test]
fn a_photo_given_first_waits_for_the_model_and_is_read_when_it_is_there() {
    let mut story = Story::with(Preference::Cpu);
    story
        .loaded(Probe::NotAsked, Backend::Cpu)
        .then(answered(A), &[]);
    let Work::Done(answer) = &story.0.work else {
        panic!("{:?}", story.0.work)
    };
    assert_eq!(answer.result, result());
    assert_eq!(
        answer.json,
        serde_json::to_string_pretty(&result()).unwrap()
    );
}

#[test]
fn a_model_loaded_first_waits_for_the_photo() {
    let mut story = Story::with(Preference::Cpu);
    story
        .then(Event::LoadWanted, &[Command::Probe { adapter: false }])
        .then(Event::LoadWanted, &[])
        .then(
            Event::Probed(Probe::NotAsked),
            &[Command::Start(Backend::Cpu)],
        )
        .then(Event::Said(Response::Booted), &[Command::Load])
        .then(ready(Backend::Cpu), &[])
        .then(Event::PhotoChosen(A), &[Command::Send(A)]);
}

#[test]
fn the_bar_of_each_engine_has_its_own_honest_total() {
    for (probe, backend, total) in [
        (Probe::Hardware("gpu".into()), Backend::WebGpu, 1_900),
        (Probe::Software("soft".into()), Backend::Cpu, 1_100),
    ] {
        let mut story = Story::with(Preference::Auto);
        story
            .then(Event::LoadWanted, &[Command::Probe { adapter: true }])
            .then(Event::Probed(probe), &[Command::Start(backend)]);
        let Engine::Loading { bar, .. } = &story.0.engine else {
            panic!("{:?}", story.0)
        };
        assert_eq!(bar.total(), Some(total));
    }
}

#[test]
fn a_gpu_that_fails_its_self_test_gives_way_to_the_cpu_with_a_reason() {
    let mut story = Story::with(Preference::Auto);
    story
        .then(Event::PhotoChosen(A), &[Command::Probe { adapter: true }])
        .then(
            Event::Probed(Probe::Hardware("gpu".into())),
            &[Command::Start(Backend::WebGpu)],
        )
        .then(Event::Said(Response::Booted), &[Command::Load])
        .then(
            Event::Said(Response::Failed {
                id: None,
                fatal: true,
                error: UiError::wrong_self_test(0.3, 0.995),
            }),
            &[Command::Start(Backend::Cpu)],
        );
    let why = story.0.passed_over.as_ref().unwrap().in_words();
    assert!(
        why.contains("wrong answer") && why.contains("0.3000"),
        "{why}"
    );
    story
        .then(Event::Said(Response::Booted), &[Command::Load])
        .then(ready(Backend::Cpu), &[Command::Send(A)])
        .then(answered(A), &[]);
}

#[test]
fn a_gpu_lost_in_mid_flight_hands_the_photo_to_the_cpu() {
    for event in [
        failed(None, true, Cause::Engine),
        failed(Some(A), true, Cause::Gpu),
        Event::Died(error(Cause::Engine)),
        Event::Silent,
    ] {
        let mut story = Story::with(Preference::WebGpu);
        story
            .loaded(Probe::Software("soft".into()), Backend::WebGpu)
            .then(event, &[Command::Start(Backend::Cpu)]);
        assert_eq!(story.0.work, Work::Waiting(A));
        story
            .then(Event::Said(Response::Booted), &[Command::Load])
            .then(ready(Backend::Cpu), &[Command::Send(A)]);
    }
}

#[test]
fn a_cpu_that_dies_of_a_photo_is_started_again_by_the_next_one() {
    let mut story = Story::with(Preference::Cpu);
    story
        .loaded(Probe::NotAsked, Backend::Cpu)
        .then(Event::Died(error(Cause::Engine)), &[Command::Stop]);
    assert!(matches!(story.0.work, Work::Failed { photo: Some(A), .. }));
    assert_eq!(story.0.engine, Engine::Off);
    story
        .then(Event::PhotoChosen(B), &[Command::Probe { adapter: false }])
        .then(
            Event::Probed(Probe::NotAsked),
            &[Command::Start(Backend::Cpu)],
        );
}

#[test]
fn a_photo_that_cannot_be_read_leaves_the_engine_ready_for_the_next() {
    let mut story = Story::with(Preference::Cpu);
    story
        .loaded(Probe::NotAsked, Backend::Cpu)
        .then(failed(Some(A), false, Cause::Photo), &[])
        .then(Event::PhotoChosen(B), &[Command::Send(B)])
        .then(answered(B), &[]);
    assert!(matches!(&story.0.work, Work::Done(answer) if answer.photo == B));
}

#[test]
fn a_damaged_model_is_told_at_once_and_no_other_engine_is_tried_on_it() {
    for cause in [Cause::Bundle, Cause::Network] {
        let mut story = Story::with(Preference::Auto);
        story
            .then(Event::PhotoChosen(A), &[Command::Probe { adapter: true }])
            .then(
                Event::Probed(Probe::Hardware("gpu".into())),
                &[Command::Start(Backend::WebGpu)],
            )
            .then(failed(None, true, cause), &[Command::Stop]);
        assert!(matches!(story.0.engine, Engine::Failed(_)));
        assert_eq!(story.0.work, Work::Waiting(A));
        story.then(Event::Retry, &[Command::Probe { adapter: true }]);
    }
}

#[test]
fn a_newer_photo_overtakes_and_the_older_answer_is_dropped() {
    let mut story = Story::with(Preference::Cpu);
    story
        .loaded(Probe::NotAsked, Backend::Cpu)
        .then(Event::PhotoChosen(B), &[Command::Send(B)])
        .then(answered(A), &[])
        .then(Event::Said(Response::Superseded { id: A }), &[]);
    assert_eq!(story.0.work, Work::Running(B));
    story.then(answered(B), &[]);
    assert!(matches!(&story.0.work, Work::Done(answer) if answer.photo == B));
}

#[test]
fn an_answer_of_another_version_is_an_error_and_not_a_blank_page() {
    let mut story = Story::with(Preference::Cpu);
    story.loaded(Probe::NotAsked, Backend::Cpu).then(
        Event::Said(Response::Result {
            id: A,
            json: r#"{"ladder": []}"#.into(),
        }),
        &[],
    );
    let Work::Failed { error, .. } = &story.0.work else {
        panic!("{:?}", story.0.work)
    };
    assert!(error.todo.contains("Reload"));
}

#[test]
fn a_gpu_that_failed_once_is_not_tried_again_in_this_visit() {
    let mut story = Story::with(Preference::Auto);
    story
        .loaded(Probe::Hardware("gpu".into()), Backend::WebGpu)
        .then(Event::Silent, &[Command::Start(Backend::Cpu)])
        .then(Event::Died(error(Cause::Engine)), &[Command::Stop])
        .then(Event::Retry, &[Command::Probe { adapter: false }])
        .then(
            Event::Probed(Probe::NotAsked),
            &[Command::Start(Backend::Cpu)],
        );
}

#[test]
fn retry_reads_the_same_photo_again() {
    let mut story = Story::with(Preference::Cpu);
    story
        .loaded(Probe::NotAsked, Backend::Cpu)
        .then(
            Event::Said(Response::Result {
                id: A,
                json: String::new(),
            }),
            &[],
        )
        .then(Event::Retry, &[Command::Send(A)]);
}

//! Stories of loading: stopped by the visitor, ended by the browser, finer while photos are read.
#![allow(clippy::unwrap_used)]

use espalier_core::caption::{CaptionResult, ModelInfo, PhotoInfo, Rung, TaxonomyResult};
use espalier_web::engine::protocol::{Backend, EngineInfo, PhotoId, Response};
use espalier_web::state::choice::{PassedOver, Preference, Probe};
use espalier_web::state::session::{Command, Engine, Event, Session, Work};
use espalier_web::ui_error::Cause;

const A: PhotoId = PhotoId(1);
const B: PhotoId = PhotoId(2);

/// A session on its way, the commands of each event checked against what is expected.
struct Story(Session);

impl Story {
    fn with(preference: Preference) -> Self {
        Self(Session::new(preference))
    }

    fn then(&mut self, event: Event, expected: &[Command]) -> &mut Self {
        let told = format!("{event:?}");
        assert_eq!(self.0.next(event), expected, "after {told}");
        self
    }

    /// From nothing to a CPU engine on its way.
    fn started(&mut self, first: Event) -> &mut Self {
        self.then(first, &[Command::Probe { adapter: false }]).then(
            Event::Probed(Probe::NotAsked),
            &[Command::Start(Backend::Cpu)],
        )
    }
}

fn ready(backend: Backend) -> Event {
    Event::Said(Response::Ready(EngineInfo {
        backend,
        model: "m".into(),
        version: "1".into(),
        sha256: "00".into(),
        self_test: 1.0,
        warm_ms: 1.0,
    }))
}

/// A result whose ladder has these rungs.
fn result(rungs: &[&str]) -> CaptionResult {
    let rung = |text: &&str| Rung {
        text: (*text).into(),
        radius: 0.1,
        similarity: 0.1,
        node: None,
    };
    CaptionResult {
        model: ModelInfo {
            name: "m".into(),
            version: "1".into(),
            sha256: "00".into(),
        },
        backend: "cpu".into(),
        image: PhotoInfo {
            width: 1,
            height: 1,
            sha256: "00".into(),
        },
        ladder: rungs.iter().map(rung).collect(),
        taxonomy: TaxonomyResult {
            path: Vec::new(),
            stop: String::new(),
        },
        timing_ms: std::collections::BTreeMap::new(),
    }
}

fn answered(id: PhotoId, rungs: &[&str]) -> Event {
    let json = serde_json::to_string(&result(rungs)).unwrap();
    Event::Said(Response::Result { id, json })
}

#[test]
fn a_cancelled_load_ends_the_worker_and_goes_on_when_asked_again() {
    let mut story = Story::with(Preference::Cpu);
    story
        .started(Event::PhotoChosen(A))
        .then(Event::CancelWanted, &[Command::Stop]);
    assert_eq!(story.0.engine, Engine::Off);
    assert!(
        matches!(&story.0.work, Work::Failed { photo: Some(A), error } if error.cause == Cause::Network)
    );
    // What the ended worker had said before is no word of the next one.
    story
        .then(ready(Backend::Cpu), &[])
        .then(Event::CancelWanted, &[])
        .started(Event::Retry)
        .then(ready(Backend::Cpu), &[Command::Send(A)]);
}

#[test]
fn a_graphics_processor_that_ended_the_page_before_is_not_tried_again() {
    let mut story = Story::with(Preference::Auto);
    story
        .then(Event::CrashedBefore(Backend::WebGpu), &[])
        .started(Event::LoadWanted);
    assert_eq!(story.0.passed_over, Some(PassedOver::Crashed));
    let mut story = Story::with(Preference::Auto);
    story
        .then(Event::CrashedBefore(Backend::Cpu), &[])
        .then(Event::LoadWanted, &[Command::Probe { adapter: true }]);
}

#[test]
fn an_answer_becomes_finer_when_finer_captions_have_come() {
    let mut story = Story::with(Preference::Cpu);
    story
        .started(Event::PhotoChosen(A))
        .then(ready(Backend::Cpu), &[Command::Send(A)])
        .then(answered(A, &["a cat"]), &[]);
    let turn = story.0.turn;
    let finer = ["a cat", "a cat on the left"];
    story.then(answered(A, &finer), &[]);
    let Work::Done(answer) = &story.0.work else {
        panic!("{:?}", story.0.work)
    };
    assert_eq!(answer.result, result(&finer));
    assert_eq!(story.0.turn, turn + 1, "it is drawn anew");
    // A photo that is no longer on show changes nothing.
    story.then(Event::PhotoChosen(B), &[Command::Send(B)]);
    story.then(answered(A, &finer), &[]);
    assert_eq!(story.0.work, Work::Running(B));
}

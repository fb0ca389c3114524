//! Stories of loading: stopped by the visitor, ended by the browser, finer while photos are read.

use espalier_web::messages::protocol::Backend;
use espalier_web::state::choice::FallbackReason;
use espalier_web::state::session::{Command, Engine, Event, Work};
use espalier_web::ui_error::Cause;

use super::story::{A, B, Story, coarse, error, finer, ready, result};

#[test]
fn a_cancelled_load_ends_the_worker_and_goes_on_when_asked_again() {
    let mut story = Story::with(Backend::Cpu);
    story
        .started(Event::PhotoChosen(A))
        .then(Event::CancelRequested, Command::Stop);
    assert_eq!(story.0.engine, Engine::Off);
    assert!(
        matches!(&story.0.work, Work::Failed { photo: Some(A), error } if error.cause == Cause::Network)
    );
    // What the ended worker had said before is no word of the next one.
    story
        .then(ready(Backend::Cpu), None)
        .then(Event::CancelRequested, None)
        .started(Event::Retry)
        .then(ready(Backend::Cpu), Command::Send(A));
}

#[test]
fn a_stored_model_is_loaded_before_a_photo_unless_the_visitor_has_acted() {
    let mut story = Story::with(Backend::Cpu);
    story
        .started(Event::ModelStored)
        .then(Event::PhotoChosen(A), None)
        .then(ready(Backend::Cpu), Command::Send(A));
    let mut story = Story::with(Backend::Cpu);
    story
        .started(Event::LoadRequested)
        .then(Event::CancelRequested, Command::Stop)
        .then(Event::ModelStored, None);
    assert_eq!(story.0.engine, Engine::Off);
}

#[test]
fn a_graphics_processor_that_ended_the_page_before_is_not_tried_again() {
    let mut story = Story::with(None);
    story
        .then(Event::CrashedBefore(Backend::WebGpu), None)
        .started(Event::LoadRequested);
    assert_eq!(story.0.fallback_reason, Some(FallbackReason::Crashed));
    let mut story = Story::with(None);
    story
        .then(Event::CrashedBefore(Backend::Cpu), None)
        .then(Event::LoadRequested, Command::Probe { adapter: true });
}

#[test]
fn an_answer_becomes_finer_when_finer_captions_have_come() {
    let mut story = Story::with(Backend::Cpu);
    story.answered();
    let turn = story.0.turn;
    let rungs = ["a cat", "a cat on the left"];
    story.then(finer(A, &rungs), None);
    let Work::Done(answer) = &story.0.work else {
        panic!("{:?}", story.0.work)
    };
    assert_eq!(answer.result, result(&rungs));
    assert_eq!(story.0.turn, turn + 1, "it is drawn anew");
    // A photo that is no longer on show changes nothing.
    story.then(Event::PhotoChosen(B), Command::Send(B));
    story.then(finer(A, &rungs), None);
    assert_eq!(story.0.work, Work::Running(B));
}

#[test]
fn finer_captions_that_do_not_come_are_told_and_take_nothing_away() {
    let mut story = Story::with(Backend::Cpu);
    story.answered().then(coarse(), None);
    assert!(matches!(&story.0.work, Work::Done(answer) if answer.photo == A));
    assert_eq!(story.0.coarse, Some(error(Cause::Network)));
    // The next engine fetches them anew.
    story
        .then(Event::WorkerFailed(error(Cause::Engine)), Command::Stop)
        .started(Event::Retry);
    assert_eq!(story.0.coarse, None);
}

//! Stories of photos read, engines that fail and photos that do.

use espalier_web::messages::protocol::{Backend, Response};
use espalier_web::state::choice::Probe;
use espalier_web::state::session::{Command, Engine, Event, Work};
use espalier_web::ui_error::{Cause, UiError};

use super::story::{A, B, FIRST, Story, answered, error, failed, ready, result};

#[test]
fn a_photo_given_first_waits_for_the_model_and_is_read_when_it_is_there() {
    let mut story = Story::with(Backend::Cpu);
    story
        .loaded(Probe::NotAsked, Backend::Cpu)
        .then(answered(A), None);
    let Work::Done(answer) = &story.0.work else {
        panic!("{:?}", story.0.work)
    };
    assert_eq!(answer.result, result(&FIRST));
    assert_eq!(
        answer.json,
        serde_json::to_string_pretty(&result(&FIRST)).unwrap()
    );
}

#[test]
fn a_model_loaded_first_waits_for_the_photo() {
    let mut story = Story::with(Backend::Cpu);
    story
        .then(Event::LoadRequested, Command::Probe { adapter: false })
        .then(Event::LoadRequested, None)
        .then(Event::Probed(Probe::NotAsked), Command::Start(Backend::Cpu))
        .then(Event::Received(Response::Booted), Command::Load)
        .then(ready(Backend::Cpu), None)
        .then(Event::PhotoChosen(A), Command::Send(A));
}

#[test]
fn the_bar_of_each_engine_has_its_own_honest_total() {
    for (probe, backend, total) in [
        (Probe::Hardware("gpu".into()), Backend::WebGpu, 1_900),
        (Probe::Software("soft".into()), Backend::Cpu, 1_100),
    ] {
        let mut story = Story::with(None);
        story
            .then(Event::LoadRequested, Command::Probe { adapter: true })
            .then(Event::Probed(probe), Command::Start(backend));
        let Engine::Loading { bar, .. } = &story.0.engine else {
            panic!("{:?}", story.0)
        };
        assert_eq!(bar.total(), Some(total));
    }
}

#[test]
fn a_gpu_that_fails_its_self_test_gives_way_to_the_cpu_with_a_reason() {
    let mut story = Story::with(None);
    story
        .gpu_started()
        .then(Event::Received(Response::Booted), Command::Load)
        .then(
            Event::Received(Response::Failed {
                id: None,
                fatal: true,
                error: UiError::wrong_self_test(0.3, 0.995),
            }),
            Command::Start(Backend::Cpu),
        );
    let why = story.0.fallback_reason.as_ref().unwrap().in_words();
    assert!(
        why.contains("wrong result") && why.contains("0.3000"),
        "{why}"
    );
    story
        .then(Event::Received(Response::Booted), Command::Load)
        .then(ready(Backend::Cpu), Command::Send(A))
        .then(answered(A), None);
}

#[test]
fn a_gpu_lost_in_mid_flight_hands_the_photo_to_the_cpu() {
    for event in [
        failed(None, true, Cause::Engine),
        failed(Some(A), true, Cause::Gpu),
        Event::WorkerFailed(error(Cause::Engine)),
        Event::Silent,
    ] {
        let mut story = Story::with(Backend::WebGpu);
        story
            .loaded(Probe::Software("soft".into()), Backend::WebGpu)
            .then(event, Command::Start(Backend::Cpu));
        assert_eq!(story.0.work, Work::Waiting(A));
        story
            .then(Event::Received(Response::Booted), Command::Load)
            .then(ready(Backend::Cpu), Command::Send(A));
    }
}

#[test]
fn a_cpu_that_dies_of_a_photo_is_started_again_by_the_next_one() {
    let mut story = Story::with(Backend::Cpu);
    story
        .loaded(Probe::NotAsked, Backend::Cpu)
        .then(Event::WorkerFailed(error(Cause::Engine)), Command::Stop);
    assert!(matches!(story.0.work, Work::Failed { photo: Some(A), .. }));
    assert_eq!(story.0.engine, Engine::Off);
    story.started(Event::PhotoChosen(B));
}

#[test]
fn a_photo_that_cannot_be_read_leaves_the_engine_ready_for_the_next() {
    let mut story = Story::with(Backend::Cpu);
    story
        .loaded(Probe::NotAsked, Backend::Cpu)
        .then(failed(Some(A), false, Cause::Photo), None)
        .then(Event::PhotoChosen(B), Command::Send(B))
        .then(answered(B), None);
    assert!(matches!(&story.0.work, Work::Done(answer) if answer.photo == B));
}

#[test]
fn a_damaged_model_is_told_at_once_and_no_other_engine_is_tried_on_it() {
    for cause in [Cause::Bundle, Cause::Network] {
        let mut story = Story::with(None);
        story
            .gpu_started()
            .then(failed(None, true, cause), Command::Stop);
        assert!(matches!(story.0.engine, Engine::Failed(_)));
        assert_eq!(story.0.work, Work::Waiting(A));
        story.then(Event::Retry, Command::Probe { adapter: true });
    }
}

#[test]
fn a_newer_photo_overtakes_and_the_older_answer_is_dropped() {
    let mut story = Story::with(Backend::Cpu);
    story
        .loaded(Probe::NotAsked, Backend::Cpu)
        .then(Event::PhotoChosen(B), Command::Send(B))
        .then(answered(A), None)
        .then(Event::Received(Response::Superseded { id: A }), None);
    assert_eq!(story.0.work, Work::Running(B));
    story.then(answered(B), None);
    assert!(matches!(&story.0.work, Work::Done(answer) if answer.photo == B));
}

#[test]
fn an_answer_of_another_version_is_an_error_and_not_a_blank_page() {
    let mut story = Story::with(Backend::Cpu);
    story.loaded(Probe::NotAsked, Backend::Cpu).then(
        Event::Received(Response::Result {
            id: A,
            json: r#"{"ladder": []}"#.into(),
        }),
        None,
    );
    let Work::Failed { error, .. } = &story.0.work else {
        panic!("{:?}", story.0.work)
    };
    assert!(error.todo.contains("Reload"));
    // The same photo is read again.
    story.then(Event::Retry, Command::Send(A));
}

#[test]
fn a_gpu_that_failed_once_is_not_tried_again_in_this_visit() {
    let mut story = Story::with(None);
    story
        .loaded(Probe::Hardware("gpu".into()), Backend::WebGpu)
        .then(Event::Silent, Command::Start(Backend::Cpu))
        .then(Event::WorkerFailed(error(Cause::Engine)), Command::Stop)
        .started(Event::Retry);
}

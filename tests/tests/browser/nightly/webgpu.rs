//! The WebGPU engine on the adapter that Chromium computes in software: it answers as the CPU does,
//! and gives way to the CPU where there is no adapter, where one is lost, and after a crash.

use espalier_tests::browser::{Gpu, Site, sample, started_on};
use serde_json::Value;

use crate::page::answers::{agree, photos, the_cpu_takes_over};
use crate::page::explore::{part_agrees, weigh_a_phrase};
use crate::visitor::Visit;

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn the_webgpu_engine_says_what_the_command_line_says() {
    let visit = Visit::to(Site::built(), Gpu::Software);
    visit.open("?model=tiny&backend=webgpu");
    for photo in photos(visit.folder.path()).into_iter().take(2) {
        let answer = visit.browser.give(&photo).unwrap();
        // A fallback to the other engine would give the same answer.
        assert!(answer.engine.contains("WebGPU"), "{}", answer.engine);
        agree(&photo, &answer, "webgpu");
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn on_webgpu_a_part_is_read_and_a_phrase_is_weighed() {
    let (browser, _site, _) =
        started_on(Gpu::Software, "?model=tiny&backend=webgpu&sample=raccoon");
    part_agrees(&browser, &sample("raccoon"));
    weigh_a_phrase(&browser);
    // A fallback to the other engine would give the same answers.
    let engine = browser.text("engine-line");
    assert!(engine.contains("WebGPU"), "{engine}");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn without_a_graphics_processor_the_cpu_takes_over_and_the_page_says_so() {
    for (gpu, reason) in [
        (Gpu::None, "no graphics adapter"),
        (Gpu::Software, "software"),
    ] {
        let said = the_cpu_takes_over(&Visit::to(Site::built(), gpu));
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn a_graphics_processor_that_goes_away_gives_way_to_the_cpu_in_mid_flight() {
    let visit = Visit::to(Site::built(), Gpu::Software);
    let first = visit.open("?model=tiny&backend=webgpu").answer();
    assert_eq!(first.result.backend, "webgpu");
    // As when a driver hangs.
    visit.browser.end_gpu_process();
    visit.browser.wait_for(
        "the CPU to take over",
        "return document.querySelector('[data-testid=engine-line]')?.dataset.backend === 'cpu'",
    );
    let line = visit.browser.text("engine-line");
    assert!(line.contains("given up"), "{line}");
    let second = visit.answer();
    assert_eq!(second.result.backend, "cpu");
    assert_eq!(second.result.taxonomy.stop, first.result.taxonomy.stop);
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn an_engine_that_ended_the_tab_before_is_not_started_again_by_itself() {
    let visit = Visit::to(Site::built(), Gpu::Software);
    let _ = visit.open("?model=tiny&backend=webgpu");
    let note = "return localStorage.getItem('espalier-loading')";
    assert_eq!(visit.browser.evaluate(note), Value::Null);
    // The note that remains when the browser ends a page during a load: a page that is left removes
    // its note.
    let engines = format!("{}engines.json", visit.site.url());
    visit.browser.visit(&engines);
    let set = "localStorage.setItem('espalier-loading', 'webgpu')";
    let _ = visit.browser.evaluate(set);
    let answer = visit.open("?model=tiny&backend=webgpu").answer();
    assert_eq!(answer.result.backend, "cpu");
    let said = answer.engine;
    assert!(said.contains("the browser ended the page"), "{said}");
    assert_eq!(visit.browser.evaluate(note), Value::Null);
}

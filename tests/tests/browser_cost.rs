//! What a bundle costs a visitor: bytes, memory and time of one load and one photo on the CPU engine,
//! while the page stays responsive. `cargo xtask page-cost BUNDLE` prints it for any bundle.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::Instant;

use espalier_core::bundle::Part;
use espalier_tests::browser::{Browser, DEFAULT, Gpu, PARTS, Site, processes, wanted};
use espalier_tests::photos::{jpeg, keep, landscape};

/// Longest time in milliseconds that the page may not answer to a visitor; 50 are wanted, and there
/// is room for a machine that is busy otherwise.
const RESPONSIVE: f64 = 250.0;

#[test]
#[ignore = "needs Chromium and the built page: cargo xtask test"]
fn a_bundle_is_loaded_within_bounds_and_the_page_stays_responsive() {
    if !wanted() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let photo = keep(folder.path(), "photo.jpg", &jpeg(&landscape(640, 480), 1));
    let site = Site::copy();
    if let Some(bundle) = std::env::var_os("ESPALIER_COST_BUNDLE").map(PathBuf::from) {
        site.replace_model(DEFAULT, &bundle);
    }
    let manifest = site.manifest(DEFAULT);
    let browser = Browser::start(Gpu::None);
    browser.open(&site, "?backend=cpu");
    let renderers = || processes::of(browser.profile(), "renderer");
    let peak = || {
        renderers()
            .iter()
            .map(|process| process.peak)
            .max()
            .unwrap_or(0)
    };
    let before = peak();
    browser.watch_turns();

    let begun = Instant::now();
    browser.press("[data-testid=load-button]");
    browser.wait_for(
        "the engine",
        "return document.querySelector('[data-testid=engine-line]') !== null",
    );
    let loaded = begun.elapsed();
    let while_loading = browser.longest_turn();
    browser.watch_turns();
    let answer = browser.give(&photo).answer();
    let while_reading = browser.longest_turn();
    let after = peak();

    let tower = manifest.bytes_of(&[Part::Image]);
    let largest = manifest
        .files_of(&PARTS)
        .map(|f| f.bytes)
        .max()
        .unwrap_or(0);
    println!(
        "bundle                    {} {}",
        manifest.name, manifest.version
    );
    println!(
        "picture tower             {:.1} MB in {} files",
        mega(tower),
        manifest.files_of(&[Part::Image]).count()
    );
    println!(
        "fetched for an answer     {:.1} MB",
        mega(manifest.bytes_of(&PARTS))
    );
    println!("largest file              {:.1} MB", mega(largest));
    println!("memory before             {:.0} MB", mega(before));
    println!("memory at most            {:.0} MB", mega(after));
    println!("load, self-test included  {:.1} s", loaded.as_secs_f64());
    println!("longest turn, loading     {while_loading:.0} ms (0: none above 50)");
    for (stage, time) in &answer.result.timing_ms {
        println!("photo, {stage:<18} {time:.0} ms");
    }
    println!("longest turn, photo       {while_reading:.0} ms (0: none above 50)");
    for longest in [while_loading, while_reading] {
        assert!(
            longest < RESPONSIVE,
            "the page gave no answer for {longest} ms"
        );
    }
    // Weights are computed with in 32 bits; beside them the files on their way and the engine.
    let bound = 200e6 + 5.5 * tower as f64;
    assert!(
        ((after - before) as f64) < bound,
        "{:.0} MB more than before, at most {:.0} expected",
        mega(after - before),
        bound / 1e6
    );
}

fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

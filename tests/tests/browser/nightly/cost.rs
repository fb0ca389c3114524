//! Cost of a bundle for a visitor: bytes, memory and time of one load and one photo on the CPU
//! engine. The page must stay responsive. `cargo xtask page-cost BUNDLE` prints the cost of any
//! bundle.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use espalier_core::bundle::{Manifest, Part};
use espalier_tests::browser::processes::{self, Process};
use espalier_tests::browser::{Answer, Browser, DEFAULT, Gpu, Site};
use espalier_tests::photos::{jpeg, keep, landscape};
use espalier_tests::wait_until;

/// Longest time in milliseconds for which a task may block the page's thread. The goal is 50; the
/// rest is a margin for a busy machine.
const RESPONSIVE: f64 = 250.0;

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn a_bundle_is_loaded_within_bounds_and_the_page_stays_responsive() {
    let browser = Browser::start(Gpu::None);
    let renderers = |browser: &Browser| peak(&processes::of(browser.profile(), "renderer"));
    let cost = Cost::of(&browser, renderers);
    cost.print("Chromium");
    for (work, longest) in ["loading", "photo"].into_iter().zip(cost.tasks) {
        println!("longest task, {work:<11} {longest:.0} ms (0: none above 50)");
        assert!(
            longest < RESPONSIVE,
            "expected tasks below {RESPONSIVE} ms, found one of {longest} ms"
        );
    }
    // The weights in memory have up to 32 bits; the rest is for the files while they load and for the
    // engine.
    let image = cost.manifest.bytes_of(&[Part::Image]);
    let bound = 200e6 + 5.5 * image as f64;
    let more = cost.after.saturating_sub(cost.before);
    assert!(
        (more as f64) < bound,
        "found {:.0} MB more than before, expected at most {:.0}",
        mega(more),
        bound / 1e6
    );
}

#[test]
#[ignore = "needs Firefox: cargo xtask test --all"]
fn firefox_loads_a_bundle_and_reads_a_photo() {
    let browser = Browser::start_firefox();
    let pages = |browser: &Browser| peak(&processes::of_firefox(browser.profile()));
    let cost = Cost::of(&browser, pages);
    cost.print("Firefox");
    // Firefox has no Long Tasks API, so its longest task is not known.
    assert!(
        cost.after > cost.before,
        "no process of Firefox was measured"
    );
    assert!(!cost.answer.rungs.is_empty());
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn the_live_camera_gives_answers() {
    const SECONDS: u64 = 5;
    let browser = Browser::start(Gpu::None);
    let site = Site::copy();
    browser.open(&site, "?backend=cpu");
    browser.press("[data-testid=live-start]");
    let count = "return Number(document.querySelector('[data-testid=live]')?.dataset.count ?? 0)";
    let count = || browser.evaluate(count).as_f64().unwrap();
    wait_until("the camera gave no answer", || count() >= 3.0);
    let (begun, before) = (Instant::now(), count());
    std::thread::sleep(Duration::from_secs(SECONDS));
    let answers = count() - before;
    println!(
        "live camera               {:.1} answers a second",
        answers / begun.elapsed().as_secs_f64()
    );
    assert!(
        answers > 0.0,
        "the camera gave no answer in {SECONDS} seconds"
    );
}

/// Presses the first sample; returns the milliseconds until its ladder is shown.
const SAMPLE: &str = "return new Promise((done) => {
  const begun = performance.now();
  const look = () => document.querySelector('[data-testid=rung-text]')
    ? done(performance.now() - begun)
    : requestAnimationFrame(look);
  document.querySelector('[data-sample]').click();
  look();
})";

/// Cost of one load and one photo.
struct Cost {
    manifest: Manifest,
    /// Bytes of all files fetched until the second answer: page, samples, engine and model.
    bytes: u64,
    /// Peak memory in bytes of the largest process that runs pages, before the load and at the end.
    before: u64,
    after: u64,
    load: Duration,
    /// Longest tasks of the page's thread in milliseconds, during the load and during the photo.
    tasks: [f64; 2],
    answer: Answer,
    /// Milliseconds by stage of a second photo of nearly the same size.
    warm: BTreeMap<String, f64>,
    /// Milliseconds from the press of a sample to its ladder, after the page was opened again and
    /// its engine was ready.
    again: f64,
}

impl Cost {
    /// Opens the page, loads its model on the CPU engine and gives it two photos of nearly the same
    /// size.
    fn of(browser: &Browser, peak: impl Fn(&Browser) -> u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let photo = keep(folder.path(), "photo.jpg", &jpeg(&landscape(640, 480), 1));
        let again = keep(folder.path(), "again.jpg", &jpeg(&landscape(644, 480), 1));
        let site = Site::copy();
        if let Some(bundle) = std::env::var_os("ESPALIER_COST_BUNDLE").map(PathBuf::from) {
            site.replace_model(DEFAULT, &bundle);
        }
        browser.open(&site, "?backend=cpu");
        let before = peak(browser);
        browser.watch_turns();
        let begun = Instant::now();
        browser.press("[data-testid=load-button]");
        browser.wait_for_id("engine-line");
        let load = begun.elapsed();
        let loading = browser.longest_turn();
        browser.watch_turns();
        let answer = browser.give(&photo).unwrap();
        let reading = browser.longest_turn();
        let warm = browser.give(&again).unwrap().result.timing_ms;
        let (bytes, after) = (fetched(browser, &site), peak(browser));
        browser.open(&site, "?backend=cpu");
        browser.wait_for_id("engine-line");
        Self {
            manifest: site.manifest(DEFAULT),
            bytes,
            before,
            after,
            load,
            tasks: [loading, reading],
            answer,
            warm,
            again: browser.evaluate(SAMPLE).as_f64().unwrap(),
        }
    }

    fn print(&self, browser: &str) {
        let manifest = &self.manifest;
        let files = manifest.files_of(&Part::OF_AN_ANSWER);
        let largest = files.map(|f| f.bytes).max().unwrap_or(0);
        println!("\n{browser}");
        println!(
            "bundle                    {} {}",
            manifest.name, manifest.version
        );
        println!(
            "image encoder             {:.1} MB in {} files",
            mega(manifest.bytes_of(&[Part::Image])),
            manifest.files_of(&[Part::Image]).count()
        );
        println!(
            "files for an answer       {:.1} MB",
            mega(manifest.bytes_of(&Part::OF_AN_ANSWER))
        );
        println!("largest file              {:.1} MB", mega(largest));
        println!("fetched in all            {:.1} MB", mega(self.bytes));
        println!("memory before             {:.0} MB", mega(self.before));
        println!("memory at most            {:.0} MB", mega(self.after));
        println!("load, self-test included  {:.1} s", self.load.as_secs_f64());
        for (stage, time) in &self.answer.result.timing_ms {
            println!("first photo, {stage:<12} {time:.0} ms");
        }
        for (stage, time) in &self.warm {
            println!("warm photo, {stage:<13} {time:.0} ms");
        }
        println!("second visit, a sample    {:.0} ms", self.again);
    }
}

/// Returns the bytes of everything that the page, its workers and its service worker requested from
/// the site, as sent by a host that compresses texts and programs.
fn fetched(browser: &Browser, site: &Site) -> u64 {
    let requests = browser.requests();
    let ours = requests.iter().filter_map(|seen| site.file_of(&seen.url));
    ours.filter_map(|file| xtask::transfer::transfer_size(&file).ok())
        .sum()
}

fn peak(processes: &[Process]) -> u64 {
    processes.iter().map(|p| p.peak).max().unwrap_or(0)
}

fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

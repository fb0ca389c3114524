//! The page under load and under attack: many photos, cancelled ones, engines that end, an update
//! while the page is open.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_tests::browser::{Browser, Gpu, Site, processes};
use espalier_tests::photos::{jpeg, keep, landscape};
use espalier_web::messages::protocol::BUILD;
use serde_json::json;

/// Number of photos of the long session; `cargo xtask siege` asks for more.
const PHOTOS: usize = 60;
const PHOTOS_VARIABLE: &str = "ESPALIER_SIEGE_PHOTOS";

/// Keeps all workers of the page within reach.
const RECORD_WORKERS: &str = "window.engines = [];
  const Plain = window.Worker;
  window.Worker = class extends Plain {
    constructor(...of) { super(...of); window.engines.push(this); }
  };";

/// Ends the last worker as a browser does that runs out of memory.
const END_WORKER: &str = "const engine = window.engines.at(-1);
  engine.terminate();
  engine.dispatchEvent(new ErrorEvent('error', { message: 'out of memory' }));";

/// Gives the page 20 photos, each before the one before was read.
const GIVE_MANY: &str = "return (async () => {
  const photo = await (await fetch('samples/cat.jpg')).blob();
  const input = document.querySelector('[data-testid=file-input]');
  for (let i = 0; i < 20; i += 1) {
    const given = new DataTransfer();
    given.items.add(new File([photo, `${i}`], 'cat.jpg', { type: 'image/jpeg' }));
    input.files = given.files;
    input.dispatchEvent(new Event('change', { bubbles: true }));
    await new Promise((done) => setTimeout(done, 20));
  }
})()";

fn photo(folder: &Path, number: usize) -> PathBuf {
    let width = 320 + u32::try_from(number % 50).unwrap();
    let bytes = jpeg(&landscape(width, 240), 1);
    keep(folder, &format!("{number}.jpg"), &bytes)
}

/// Reads many photos, some of them cancelled. `memory` returns what the processes of the page take; it
/// must not grow after a third of the session.
fn long_session(browser: &Browser, memory: impl Fn(&Browser) -> u64) {
    let asked = std::env::var(PHOTOS_VARIABLE).ok();
    let photos = asked.map_or(PHOTOS, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let site = Site::built();
    browser.open(&site, "?model=tiny&backend=cpu");
    let mut begin = 0;
    for number in 0..photos {
        if number % 20 == 10 {
            let _ = browser.evaluate(GIVE_MANY);
        }
        let _ = browser.give(&photo(folder.path(), number)).unwrap();
        if number == photos / 3 {
            begin = memory(browser);
        }
    }
    let end = memory(browser);
    println!(
        "{} MB after {} photos, {} MB after {photos}",
        begin / 1_000_000,
        photos / 3,
        end / 1_000_000
    );
    assert!(
        end < begin + begin / 5,
        "{begin} bytes after a third, {end} at the end"
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn a_long_session_with_cancelled_photos_takes_no_more_memory_than_its_beginning() {
    long_session(&Browser::start(Gpu::None), |browser| {
        browser.release_memory();
        let pages = processes::of(browser.profile(), "renderer");
        pages.iter().map(|process| process.now).sum()
    });
}

#[test]
#[ignore = "needs Firefox: cargo xtask test --all"]
fn a_long_session_in_firefox_takes_no_more_memory_than_its_beginning() {
    // Firefox cannot be asked to empty its caches, so this is the most that it has taken.
    long_session(&Browser::start_firefox(), |browser| {
        let pages = processes::of_firefox(browser.profile());
        pages.iter().map(|process| process.peak).sum()
    });
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn an_engine_that_ends_in_any_state_is_told_and_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let (browser, site) = (Browser::start(Gpu::None), Site::built());
    let source = json!({ "source": RECORD_WORKERS });
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", &source);
    browser.open(&site, "?model=tiny&backend=cpu");
    let first = photo(folder.path(), 0);
    // While the model loads.
    browser.give_all(std::slice::from_ref(&first));
    browser.wait_for("an engine", "return window.engines.length > 0");
    let _ = browser.evaluate(END_WORKER);
    browser.wait_for_words("[data-testid=error-card]", "stopped");
    let answer = browser.try_again(&first).unwrap();
    // While it waits.
    let _ = browser.evaluate(END_WORKER);
    let second = photo(folder.path(), 1);
    browser.give_all(std::slice::from_ref(&second));
    // While it reads: the photo was just given.
    browser.wait_for("the next engine", "return window.engines.length > 2");
    let _ = browser.evaluate(END_WORKER);
    browser.wait_for_id("error-card");
    let again = browser.try_again(&second).unwrap();
    assert_eq!(again.result.model, answer.result.model);
    assert_eq!(again.result.backend, "cpu");
}

/// Hash of the sources of the later build.
const LATER_BUILD: &str = "0123456789abcdef";

/// Replaces a text in a file by another of the same length.
fn replace(path: &Path, from: &str, to: &str) {
    let mut bytes = fs::read(path).unwrap();
    let windows = bytes.windows(from.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == from.as_bytes());
    let places: Vec<usize> = found.map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "{} has no {from}", path.display());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    fs::write(path, bytes).unwrap();
}

/// The files of a built page, which become those of a later build: other sources, so another hash
/// in the program and in the engines, and so other names.
struct Update {
    root: PathBuf,
}

impl Update {
    fn of(site: &Site) -> Self {
        let page = site.file_of(&format!("{}index.html", site.url())).unwrap();
        let root = page.parent().unwrap().to_owned();
        Self { root }
    }

    fn names(&self) -> Vec<String> {
        espalier_fixtures::listing::names(&self.root)
    }

    /// Returns the hash in the name of a file.
    fn hash(&self, before: &str, after: &str) -> String {
        let found = self.names().into_iter().find_map(|name| {
            let hash = name.strip_prefix(before)?.strip_suffix(after)?;
            Some(hash.to_owned())
        });
        found.unwrap_or_else(|| panic!("no {before}…{after}"))
    }

    /// Gives files another hash in their names, and in the lists that name them.
    fn rename(&self, hash: &str, lists: &[&str]) {
        let other = "f".repeat(hash.len());
        for name in self.names().iter().filter(|name| name.contains(hash)) {
            let renamed = name.replace(hash, &other);
            fs::rename(self.root.join(name), self.root.join(renamed)).unwrap();
        }
        for list in lists {
            replace(&self.root.join(list), hash, &other);
        }
    }

    fn engines(&self) {
        let hash = self.hash("engine-", "");
        for worker in ["worker_cpu_bg.wasm", "worker_gpu_bg.wasm"] {
            let path = self.root.join(format!("engine-{hash}")).join(worker);
            replace(&path, BUILD, LATER_BUILD);
        }
        self.rename(&hash, &["sw.js", "engines.json"]);
    }

    fn program(&self) {
        let hash = self.hash("espalier-web-", "_bg.wasm");
        let program = self.root.join(format!("espalier-web-{hash}_bg.wasm"));
        replace(&program, BUILD, LATER_BUILD);
        self.rename(&hash, &["sw.js", "index.html"]);
        let worker = fs::read_to_string(self.root.join("sw.js")).unwrap();
        let version = worker.split_once("\"version\": \"").unwrap().1;
        let version = version.split('"').next().unwrap();
        let zeros = "0".repeat(version.len());
        replace(&self.root.join("sw.js"), version, &zeros);
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn a_page_that_was_opened_before_an_update_never_runs_with_the_new_engine() {
    let folder = tempfile::tempdir().unwrap();
    let (browser, site) = (Browser::start(Gpu::None), Site::copy());
    let photo = photo(folder.path(), 0);
    browser.open(&site, "?model=tiny&backend=cpu");
    browser.wait_for(
        "the service worker",
        "return (async () => (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated')()",
    );
    let update = Update::of(&site);
    // The page comes from a cache or half of the update has arrived; the list of engines is new.
    update.engines();
    browser.open(&site, "?model=tiny&backend=cpu");
    let card = browser.give(&photo).unwrap_err();
    for words in ["different versions", "Reload"] {
        assert!(card.words.contains(words), "{card:?}");
    }
    update.program();
    browser.wait_for(
        "the new version",
        "return (async () => {
           const registration = await navigator.serviceWorker.getRegistration();
           await registration.update();
           return (await caches.keys()).some((name) => / 0+$/.test(name));
         })()",
    );
    browser.open(&site, "?model=tiny&backend=cpu");
    let answer = browser.give(&photo).unwrap();
    assert_eq!(answer.result.backend, "cpu");
}

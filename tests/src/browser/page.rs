//! Actions of a visitor on the page, and their outcomes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use espalier_core::bundle::sha256_hex;
use espalier_core::caption::CaptionResult;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Recorder, Seen, Site, WebDriver};
use crate::{PATIENCE, wait_until};

/// How long an answer must stay unchanged: the first may appear before the finer captions arrive.
const SETTLED: Duration = Duration::from_millis(800);
/// Time that the browser gets to empty its caches.
const RELEASED: Duration = Duration::from_millis(500);

/// Time limit of an answer on WebGPU, whose software adapter compiles for minutes.
const GPU_PATIENCE: Duration = Duration::from_secs(420);

/// Commands that install the browsers and set the variables that name them.
const CHROMIUM_BY: &str = "`cargo xtask test`";
const FIREFOX_BY: &str = "`cargo xtask test --all`";

/// Whether the browser offers a graphics adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gpu {
    /// None, as on most machines without a graphics processor.
    None,
    /// The one that Chromium computes in software.
    Software,
}

/// Colour scheme that the visitor's system requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Look {
    /// Returns the name in CSS and in file names.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// An answer as the page shows it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The result that the visitor may copy.
    pub result: CaptionResult,
    /// Captions on the screen, from top to bottom.
    pub rungs: Vec<String>,
    /// The line that says which engine runs.
    pub engine: String,
}

/// An error as the page shows it.
#[derive(Clone, Debug, Deserialize)]
pub struct ErrorCard {
    /// Category of the cause: `photo`, `bundle`, `network` …
    pub cause: String,
    /// The full text of the card.
    pub words: String,
}

/// What a photo leads to: a ladder and a path, or an error card.
pub type Outcome = Result<Answer, ErrorCard>;

/// A fresh browser with the page in it.
pub struct Browser {
    driver: WebDriver,
    recorder: Recorder,
    gpu: Gpu,
    // Last, so that the browser has ended before its folder is removed.
    profile: TempDir,
}

impl Browser {
    /// Starts `CHROMIUM` through `CHROMEDRIVER`, or the programs of these names on the path.
    pub fn start(gpu: Gpu) -> Self {
        let (profile, recorder) = (tempfile::tempdir().unwrap(), Recorder::start());
        let mut arguments: Vec<String> = [
            "--headless=new",
            "--hide-scrollbars",
            "--no-sandbox",
            // A test image instead of a camera, without a question.
            "--use-fake-device-for-media-stream",
            "--use-fake-ui-for-media-stream",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            // Addresses of this machine are reached through the recorder too.
            "--proxy-bypass-list=<-loopback>",
        ]
        .map(str::to_owned)
        .into();
        arguments.push(format!("--proxy-server=http://{}", recorder.addr()));
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        if gpu == Gpu::Software {
            arguments.push("--enable-unsafe-webgpu".to_owned());
        }
        let chromium = program("CHROMIUM", "chromium", CHROMIUM_BY);
        let chromedriver = program("CHROMEDRIVER", "chromedriver", CHROMIUM_BY);
        let options = json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "binary": chromium.to_string_lossy(), "args": arguments },
        });
        let driver = WebDriver::start(&chromedriver, "successfully on port ", options);
        Self {
            driver,
            recorder,
            gpu,
            profile,
        }
    }

    /// Starts `FIREFOX` through `GECKODRIVER`, or the programs of these names on the path. Commands
    /// of the Chrome DevTools Protocol ([`devtools`](Self::devtools) and its callers) do not work
    /// in it.
    pub fn start_firefox() -> Self {
        let (profile, recorder) = (tempfile::tempdir().unwrap(), Recorder::start());
        let addr = recorder.addr();
        let preferences = json!({
            "network.proxy.type": 1,
            "network.proxy.http": addr.ip().to_string(),
            "network.proxy.http_port": addr.port(),
            // Addresses of this machine are reached through the recorder too.
            "network.proxy.allow_hijacking_localhost": true,
            "network.captive-portal-service.enabled": false,
            "app.update.enabled": false,
        });
        let firefox = program("FIREFOX", "firefox-esr", FIREFOX_BY);
        let geckodriver = program("GECKODRIVER", "geckodriver", FIREFOX_BY);
        let options = json!({
            "browserName": "firefox",
            "moz:firefoxOptions": {
                "binary": firefox.to_string_lossy(),
                "args": ["-headless", "-profile", profile.path()],
                "prefs": preferences,
            },
        });
        let driver = WebDriver::start(&geckodriver, "Listening on 127.0.0.1:", options);
        Self {
            driver,
            recorder,
            gpu: Gpu::None,
            profile,
        }
    }

    pub(super) fn driver(&self) -> &WebDriver {
        &self.driver
    }

    /// Returns the proxy between the browser and the network.
    pub fn network(&self) -> &Recorder {
        &self.recorder
    }

    /// Returns the folder of the browser's profile; the command lines of its processes contain this
    /// path.
    pub fn profile(&self) -> &Path {
        self.profile.path()
    }

    /// Returns every request of the browser so far.
    pub fn requests(&self) -> Vec<Seen> {
        self.recorder.seen()
    }

    /// Opens the page and waits until its own code runs. `query` is for example `?backend=cpu`.
    pub fn open(&self, site: &Site, query: &str) {
        self.driver.open(&format!("{}{query}", site.url()));
        wait_until("the page did not start", || {
            let seen = self.screen();
            let failed = seen.boot.is_some() && !seen.starts;
            assert!(!failed, "the page did not start: {seen:?}");
            seen.starts
        });
    }

    /// Chooses a photo in the page's file input and waits for the outcome.
    pub fn give(&self, photo: &Path) -> Outcome {
        self.forget_error();
        self.give_all(&[photo.to_owned()]);
        self.outcome_of(photo)
    }

    /// Presses "Try again" on an error card and waits for the outcome.
    pub fn try_again(&self, photo: &Path) -> Outcome {
        self.forget_error();
        self.press("[data-testid=retry]");
        self.outcome_of(photo)
    }

    /// Runs a script on the page and returns its value.
    pub fn evaluate(&self, body: &str) -> Value {
        self.driver.evaluate(body)
    }

    /// Sends a command of the Chrome DevTools Protocol and returns its result.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.driver.devtools(command, parameters)
    }

    /// Has Chromium give up what it only caches: decoded images and objects that nothing uses.
    pub fn release_memory(&self) {
        let _ = self.devtools("HeapProfiler.collectGarbage", &json!({}));
        let critical = json!({ "level": "critical" });
        let _ = self.devtools("Memory.simulatePressureNotification", &critical);
        sleep(RELEASED);
    }

    /// Chooses several files in the page's file input.
    pub fn give_all(&self, photos: &[PathBuf]) {
        self.give_to("[data-testid=file-input]", photos);
    }

    /// Chooses several files in a file input.
    pub fn give_to(&self, input: &str, photos: &[PathBuf]) {
        let input = self.driver.find(input);
        let paths: Vec<String> = photos.iter().map(|p| p.display().to_string()).collect();
        self.driver.type_into(&input, &paths.join("\n"));
    }

    /// Opens an address of the site that includes a sample, and waits for its answer.
    pub fn open_sample(&self, site: &Site, query: &str) -> Outcome {
        self.open(site, query);
        self.answered(|_| true)
    }

    /// Sets the width of the page in pixels and its colour scheme.
    pub fn resize(&self, width: u32, look: Look) {
        let metrics = json!({
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", &metrics);
        let colours = json!({ "features": [
            { "name": "prefers-color-scheme", "value": look.as_str() },
            // Skips transitions, so that a screenshot shows their last frame.
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]});
        self.devtools("Emulation.setEmulatedMedia", &colours);
    }

    /// Returns a screenshot of the whole page as a PNG, including the part below the window's edge.
    pub fn screenshot(&self) -> Vec<u8> {
        // Waits for two frames, so that the latest changes have been drawn.
        let _ = self.evaluate(
            "return new Promise((done) => \
             requestAnimationFrame(() => requestAnimationFrame(() => done(null))))",
        );
        let wanted = json!({ "format": "png", "captureBeyondViewport": true });
        let image = self.devtools("Page.captureScreenshot", &wanted);
        BASE64_STANDARD
            .decode(image["data"].as_str().unwrap())
            .unwrap()
    }

    /// Marks the error on the screen as seen, so that it is not mistaken for the next one.
    fn forget_error(&self) {
        let _ = self.evaluate(
            "document.querySelectorAll('[data-testid=error-card]')\
             .forEach((card) => card.dataset.seen = '')",
        );
    }

    fn outcome_of(&self, photo: &Path) -> Outcome {
        let sha256 = sha256_hex(&std::fs::read(photo).unwrap());
        self.answered(|result| result.image.sha256 == sha256)
    }

    fn answered(&self, wanted: impl Fn(&CaptionResult) -> bool) -> Outcome {
        let begun = Instant::now();
        let patience = match self.gpu {
            Gpu::None => PATIENCE,
            Gpu::Software => GPU_PATIENCE,
        };
        let mut steady: Option<(CaptionResult, Instant)> = None;
        loop {
            let seen = self.screen();
            assert!(!seen.crashed, "the page crashed: {seen:?}");
            if let Some(card) = seen.error {
                return Err(card);
            }
            let result = seen.json.as_ref().map(|text| {
                serde_json::from_str::<CaptionResult>(text)
                    .unwrap_or_else(|e| panic!("cannot read the result: {e}: {text}"))
            });
            // The answer to the previous photo may still be on the screen.
            if let Some(result) = result.filter(&wanted) {
                match &steady {
                    Some((before, since)) if *before == result => {
                        if since.elapsed() >= SETTLED {
                            return Ok(Answer {
                                result,
                                rungs: seen.rungs,
                                engine: seen.engine.unwrap_or_default(),
                            });
                        }
                    }
                    _ => steady = Some((result, Instant::now())),
                }
            }
            assert!(
                begun.elapsed() < patience,
                "expected an answer or an error within {patience:?}, found {seen:?}"
            );
            sleep(Duration::from_millis(200));
        }
    }

    fn screen(&self) -> Screen {
        let seen = self.evaluate(SCREEN);
        serde_json::from_value(seen.clone()).unwrap_or_else(|e| panic!("{e}: {seen}"))
    }
}

/// Returns the program that a variable names, otherwise the program of this name on the path.
/// `command` installs it.
fn program(variable: &str, name: &str, command: &str) -> OsString {
    let found = || xtask::process::on_path(name).map(PathBuf::into_os_string);
    std::env::var_os(variable)
        .or_else(found)
        .unwrap_or_else(|| {
            panic!(
                "{variable} is not set: expected the path of {name}, which is not on PATH either; \
                 {command} installs it and sets the variable"
            )
        })
}

/// Reads everything that a test waits for in one call.
const SCREEN: &str = r#"
const at = (id) => document.querySelector(`[data-testid="${id}"]`);
const card = document.querySelector('[data-testid="error-card"]:not([data-seen])');
const rungs = [...document.querySelectorAll('[data-testid="ladder"] [data-testid="rung-text"]')];
return {
  starts: at("file-input") !== null,
  boot: document.getElementById("boot-note")?.dataset.state ?? null,
  crashed: document.getElementById("crash")?.hidden === false,
  json: at("json")?.textContent ?? null,
  rungs: rungs.map((rung) => rung.textContent.trim()),
  error: card && { cause: card.dataset.cause, words: card.innerText },
  engine: at("engine-line")?.textContent.trim() ?? null,
  status: at("status")?.textContent ?? null,
};
"#;

/// What [`SCREEN`] returns.
#[derive(Debug, Deserialize)]
struct Screen {
    starts: bool,
    boot: Option<String>,
    crashed: bool,
    json: Option<String>,
    rungs: Vec<String>,
    error: Option<ErrorCard>,
    engine: Option<String>,
    /// Only ever printed.
    #[allow(dead_code, reason = "printed when a test fails")]
    status: Option<String>,
}

//! Pages of other sites that embed the built widget: written by a test, served from another origin.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use xtask::serve::Server;

use super::{Browser, Gpu};
use crate::{PATIENCE, signal, wait_until};

/// A folder of another site, served from its own origin.
pub struct Host {
    folder: TempDir,
    server: Server,
}

impl Host {
    /// Creates an empty folder and serves it.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), 0).unwrap();
        Self { folder, server }
    }

    /// Returns the address of a file in the folder.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a page with the content security policy `policy` and the body `body`. It records the
    /// events of the elements in `window.heard`, the browser's policy violations in `window.refused`
    /// and errors that no script handles in `window.thrown`. Its `page.js` and `page.css` are files
    /// beside it, since a strict policy allows nothing inline.
    pub fn page(&self, path: &str, policy: &str, head: &str, body: &str) {
        for (name, content) in [("page.js", SCRIPT), ("page.css", STYLE)] {
            let beside = Path::new(path).with_file_name(name);
            self.write(&beside.to_string_lossy(), content);
        }
        let page = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>A paper</title>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"page.css\">\n\
             <script src=\"page.js\"></script>{head}</head><body>{body}</body></html>\n"
        );
        self.write(path, page);
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

/// Records all events from the start of the page.
const SCRIPT: &str = r#"
window.heard = [];
window.refused = [];
window.thrown = [];
addEventListener("error", ({ message }) => thrown.push(message));
addEventListener("unhandledrejection", ({ reason }) => thrown.push(String(reason)));
window.shifts = 0;
document.addEventListener("securitypolicyviolation", (e) => refused.push(`${e.effectiveDirective} ${e.blockedURI}`));
for (const name of ["progress", "ready", "result", "select", "fallback", "error"]) {
  document.addEventListener(`espalier-${name}`, ({ target, detail }) => {
    heard.push({ name, id: target.id, detail: JSON.parse(JSON.stringify(detail)) });
  });
}
new PerformanceObserver((list) => {
  // Counts shifts of the page, not those inside an element's own box.
  const outer = ({ node }) => node?.getRootNode() === document && !node.closest?.("espalier-ladder");
  for (const { value, sources } of list.getEntries()) if (sources.some(outer)) shifts += value;
}).observe({ type: "layout-shift", buffered: true });
"#;

/// The rules that the docs recommend for a page's own style sheet, and enough content to scroll.
const STYLE: &str = "espalier-ladder { display: block; height: 26rem; overflow: hidden }\n\
    espalier-ladder img { width: 100%; height: 100% }\n\
    .after { height: 200rem }\n\
    .brown { --espalier-accent: rgb(120, 60, 20); --espalier-bg: rgb(250, 240, 230) }\n";

impl Browser {
    /// Starts a browser without a graphics adapter at a page with the widget, and waits until the
    /// first element is there.
    pub fn at_element(url: &str) -> Self {
        let browser = Self::start(Gpu::None);
        browser.visit(url);
        let is_there = "return Boolean(document.querySelector('espalier-ladder').shadowRoot)";
        browser.wait_for("the element", is_there);
        browser
    }

    /// Opens any address and waits until its scripts are loaded.
    pub fn visit(&self, url: &str) {
        self.driver().open(url);
        // On a busy machine the driver may answer while a new browser still shows its empty page.
        let is_there = "return location.protocol.startsWith('http') && \
                        document.readyState !== 'loading'";
        if url.starts_with("http") {
            self.wait_for("the page", is_there);
        }
    }

    /// Polls the page until a function's body returns a truthy value.
    pub fn wait_for(&self, what: &str, body: &str) -> Value {
        let begun = Instant::now();
        loop {
            let value = self.evaluate(body);
            let is_true = match &value {
                Value::Null | Value::Bool(false) => false,
                Value::String(text) => !text.is_empty(),
                Value::Number(number) => number.as_f64() != Some(0.0),
                _ => true,
            };
            if is_true {
                return value;
            }
            if begun.elapsed() > PATIENCE {
                let heard = self.evaluate("return JSON.stringify([window.heard, window.refused])");
                panic!("timed out while waiting for {what}; events and policy violations: {heard}");
            }
            sleep(Duration::from_millis(100));
        }
    }

    /// Waits until a file whose address contains `part` is requested.
    pub fn wait_until_asked(&self, part: &str) {
        let none = format!("expected a request for {part}, found none");
        wait_until(&none, || self.asked(part) > 0);
    }

    /// Starts recording how long single tasks block the page's thread (the Long Tasks API).
    pub fn watch_turns(&self) {
        let _ = self.evaluate(
            "window.longestTurn = 0;\
             window.turns?.disconnect();\
             window.turns = new PerformanceObserver((list) => {\
               for (const { duration } of list.getEntries())\
                 window.longestTurn = Math.max(window.longestTurn, duration); });\
             window.turns.observe({ type: 'longtask' })",
        );
    }

    /// Returns the longest task since [`watch_turns`](Self::watch_turns) in milliseconds, 0 if none
    /// was longer than 50.
    pub fn longest_turn(&self) -> f64 {
        let turn = self.evaluate("return window.longestTurn");
        turn.as_f64().unwrap_or(f64::INFINITY)
    }

    /// Clicks the button of an element's poster at its position on the screen.
    pub fn press_poster(&self, selector: &str) {
        let at = self.evaluate(&format!(
            "const host = document.querySelector('{selector}');\
             host.scrollIntoView({{ block: 'center', behavior: 'instant' }});\
             const box = host.shadowRoot.querySelector('[part=bar] button').getBoundingClientRect();\
             return [box.x + box.width / 2, box.y + box.height / 2]"
        ));
        self.click_at(at[0].as_f64().unwrap_or(0.0), at[1].as_f64().unwrap_or(0.0));
    }

    /// Clicks at a point of the window.
    pub fn click_at(&self, x: f64, y: f64) {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.devtools("Input.dispatchMouseEvent", &event);
        }
    }

    /// Turns the mouse wheel at a point of the window.
    pub fn wheel(&self, x: f64, y: f64, down: f64) {
        let event = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": down });
        self.devtools("Input.dispatchMouseEvent", &event);
    }

    /// Returns the number of requests for files whose address contains `part`.
    pub fn asked(&self, part: &str) -> usize {
        let requests = self.requests().into_iter();
        requests.filter(|seen| seen.url.contains(part)).count()
    }

    /// Returns the current tab.
    pub fn tab(&self) -> String {
        self.driver().window()
    }

    /// Opens another tab and switches to it.
    pub fn new_tab(&self) -> String {
        let tab = self.driver().new_window();
        self.driver().go_to_window(&tab);
        tab
    }

    /// Switches to a tab.
    pub fn go_to_tab(&self, tab: &str) {
        self.driver().go_to_window(tab);
    }

    /// Kills the browser's GPU process.
    pub fn end_gpu_process(&self) {
        let found = super::processes::of(self.profile(), "gpu-process");
        assert!(!found.is_empty(), "the browser has no GPU process");
        for process in found {
            signal(process.id, "KILL");
        }
    }
}

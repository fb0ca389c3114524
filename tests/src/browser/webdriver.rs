//! The wire protocol of WebDriver: JSON over HTTP to a chromedriver or geckodriver that the test
//! starts.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

/// The key of an element reference in the protocol.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A running chromedriver or geckodriver with one browser session; both end when it is dropped.
pub struct WebDriver {
    process: Child,
    agent: Agent,
    /// Address of the session, without a trailing slash.
    session: String,
}

impl WebDriver {
    /// Starts a driver, which prints its port after the words `announced`, and opens a session with
    /// these capabilities.
    pub fn start(driver: &OsStr, announced: &str, mut options: Value) -> Self {
        let (process, port) = spawn(driver, announced);
        // Ignores proxies of the environment: requests to this machine must not pass through one.
        let agent: Agent = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(Duration::from_secs(120)))
            .build()
            .into();
        // Created before anything can fail, so that the process is always killed on drop.
        let mut started = Self {
            process,
            agent,
            session: format!("http://127.0.0.1:{port}/session"),
        };
        options["timeouts"] = json!({ "script": 60_000, "pageLoad": 60_000 });
        let wanted = json!({ "capabilities": { "alwaysMatch": options } });
        let session = started.post("", &wanted);
        let id = session["sessionId"].as_str();
        let id = id.unwrap_or_else(|| panic!("expected a session id, found {session}"));
        started.session = format!("{}/{id}", started.session);
        started
    }

    /// Opens an address and waits until its documents and scripts are loaded.
    pub fn open(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// Returns a reference to the first element of a CSS selector.
    pub fn find(&self, selector: &str) -> String {
        let wanted = json!({ "using": "css selector", "value": selector });
        let found = self.post("/element", &wanted);
        let id = found[ELEMENT].as_str();
        id.unwrap_or_else(|| panic!("expected a reference to {selector}, found {found}"))
            .to_owned()
    }

    /// Types into an element; a file input takes the path of a file.
    pub fn type_into(&self, element: &str, text: &str) {
        let path = format!("/element/{element}/value");
        self.post(&path, &json!({ "text": text }));
    }

    /// Clicks on an element as a pointer does: it must be visible and nothing may cover it.
    pub fn click(&self, element: &str) {
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Runs the body of a JavaScript function on the page and returns its value.
    pub fn evaluate(&self, body: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": body, "args": [] }))
    }

    /// Returns the handle of the current window.
    pub fn window(&self) -> String {
        let sent = self.agent.get(format!("{}/window", self.session)).call();
        let handle = value_of("/window", &Value::Null, sent);
        handle.as_str().unwrap_or_default().to_owned()
    }

    /// Opens another window as a tab, without switching to it.
    pub fn new_window(&self) -> String {
        let made = self.post("/window/new", &json!({ "type": "tab" }));
        made["handle"].as_str().unwrap_or_default().to_owned()
    }

    /// Switches to a window.
    pub fn go_to_window(&self, handle: &str) {
        self.post("/window", &json!({ "handle": handle }));
    }

    /// Sends a command of the Chrome DevTools Protocol and returns its result.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let wanted = json!({ "cmd": command, "params": parameters });
        self.post("/goog/cdp/execute", &wanted)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let sent = self
            .agent
            .post(format!("{}{path}", self.session))
            .header("Content-Type", "application/json")
            .send(body.to_string());
        value_of(path, body, sent)
    }
}

/// Reads the value of the answer to a request.
fn value_of(path: &str, body: &Value, sent: Result<Response<Body>, ureq::Error>) -> Value {
    let mut answer = sent.unwrap_or_else(|e| panic!("WebDriver {path}: {e}"));
    let status = answer.status();
    let content = answer.body_mut().with_config().limit(1 << 30);
    let text = content.read_to_string();
    let text = text.unwrap_or_else(|e| panic!("WebDriver {path}: {e}"));
    let answer: Value =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("WebDriver {path}: {e}: {text}"));
    let value = &answer["value"];
    let (error, said) = (&value["error"], value["message"].as_str().unwrap_or(&text));
    assert!(
        status.is_success(),
        "WebDriver {path}, {body}: {error}: {said}"
    );
    value.clone()
}

impl Drop for WebDriver {
    fn drop(&mut self) {
        // Also ends the browser; if the browser hangs, the driver is killed anyway.
        self.agent.delete(&self.session).call().ok();
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Number of attempts to start a driver. Chromedriver takes a free port of IPv6 and needs the same
/// port of IPv4, which another program may use.
const TRIES: usize = 5;

/// Starts a driver; returns the process and its port.
fn spawn(driver: &OsStr, announced: &str) -> (Child, u16) {
    let mut said = String::new();
    for _ in 0..TRIES {
        let mut process = Command::new(driver)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}: is it installed?", driver.display()));
        match port(&mut process, announced) {
            Ok(port) => return (process, port),
            Err(words) => said = words,
        }
    }
    panic!(
        "{} did not start in {TRIES} attempts; its last output:\n{said}",
        driver.display()
    );
}

/// Reads the port that a driver listens on; the error is its output if it ends without one.
fn port(process: &mut Child, announced: &str) -> Result<u16, String> {
    let mut said = String::new();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    for line in lines.by_ref().map_while(Result::ok) {
        if let Some((_, port)) = line.split_once(announced) {
            let port = port.trim_end_matches('.').parse();
            // Keeps reading, so that the driver never blocks on a full pipe.
            std::thread::spawn(move || lines.for_each(drop));
            return Ok(port.unwrap_or_else(|e| panic!("{line}: {e}")));
        }
        said.push_str(&line);
        said.push('\n');
    }
    process.wait().ok();
    Err(said)
}

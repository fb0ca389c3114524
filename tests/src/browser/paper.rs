//! A paper's page that embeds the widget, and the events of its elements.

use espalier_core::caption::CaptionResult;
use serde_json::{Value, json};

use super::{Browser, Host, package};
use crate::photos::{jpeg, landscape};
use crate::texts;

/// The content security policy of a page that hosts the widget itself.
pub const STRICT: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; \
    frame-src 'self'; img-src 'self' data:; style-src 'self'; worker-src 'self'";

/// An element with the first photo of [`paper`].
pub const ELEMENT: &str =
    "<espalier-ladder id=\"a\" src=\"photo.jpg\" alt=\"A view\"></espalier-ladder>";

const SCRIPT: &str =
    "<script type=\"module\" src=\"w/widget/espalier-ladder.js\" crossorigin></script>";

/// Writes a paper's page in a sub-folder, `paper/index.html`, with the widget's npm package beside it in
/// `w/` and two photos, `photo.jpg` and `other.jpg`.
pub fn paper(policy: &str, body: &str) -> Host {
    let host = Host::new();
    package::unpack_with_tiny(&host.path("paper/w"));
    host.write("paper/photo.jpg", jpeg(&landscape(640, 480), 1));
    host.write("paper/other.jpg", jpeg(&landscape(300, 420), 1));
    host.page("paper/index.html", policy, SCRIPT, body);
    host
}

/// Writes a paper's page with this policy and body, and opens it.
pub fn opened(policy: &str, body: &str) -> (Host, Browser) {
    let host = paper(policy, body);
    let browser = Browser::at_element(&host.url("paper/index.html"));
    (host, browser)
}

/// Asserts that the widget's result equals that of the command line.
pub fn agree(widget: &Value, native: &CaptionResult) {
    let widget: CaptionResult = serde_json::from_value(widget.clone()).unwrap();
    assert_eq!(widget.model, native.model);
    assert_eq!(widget.image, native.image);
    assert_eq!(texts(&widget.ladder), texts(&native.ladder));
    assert_eq!(widget.taxonomy.stop, native.taxonomy.stop);
    for (a, b) in widget.taxonomy.path.iter().zip(&native.taxonomy.path) {
        assert_eq!(a.id, b.id);
        assert!((a.p - b.p).abs() < 0.01, "{a:?} {b:?}");
    }
}

/// Returns the recorded events with this name of a page of [`Host::page`].
pub fn heard(browser: &Browser, name: &str) -> Vec<Value> {
    let all = browser.evaluate("return heard");
    let all = all.as_array().into_iter().flatten();
    all.filter(|event| event["name"] == name).cloned().collect()
}

/// Waits until an element's result equals that of the command line: the first result may arrive
/// before the finer captions.
pub fn settled(browser: &Browser, id: &str, native: &CaptionResult) -> Value {
    let texts = json!(json!(texts(&native.ladder)).to_string());
    browser.wait_for(
        &format!("the finer result of {id}"),
        &format!(
            "const {{ result }} = document.getElementById('{id}');\
             return JSON.stringify(result?.ladder.map((rung) => rung.text)) === {texts} && result"
        ),
    )
}

/// Waits for the result of an element.
pub fn result_of(browser: &Browser, id: &str) -> Value {
    let said = format!("heard.find((e) => e.name === 'result' && e.id === '{id}')");
    browser.wait_for(
        &format!("the result of {id}"),
        &format!("return {said}?.detail"),
    )
}

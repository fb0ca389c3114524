//! Further actions of a visitor (press, type, move a slider), the text on the screen, and
//! accessibility checks.

use serde::Deserialize;
use serde_json::json;

use super::Browser;

/// Time between two looks at the place of an element.
const RESTING_STEP_MS: u32 = 30;
/// Number of looks until an element counts as never at rest: 12 s.
const RESTING_STEPS: u32 = 400;

/// An accessibility violation that axe-core found.
#[derive(Clone, Debug, Deserialize)]
pub struct Barrier {
    /// Its rule.
    pub id: String,
    /// `minor`, `moderate`, `serious` or `critical`.
    pub impact: Option<String>,
    /// Selectors of the affected elements.
    pub places: Vec<String>,
}

impl Barrier {
    /// Returns whether the violation prevents somebody from using the page.
    pub fn is_serious(&self) -> bool {
        matches!(self.impact.as_deref(), Some("serious" | "critical"))
    }
}

impl Browser {
    /// Waits until an element with this test id is on the page.
    pub fn wait_for_id(&self, id: &str) {
        self.wait_for(
            id,
            &format!("return document.querySelector('[data-testid=\"{id}\"]') !== null"),
        );
    }

    /// Returns the text of the first element with this test id; empty if there is none.
    pub fn text(&self, id: &str) -> String {
        let script = format!(
            "return document.querySelector('[data-testid=\"{id}\"]')?.textContent.trim() ?? ''"
        );
        self.evaluate(&script)
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Scrolls the first element of a CSS selector into view and presses it once it rests there: a
    /// page that still scrolls, or whose content still moves, would carry it away from the pointer.
    ///
    /// # Panics
    /// If it does not come to rest in view.
    pub fn press(&self, selector: &str) {
        let rested = self.evaluate(&format!(
            "const selector = {}, steps = {RESTING_STEPS};\
             return new Promise((done) => {{\
               let before = null, still = 0;\
               const look = (left) => {{\
                 const element = document.querySelector(selector);\
                 if (!element || left === 0) {{ done(false); return; }}\
                 const {{ top, height }} = element.getBoundingClientRect();\
                 const middle = top + height / 2;\
                 still = top === before ? still + 1 : 0;\
                 before = top;\
                 if (middle < 0 || middle > innerHeight || left === steps) {{\
                   element.scrollIntoView({{ block: 'center', behavior: 'instant' }});\
                   still = 0;\
                 }} else if (still > 2) {{ done(true); return; }}\
                 setTimeout(look, {RESTING_STEP_MS}, left - 1);\
               }};\
               look(steps);\
             }})",
            json!(selector)
        ));
        assert_eq!(rested, true, "{selector} does not come to rest in view");
        let element = self.driver().find(selector);
        self.driver().click(&element);
    }

    /// Focuses the first element of a CSS selector and presses keys there in sequence, as a
    /// keyboard does. Names are those of `KeyboardEvent.key`.
    pub fn keys(&self, selector: &str, keys: &[&str]) {
        let quoted = json!(selector);
        let _ = self.evaluate(&format!("document.querySelector({quoted})?.focus()"));
        for key in keys {
            self.key(key, false);
        }
    }

    /// Presses one key on the focused element.
    pub fn key(&self, key: &str, shift: bool) {
        let code = key_code(key);
        let modifiers = u8::from(shift) * 8;
        let text = if key.chars().count() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({
                "type": kind, "key": key, "modifiers": modifiers,
                "windowsVirtualKeyCode": code, "code": key,
            });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            if kind == "keyDown" && key == "Enter" {
                event["text"] = json!("\r");
            }
            self.devtools("Input.dispatchKeyEvent", &event);
        }
    }

    /// Types a text into a field as a visitor does, with an event for each change.
    pub fn type_text(&self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        let _ = self.evaluate(&format!(
            "const field = document.querySelector({selector}); field.focus();\
             field.value = {text};\
             field.dispatchEvent(new Event('input', {{ bubbles: true }}))"
        ));
    }

    /// Sets a slider to a value.
    pub fn turn(&self, selector: &str, value: i64) {
        self.type_text(selector, &value.to_string());
    }

    /// Returns the accessibility violations that axe-core finds on the page in its present state.
    ///
    /// # Panics
    /// If axe-core is not available or checks almost nothing. `ESPALIER_AXE` names its file;
    /// otherwise it is downloaded.
    pub fn barriers(&self) -> Vec<Barrier> {
        let path = std::env::var_os("ESPALIER_AXE").unwrap_or_else(|| {
            let found = xtask::setup::axe::ensure().unwrap_or_else(|e| panic!("axe-core: {e:#}"));
            found.into_os_string()
        });
        let axe = std::fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{}: {e}", path.to_string_lossy()));
        let _ = self.evaluate(&format!("if (!window.axe) {{ {axe} }}"));
        let found = self.evaluate(
            "return axe.run(document, { resultTypes: ['violations'] }).then((found) => ({\
               passes: found.passes.length,\
               barriers: found.violations.map((v) => ({\
                 id: v.id, impact: v.impact, places: v.nodes.map((n) => n.target.join(' ')),\
               })),\
             }))",
        );
        assert!(
            found["passes"].as_u64().is_some_and(|passes| passes > 10),
            "expected more than 10 passed rules of axe-core, found {found}"
        );
        serde_json::from_value(found["barriers"].clone()).unwrap_or_else(|e| panic!("{e}: {found}"))
    }
}

/// Returns the Windows key code of a key.
fn key_code(key: &str) -> u32 {
    match key {
        "Tab" => 9,
        "Enter" => 13,
        "Escape" => 27,
        " " => 32,
        "PageUp" => 33,
        "PageDown" => 34,
        "End" => 35,
        "Home" => 36,
        "ArrowLeft" => 37,
        "ArrowUp" => 38,
        "ArrowRight" => 39,
        "ArrowDown" => 40,
        other => other
            .chars()
            .next()
            .map_or(0, |c| u32::from(c.to_ascii_uppercase())),
    }
}

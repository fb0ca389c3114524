//! Further actions of a visitor (press, type, move a slider), the text on the screen, and
//! accessibility checks.

use std::path::PathBuf;

use serde_json::json;

use super::Browser;

/// Time between two looks at the place of an element.
const RESTING_STEP_MS: u32 = 30;
/// Number of looks until an element counts as never at rest: 12 s.
const RESTING_STEPS: u32 = 400;

impl Browser {
    /// Waits until an element with this test id is on the page.
    pub fn wait_for_id(&self, id: &str) {
        let body = format!("return document.querySelector('[data-testid={id}]') !== null");
        self.wait_for(id, &body);
    }

    /// Waits until no element with this test id is on the page.
    pub fn wait_for_end_of(&self, id: &str) {
        let body = format!("return document.querySelector('[data-testid={id}]') === null");
        self.wait_for(&format!("the end of {id}"), &body);
    }

    /// Waits until the first element of a CSS selector shows these words.
    pub fn wait_for_words(&self, selector: &str, words: &str) {
        let body = format!(
            "return document.querySelector({})?.innerText.includes({})",
            json!(selector),
            json!(words)
        );
        self.wait_for(&format!("`{words}` in {selector}"), &body);
    }

    /// Returns the number of elements of a CSS selector.
    pub fn count(&self, selector: &str) -> u64 {
        let body = format!(
            "return document.querySelectorAll({}).length",
            json!(selector)
        );
        self.evaluate(&body).as_u64().unwrap()
    }

    /// Returns the text of the first element with this test id; empty if there is none.
    pub fn text(&self, id: &str) -> String {
        let body = format!(
            "return document.querySelector('[data-testid={id}]')?.textContent.trim() ?? ''"
        );
        self.evaluate(&body).as_str().unwrap().to_owned()
    }

    /// Scrolls the first element of a CSS selector into view and presses it once it rests there: a
    /// page that still scrolls, or whose content still moves, would carry it away from the pointer.
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
        let text = match key {
            "Enter" => "\r",
            letter if letter.chars().count() == 1 => letter,
            _ => "",
        };
        for (kind, text) in [("keyDown", text), ("keyUp", "")] {
            let event = json!({
                "type": kind, "key": key, "code": key, "text": text,
                "windowsVirtualKeyCode": key_code(key), "modifiers": u8::from(shift) * 8,
            });
            self.devtools("Input.dispatchKeyEvent", &event);
        }
    }

    /// Gives a field a text, or a slider a value, with the event of a change.
    pub fn type_text(&self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        let _ = self.evaluate(&format!(
            "const field = document.querySelector({selector}); field.focus();\
             field.value = {text};\
             field.dispatchEvent(new Event('input', {{ bubbles: true }}))"
        ));
    }

    /// Asserts that axe-core finds nothing on the page, in its present state, that keeps somebody
    /// from using it. `ESPALIER_AXE` names its file; otherwise it is downloaded.
    #[track_caller]
    pub fn has_no_serious_barrier(&self, state: &str) {
        let named = std::env::var_os("ESPALIER_AXE").map(PathBuf::from);
        let path = named.unwrap_or_else(|| xtask::setup::axe::ensure().unwrap());
        let axe = std::fs::read_to_string(path).unwrap();
        let _ = self.evaluate(&format!("if (!window.axe) {{ {axe} }}"));
        let found = self.evaluate(
            "const isSerious = ({ impact }) => impact === 'serious' || impact === 'critical';\
             return axe.run(document, { resultTypes: ['violations'] }).then((found) => ({\
               passes: found.passes.length,\
               serious: found.violations.filter(isSerious).map((v) => ({\
                 id: v.id, places: v.nodes.map((n) => n.target.join(' ')),\
               })),\
             }))",
        );
        assert!(
            found["passes"].as_u64() > Some(10),
            "expected more than 10 passed rules of axe-core, found {found}"
        );
        assert_eq!(found["serious"], json!([]), "{state}");
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

//! Values of JavaScript that not every browser has, or that page and worker have in different types.

use js_sys::{Function, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};

/// Returns a property, unless it is missing or counts as false.
pub fn property(of: &JsValue, key: &str) -> Option<JsValue> {
    Reflect::get(of, &key.into())
        .ok()
        .filter(JsValue::is_truthy)
}

/// Returns a property of the browser's `navigator`.
pub fn of_navigator(key: &str) -> Option<JsValue> {
    property(&property(&js_sys::global(), "navigator")?, key)
}

/// Returns the milliseconds since this worker started; 0 without a clock.
pub fn now() -> f64 {
    let clock = property(&js_sys::global(), "performance");
    let now = clock.and_then(|clock| {
        let now: Function = property(&clock, "now")?.dyn_into().ok()?;
        now.call0(&clock).ok()?.as_f64()
    });
    now.unwrap_or(0.0)
}

/// Returns the message of a thrown value.
pub fn message_of(error: &JsValue) -> String {
    error
        .dyn_ref::<js_sys::Error>()
        .map(|error| String::from(error.message()))
        .or_else(|| error.as_string())
        .unwrap_or_else(|| format!("{error:?}"))
}

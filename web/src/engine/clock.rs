//! The worker's clock.

use js_sys::{Function, Reflect};
use wasm_bindgen::JsCast as _;

/// Returns the milliseconds since the worker started; 0 without a clock.
#[must_use]
pub fn now() -> f64 {
    let clock = Reflect::get(&js_sys::global(), &"performance".into()).ok();
    let now = clock.and_then(|clock| {
        let now: Function = Reflect::get(&clock, &"now".into()).ok()?.dyn_into().ok()?;
        now.call0(&clock).ok()?.as_f64()
    });
    now.unwrap_or(0.0)
}

//! Times of the stages of one photo.

use std::collections::BTreeMap;

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

/// Times of the stages of one photo.
pub struct Clock {
    start: f64,
    last: f64,
    laps: BTreeMap<String, f64>,
}

impl Clock {
    /// Starts a clock.
    #[must_use]
    pub fn start() -> Self {
        let start = now();
        Self {
            start,
            last: start,
            laps: BTreeMap::new(),
        }
    }

    /// Ends a stage and records its time.
    pub fn lap(&mut self, stage: &str) {
        let now = now();
        self.laps.insert(stage.to_owned(), round(now - self.last));
        self.last = now;
    }

    /// Returns the times of all stages in milliseconds, and the overall time as `total`.
    #[must_use]
    pub fn stop(mut self) -> BTreeMap<String, f64> {
        self.laps
            .insert("total".to_owned(), round(now() - self.start));
        self.laps
    }
}

/// Rounds to a tenth of a millisecond: browsers coarsen their clocks, so further digits would be
/// meaningless.
fn round(milliseconds: f64) -> f64 {
    (milliseconds * 10.0).round() / 10.0
}

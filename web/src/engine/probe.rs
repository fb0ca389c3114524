//! Asks the browser for its graphics adapter.

use futures::FutureExt as _;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Function, Object, Promise, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;

use crate::load::js::{of_navigator, property};
use crate::state::choice::{Missing, Probe};

/// Timeout for the browser's answer in milliseconds; some browsers never answer.
const TIMEOUT_MS: u32 = 5_000;

/// Returns the kind of adapter that the browser offers.
pub async fn probe() -> Probe {
    let answer = detect().fuse();
    let timeout = TimeoutFuture::new(TIMEOUT_MS).fuse();
    futures::pin_mut!(answer, timeout);
    futures::select! {
        probe = answer => probe,
        () = timeout => Probe::Missing(Missing::NoAnswer),
    }
}

async fn detect() -> Probe {
    // Uses reflection because the bindings of WebGPU are not stable yet.
    let Some(gpu) = of_navigator("gpu") else {
        return Probe::Missing(Missing::NoWebGpu);
    };
    let Some(adapter) = request_adapter(&gpu).await else {
        return Probe::Missing(Missing::NoAdapter);
    };
    let info = property(&adapter, "info").unwrap_or(JsValue::UNDEFINED);
    let name = ["vendor", "architecture", "description"]
        .iter()
        .filter_map(|key| property(&info, key)?.as_string())
        .collect::<Vec<_>>()
        .join(" ");
    // The flag has moved between versions of the standard.
    let fallback = [&info, &adapter]
        .iter()
        .any(|object| property(object, "isFallbackAdapter").is_some());
    let software = ["swiftshader", "llvmpipe", "lavapipe", "basic render"]
        .iter()
        .any(|word| name.to_lowercase().contains(word));
    if fallback || software {
        Probe::Software(name)
    } else {
        Probe::Hardware(name)
    }
}

async fn request_adapter(gpu: &JsValue) -> Option<JsValue> {
    let request: Function = property(gpu, "requestAdapter")?.dyn_into().ok()?;
    let options = Object::new();
    Reflect::set(
        &options,
        &"powerPreference".into(),
        &"high-performance".into(),
    )
    .ok()?;
    let promise: Promise = request.call1(gpu, &options).ok()?.dyn_into().ok()?;
    let adapter = JsFuture::from(promise).await.ok()?;
    adapter.is_truthy().then_some(adapter)
}

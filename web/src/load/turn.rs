//! Mutual exclusion across tabs, through the browser's Web Locks.

use futures::FutureExt as _;
use futures::channel::oneshot;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast as _, JsValue};

/// Milliseconds to wait for another tab before proceeding without the lock: the browser may have
/// suspended the tab that holds it.
const PATIENCE_MS: u32 = 30_000;

/// A held lock; released when dropped.
#[derive(Debug)]
pub struct Turn(Option<Function>);

impl Turn {
    /// Waits until no other tab of this site holds the lock `name`. Returns at once if the browser
    /// has no locks, and after `PATIENCE_MS` if another tab still holds the lock.
    pub async fn wait(name: &str) -> Self {
        let (ours, granted) = oneshot::channel::<()>();
        let Some(over) = request(name, ours) else {
            return Self(None);
        };
        let turn = Self(Some(over));
        let patience = TimeoutFuture::new(PATIENCE_MS).fuse();
        let granted = granted.fuse();
        futures::pin_mut!(granted, patience);
        futures::select! {
            _ = granted => {}
            () = patience => {}
        }
        turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(over) = &self.0 {
            let _ = over.call0(&JsValue::UNDEFINED);
        }
    }
}

/// Requests the lock. The returned function releases it, or cancels the wait for it.
fn request(name: &str, ours: oneshot::Sender<()>) -> Option<Function> {
    // Uses reflection because page and worker have different types of `navigator`.
    let get = |of: &JsValue, key: &str| {
        Reflect::get(of, &key.into())
            .ok()
            .filter(JsValue::is_truthy)
    };
    let locks = get(&js_sys::global(), "navigator").and_then(|n| get(&n, "locks"))?;
    let ask: Function = get(&locks, "request")?.dyn_into().ok()?;
    let mut over = None;
    let held = Promise::new(&mut |resolve, _| over = Some(resolve));
    let granted = Closure::once_into_js(move |_lock: JsValue| -> JsValue {
        // Fails if the wait has timed out; nobody receives it then.
        let _ = ours.send(());
        held.into()
    });
    ask.call2(&locks, &format!("espalier {name}").into(), &granted)
        .ok()?;
    over
}

//! One at a time across tabs: the browser's locks.

use futures::FutureExt as _;
use futures::channel::oneshot;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast as _, JsValue};

/// Milliseconds to wait for another tab before going on beside it: a tab may have been put to sleep
/// in the middle of its turn.
const PATIENCE_MS: u32 = 30_000;

/// A turn; over when dropped.
#[derive(Debug)]
pub struct Turn(Option<Function>);

impl Turn {
    /// Waits until no other tab of this site has the turn called `name`. Without locks in the
    /// browser, or when another tab keeps its turn too long, it is our turn at once.
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

/// Asks for the lock; the function returned gives it back, or gives up waiting for it.
fn request(name: &str, ours: oneshot::Sender<()>) -> Option<Function> {
    // Through reflection: page and worker keep it in different objects.
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
        // Nobody listens any more where waiting took too long.
        let _ = ours.send(());
        held.into()
    });
    ask.call2(&locks, &format!("espalier {name}").into(), &granted)
        .ok()?;
    over
}

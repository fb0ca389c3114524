//! Mutual exclusion across tabs, through the browser's Web Locks.

use futures::FutureExt as _;
use futures::channel::oneshot;
use gloo_timers::future::TimeoutFuture;
use js_sys::{Function, Promise};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast as _, JsValue};

use super::js::{of_navigator, property};

/// Milliseconds to wait for another tab before proceeding without the lock: the browser may have
/// suspended the tab that holds it.
const TIMEOUT_MS: u32 = 30_000;

/// A held lock; released when dropped.
#[derive(Debug)]
pub struct Lock(Option<Function>);

impl Lock {
    /// Waits until no other tab of this site holds the lock `name`. Returns at once if the browser
    /// has no locks, and after `TIMEOUT_MS` if another tab still holds the lock.
    pub async fn wait(name: &str) -> Self {
        let (notify, granted) = oneshot::channel::<()>();
        let Some(release) = request(name, notify) else {
            return Self(None);
        };
        let lock = Self(Some(release));
        let timeout = TimeoutFuture::new(TIMEOUT_MS).fuse();
        let granted = granted.fuse();
        futures::pin_mut!(granted, timeout);
        futures::select! {
            _ = granted => {}
            () = timeout => {}
        }
        lock
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(release) = &self.0 {
            let _ = release.call0(&JsValue::UNDEFINED);
        }
    }
}

/// Requests the lock. The returned function releases it, or cancels the wait for it.
fn request(name: &str, notify: oneshot::Sender<()>) -> Option<Function> {
    let locks = of_navigator("locks")?;
    let request: Function = property(&locks, "request")?.dyn_into().ok()?;
    let mut release = None;
    let held = Promise::new(&mut |resolve, _| release = Some(resolve));
    let granted = Closure::once_into_js(move |_lock: JsValue| -> JsValue {
        // Fails if the wait has timed out; nobody receives it then.
        let _ = notify.send(());
        held.into()
    });
    request
        .call2(&locks, &format!("espalier {name}").into(), &granted)
        .ok()?;
    release
}

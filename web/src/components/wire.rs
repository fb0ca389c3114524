//! How much of a photo has been sent: counted at every door through which a page can send something.

use gloo_timers::callback::Interval;
use js_sys::Reflect;
use leptos::prelude::*;

/// Milliseconds between two looks at the counter.
const EVERY_MS: u32 = 500;

/// What `sent.js` has counted, on this page and in its workers.
#[derive(Clone, Copy, Default, PartialEq)]
struct Sent {
    requests: f64,
    bytes: f64,
}

fn counted() -> Option<Sent> {
    let counter = Reflect::get(&window(), &"espalierSent".into()).ok()?;
    let number = |key: &str| Reflect::get(&counter, &key.into()).ok()?.as_f64();
    Some(Sent {
        requests: number("requests")?,
        bytes: number("bytes")?,
    })
}

/// One line. Where nothing counts, it promises nothing.
#[component]
pub fn Wire() -> impl IntoView {
    let sent = RwSignal::new(counted());
    let look = Interval::new(EVERY_MS, move || {
        let now = counted();
        if sent.with_untracked(|before| *before != now) {
            sent.set(now);
        }
    });
    let look = StoredValue::new_local(Some(look));
    on_cleanup(move || drop(look.try_update_value(Option::take)));
    move || {
        sent.get().map(|sent| {
            view! {
                <span class="wire" data-testid="wire" data-bytes=sent.bytes.to_string()>
                    {format!(
                        "{} bytes of the photo were sent anywhere; {} files were fetched.",
                        sent.bytes,
                        sent.requests,
                    )}
                </span>
            }
        })
    }
}

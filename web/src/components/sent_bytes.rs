//! Shows how much of a photo has been sent, counted at every API through which a page can send
//! data.

use gloo_timers::callback::Interval;
use js_sys::Reflect;
use leptos::prelude::*;

/// Milliseconds between two reads of the counter.
const POLL_MS: u32 = 500;

/// The counts of `sent.js`, for this page and its workers.
#[derive(Clone, Copy, Default, PartialEq)]
struct Counts {
    requests: f64,
    bytes: f64,
}

fn read_counts() -> Option<Counts> {
    let counter = Reflect::get(&window(), &"espalierSent".into()).ok()?;
    let number = |key: &str| Reflect::get(&counter, &key.into()).ok()?.as_f64();
    Some(Counts {
        requests: number("requests")?,
        bytes: number("bytes")?,
    })
}

/// One line; empty if there is no counter.
#[component]
pub fn SentBytes() -> impl IntoView {
    let sent = RwSignal::new(read_counts());
    let timer = Interval::new(POLL_MS, move || {
        let now = read_counts();
        if sent.with_untracked(|before| *before != now) {
            sent.set(now);
        }
    });
    let timer = StoredValue::new_local(Some(timer));
    on_cleanup(move || drop(timer.try_update_value(Option::take)));
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

//! The result as JSON, exactly as the engine wrote it.

use js_sys::Reflect;
use leptos::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

/// What came of copying.
#[derive(Clone, Copy, PartialEq)]
enum Copied {
    NotYet,
    Yes,
    Refused,
}

/// A button that copies and a fold that shows.
#[component]
pub fn ResultJson(
    /// The text.
    json: String,
) -> impl IntoView {
    let copied = RwSignal::new(Copied::NotYet);
    let open = RwSignal::new(false);
    let text = StoredValue::new(json.clone());
    let copy = move |_| {
        spawn_local(async move {
            let outcome = copy(&text.get_value()).await;
            copied.set(outcome);
            if outcome == Copied::Refused {
                open.set(true);
            }
        });
    };
    let said = move || match copied.get() {
        Copied::NotYet => "Copy result as JSON",
        Copied::Yes => "Copied",
        Copied::Refused => "Not allowed here: copy it by hand below",
    };
    view! {
        <div class="json">
            <button class="button is-quiet" type="button" data-testid="copy-json" on:click=copy>
                <span aria-live="polite">{said}</span>
            </button>
            <details prop:open=open>
                <summary>"Show it"</summary>
                <pre tabindex="0" aria-label="Result as JSON"><code data-testid="json">{json}</code></pre>
            </details>
        </div>
    }
}

async fn copy(text: &str) -> Copied {
    let navigator = window().navigator();
    // Missing on addresses that are not secure; the bindings would throw.
    let there = Reflect::get(&navigator, &"clipboard".into()).is_ok_and(|board| board.is_truthy());
    if !there {
        return Copied::Refused;
    }
    match JsFuture::from(navigator.clipboard().write_text(text)).await {
        Ok(_) => Copied::Yes,
        Err(_) => Copied::Refused,
    }
}

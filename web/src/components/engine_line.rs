//! Shows which engine runs, why the other one is not used, and what is missing.

use leptos::prelude::*;

use crate::messages::protocol::{Backend, EngineInfo};
use crate::state::choice::FallbackReason;
use crate::words::format_duration;
use crate::workspace::use_workspace;

/// One line, with details if numbers are switched on.
#[component]
pub fn EngineLine(info: EngineInfo) -> impl IntoView {
    let controller = use_workspace().controller;
    let why = controller.session.with_untracked(|session| {
        let reason = session.fallback_reason.as_ref();
        reason.map(FallbackReason::in_words)
    });
    let why = why.filter(|_| info.backend == Backend::Cpu);
    let numbers = format!(
        "Model {} {} · self-test {:.4} · warm photo {}",
        info.model,
        info.version,
        info.self_test,
        format_duration(info.warm_ms)
    );
    let coarse = move || {
        let error = controller.session.with(|session| session.coarse.clone())?;
        Some(view! {
            <p class="panel-note" data-testid="coarse">
                "Answers stay general: "{error.what}" "{error.todo}
            </p>
        })
    };
    view! {
        <p class="engine-line" data-testid="engine-line" data-backend=info.backend.as_str()>
            <span class="engine-dot" aria-hidden="true"></span>
            {format!("Runs on {}.", info.backend.in_words())}
            {why.map(|why| format!(" {why}"))}
        </p>
        {(!info.cautions.is_empty()).then(|| view! {
            <p class="panel-note" data-testid="cautions">{info.cautions.join(" ")}</p>
        })}
        {coarse}
        <Show when=move || controller.numbers.get()>
            <p class="panel-note">{numbers.clone()}</p>
        </Show>
    }
}

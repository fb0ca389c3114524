//! The walk from the photo to the root, or to another photo, with the nearest caption at each step.

use leptos::prelude::*;

use super::scene::Scene;
use crate::messages::query::PhotoId;
use crate::workspace::{Workspace, use_workspace};

/// The slider and the captions along the walk.
#[component]
pub fn WalkView(scene: Scene) -> impl IntoView {
    let workspace = use_workspace();
    let radius = move || {
        scene.steps.with(|steps| {
            let step = steps.get(scene.step.get());
            step.map(|step| format!("radius {:.3}", step.point.radius))
        })
    };
    view! {
        <div class="walk" data-testid="walk">
            <div class="walk-head">
                <h3 id="walk-title">"A walk from the photo"</h3>
                {target(workspace, scene)}
            </div>
            {slider(scene)}
            <p class="walk-said" data-testid="walk-said">
                {move || caption(scene)}
                <Show when=move || workspace.controller.numbers.get()>
                    <span class="rung-numbers">" " {radius}</span>
                </Show>
            </p>
        </div>
    }
}

/// The choice of the walk's target: the root or another photo, the latest first.
fn target(workspace: Workspace, scene: Scene) -> impl IntoView {
    let others = Memo::new(move |_| {
        let now = workspace.answer().map(|answer| answer.photo);
        let mut seen = workspace.seen.get();
        seen.retain(|other| Some(other.id) != now);
        seen.reverse();
        seen
    });
    let chosen = move |value: String| {
        scene.to.set(value.parse().ok().map(PhotoId));
    };
    view! {
        <label class="walk-to">
            <span>"to"</span>
            <select
                class="input is-small"
                aria-label="Walk to"
                data-testid="walk-to"
                on:change:target=move |event| chosen(event.target().value())
            >
                <option value="" selected=move || scene.to.get().is_none()>"the root"</option>
                <For each=move || others.get() key=|seen| seen.id let(seen)>
                    <option
                        value=seen.id.0.to_string()
                        selected=move || scene.to.get() == Some(seen.id)
                    >
                        {seen.name.clone()}
                    </option>
                </For>
            </select>
        </label>
    }
}

/// The slider over the steps of the walk.
fn slider(scene: Scene) -> impl IntoView {
    let last = move || scene.steps.with(|steps| steps.len().saturating_sub(1));
    let share = move || {
        let share = scene.step.get() as f64 / last().max(1) as f64;
        format!("{:.2}%", share * 100.0)
    };
    view! {
        <input
            class="range"
            type="range"
            min="0"
            step="1"
            max=move || last().to_string()
            prop:value=move || scene.step.get().to_string()
            aria-labelledby="walk-title"
            aria-valuetext=move || caption(scene)
            data-testid="walk-range"
            style=("--share", share)
            on:input:target=move |event| {
                scene.step.set(event.target().value().parse().unwrap_or(0));
            }
        />
    }
}

/// Returns the caption nearest to the current step.
fn caption(scene: Scene) -> String {
    scene.steps.with(|steps| {
        let Some(step) = steps.get(scene.step.get()) else {
            return String::new();
        };
        let text = step.point.text.as_deref();
        text.unwrap_or("the root, which stands for everything")
            .to_owned()
    })
}

//! The ladder: captions from general to specific, drawn as branches of an espaliered tree.

use espalier_core::caption::{CaptionResult, Rung, Standing, standings};
use leptos::prelude::*;

use crate::messages::query::TreeSource;
use crate::workspace::use_workspace;

/// The rungs as an ordered list. The length of a rung's branch grows with the radius of its
/// caption. A rung that is more specific than the evidence supports is smaller and marked as a
/// guess, and hidden if it is unlikely. The dial, once moved, decides alone which rungs are shown.
#[component]
pub fn Ladder(
    result: CaptionResult,
    /// Whether the dial has no effect: for a part of the photo, or for another model.
    #[prop(optional)]
    part: bool,
) -> impl IntoView {
    let workspace = use_workspace();
    let standings = standings(&result.ladder, &result.taxonomy);
    let lengths = branch_lengths(&result.ladder);
    let rungs = result.ladder.clone();
    let likely: Vec<bool> = standings.iter().map(|s| *s != Standing::Unlikely).collect();
    // The dial belongs to the shown tree, the captions to the model's.
    let is_moved = move || {
        !part
            && workspace.tree_source.get() == TreeSource::Bundle
            && workspace.level.get().is_some()
    };
    let shows = Memo::new(move |_| match workspace.level.get() {
        Some(level) if is_moved() => workspace.dial_of(&result).shows(&result, level),
        _ => likely.clone(),
    });
    let hidden = move || shows.with(|shows| shows.iter().filter(|shown| !**shown).count());
    let all_hidden = move || shows.with(|shows| !shows.contains(&true));
    let rows = rungs
        .into_iter()
        .zip(lengths)
        .zip(standings)
        .enumerate()
        .map(|(index, ((rung, length), standing))| {
            let beyond = standing != Standing::Known;
            row(index, rung, length, beyond, part, shows)
        })
        .collect_view();
    let label = if part {
        "Captions of the part, from general to specific"
    } else {
        "Captions from general to specific"
    };
    view! {
        <ol
            class="ladder"
            data-testid=if part { "part-ladder" } else { "ladder" }
            aria-label=label
        >
            {rows}
        </ol>
        <p class="ladder-key">
            {move || match (all_hidden(), is_moved()) {
                (true, _) => Some("No caption is likely enough to show.".to_owned()),
                (false, true) => hidden_words(hidden()),
                (false, false) => None,
            }}
        </p>
    }
}

/// One rung with the length of its branch in [0, 1]. `beyond` says whether it is more specific than the evidence
/// supports, and `shows` of all rungs whether the dial shows them.
fn row(
    index: usize,
    rung: Rung,
    length: f64,
    beyond: bool,
    part: bool,
    shows: Memo<Vec<bool>>,
) -> impl IntoView {
    let numbers_shown = use_workspace().controller.numbers;
    let numbers = format!(
        "radius {:.3} · similarity {:.3}",
        rung.radius, rung.similarity
    );
    let (text_id, rung_id) = if part {
        ("part-rung-text", "part-rung")
    } else {
        ("rung-text", "rung")
    };
    let hidden = move || !shows.with(|shows| shows.get(index).copied().unwrap_or(true));
    let text = rung.text.clone();
    view! {
        <li
            class="rung"
            class:is-beyond=beyond
            class:is-last=move || shows.with(|s| s.iter().rposition(|on| *on) == Some(index))
            hidden=hidden
            data-testid=rung_id
            data-radius=rung.radius.to_string()
            data-similarity=rung.similarity.to_string()
            style=("--reach", format!("{length:.3}"))
            style=("--place", index.to_string())
        >
            <span class="rung-text" data-testid=text_id>{rung.text}</span>
            {beyond.then(|| view! { <span class="rung-guess">" a guess"</span> })}
            <Show when=move || numbers_shown.get()>
                <span class="rung-numbers">{numbers.clone()}</span>
            </Show>
            {rung.node.filter(|_| !part).map(|node| tree_button(node, &text))}
        </li>
    }
}

/// The button that shows the node of a rung in the tree; `text` is the rung's.
fn tree_button(node: String, text: &str) -> impl IntoView + use<> {
    let workspace = use_workspace();
    view! {
        <button class="rung-place" type="button" on:click=move |_| workspace.show(&node)>
            <span class="visually-hidden">{format!("Show {text} ")}</span>
            "in the tree"
        </button>
    }
}

/// Says how many rungs the dial hides.
fn hidden_words(hidden: usize) -> Option<String> {
    match hidden {
        0 => None,
        1 => Some("One more specific caption is hidden.".to_owned()),
        n => Some(format!("{n} more specific captions are hidden.")),
    }
}

/// Returns the length of each rung's branch in [0, 1], from its radius; evenly spaced if all radii
/// are equal.
fn branch_lengths(rungs: &[Rung]) -> Vec<f64> {
    let first = rungs.first().map_or(0.0, |rung| rung.radius);
    let span = rungs.last().map_or(0.0, |rung| rung.radius) - first;
    let steps = rungs.len().saturating_sub(1).max(1) as f64;
    rungs
        .iter()
        .enumerate()
        .map(|(index, rung)| {
            let even = index as f64 / steps;
            if span > 1e-6 {
                // Half by radius, half by index: keeps captions at nearly the same radius apart.
                0.5 * ((rung.radius - first) / span) + 0.5 * even
            } else {
                even
            }
        })
        .collect()
}

//! The ladder: captions from general to specific, drawn as branches of an espaliered tree.

use espalier_core::caption::{CaptionResult, Rung};
use leptos::prelude::*;

use crate::controller::use_controller;
use crate::words::beyond_evidence;
use crate::workspace::use_workspace;

/// The rungs as an ordered list. The length of a rung's branch grows with the radius of its
/// caption; its leaf is hollow if it is more specific than the evidence supports. The dial hides
/// rungs that are more specific than its level.
#[component]
pub fn Ladder(
    /// The result.
    result: CaptionResult,
    /// Whether the dial has no effect: for a part of the photo, or for another model.
    #[prop(optional)]
    part: bool,
) -> impl IntoView {
    let workspace = use_workspace();
    let beyond = beyond_evidence(&result);
    let any_beyond = beyond.contains(&true);
    let lengths = branch_lengths(&result.ladder);
    let rungs = result.ladder.clone();
    let shows = Memo::new(move |_| match workspace.level.get() {
        Some(level) if !part => workspace.dial(&result.taxonomy).shows(&result, level),
        _ => vec![true; result.ladder.len()],
    });
    let hidden = move || shows.with(|shows| shows.iter().filter(|shown| !**shown).count());
    let rows = rungs
        .into_iter()
        .zip(lengths)
        .zip(beyond)
        .enumerate()
        .map(|(index, ((rung, length), beyond))| {
            let branch = Branch {
                index,
                rung,
                length,
                beyond,
            };
            row(branch, part, shows)
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
        <p class="ladder-key">{move || legend(hidden(), any_beyond)}</p>
    }
}

/// A rung and the shape of its branch.
struct Branch {
    /// Index in the ladder.
    index: usize,
    rung: Rung,
    /// Length in [0, 1].
    length: f64,
    /// Whether the rung is more specific than the evidence supports.
    beyond: bool,
}

/// One rung; `shows` says of all rungs whether the dial shows them.
fn row(branch: Branch, part: bool, shows: Memo<Vec<bool>>) -> impl IntoView {
    let Branch {
        index,
        rung,
        length,
        beyond,
    } = branch;
    let controller = use_controller();
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
            {beyond.then(|| view! { <span class="visually-hidden">" (a guess)"</span> })}
            <Show when=move || controller.numbers.get()>
                <span class="rung-numbers">{numbers.clone()}</span>
            </Show>
            {rung.node.filter(|_| !part).map(tree_button)}
        </li>
    }
}

/// The button that shows the node of a rung in the tree.
fn tree_button(node: String) -> impl IntoView {
    let workspace = use_workspace();
    view! {
        <button class="rung-place" type="button" on:click=move |_| workspace.show(&node)>
            <span class="visually-hidden">"Show in the tree"</span>
            <span aria-hidden="true">"in the tree"</span>
        </button>
    }
}

/// Explains the ladder: the number of rungs that the dial hides, or else what hollow leaves mean.
fn legend(hidden: usize, any_beyond: bool) -> Option<String> {
    match hidden {
        0 if any_beyond => Some(
            "Hollow leaves are guesses: they are more specific than the evidence supports."
                .to_owned(),
        ),
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
    #[expect(clippy::cast_precision_loss, reason = "a handful of rungs")]
    let steps = rungs.len().saturating_sub(1).max(1) as f64;
    rungs
        .iter()
        .enumerate()
        .map(|(index, rung)| {
            #[expect(clippy::cast_precision_loss, reason = "a handful of rungs")]
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

//! The space: the taxonomy and the photo in a Poincaré disk, and the walk through it.

use std::sync::Arc;

use espalier_core::taxonomy::NodeIx;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::disk::DiskView;
use super::scene::{DiskPositions, Scene};
use super::walk::WalkView;
use crate::messages::query::{PhotoId, Query, QueryAnswer, TreeSource};
use crate::workspace::{Workspace, use_workspace};

/// The panel.
#[component]
pub fn SpacePanel() -> impl IntoView {
    let workspace = use_workspace();
    let scene = Scene::default();
    // Queried once the photo has its place in the tree, so that both refer to the same photo; and
    // again when its answer changes, because finer captions came or a name was taught.
    let subject = Memo::new(move |_| {
        let (placed, answer) = (workspace.placed.get()?, workspace.answer()?);
        Some((placed.photo, placed.tree, Arc::as_ptr(&answer) as usize))
    });
    follow_positions(workspace, scene, subject);
    follow_walk(workspace, scene, subject);
    let explained = move || {
        let numbers = workspace.controller.numbers.get();
        let explained = scene.positions.get().filter(|_| numbers)?.explained * 100.0;
        Some(format!(
            " Its two axes keep {explained:.0} percent of the differences between concepts."
        ))
    };
    view! {
        <section class="sheet" aria-labelledby="space-title" data-testid="space-panel">
            <div class="sheet-head">
                <h2 id="space-title">"The space"</h2>
            </div>
            <Show
                when=move || scene.positions.with(Option::is_some)
                fallback=|| {
                    view! {
                        <p class="note">
                            "Once a photo is read, this shows it among the concepts: broad ones near the middle, narrow ones far out."
                        </p>
                    }
                }
            >
                <DiskView scene />
                <p class="note">
                    "A flat sketch: distance from the centre is exact, directions are approximate."
                    {explained}
                </p>
                <LikelyConcepts />
                <Factors />
                <WalkView scene />
            </Show>
        </section>
    }
}

/// The photo and the tree that the scene is about, and a number that changes with the answer.
type Subject = Memo<Option<(PhotoId, TreeSource, usize)>>;

/// Asks for the positions of the nodes and the photo whenever photo or tree change.
fn follow_positions(workspace: Workspace, scene: Scene, subject: Subject) {
    Effect::new(move |_| {
        let Some(current @ (photo, tree, _)) = subject.get() else {
            return;
        };
        spawn_local(async move {
            let query = Query::Disk {
                tree,
                photos: vec![photo],
            };
            let Ok(QueryAnswer::Disk {
                nodes,
                photos,
                explained,
            }) = workspace.controller.ask_about(query).await
            else {
                return;
            };
            if subject.get_untracked() == Some(current) {
                scene.positions.set(Some(Arc::new(DiskPositions {
                    tree,
                    nodes,
                    photo: photos.into_iter().next().flatten(),
                    explained,
                })));
            }
        });
    });
}

/// Asks for the walk whenever photo, tree or target change.
fn follow_walk(workspace: Workspace, scene: Scene, subject: Subject) {
    Effect::new(move |_| {
        let (current, to) = (subject.get(), scene.to.get());
        let Some((from, tree, _)) = current else {
            return;
        };
        spawn_local(async move {
            let to = to.filter(|to| *to != from);
            let query = Query::Walk { from, to, tree };
            if let Ok(QueryAnswer::Walk { steps }) = workspace.controller.ask_about(query).await {
                scene.step.set(0);
                scene.steps.set(Arc::new(steps));
            }
        });
    });
}

/// Maximum number of likely concepts shown, and the minimum probability of one.
const MAX_LIKELY: usize = 6;
const MIN_LIKELY: f32 = 0.02;

/// The most specific concepts that the photo may show, the most likely first. They come from the
/// same probabilities as the answer; nearness in the flat disk would say little.
#[component]
fn LikelyConcepts() -> impl IntoView {
    let workspace = use_workspace();
    let likely = Memo::new(move |_| {
        let (Some(placed), Some(tree)) = (workspace.placed.get(), workspace.shown()) else {
            return Vec::new();
        };
        let p = |ix: &NodeIx| placed.place.p.get(ix.index()).copied().unwrap_or(0.0);
        let mut labels: Vec<NodeIx> = tree.labelled().to_vec();
        labels.retain(|ix| p(ix) >= MIN_LIKELY);
        labels.sort_by(|a, b| p(b).total_cmp(&p(a)));
        // A label with a more specific one in the list is left out.
        let listed = labels.clone();
        labels.retain(|ix| !listed.iter().any(|other| tree.is_ancestor(*ix, *other)));
        labels.truncate(MAX_LIKELY);
        let named = labels
            .iter()
            .map(|ix| (tree.name(*ix).to_owned(), tree.node(*ix).id.clone()));
        named.collect::<Vec<_>>()
    });
    view! {
        <p class="near" data-testid="near" hidden=move || likely.with(Vec::is_empty)>
            <span>"Most likely for this photo: "</span>
            <For each=move || likely.get() key=|(_, id)| id.clone() let((name, id))>
                <button class="chip" type="button" on:click=move |_| workspace.select(&id)>{name}</button>
            </For>
        </p>
    }
}

/// The photo's distance to the root in each factor of a product space, as bars.
#[component]
fn Factors() -> impl IntoView {
    let workspace = use_workspace();
    let factors = Memo::new(move |_| {
        let placed = workspace.placed.get();
        placed.map_or_else(Vec::new, |placed| placed.place.factors.clone())
    });
    move || {
        let factors = factors.get();
        (!factors.is_empty()).then(|| {
            let largest = factors.iter().copied().fold(1e-12, f64::max);
            let strongest = factors.iter().position(|f| *f == largest).unwrap_or(0);
            let bars = factors.iter().map(|f| {
                view! { <span style=("--part", format!("{:.3}", f / largest))></span> }
            });
            view! {
                <figure class="factors" data-testid="factors">
                    <div class="factor-bars" aria-hidden="true">{bars.collect_view()}</div>
                    <figcaption class="note">
                        {format!(
                            "The {} factors of this space, by the photo's distance to the root in each; factor {} is the strongest.",
                            factors.len(),
                            strongest + 1,
                        )}
                    </figcaption>
                </figure>
            }
        })
    }
}

//! The space: the taxonomy and the photo in a Poincaré disk, and the walk through it.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::disk::DiskView;
use super::scene::{DiskPositions, Scene};
use super::walk::WalkView;
use crate::messages::photo_id::PhotoId;
use crate::messages::query::{Query, QueryAnswer, TreeSource};
use crate::state::view::View;
use crate::workspace::{Workspace, use_workspace};

/// The panel.
#[component]
pub fn SpacePanel() -> impl IntoView {
    let workspace = use_workspace();
    let scene = Scene {
        positions: RwSignal::new(None),
        view: RwSignal::new(View::default()),
        steps: RwSignal::new(Arc::default()),
        step: RwSignal::new(0),
        to: RwSignal::new(None),
    };
    // Queried once the photo has its place in the tree, so that both refer to the same photo.
    let subject = Memo::new(move |_| {
        workspace
            .placed
            .get()
            .map(|placed| (placed.photo, placed.tree))
    });
    follow_positions(workspace, scene, subject);
    follow_walk(workspace, scene, subject);
    let explanation = move || {
        scene.positions.with(|positions| {
            positions
                .as_ref()
                .map(|positions| explained_words(positions.explained))
        })
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
                <p class="note">{explanation}</p>
                <NearestConcepts scene />
                <Factors />
                <WalkView scene />
            </Show>
        </section>
    }
}

/// The photo and the tree that the scene is about.
type Subject = Memo<Option<(PhotoId, TreeSource)>>;

/// Asks for the positions of the nodes and the photo whenever photo or tree change.
fn follow_positions(workspace: Workspace, scene: Scene, subject: Subject) {
    Effect::new(move |_| {
        let Some((photo, tree)) = subject.get() else {
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
            if subject.get_untracked() == Some((photo, tree)) {
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
        let Some((from, tree)) = current else { return };
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

/// Says how much of the space two dimensions keep.
fn explained_words(explained: f64) -> String {
    format!(
        "Distances to the centre are true. Directions are two out of many and keep {:.0} percent of what tells concepts apart.",
        explained * 100.0
    )
}

/// Number of nearest concepts shown.
const MAX_NEAREST: usize = 6;

/// The disk as text: the concepts nearest to the photo.
#[component]
fn NearestConcepts(
    /// The scene to describe.
    scene: Scene,
) -> impl IntoView {
    let workspace = use_workspace();
    let near = Memo::new(move |_| {
        let (positions, tree) = (scene.positions.get(), workspace.shown());
        let (Some(positions), Some(tree)) = (positions, tree) else {
            return Vec::new();
        };
        let Some(photo) = positions.photo else {
            return Vec::new();
        };
        let view = View::default().centred(photo);
        let mut all: Vec<(f64, String, String)> = (tree.nodes().iter().zip(&positions.nodes))
            .filter_map(|(node, position)| {
                let [x, y] = view.to_view((*position)?);
                Some((x.hypot(y), node.names[0].clone(), node.id.clone()))
            })
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.truncate(MAX_NEAREST);
        all.into_iter()
            .map(|(_, name, id)| (name, id))
            .collect::<Vec<_>>()
    });
    view! {
        <p class="near" data-testid="near">
            <span>"Nearest to the photo in the disk: "</span>
            <For each=move || near.get() key=|(_, id)| id.clone() let((name, id))>
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
        workspace
            .placed
            .with(|placed| placed.as_ref().map_or_else(Vec::new, |p| p.factors.clone()))
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

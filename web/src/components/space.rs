//! The space: the taxonomy and the photo in a Poincaré disk, and the walk through it.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::disk::DiskView;
use super::scene::{Drawn, Scene};
use super::walk::WalkView;
use crate::messages::ask::{Ask, AskAnswer, Which};
use crate::messages::photo_id::PhotoId;
use crate::state::view::View;
use crate::workspace::{Workspace, use_workspace};

/// The panel.
#[component]
pub fn SpacePanel() -> impl IntoView {
    let workspace = use_workspace();
    let scene = Scene {
        drawn: RwSignal::new(None),
        view: RwSignal::new(View::default()),
        steps: RwSignal::new(Arc::default()),
        step: RwSignal::new(0),
        to: RwSignal::new(None),
    };
    // Queried once the photo has its place in the tree, so that both refer to the same photo.
    let about = Memo::new(move |_| {
        workspace
            .placed
            .get()
            .map(|placed| (placed.photo, placed.tree))
    });
    follow_positions(workspace, scene, about);
    follow_walk(workspace, scene, about);
    let kept = move || {
        scene
            .drawn
            .with(|drawn| drawn.as_ref().map(|drawn| kept_words(drawn.kept)))
    };
    view! {
        <section class="sheet" aria-labelledby="space-title" data-testid="space-panel">
            <div class="sheet-head">
                <h2 id="space-title">"The space"</h2>
            </div>
            <Show
                when=move || scene.drawn.with(Option::is_some)
                fallback=|| {
                    view! {
                        <p class="note">
                            "Once a photo is read, this shows it among the concepts: broad ones near the middle, narrow ones far out."
                        </p>
                    }
                }
            >
                <DiskView scene />
                <p class="note">{kept}</p>
                <Near scene />
                <Factors />
                <WalkView scene />
            </Show>
        </section>
    }
}

/// The photo and the tree that the scene is about.
type About = Memo<Option<(PhotoId, Which)>>;

/// Asks for the positions of the nodes and the photo whenever photo or tree change.
fn follow_positions(workspace: Workspace, scene: Scene, about: About) {
    Effect::new(move |_| {
        let Some((photo, tree)) = about.get() else {
            return;
        };
        spawn_local(async move {
            let ask = Ask::Disk {
                tree,
                photos: vec![photo],
            };
            let Ok(AskAnswer::Disk {
                nodes,
                photos,
                kept,
            }) = workspace.controller.ask_about(ask).await
            else {
                return;
            };
            if about.get_untracked() == Some((photo, tree)) {
                scene.drawn.set(Some(Arc::new(Drawn {
                    tree,
                    nodes,
                    photo: photos.into_iter().next().flatten(),
                    kept,
                })));
            }
        });
    });
}

/// Asks for the walk whenever photo, tree or target change.
fn follow_walk(workspace: Workspace, scene: Scene, about: About) {
    Effect::new(move |_| {
        let (about, to) = (about.get(), scene.to.get());
        let Some((from, tree)) = about else { return };
        spawn_local(async move {
            let to = to.filter(|to| *to != from);
            let ask = Ask::Walk { from, to, tree };
            if let Ok(AskAnswer::Walk { steps }) = workspace.controller.ask_about(ask).await {
                scene.step.set(0);
                scene.steps.set(Arc::new(steps));
            }
        });
    });
}

/// Says how much of the space two dimensions keep.
fn kept_words(kept: f64) -> String {
    format!(
        "Distances to the centre are true. Directions are two out of many and keep {:.0} percent of what tells concepts apart.",
        kept * 100.0
    )
}

/// Number of nearest concepts shown.
const NEAREST: usize = 6;

/// The disk as text: the concepts nearest to the photo.
#[component]
fn Near(
    /// The scene to describe.
    scene: Scene,
) -> impl IntoView {
    let workspace = use_workspace();
    let near = Memo::new(move |_| {
        let (drawn, tree) = (scene.drawn.get(), workspace.shown());
        let (Some(drawn), Some(tree)) = (drawn, tree) else {
            return Vec::new();
        };
        let Some(photo) = drawn.photo else {
            return Vec::new();
        };
        let seen = View::default().centred(photo);
        let mut all: Vec<(f64, String, String)> = (tree.nodes().iter().zip(&drawn.nodes))
            .filter_map(|(node, at)| {
                let [x, y] = seen.seen((*at)?);
                Some((x.hypot(y), node.names[0].clone(), node.id.clone()))
            })
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.truncate(NEAREST);
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
            let most = factors.iter().copied().fold(1e-12, f64::max);
            let strongest = factors.iter().position(|f| *f == most).unwrap_or(0);
            let bars = factors.iter().map(|f| {
                view! { <span style=("--part", format!("{:.3}", f / most))></span> }
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

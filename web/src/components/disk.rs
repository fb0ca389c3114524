//! The disk on a canvas: drag to move, Ctrl or Cmd with the wheel or buttons to zoom, click to
//! select.

use std::sync::Arc;

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use leptos::ev;
use leptos::html::Canvas;
use leptos::prelude::*;
use web_sys::{PointerEvent, WheelEvent};

use super::disk_paint::{Colours, Picture, paint};
use super::scene::{Drawn, Scene};
use crate::state::sketch::Sketch;
use crate::state::view::{Place, View};
use crate::workspace::use_workspace;

/// Maximum distance of the pointer to hit a node, as a fraction of half the canvas.
const NEAR: f64 = 0.055;

/// Maximum pointer movement of a click; more is a drag. As a fraction of half the canvas.
const STILL: f64 = 0.012;

/// The disk and its controls.
#[component]
pub fn DiskView(
    /// The scene to display.
    scene: Scene,
) -> impl IntoView {
    let workspace = use_workspace();
    let canvas = NodeRef::<Canvas>::new();
    let hover = RwSignal::new(None::<NodeIx>);
    // Start and last position of a drag.
    let drag = RwSignal::new(None::<(Place, Place)>);
    let size = RwSignal::new(0_u32);

    let sketch = Memo::new(move |_| {
        let (drawn, tree) = (scene.drawn.get()?, workspace.shown()?);
        // After a change of the tree, its positions are not known yet.
        let fits = drawn.tree == workspace.which.get() && drawn.nodes.len() == tree.nodes().len();
        fits.then(|| Arc::new(Sketch::of(&tree, &drawn.nodes)))
    });
    let picture = move || -> Option<Picture> {
        let (drawn, tree) = (scene.drawn.get()?, workspace.shown()?);
        sketch.get().map(|sketch| {
            let placed = workspace.placed.get();
            let find = |id: &str| tree.find(id);
            let path = placed.iter().flat_map(|placed| &placed.path.path);
            Picture {
                path: path.filter_map(|step| find(&step.id)).collect(),
                selected: workspace.selected.get().and_then(|id| tree.find(&id)),
                hover: hover.get(),
                walk: scene.steps.get(),
                step: scene.step.get(),
                view: scene.view.get(),
                drawn,
                tree,
                sketch,
            }
        })
    };
    let draw = move || {
        size.track();
        if let (Some(canvas), Some(picture)) = (canvas.get(), picture()) {
            paint(&canvas, &picture, &Colours::read());
        }
    };
    Effect::new(move |_| draw());
    // Redraws the canvas when its size or the colour scheme changes.
    let resized = window_event_listener(ev::resize, move |_| size.update(|n| *n += 1));
    let colours = window()
        .match_media("(prefers-color-scheme: dark)")
        .ok()
        .flatten();
    let recolour = wasm_bindgen::closure::Closure::<dyn FnMut()>::new(move || {
        size.update(|n| *n += 1);
    });
    if let Some(colours) = &colours {
        use wasm_bindgen::JsCast as _;
        colours.set_onchange(Some(recolour.as_ref().unchecked_ref()));
    }
    let kept = StoredValue::new_local(Some((colours, recolour)));
    on_cleanup(move || {
        resized.remove();
        if let Some(Some((Some(colours), _))) = kept.try_update_value(Option::take) {
            colours.set_onchange(None);
        }
    });

    let at = move |x: i32, y: i32| -> Option<Place> {
        let area = canvas.get_untracked()?.get_bounding_client_rect();
        let half = area.width().min(area.height()).max(1.0) / 2.0;
        let [x, y] = [f64::from(x) - area.left(), f64::from(y) - area.top()];
        Some([
            (x - area.width() / 2.0) / half,
            (area.height() / 2.0 - y) / half,
        ])
    };
    let nearest = move |place: Place| untrack(picture).and_then(|p| nearest(&p, place));
    let down = move |event: PointerEvent| {
        if let (Some(place), Some(canvas)) = (
            at(event.client_x(), event.client_y()),
            canvas.get_untracked(),
        ) {
            let _ = canvas.set_pointer_capture(event.pointer_id());
            drag.set(Some((place, place)));
        }
    };
    let moved = move |event: PointerEvent| {
        let Some(place) = at(event.client_x(), event.client_y()) else {
            return;
        };
        match drag.get_untracked() {
            Some((from, last)) => {
                drag.set(Some((from, place)));
                scene.view.update(|view| *view = view.dragged(last, place));
            }
            None => hover.set(nearest(place)),
        }
    };
    let up = move |event: PointerEvent| {
        let began = drag.get_untracked();
        drag.set(None);
        let (Some((from, _)), Some(to)) = (began, at(event.client_x(), event.client_y())) else {
            return;
        };
        if (from[0] - to[0]).hypot(from[1] - to[1]) < STILL
            && let (Some(node), Some(tree)) = (nearest(to), untrack(|| workspace.shown()))
        {
            workspace.select(&tree.node(node).id);
        }
    };
    // Without Ctrl or Cmd, the wheel scrolls the page as usual.
    let wheel = move |event: WheelEvent| {
        if event.ctrl_key() || event.meta_key() {
            event.prevent_default();
            let by = (-event.delta_y() / 300.0).exp();
            scene.view.update(|view| *view = view.zoomed(by));
        }
    };
    let key = move |event: ev::KeyboardEvent| {
        const STEP: f64 = 0.12;
        let change = |by: Place| {
            scene
                .view
                .update(|view| *view = view.dragged([0.0, 0.0], by));
        };
        match event.key().as_str() {
            "ArrowLeft" => change([STEP, 0.0]),
            "ArrowRight" => change([-STEP, 0.0]),
            "ArrowUp" => change([0.0, -STEP]),
            "ArrowDown" => change([0.0, STEP]),
            "+" | "=" => scene.view.update(|view| *view = view.zoomed(1.4)),
            "-" => scene.view.update(|view| *view = view.zoomed(1.0 / 1.4)),
            "0" => scene.view.set(View::default()),
            _ => return,
        }
        event.prevent_default();
    };
    let to_photo = move |_| {
        let photo = scene
            .drawn
            .with_untracked(|d| d.as_ref().and_then(|d| d.photo));
        if let Some(photo) = photo {
            scene.view.update(|view| *view = view.centred(photo));
        }
    };
    let named = move || {
        let (node, tree) = (hover.get()?, workspace.shown()?);
        Some(tree.name(node).to_owned())
    };
    view! {
        <div class="disk">
            <canvas
                class="disk-canvas"
                node_ref=canvas
                tabindex="0"
                role="application"
                aria-label="The concepts in a disk, the root in the middle. Arrow keys move it, plus and minus enlarge it, zero puts it back. The list below says what lies nearest to the photo."
                data-testid="disk"
                on:pointerdown=down
                on:pointermove=moved
                on:pointerup=up
                on:pointercancel=move |_| drag.set(None)
                on:pointerleave=move |_| hover.set(None)
                on:wheel=wheel
                on:keydown=key
            ></canvas>
            <p class="disk-hover" aria-hidden="true">{named}</p>
            <div class="disk-keys">
                <button class="button is-quiet is-small" type="button" aria-label="Enlarge"
                    on:click=move |_| scene.view.update(|view| *view = view.zoomed(1.6))>
                    "+"
                </button>
                <button class="button is-quiet is-small" type="button" aria-label="Make smaller"
                    on:click=move |_| scene.view.update(|view| *view = view.zoomed(1.0 / 1.6))>
                    "−"
                </button>
                <button class="button is-quiet is-small" type="button" on:click=to_photo>
                    "To the photo"
                </button>
                <button class="button is-quiet is-small" type="button"
                    on:click=move |_| scene.view.set(View::default())>
                    "To the root"
                </button>
            </div>
        </div>
    }
}

/// Returns the node nearest to a view position, if it is close enough.
fn nearest(picture: &Picture, place: Place) -> Option<NodeIx> {
    let drawn: &Arc<Drawn> = &picture.drawn;
    let tree: &Arc<Taxonomy> = &picture.tree;
    let all = (0..).map(NodeIx).zip(&drawn.nodes).take(tree.nodes().len());
    let mut best: Option<(f64, NodeIx)> = None;
    for (ix, at) in all {
        let Some(at) = at else { continue };
        let [x, y] = picture.view.seen(*at);
        let far = (x - place[0]).hypot(y - place[1]);
        if far < NEAR && best.is_none_or(|(nearest, _)| far < nearest) {
            best = Some((far, ix));
        }
    }
    best.map(|(_, ix)| ix)
}

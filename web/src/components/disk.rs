//! The disk on a canvas: drag to move, Ctrl or Cmd with the wheel or buttons to zoom, click to
//! select.

use std::sync::Arc;

use espalier_core::taxonomy::NodeIx;
use leptos::ev;
use leptos::html::Canvas;
use leptos::prelude::*;
use web_sys::{KeyboardEvent, MouseEvent, PointerEvent, WheelEvent};

use super::disk_paint::{Drawing, paint};
use super::scene::Scene;
use crate::state::sketch::Sketch;
use crate::state::view::{Point, View};
use crate::workspace::{Workspace, use_workspace};

/// Maximum distance of the pointer to hit a node, as a fraction of half the canvas.
const HIT_DISTANCE: f64 = 0.055;

/// Maximum pointer movement of a click; more is a drag. As a fraction of half the canvas.
const MAX_CLICK_MOVE: f64 = 0.012;

/// Magnification by one press of a button.
const BUTTON_ZOOM: f64 = 1.6;

/// The disk and its controls.
#[component]
pub fn DiskView(scene: Scene) -> impl IntoView {
    let disk = Disk::new(use_workspace(), scene);
    let redraws = RwSignal::new(0_u32);
    Effect::new(move |_| {
        redraws.track();
        if let (Some(canvas), Some(drawing)) = (disk.canvas.get(), disk.drawing()) {
            paint(&canvas, &drawing);
        }
    });
    redraw_on_page_changes(redraws);
    let hovered_name = move || {
        let (node, tree) = (disk.hover.get()?, disk.workspace.shown()?);
        Some(tree.name(node).to_owned())
    };
    view! {
        <div class="disk">
            <canvas
                class="disk-canvas"
                node_ref=disk.canvas
                tabindex="0"
                role="application"
                aria-label="The concepts in a disk, the root in the middle. Arrow keys move it, plus and minus zoom, zero resets it. The list below names what the photo most likely shows."
                data-testid="disk"
                on:pointerdown=move |event| disk.begin_drag(&event)
                on:pointermove=move |event| disk.follow_pointer(&event)
                on:pointerup=move |event| disk.end_drag(&event)
                on:pointercancel=move |_| disk.drag.set(None)
                on:pointerleave=move |_| disk.hover.set(None)
                on:wheel=move |event| disk.on_wheel(&event)
                on:keydown=move |event| disk.on_key(&event)
            ></canvas>
            <p class="disk-hover" aria-hidden="true">{hovered_name}</p>
            {buttons(disk)}
        </div>
    }
}

/// Increases `redraws` when the size of the canvas or the colour scheme changes, until the component
/// is removed.
fn redraw_on_page_changes(redraws: RwSignal<u32>) {
    let resized = window_event_listener(ev::resize, move |_| redraws.update(|n| *n += 1));
    let colours = window()
        .match_media("(prefers-color-scheme: dark)")
        .ok()
        .flatten();
    let recolour = wasm_bindgen::closure::Closure::<dyn FnMut()>::new(move || {
        redraws.update(|n| *n += 1);
    });
    if let Some(colours) = &colours {
        use wasm_bindgen::JsCast as _;
        colours.set_onchange(Some(recolour.as_ref().unchecked_ref()));
    }
    let listener = StoredValue::new_local(Some((colours, recolour)));
    on_cleanup(move || {
        resized.remove();
        if let Some(Some((Some(colours), _))) = listener.try_update_value(Option::take) {
            colours.set_onchange(None);
        }
    });
}

/// The buttons that change the view.
fn buttons(disk: Disk) -> impl IntoView {
    view! {
        <div class="disk-keys">
            <button class="button is-quiet is-small" type="button" aria-label="Enlarge"
                on:click=move |_| disk.zoom(BUTTON_ZOOM)>
                "+"
            </button>
            <button class="button is-quiet is-small" type="button" aria-label="Make smaller"
                on:click=move |_| disk.zoom(1.0 / BUTTON_ZOOM)>
                "−"
            </button>
            <button class="button is-quiet is-small" type="button"
                on:click=move |_| disk.centre_photo()>
                "To the photo"
            </button>
            <button class="button is-quiet is-small" type="button"
                on:click=move |_| disk.scene.view.set(View::default())>
                "To the root"
            </button>
        </div>
    }
}

/// The disk on its canvas; cheap to copy.
#[derive(Clone, Copy)]
struct Disk {
    workspace: Workspace,
    scene: Scene,
    canvas: NodeRef<Canvas>,
    /// The node under the pointer.
    hover: RwSignal<Option<NodeIx>>,
    /// Start and last position of a drag.
    drag: RwSignal<Option<(Point, Point)>>,
    /// The parts that do not change while the disk is moved.
    sketch: Memo<Option<Arc<Sketch>>>,
}

impl Disk {
    fn new(workspace: Workspace, scene: Scene) -> Self {
        let sketch = Memo::new(move |_| {
            let (positions, tree) = (scene.positions.get()?, workspace.shown()?);
            // After a change of the tree, its positions are not known yet.
            let fits = positions.tree == workspace.tree_source.get()
                && positions.nodes.len() == tree.nodes().len();
            fits.then(|| Arc::new(Sketch::of(&tree, &positions.nodes)))
        });
        Self {
            workspace,
            scene,
            canvas: NodeRef::new(),
            hover: RwSignal::new(None),
            drag: RwSignal::new(None),
            sketch,
        }
    }

    /// Collects what is drawn; `None` before the positions are known.
    fn drawing(self) -> Option<Drawing> {
        let (scene, workspace) = (self.scene, self.workspace);
        let (positions, tree) = (scene.positions.get()?, workspace.shown()?);
        let sketch = self.sketch.get()?;
        let placed = workspace.placed.get();
        let path = placed.iter().flat_map(|placed| &placed.place.path.path);
        Some(Drawing {
            path: path.filter_map(|step| tree.find(&step.id)).collect(),
            selected: workspace.selected.get().and_then(|id| tree.find(&id)),
            hover: self.hover.get(),
            walk: scene.steps.get(),
            step: scene.step.get(),
            view: scene.view.get(),
            positions,
            tree,
            sketch,
        })
    }

    /// Returns the position of the pointer in the view.
    fn pointer_position(self, event: &MouseEvent) -> Option<Point> {
        let area = self.canvas.get_untracked()?.get_bounding_client_rect();
        let half = area.width().min(area.height()).max(1.0) / 2.0;
        let x = f64::from(event.client_x()) - area.left();
        let y = f64::from(event.client_y()) - area.top();
        Some([
            (x - area.width() / 2.0) / half,
            (area.height() / 2.0 - y) / half,
        ])
    }

    fn nearest(self, point: Point) -> Option<NodeIx> {
        untrack(move || self.drawing()).and_then(|drawing| nearest(&drawing, point))
    }

    fn begin_drag(self, event: &PointerEvent) {
        if let (Some(point), Some(canvas)) =
            (self.pointer_position(event), self.canvas.get_untracked())
        {
            let _ = canvas.set_pointer_capture(event.pointer_id());
            self.drag.set(Some((point, point)));
        }
    }

    /// Moves the disk during a drag, else marks the node under the pointer.
    fn follow_pointer(self, event: &PointerEvent) {
        let Some(point) = self.pointer_position(event) else {
            return;
        };
        match self.drag.get_untracked() {
            Some((from, last)) => {
                self.drag.set(Some((from, point)));
                self.move_view(last, point);
            }
            None => self.hover.set(self.nearest(point)),
        }
    }

    /// Ends a drag; one that did not move is a click and selects the node under the pointer.
    fn end_drag(self, event: &PointerEvent) {
        let drag = self.drag.get_untracked();
        self.drag.set(None);
        let (Some((from, _)), Some(to)) = (drag, self.pointer_position(event)) else {
            return;
        };
        if (from[0] - to[0]).hypot(from[1] - to[1]) < MAX_CLICK_MOVE
            && let (Some(node), Some(tree)) = (self.nearest(to), untrack(|| self.workspace.shown()))
        {
            self.workspace.select(&tree.node(node).id);
        }
    }

    /// Zooms with Ctrl or Cmd; without them, the wheel scrolls the page as usual.
    fn on_wheel(self, event: &WheelEvent) {
        if event.ctrl_key() || event.meta_key() {
            event.prevent_default();
            self.zoom((-event.delta_y() / 300.0).exp());
        }
    }

    fn on_key(self, event: &KeyboardEvent) {
        const STEP: f64 = 0.12;
        const ZOOM: f64 = 1.4;
        let shift = |by: Point| self.move_view([0.0, 0.0], by);
        match event.key().as_str() {
            "ArrowLeft" => shift([STEP, 0.0]),
            "ArrowRight" => shift([-STEP, 0.0]),
            "ArrowUp" => shift([0.0, -STEP]),
            "ArrowDown" => shift([0.0, STEP]),
            "+" | "=" => self.zoom(ZOOM),
            "-" => self.zoom(1.0 / ZOOM),
            "0" => self.scene.view.set(View::default()),
            _ => return,
        }
        event.prevent_default();
    }

    fn move_view(self, from: Point, to: Point) {
        let view = self.scene.view;
        view.update(|view| *view = view.dragged(from, to));
    }

    fn zoom(self, by: f64) {
        self.scene.view.update(|view| *view = view.zoomed(by));
    }

    fn centre_photo(self) {
        let scene = self.scene;
        let photo = scene
            .positions
            .with_untracked(|d| d.as_ref().and_then(|d| d.photo));
        if let Some(photo) = photo {
            scene.view.update(|view| *view = view.centred(photo));
        }
    }
}

/// Returns the node nearest to a view position, if it is close enough.
fn nearest(drawing: &Drawing, point: Point) -> Option<NodeIx> {
    let all = (0..).map(NodeIx).zip(&drawing.positions.nodes);
    let all = all.take(drawing.tree.nodes().len());
    let near = all.filter_map(|(ix, position)| {
        let [x, y] = drawing.view.to_view((*position)?);
        let distance = (x - point[0]).hypot(y - point[1]);
        (distance < HIT_DISTANCE).then_some((distance, ix))
    });
    let nearest = near.min_by(|a, b| a.0.total_cmp(&b.0));
    nearest.map(|(_, ix)| ix)
}

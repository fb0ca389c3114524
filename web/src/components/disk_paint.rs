//! Paints the disk: edges of the taxonomy, its nodes, the photo's path, the photo, the walk.

use std::f64::consts::TAU;
use std::sync::Arc;

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use leptos::prelude::{document, window};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement};

use super::scene::DiskPositions;
use crate::messages::query::WalkStep;
use crate::photo::context;
use crate::state::sketch::Sketch;
use crate::state::view::{Point, View};

/// Maximum number of labels.
const MAX_LABELS: usize = 16;

/// All inputs of a drawing of the disk.
pub struct Drawing {
    /// Positions of the nodes and the photo.
    pub positions: Arc<DiskPositions>,
    /// The taxonomy.
    pub tree: Arc<Taxonomy>,
    /// The parts that do not change while the disk is moved.
    pub sketch: Arc<Sketch>,
    /// The view transform.
    pub view: View,
    /// The photo's path.
    pub path: Vec<NodeIx>,
    /// The selected node.
    pub selected: Option<NodeIx>,
    /// The node under the pointer.
    pub hover: Option<NodeIx>,
    /// The walk.
    pub walk: Arc<Vec<WalkStep>>,
    /// Index of the current step of the walk.
    pub step: usize,
}

/// Current colours of the page.
struct Colours {
    wire: String,
    wood: String,
    leaf: String,
    ink: String,
    soft: String,
    brick: String,
    ground: String,
    sans: String,
}

impl Colours {
    /// Reads the colours from the page's CSS custom properties.
    fn read() -> Self {
        let style = document()
            .document_element()
            .and_then(|root| window().get_computed_style(&root).ok().flatten());
        let of = |name: &str| {
            let value = style.as_ref().and_then(|s| s.get_property_value(name).ok());
            value.unwrap_or_default().trim().to_owned()
        };
        Self {
            wire: of("--wire"),
            wood: of("--wood"),
            leaf: of("--leaf"),
            ink: of("--ink"),
            soft: of("--ink-soft"),
            brick: of("--brick"),
            ground: of("--surface"),
            sans: of("--sans"),
        }
    }
}

/// Width reserved for the text next to the photo's point, in CSS pixels.
const PHOTO_LABEL_WIDTH: f64 = 44.0;

/// Drawing context with the position and scale of the disk on the canvas.
struct Brush<'a> {
    pen: CanvasRenderingContext2d,
    half: [f64; 2],
    scale: f64,
    drawing: &'a Drawing,
    colours: Colours,
}

/// Paints the disk.
pub fn paint(canvas: &HtmlCanvasElement, drawing: &Drawing) {
    let Some(pen) = context(canvas) else { return };
    let pixel_ratio = window().device_pixel_ratio().clamp(1.0, 3.0);
    let (width, height) = (
        f64::from(canvas.client_width()),
        f64::from(canvas.client_height()),
    );
    let (pixels_x, pixels_y) = ((width * pixel_ratio) as u32, (height * pixel_ratio) as u32);
    if canvas.width() != pixels_x || canvas.height() != pixels_y {
        canvas.set_width(pixels_x);
        canvas.set_height(pixels_y);
    }
    let _ = pen.set_transform(pixel_ratio, 0.0, 0.0, pixel_ratio, 0.0, 0.0);
    pen.clear_rect(0.0, 0.0, width, height);
    let brush = Brush {
        pen,
        half: [width / 2.0, height / 2.0],
        scale: (width.min(height) / 2.0 - 2.0).max(1.0),
        drawing,
        colours: Colours::read(),
    };
    brush.clip();
    brush.ground();
    brush.edges();
    brush.nodes();
    brush.walk();
    brush.photo();
    brush.pen.restore();
    brush.labels();
}

impl Brush<'_> {
    /// Restricts drawing to a circle, so that the disk has a round edge however far it is enlarged.
    fn clip(&self) {
        self.pen.save();
        self.pen.begin_path();
        let [x, y] = self.half;
        let _ = self.pen.arc(x, y, self.scale + 1.0, 0.0, TAU);
        self.pen.clip();
    }

    fn on_canvas(&self, point: Point) -> Point {
        let [x, y] = self.drawing.view.to_view(point);
        [self.half[0] + x * self.scale, self.half[1] - y * self.scale]
    }

    fn node(&self, ix: NodeIx) -> Option<Point> {
        let point = self.drawing.positions.nodes.get(ix.index())?;
        point.map(|point| self.on_canvas(point))
    }

    fn dot(&self, [x, y]: Point, radius: f64, colour: &str) {
        self.pen.begin_path();
        let _ = self.pen.arc(x, y, radius, 0.0, TAU);
        self.pen.set_fill_style_str(colour);
        self.pen.fill();
    }

    fn ground(&self) {
        let radius = self.scale * self.drawing.view.zoom();
        self.dot(self.half, radius, &self.colours.ground);
        self.pen.begin_path();
        let _ = self.pen.arc(self.half[0], self.half[1], radius, 0.0, TAU);
        self.pen.set_stroke_style_str(&self.colours.wire);
        self.pen.set_line_width(1.5);
        self.pen.stroke();
    }

    fn edges(&self) {
        let drawing = self.drawing;
        let sketch = &drawing.sketch;
        for (on_path, colour, width, alpha) in [
            (false, &self.colours.wood, 0.8, 0.28 * sketch.strength),
            (true, &self.colours.leaf, 2.4, 0.95),
        ] {
            self.pen.begin_path();
            for line in &sketch.lines {
                if drawing.path.contains(&line.node) != on_path {
                    continue;
                }
                let [first, rest @ ..] = line.points.map(|point| self.on_canvas(point));
                self.pen.move_to(first[0], first[1]);
                for [x, y] in rest {
                    self.pen.line_to(x, y);
                }
            }
            self.pen.set_global_alpha(alpha);
            self.pen.set_stroke_style_str(colour);
            self.pen.set_line_width(width);
            self.pen.stroke();
        }
        self.pen.set_global_alpha(1.0);
    }

    /// Draws all dots of one colour as one path: thousands of separate fills would take longer than
    /// a frame.
    fn nodes(&self) {
        let drawing = self.drawing;
        let sketch = &drawing.sketch;
        let is_special = |ix: NodeIx| drawing.selected == Some(ix) || drawing.hover == Some(ix);
        let stands_out = |ix: NodeIx| is_special(ix) || drawing.path.contains(&ix);
        for (is_marked, colour, alpha) in [
            (false, &self.colours.soft, 0.6 * sketch.strength),
            (true, &self.colours.leaf, 1.0),
        ] {
            self.pen.begin_path();
            for &ix in sketch
                .broadest_first
                .iter()
                .filter(|ix| stands_out(**ix) == is_marked)
            {
                let (Some([x, y]), Some(radius)) = (self.node(ix), sketch.radii.get(ix.index()))
                else {
                    continue;
                };
                let radius = radius + if is_special(ix) { 2.0 } else { 0.0 };
                self.pen.move_to(x + radius, y);
                let _ = self.pen.arc(x, y, radius, 0.0, TAU);
            }
            self.pen.set_global_alpha(alpha);
            self.pen.set_fill_style_str(colour);
            self.pen.fill();
        }
        self.pen.set_global_alpha(1.0);
    }

    fn walk(&self) {
        let steps = &self.drawing.walk;
        self.pen.begin_path();
        for (i, step) in steps.iter().enumerate() {
            let [x, y] = self.on_canvas(step.position);
            if i == 0 {
                self.pen.move_to(x, y);
            } else {
                self.pen.line_to(x, y);
            }
        }
        self.pen.set_stroke_style_str(&self.colours.brick);
        self.pen.set_line_width(1.4);
        let _ = self
            .pen
            .set_line_dash(&js_sys::Array::of2(&3.into(), &4.into()));
        self.pen.stroke();
        let _ = self.pen.set_line_dash(&js_sys::Array::new());
        if let Some(step) = steps.get(self.drawing.step) {
            self.dot(self.on_canvas(step.position), 4.5, &self.colours.brick);
        }
    }

    fn photo(&self) {
        let Some(photo) = self.drawing.positions.photo else {
            return;
        };
        let at = self.on_canvas(photo);
        self.dot(at, 7.5, &self.colours.ground);
        self.dot(at, 5.5, &self.colours.brick);
        // Writes to the left of the point if the text would exceed the canvas on the right.
        let overflows = at[0] + PHOTO_LABEL_WIDTH > 2.0 * self.half[0];
        let from = if overflows {
            at[0] - PHOTO_LABEL_WIDTH - 8.0
        } else {
            at[0]
        };
        self.write("photo", [from, at[1]], &self.colours.brick, 600);
    }

    fn write(&self, text: &str, [x, y]: Point, colour: &str, weight: u32) {
        self.pen
            .set_font(&format!("{weight} 12px {}", self.colours.sans));
        self.pen.set_line_width(3.5);
        self.pen.set_line_join("round");
        self.pen.set_stroke_style_str(&self.colours.ground);
        let _ = self.pen.stroke_text(text, x + 8.0, y + 4.0);
        self.pen.set_fill_style_str(colour);
        let _ = self.pen.fill_text(text, x + 8.0, y + 4.0);
    }

    /// Writes the names of nodes in order of priority; skips names that would overlap others.
    fn labels(&self) {
        let drawing = self.drawing;
        let special = drawing.hover.into_iter().chain(drawing.selected);
        let broad = drawing.sketch.broadest_first.iter().copied();
        let path = drawing.path.iter().rev().copied();
        let mut occupied: Vec<(Point, f64)> = Vec::new();
        if let Some(photo) = drawing.positions.photo {
            occupied.push((self.on_canvas(photo), 40.0));
        }
        let mut seen = Vec::new();
        for ix in special.chain(path).chain(broad) {
            if occupied.len() > MAX_LABELS {
                break;
            }
            let Some([x, y]) = self.node(ix).filter(|_| !seen.contains(&ix)) else {
                continue;
            };
            seen.push(ix);
            let name = drawing.tree.name(ix);
            let width = 7.0 * name.chars().count() as f64;
            let inside = x > 4.0
                && x + width + 8.0 < 2.0 * self.half[0]
                && y > 12.0
                && y < 2.0 * self.half[1] - 8.0;
            let free = occupied.iter().all(|([ox, oy], other)| {
                (oy - y).abs() > 15.0 || ox + other + 10.0 < x || x + width + 10.0 < *ox
            });
            if inside && free {
                let is_marked = drawing.path.contains(&ix) || drawing.selected == Some(ix);
                let (colour, weight) = if is_marked {
                    (&self.colours.leaf, 600)
                } else {
                    (&self.colours.ink, 400)
                };
                self.write(name, [x, y], colour, weight);
                occupied.push(([x, y], width));
            }
        }
    }
}

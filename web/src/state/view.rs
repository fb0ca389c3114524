//! View transform of the disk: an isometry of the hyperbolic plane, then magnification about the
//! centre.

/// Maximum magnification.
const MAX_ZOOM: f64 = 24.0;
/// Maximum Euclidean radius; points are clamped to it.
const RIM: f64 = 0.999_999;

/// A point in the disk.
pub type Point = [f64; 2];

/// A view: an isometry of the disk, `z -> (a z + b) / (conj(b) z + conj(a))` with points as complex
/// numbers and `|a|^2 - |b|^2 = 1`, and a magnification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    a: Point,
    b: Point,
    zoom: f64,
}

impl Default for View {
    fn default() -> Self {
        Self {
            a: [1.0, 0.0],
            b: [0.0, 0.0],
            zoom: 1.0,
        }
    }
}

fn times([ax, ay]: Point, [bx, by]: Point) -> Point {
    [ax * bx - ay * by, ax * by + ay * bx]
}

fn plus([ax, ay]: Point, [bx, by]: Point) -> Point {
    [ax + bx, ay + by]
}

fn conj([x, y]: Point) -> Point {
    [x, -y]
}

fn divide(above: Point, below: Point) -> Point {
    let norm = below[0] * below[0] + below[1] * below[1];
    times(above, conj(below)).map(|v| v / norm)
}

fn clamp_to_rim([x, y]: Point) -> Point {
    let norm = x.hypot(y);
    if norm <= RIM {
        [x, y]
    } else {
        [x * RIM / norm, y * RIM / norm]
    }
}

impl View {
    /// Returns the hyperbolic translation that maps the origin to `to`.
    fn moving_origin_to(to: Point) -> Self {
        let [x, y] = clamp_to_rim(to);
        let scale = (1.0 - x * x - y * y).sqrt().recip();
        Self {
            a: [scale, 0.0],
            b: [x * scale, y * scale],
            zoom: 1.0,
        }
    }

    fn inverse(self) -> Self {
        Self {
            a: conj(self.a),
            b: self.b.map(|v| -v),
            zoom: self.zoom,
        }
    }

    /// Composes two isometries: first `self`, then `next`. Keeps the magnification of `self`.
    /// Renormalises the coefficients against rounding errors.
    fn then(self, next: Self) -> Self {
        let a = plus(times(next.a, self.a), times(next.b, conj(self.b)));
        let b = plus(times(next.a, self.b), times(next.b, conj(self.a)));
        let size = |[x, y]: Point| x * x + y * y;
        let scale = (size(a) - size(b)).max(1e-12).sqrt().recip();
        Self {
            a: a.map(|v| v * scale),
            b: b.map(|v| v * scale),
            zoom: self.zoom,
        }
    }

    fn apply(&self, z: Point) -> Point {
        let above = plus(times(self.a, z), self.b);
        let below = plus(times(conj(self.b), z), conj(self.a));
        clamp_to_rim(divide(above, below))
    }

    /// Returns the magnification.
    pub fn zoom(&self) -> f64 {
        self.zoom
    }

    /// Maps a point of the disk to its view position; the rim lies at distance [`View::zoom`].
    pub fn to_view(&self, p: Point) -> Point {
        self.apply(p).map(|v| v * self.zoom)
    }

    /// Maps a view position to a point of the disk; inverts [`View::to_view`] inside the disk.
    pub fn to_disk(&self, seen: Point) -> Point {
        self.inverse()
            .apply(clamp_to_rim(seen.map(|v| v / self.zoom)))
    }

    /// Returns the view after a drag from `from` to `to`, both view positions.
    pub fn dragged(self, from: Point, to: Point) -> Self {
        let [from, to] = [from, to].map(|seen| clamp_to_rim(seen.map(|v| v / self.zoom)));
        self.then(Self::moving_origin_to(from).inverse())
            .then(Self::moving_origin_to(to))
    }

    /// Returns the view magnified about its centre by the factor `by`, within limits.
    pub fn zoomed(self, by: f64) -> Self {
        Self {
            zoom: (self.zoom * by).clamp(1.0, MAX_ZOOM),
            ..self
        }
    }

    /// Returns the view with this point at the centre and without rotation.
    pub fn centred(self, place: Point) -> Self {
        Self {
            zoom: self.zoom,
            ..Self::moving_origin_to(place).inverse()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(a: Point, b: Point) -> bool {
        (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-6
    }

    #[test]
    fn a_centred_point_is_in_the_middle() {
        let view = View::default().centred([0.3, -0.5]).zoomed(2.0);
        assert!(near(view.to_view([0.3, -0.5]), [0.0, 0.0]));
        assert_eq!(View::default().zoomed(0.1).zoom(), 1.0);
        assert_eq!(View::default().zoomed(1e9).zoom(), MAX_ZOOM);
    }

    fn point() -> impl Strategy<Value = Point> {
        (0.0_f64..0.9, 0.0_f64..7.0).prop_map(|(r, a)| [r * a.cos(), r * a.sin()])
    }

    proptest! {
        #[test]
        fn to_disk_inverts_to_view(c in point(), p in point(), zoom in 1.0_f64..5.0) {
            let view = View::default().centred(c).zoomed(zoom);
            prop_assert!(near(view.to_disk(view.to_view(p)), p));
        }

        #[test]
        fn a_drag_moves_the_point_under_the_pointer(
            c in point(), from in point(), to in point(), further in point(),
        ) {
            let view = View::default().centred(c);
            let under = view.to_disk(from);
            let view = view.dragged(from, to);
            prop_assert!(near(view.to_view(under), to));
            prop_assert!(near(view.dragged(to, further).to_view(under), further));
        }

        #[test]
        fn points_stay_inside_the_disk(c in point(), p in point()) {
            let [x, y] = View::default().centred(c).to_view(p);
            prop_assert!(x.hypot(y) < 1.0);
        }
    }
}

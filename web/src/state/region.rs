//! A box on a photo, drawn with a pointer or moved and resized by keys.

/// Minimum side of a box, as a fraction of the photo's side.
const MIN_SIDE: f64 = 0.04;
/// Step of an arrow key, as a fraction of the photo's side.
const STEP: f64 = 0.02;

/// A box, in fractions of the photo's width and height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Left edge.
    pub x1: f64,
    /// Upper edge.
    pub y1: f64,
    /// Right edge.
    pub x2: f64,
    /// Lower edge.
    pub y2: f64,
}

impl Default for Region {
    fn default() -> Self {
        Self {
            x1: 0.25,
            y1: 0.25,
            x2: 0.75,
            y2: 0.75,
        }
    }
}

impl Region {
    /// Returns the box between two points, clamped to the photo and to the minimum size.
    pub fn between(a: (f64, f64), b: (f64, f64)) -> Self {
        let side = |a: f64, b: f64| {
            let (a, b) = (a.clamp(0.0, 1.0), b.clamp(0.0, 1.0));
            let (low, high) = (a.min(b), a.max(b));
            let low = low.min(1.0 - MIN_SIDE);
            (low, high.max(low + MIN_SIDE))
        };
        let (x1, x2) = side(a.0, b.0);
        let (y1, y2) = side(a.1, b.1);
        Self { x1, y1, x2, y2 }
    }

    /// Returns the box after a key press: arrows move it, with shift they move its lower right
    /// corner. `None` for other keys.
    pub fn key(self, key: &str, shift: bool) -> Option<Self> {
        let (dx, dy) = match key {
            "ArrowLeft" => (-STEP, 0.0),
            "ArrowRight" => (STEP, 0.0),
            "ArrowUp" => (0.0, -STEP),
            "ArrowDown" => (0.0, STEP),
            _ => return None,
        };
        if shift {
            let x2 = (self.x2 + dx).clamp(self.x1 + MIN_SIDE, 1.0);
            let y2 = (self.y2 + dy).clamp(self.y1 + MIN_SIDE, 1.0);
            return Some(Self { x2, y2, ..self });
        }
        Some(self.moved(dx, dy))
    }

    /// Returns the box moved by `dx` and `dy`, stopped at the photo's edges.
    pub fn moved(self, dx: f64, dy: f64) -> Self {
        let dx = dx.clamp(-self.x1, 1.0 - self.x2);
        let dy = dy.clamp(-self.y1, 1.0 - self.y2);
        Self {
            x1: self.x1 + dx,
            y1: self.y1 + dy,
            x2: self.x2 + dx,
            y2: self.y2 + dy,
        }
    }

    /// Returns `x1, y1, x2, y2`, as the command line expects them.
    pub fn corners(self) -> [f32; 4] {
        [self.x1, self.y1, self.x2, self.y2].map(|v| v as f32)
    }

    /// Describes the box for screen readers.
    pub fn in_words(self) -> String {
        let percent = |v: f64| (v * 100.0).round();
        format!(
            "from {} to {} percent across, from {} to {} percent down",
            percent(self.x1),
            percent(self.x2),
            percent(self.y1),
            percent(self.y2)
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_box_may_be_drawn_from_any_corner() {
        let one = Region::between((0.8, 0.2), (0.3, 0.9));
        assert_eq!((one.x1, one.y1, one.x2, one.y2), (0.3, 0.2, 0.8, 0.9));
        let dot = Region::between((1.0, 0.5), (1.0, 0.5));
        assert!((dot.x2 - dot.x1 - MIN_SIDE).abs() < 1e-9 && dot.x2 <= 1.0);
    }

    #[test]
    fn keys_move_and_with_shift_resize() {
        let start = Region::default();
        let right = start.key("ArrowRight", false).unwrap();
        assert!((right.x1 - 0.27).abs() < 1e-9 && (right.x2 - 0.77).abs() < 1e-9);
        let taller = start.key("ArrowDown", true).unwrap();
        assert_eq!((taller.y1, taller.x2), (start.y1, start.x2));
        assert!((taller.y2 - 0.77).abs() < 1e-9);
        assert_eq!(start.key("Enter", false), None);
        assert_eq!(
            start.in_words(),
            "from 25 to 75 percent across, from 25 to 75 percent down"
        );
    }

    proptest! {
        #[test]
        fn the_box_always_stays_inside_and_keeps_its_minimum_size(
            keys in prop::collection::vec((0..4_usize, any::<bool>()), 0..200),
            a in (-1.0_f64..2.0, -1.0_f64..2.0),
            b in (-1.0_f64..2.0, -1.0_f64..2.0),
        ) {
            let mut region = Region::between(a, b);
            for (key, shift) in keys {
                let key = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"][key];
                region = region.key(key, shift).unwrap();
                for (low, high) in [(region.x1, region.x2), (region.y1, region.y2)] {
                    prop_assert!(low >= -1e-9 && high <= 1.0 + 1e-9);
                    prop_assert!(high - low >= MIN_SIDE - 1e-9);
                }
            }
        }
    }
}

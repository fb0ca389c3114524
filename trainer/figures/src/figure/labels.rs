//! Placement of labels next to their points.

use super::font::{self, Weight};

/// A label to be placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// The point that it names.
    pub at: [f64; 2],
    /// The text.
    pub text: String,
    /// Size of the font.
    pub size: f64,
    /// Weight of the font.
    pub weight: Weight,
    /// Distance between the point's middle and the text.
    pub gap: f64,
}

/// A placed label.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedLabel {
    /// Index of the label in the input.
    pub label: usize,
    /// Left end and vertical centre.
    pub at: [f64; 2],
    /// Left, top, right, bottom.
    pub area: [f64; 4],
    /// End of a leader line from the point to the label; `None` if they are so close that no line
    /// is needed.
    pub leader: Option<[f64; 2]>,
}

/// Treatment of a label for which every place covers points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowded {
    /// It is left out if it would cover more points than this.
    LeftOut(usize),
    /// It goes further away, and covers points only where there is no other place: a point that is
    /// covered cannot be joined with its own label.
    Shown,
}

impl Crowded {
    /// Returns the most points that a label may cover, and the cost of each in distances.
    fn limit(self) -> (usize, usize) {
        match self {
            Self::LeftOut(most) => (most, COVERING),
            Self::Shown => (usize::MAX, REACH.len() + FAR.len()),
        }
    }

    /// Returns the distances that are tried, in multiples of the gap.
    fn distances(self) -> impl Iterator<Item = f64> {
        let far = FAR.into_iter().filter(move |_| self == Self::Shown);
        REACH.into_iter().chain(far)
    }
}

/// Directions in order of preference, as shares of the label's half size beyond the gap: right,
/// left, above, below, the corners.
const SIDES: [[f64; 2]; 8] = [
    [1.0, 0.0],
    [-1.0, 0.0],
    [0.0, -1.0],
    [0.0, 1.0],
    [1.0, -1.0],
    [1.0, 1.0],
    [-1.0, -1.0],
    [-1.0, 1.0],
];

/// Distances that are tried, in multiples of the gap.
const REACH: [f64; 5] = [1.0, 2.0, 3.5, 5.5, 8.0];

/// Further distances for labels that are shown in any case.
const FAR: [f64; 5] = [11.0, 15.0, 20.0, 27.0, 36.0];

/// Distance between a point's gap and its label above which a leader line joins them.
const NEAR: f64 = 4.0;

/// Cost of covering a point, in steps of [`REACH`].
const COVERING: usize = 2;

fn area(label: &Label, side: [f64; 2], reach: f64) -> [f64; 4] {
    let width = font::width(&label.text, label.size, label.weight);
    let height = label.size * 1.1;
    let away = label.gap * reach;
    let x = label.at[0] + side[0] * (width / 2.0 + away);
    let y = label.at[1] + side[1] * (height / 2.0 + away);
    [
        x - width / 2.0,
        y - height / 2.0,
        x + width / 2.0,
        y + height / 2.0,
    ]
}

fn overlap(a: [f64; 4], b: [f64; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

fn within(a: [f64; 4], frame: [f64; 4]) -> bool {
    a[0] >= frame[0] && a[1] >= frame[1] && a[2] <= frame[2] && a[3] <= frame[3]
}

type Segment = [[f64; 2]; 2];

/// Returns whether two segments cross.
fn cross([a, b]: Segment, [c, d]: Segment) -> bool {
    let side = |p: [f64; 2], q: [f64; 2], r: [f64; 2]| {
        (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    };
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}

/// Returns whether a segment intersects an area.
fn meets([a, b]: Segment, area: [f64; 4]) -> bool {
    let [left, top, right, bottom] = area;
    let inside = |p: [f64; 2]| p[0] > left && p[0] < right && p[1] > top && p[1] < bottom;
    let diagonals = [
        [[left, top], [right, bottom]],
        [[left, bottom], [right, top]],
    ];
    inside(a) || inside(b) || diagonals.iter().any(|d| cross([a, b], *d))
}

/// Places each label, the most important first, inside `frame`, near its point and over few other
/// points, without overlapping another label or leader line. Labels without a free place are
/// skipped.
///
/// `points` are centres and radii of marks that should not be covered.
pub fn place(
    labels: &[Label],
    frame: [f64; 4],
    points: &[([f64; 2], f64)],
    crowded: Crowded,
) -> Vec<PlacedLabel> {
    let (most_covered, covering) = crowded.limit();
    let mut placed: Vec<PlacedLabel> = Vec::new();
    for (index, label) in labels.iter().enumerate() {
        let areas = crowded.distances().enumerate();
        let areas =
            areas.flat_map(|(far, reach)| SIDES.map(|side| (far, area(label, side, reach))));
        let free = areas.filter_map(|(far, area)| {
            let end = end(area, label.at);
            let away = (end[0] - label.at[0]).hypot(end[1] - label.at[1]);
            let leader = (away > label.gap + NEAR).then_some(end);
            let line = leader.map(|end| [label.at, end]);
            let is_taken = placed.iter().any(|other| {
                let other_line = other.leader.map(|end| [labels[other.label].at, end]);
                overlap(area, grown(other.area))
                    || line.is_some_and(|line| meets(line, grown(other.area)))
                    || other_line.is_some_and(|other| meets(other, grown(area)))
                    || line.zip(other_line).is_some_and(|(a, b)| cross(a, b))
            });
            let covered = points.iter().filter(|(p, r)| touches(area, *p, *r)).count();
            let is_free = !is_taken && covered <= most_covered && within(area, frame);
            let candidate = PlacedLabel {
                label: index,
                at: [area[0], (area[1] + area[3]) / 2.0],
                area,
                leader,
            };
            is_free.then_some((far + covering * covered, candidate))
        });
        let best = free.min_by_key(|(cost, _)| *cost);
        placed.extend(best.map(|(_, candidate)| candidate));
    }
    placed
}

fn grown(a: [f64; 4]) -> [f64; 4] {
    [a[0] - 2.0, a[1] - 0.5, a[2] + 2.0, a[3] + 0.5]
}

fn touches(area: [f64; 4], p: [f64; 2], r: f64) -> bool {
    let nearest = end(area, p);
    (p[0] - nearest[0]).hypot(p[1] - nearest[1]) < r
}

/// Returns the point on a label's edge that is nearest to its point.
fn end(area: [f64; 4], p: [f64; 2]) -> [f64; 2] {
    [p[0].clamp(area[0], area[2]), p[1].clamp(area[1], area[3])]
}

/// Moves places apart along a line so that neighbours are at least half the sum of their sizes
/// apart. Places keep their order, stay near their original position, and lie within `[low, high]`
/// if there is room.
///
/// `preferred` must be in ascending order.
pub fn spread(preferred: &[f64], sizes: &[f64], low: f64, high: f64) -> Vec<f64> {
    // Blocks of touching places, each at the position that is best for the mean of its members.
    struct Block {
        middle: f64,
        size: f64,
        members: Vec<usize>,
    }
    let total: f64 = sizes.iter().sum();
    let fitted = |middle: f64, size: f64| {
        let room = high - low;
        if size >= room || total >= room {
            middle.max(low + size / 2.0)
        } else {
            middle.clamp(low + size / 2.0, high - size / 2.0)
        }
    };
    let mut blocks: Vec<Block> = Vec::new();
    for (i, (position, size)) in preferred.iter().zip(sizes).enumerate() {
        let mut block = Block {
            middle: fitted(*position, *size),
            size: *size,
            members: vec![i],
        };
        while let Some(last) =
            blocks.pop_if(|last| last.middle + last.size / 2.0 > block.middle - block.size / 2.0)
        {
            let mut members = last.members;
            members.append(&mut block.members);
            let size = last.size + block.size;
            // Position of the block at which this member is at its preferred place.
            let mut before = 0.0;
            let mut sum = 0.0;
            for m in &members {
                sum += preferred[*m] - (before + sizes[*m] / 2.0 - size / 2.0);
                before += sizes[*m];
            }
            block = Block {
                middle: fitted(sum / members.len() as f64, size),
                size,
                members,
            };
        }
        blocks.push(block);
    }
    let mut out = vec![0.0; preferred.len()];
    for block in blocks {
        let mut at = block.middle - block.size / 2.0;
        for m in block.members {
            out[m] = at + sizes[m] / 2.0;
            at += sizes[m];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn label(x: f64, y: f64) -> Label {
        Label {
            at: [x, y],
            text: "label".into(),
            size: 10.0,
            weight: Weight::Regular,
            gap: 4.0,
        }
    }

    #[test]
    fn a_lone_label_goes_to_the_right_and_at_the_rim_to_the_left() {
        let frame = [0.0, 0.0, 100.0, 100.0];
        let labels = [label(50.0, 50.0), label(95.0, 20.0)];
        let placed = place(&labels, frame, &[], Crowded::LeftOut(0));
        assert_eq!(placed[0].at, [54.0, 50.0]);
        assert!(placed[1].area[2] <= 91.0 + 1e-9);
    }

    #[test]
    fn labels_that_must_be_shown_leave_the_points_of_the_others_free() {
        let frame = [0.0, 0.0, 200.0, 200.0];
        // A ring of points in a crowd: the names go outwards.
        let labels: Vec<Label> = (0..8_u8)
            .map(|i| (f64::from(i) * std::f64::consts::FRAC_PI_4).sin_cos())
            .map(|(sin, cos)| label(100.0 + 12.0 * cos, 100.0 + 12.0 * sin))
            .collect();
        let points: Vec<_> = labels.iter().map(|label| (label.at, 4.0)).collect();
        let placed = place(&labels, frame, &points, Crowded::Shown);
        assert_eq!(placed.len(), labels.len());
        for p in &placed {
            assert!(points.iter().all(|(at, r)| !touches(p.area, *at, *r)));
        }
    }

    #[test]
    fn places_that_are_far_enough_apart_stay() {
        let places = [1.0, 5.0, 9.0];
        assert_eq!(spread(&places, &[2.0; 3], 0.0, 10.0), places);
        assert_eq!(spread(&[5.0, 5.0], &[2.0; 2], 0.0, 10.0), [4.0, 6.0]);
        assert_eq!(spread(&[0.0, 0.0], &[2.0; 2], 0.0, 10.0), [1.0, 3.0]);
    }

    proptest! {
        #[test]
        fn no_two_labels_overlap_and_all_lie_within(
            points in prop::collection::vec((0.0_f64..200.0, 0.0_f64..200.0), 1..40),
        ) {
            let labels: Vec<Label> = points.iter().map(|(x, y)| label(*x, *y)).collect();
            let frame = [0.0, 0.0, 200.0, 200.0];
            let placed = place(&labels, frame, &[], Crowded::LeftOut(0));
            for (i, a) in placed.iter().enumerate() {
                prop_assert!(within(a.area, frame));
                prop_assert!(placed[..i].iter().all(|b| !overlap(a.area, b.area)));
                let line = a.leader.map(|end| [labels[a.label].at, end]);
                for b in placed.iter().filter(|b| b.label != a.label) {
                    prop_assert!(line.is_none_or(|l| !meets(l, b.area)));
                }
            }
        }

        #[test]
        fn spread_places_keep_their_order_and_distances(
            mut preferred in prop::collection::vec(0.0_f64..100.0, 1..20),
        ) {
            preferred.sort_by(f64::total_cmp);
            let sizes = vec![4.0; preferred.len()];
            let places = spread(&preferred, &sizes, 0.0, 100.0);
            prop_assert!(places.windows(2).all(|w| w[1] - w[0] >= 4.0 - 1e-6));
            prop_assert!(places[0] >= 2.0 - 1e-6 && places[places.len() - 1] <= 98.0 + 1e-6);
        }
    }
}

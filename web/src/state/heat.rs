//! Tells in words where a heat map is hot, for those who cannot see it, and where a part of a photo lies.

use espalier_core::caption::HeatMap;

/// Standard deviation, as a fraction of a side, above which heat counts as spread over the side.
/// That of evenly spread heat is 0.29.
const SPREAD: f64 = 0.24;

/// Where heat lies along a side.
#[derive(Clone, Copy, PartialEq)]
enum Along {
    Start,
    Middle,
    End,
    Everywhere,
}

impl Along {
    /// From the heat and the position of places, as fractions of the side.
    fn of(places: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let sum = |of: fn(f64) -> f64| places.clone().map(|(heat, at)| heat * of(at)).sum::<f64>();
        let all = sum(|_| 1.0);
        let mean = sum(|at| at) / all;
        let deviation = (sum(|at| at * at) / all - mean * mean).max(0.0).sqrt();
        match mean {
            _ if deviation > SPREAD => Self::Everywhere,
            mean if mean < 0.4 => Self::Start,
            mean if mean > 0.6 => Self::End,
            _ => Self::Middle,
        }
    }
}

/// Returns where the heat of a map lies: "in the upper left". `None` if the map is cold.
pub fn where_hot(map: &HeatMap) -> Option<&'static str> {
    if map.values.iter().all(|heat| *heat <= 0.0) || map.columns == 0 || map.rows == 0 {
        return None;
    }
    let [left, top, right, bottom] = map.area.map(f64::from);
    let at = |(low, high): (f64, f64), cell: usize, cells: usize| {
        low + (high - low) * (cell as f64 + 0.5) / cells as f64
    };
    let heats = map.values.iter().map(|heat| f64::from(*heat)).enumerate();
    let across = heats
        .clone()
        .map(|(i, heat)| (heat, at((left, right), i % map.columns, map.columns)));
    let down = heats.map(|(i, heat)| (heat, at((top, bottom), i / map.columns, map.rows)));
    let place = in_words(Along::of(across), Along::of(down));
    Some(place.unwrap_or("all over the photo"))
}

/// Says where a half or a quarter of a photo lies, given by its edges (left, top, right, bottom, as
/// fractions of the sides): "in the upper left".
pub fn where_is([left, top, right, bottom]: [f32; 4]) -> &'static str {
    let along = |start: f32, end: f32| match (start > 0.0, end < 1.0) {
        (false, true) => Along::Start,
        (true, false) => Along::End,
        _ => Along::Everywhere,
    };
    in_words(along(left, right), along(top, bottom)).unwrap_or("in the photo")
}

/// Returns the words for a place; `None` for everywhere.
fn in_words(across: Along, down: Along) -> Option<&'static str> {
    use Along::{End, Everywhere, Middle, Start};
    Some(match (across, down) {
        (Everywhere, Everywhere) => return None,
        (Start, Start) => "in the upper left",
        (End, Start) => "in the upper right",
        (Start, End) => "in the lower left",
        (End, End) => "in the lower right",
        (Start, _) => "on the left",
        (End, _) => "on the right",
        (_, Start) => "at the top",
        (_, End) => "at the bottom",
        (Middle, _) | (_, Middle) => "in the middle",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: [[f32; 3]; 3]) -> HeatMap {
        HeatMap {
            rows: 3,
            columns: 3,
            area: [0.0, 0.0, 1.0, 1.0],
            values: rows.concat(),
        }
    }

    #[test]
    fn the_place_of_the_heat_is_named() {
        let cold = [0.0; 3];
        let corner = map([[1.0, 0.2, 0.0], cold, cold]);
        assert_eq!(where_hot(&corner), Some("in the upper left"));
        let middle = map([[0.0, 0.1, 0.0], [0.1, 1.0, 0.1], cold]);
        assert_eq!(where_hot(&middle), Some("in the middle"));
        let bottom = map([cold, cold, [1.0, 1.0, 1.0]]);
        assert_eq!(where_hot(&bottom), Some("at the bottom"));
        assert_eq!(where_hot(&map([[1.0; 3]; 3])), Some("all over the photo"));
        assert_eq!(where_hot(&map([cold; 3])), None);
    }

    #[test]
    fn halves_and_quarters_are_named() {
        for (region, expected) in [
            ([0.0, 0.0, 0.5, 1.0], "on the left"),
            ([0.5, 0.0, 1.0, 1.0], "on the right"),
            ([0.0, 0.0, 1.0, 0.5], "at the top"),
            ([0.0, 0.5, 1.0, 1.0], "at the bottom"),
            ([0.0, 0.0, 0.5, 0.5], "in the upper left"),
            ([0.5, 0.0, 1.0, 0.5], "in the upper right"),
            ([0.0, 0.5, 0.5, 1.0], "in the lower left"),
            ([0.5, 0.5, 1.0, 1.0], "in the lower right"),
        ] {
            assert_eq!(where_is(region), expected);
        }
    }

    #[test]
    fn a_map_of_a_part_is_placed_in_the_whole_photo() {
        let right_half = HeatMap {
            area: [0.5, 0.0, 1.0, 1.0],
            ..map([[0.0, 0.1, 0.0], [0.1, 1.0, 0.1], [0.0, 0.1, 0.0]])
        };
        assert_eq!(where_hot(&right_half), Some("on the right"));
    }
}

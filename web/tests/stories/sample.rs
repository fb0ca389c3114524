//! Results to test with, for the stories and for the unit tests of the page.

use espalier_core::caption::{
    CaptionResult, ModelInfo, PathStep, PhotoInfo, Rung, Shown, TaxonomyResult,
};
use espalier_core::statements::Role;

/// A rung of a ladder.
pub fn rung(text: &str, node: Option<&str>) -> Rung {
    Rung {
        text: text.into(),
        radius: 0.1,
        similarity: 0.5,
        p: None,
        node: node.map(Into::into),
    }
}

/// A statement that names no node.
#[allow(dead_code, reason = "the stories need none")]
pub fn shown(text: &str, p: f64, role: Role) -> Shown {
    Shown {
        text: text.into(),
        p,
        role,
        node: None,
    }
}

/// Steps of a path, each with its name as id, and its probability.
pub fn steps(names: &[(&str, f64)]) -> Vec<PathStep> {
    let step = |(name, p): &(&str, f64)| PathStep {
        id: (*name).into(),
        name: (*name).into(),
        p: *p,
    };
    names.iter().map(step).collect()
}

/// A result with this ladder and this place in the taxonomy.
pub fn result(ladder: Vec<Rung>, taxonomy: TaxonomyResult) -> CaptionResult {
    CaptionResult {
        model: ModelInfo {
            name: "m".into(),
            version: "1".into(),
            sha256: "00".into(),
        },
        backend: "cpu".into(),
        image: PhotoInfo {
            width: 2,
            height: 3,
            sha256: "ff".into(),
        },
        ladder,
        said: None,
        shows: Vec::new(),
        taxonomy,
        timing_ms: [("total".to_owned(), 12.5)].into(),
    }
}

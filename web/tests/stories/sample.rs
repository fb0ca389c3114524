//! Results to test with, for the stories and for the unit tests of the page.

use espalier_core::caption::{CaptionResult, ModelInfo, PhotoInfo, Rung, TaxonomyResult};

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

//! A result with everything that is needed to reproduce it elsewhere.

use serde::{Deserialize, Serialize};

use super::result::CaptionResult;
use crate::bundle::{Manifest, Part};
use crate::error::{CoreError, Result};
use crate::input::Preprocess;

/// The value of [`Receipt::format`] that this version reads and writes.
pub const FORMAT: &str = "espalier-receipt/1";

/// A result and how it was computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// [`FORMAT`].
    pub format: String,
    /// The result; its `model.sha256` is that of the manifest, which holds the hash of every other
    /// file.
    pub result: CaptionResult,
    /// Preprocessing of the photo for the image encoder.
    pub preprocessing: Preprocess,
    /// Prompt set of the labels' embeddings, if the bundle names one.
    pub prompts: Option<String>,
    /// Storage type of the image encoder's weights.
    pub dtype: String,
    /// Part of the photo that was embedded, `[x1, y1, x2, y2]` as shares of its sides; the whole
    /// photo if absent.
    pub region: Option<[f32; 4]>,
    /// Node at or below which the answer was restricted; the root if absent.
    pub below: Option<String>,
}

impl Receipt {
    /// Creates the receipt of a whole photo's result with a bundle.
    #[must_use]
    pub fn new(result: CaptionResult, manifest: &Manifest) -> Self {
        let weights = manifest.files_of(&[Part::Image]).next();
        let prompts = manifest.provenance.get("prompts");
        Self {
            format: FORMAT.to_owned(),
            result,
            preprocessing: manifest.preprocessing,
            prompts: prompts.and_then(|p| p.as_str()).map(str::to_owned),
            dtype: weights.map_or_else(String::new, |file| file.dtype.clone()),
            region: None,
            below: None,
        }
    }

    /// Reads a receipt, or only the result of a whole photo, completed from the manifest.
    ///
    /// # Errors
    /// [`CoreError::Config`] when it is neither.
    pub fn parse(text: &str, manifest: &Manifest) -> Result<Self> {
        let invalid = |found: String| CoreError::Config {
            field: "receipt".into(),
            expected: format!("a receipt with format `{FORMAT}` or a result, both JSON"),
            found,
        };
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|e| invalid(e.to_string()))?;
        match value.get("format").and_then(|f| f.as_str()) {
            Some(FORMAT) => serde_json::from_value(value).map_err(|e| invalid(e.to_string())),
            Some(other) => Err(invalid(format!("format `{other}`"))),
            None => serde_json::from_value(value)
                .map(|result| Self::new(result, manifest))
                .map_err(|e| invalid(e.to_string())),
        }
    }
}

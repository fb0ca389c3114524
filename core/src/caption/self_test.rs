//! Self-tests: known inputs that show whether an engine computes right results.
//!
//! Drivers of graphics processors and compilers have faults that give wrong numbers without an
//! error. An engine is used only if it computes what was computed when the bundle was made.

use super::index::CaptionIndex;
use super::text_embedder::TextEmbedder;
use crate::error::Result;

/// Smallest cosine between the stored and the computed embedding of the test image. Both come from
/// the same rounded weights in `f32`: right engines differ by less than a millionth, and an engine
/// that computes any layer of weights wrongly is far below.
pub const MIN_IMAGE_COSINE: f32 = 0.9999;

/// Smallest cosine between the stored and the computed embedding of a caption. The stored ones are
/// rounded to few bits, which costs up to 0.01.
pub const MIN_TEXT_COSINE: f32 = 0.98;

/// Number of captions that the text encoder is tested with.
const CAPTIONS: usize = 4;

/// Returns the cosine of two vectors; 0 if one of them is 0.
pub(super) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(1e-20)
}

impl TextEmbedder {
    /// Returns the smallest cosine between the stored and the computed embeddings of the first
    /// captions; 1 for an index without captions. A value below [`MIN_TEXT_COSINE`] means that this
    /// engine computes wrong results.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    pub async fn self_test(&self, index: &CaptionIndex) -> Result<f32> {
        let captions = index.entries().iter().take(CAPTIONS);
        let texts: Vec<&str> = captions.map(|entry| entry.text.as_str()).collect();
        let computed = self.embed(&texts).await?;
        let cosines = computed
            .iter()
            .enumerate()
            .map(|(i, computed)| cosine(computed, index.point(i)));
        // `f32::min` would hide a NaN.
        Ok(cosines.fold(
            1.0,
            |least, c| if c < least || c.is_nan() { c } else { least },
        ))
    }
}

//! Self-tests: known inputs that show whether an engine computes right results.
//!
//! Drivers of graphics processors and compilers have faults that give wrong numbers without an
//! error. An engine is used only if it computes what was computed when the bundle was made.

use super::index::CaptionIndex;
use super::text_embedder::TextEmbedder;
use crate::error::Result;
use crate::model::Arithmetic;

/// Smallest cosine between the stored and the computed embedding of the test image. Both come from
/// the same rounded weights in `f32`: right engines differ by less than a millionth, and an engine
/// that computes any layer of weights wrongly is far below.
const MIN_FLOAT32_COSINE: f32 = 0.9999;

/// The same for an engine that multiplies integers: the stored embedding was computed with floats.
const MIN_INT8_COSINE: f32 = 0.998;

/// Returns the smallest cosine of the test image, by the numbers that an engine multiplies.
pub(super) const fn least_cosine(arithmetic: Arithmetic) -> f32 {
    match arithmetic {
        Arithmetic::Float32 => MIN_FLOAT32_COSINE,
        Arithmetic::Int8 => MIN_INT8_COSINE,
    }
}

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

//! Reads a photo: decodes, crops, embeds and ranks it. The page and the command line share this.

use std::collections::BTreeMap;

use super::answer::Caption;
use super::captioner::Captioner;
use super::photo::Photo;
use super::result::{CaptionResult, PhotoInfo};
use crate::error::{CoreError, Result};

/// What to read of a photo.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// Left, top, right and bottom of a part of the photo, as fractions of its sides; `None` for
    /// the whole photo.
    pub region: Option<[f32; 4]>,
    /// Taxonomy node; the photo is known to show something at or below it.
    pub below: Option<&'a str>,
}

/// A photo that was read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Size of the whole photo, and hash of its file.
    pub image: PhotoInfo,
    /// Point of the photo or its part, `[d]`.
    pub embedding: Vec<f32>,
    /// Node of the latest request.
    pub below: Option<String>,
    /// Ladder and taxonomy path.
    pub caption: Caption,
    /// Milliseconds of the stages `decode`, `embed` and `rank`, and of all of them as `total`.
    pub timing_ms: BTreeMap<String, f64>,
}

impl Reading {
    /// Ranks the photo again, at or below a node if one is given. Returns whether the caption
    /// changed.
    ///
    /// # Errors
    /// [`CoreError::Taxonomy`] for a node that the taxonomy lacks, or that has no label at or below it; the reading is
    /// then unchanged.
    pub fn rank_again(&mut self, captioner: &Captioner, below: Option<String>) -> Result<bool> {
        let caption = captioner.rank_within(&self.embedding, below.as_deref())?;
        let changed = caption != self.caption;
        self.caption = caption;
        self.below = below;
        Ok(changed)
    }

    /// Returns the result as it is written to JSON; `backend` names the engine.
    #[must_use]
    pub fn result(&self, captioner: &Captioner, backend: &str) -> CaptionResult {
        CaptionResult {
            model: captioner.info().clone(),
            backend: backend.to_owned(),
            image: self.image.clone(),
            ladder: self.caption.ladder.clone(),
            said: Some(self.caption.said),
            shows: self.caption.shows.clone(),
            taxonomy: self.caption.taxonomy.clone(),
            timing_ms: self.timing_ms.clone(),
        }
    }
}

impl Captioner {
    /// Reads a photo from the bytes of its file. `now` returns the time in milliseconds from any
    /// fixed moment.
    ///
    /// # Errors
    /// [`CoreError::Image`] for bytes that are not a photo, [`CoreError::Region`] for a region
    /// without a pixel, [`CoreError::Taxonomy`] for a node that the taxonomy lacks, and
    /// [`CoreError::Device`] when the device fails.
    pub async fn read(
        &self,
        bytes: &[u8],
        request: Request<'_>,
        now: fn() -> f64,
    ) -> Result<Reading> {
        let mut clock = Stopwatch::start(now);
        let photo = Photo::open(bytes)?;
        clock.lap("decode");
        self.read_timed(photo, request, clock).await
    }

    /// Reads a photo whose pixels are in memory, as [`read`](Self::read) reads a file.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`CoreError::Image`] for a photo without pixels.
    pub async fn read_photo(
        &self,
        photo: Photo,
        request: Request<'_>,
        now: fn() -> f64,
    ) -> Result<Reading> {
        self.read_timed(photo, request, Stopwatch::start(now)).await
    }

    async fn read_timed(
        &self,
        mut photo: Photo,
        request: Request<'_>,
        mut clock: Stopwatch,
    ) -> Result<Reading> {
        if let Some(region) = request.region {
            photo = photo.crop(region).ok_or(CoreError::Region(region))?;
        }
        let images = std::slice::from_ref(&photo.pixels);
        let embedding = self.embed(images).await?.swap_remove(0);
        clock.lap("embed");
        let caption = self.rank_within(&embedding, request.below)?;
        clock.lap("rank");
        Ok(Reading {
            image: photo.info,
            embedding,
            below: request.below.map(str::to_owned),
            caption,
            timing_ms: clock.stop(),
        })
    }
}

/// Measures consecutive stages.
struct Stopwatch {
    now: fn() -> f64,
    start: f64,
    last: f64,
    laps: BTreeMap<String, f64>,
}

impl Stopwatch {
    fn start(now: fn() -> f64) -> Self {
        let start = now();
        Self {
            now,
            start,
            last: start,
            laps: BTreeMap::new(),
        }
    }

    /// Ends a stage and records its time.
    fn lap(&mut self, stage: &str) {
        let now = (self.now)();
        self.laps.insert(stage.to_owned(), round(now - self.last));
        self.last = now;
    }

    /// Returns the times of all stages, with the overall time as `total`.
    fn stop(mut self) -> BTreeMap<String, f64> {
        let total = round((self.now)() - self.start);
        self.laps.insert("total".to_owned(), total);
        self.laps
    }
}

/// Rounds to a tenth of a millisecond: browsers coarsen their clocks, so further digits would be
/// meaningless.
fn round(milliseconds: f64) -> f64 {
    (milliseconds * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    static CALLS: AtomicU32 = AtomicU32::new(0);

    /// The n-th call, from 1, returns `n^2` milliseconds.
    fn squares() -> f64 {
        f64::from(CALLS.fetch_add(1, Ordering::Relaxed) + 1).powi(2)
    }

    #[test]
    fn stages_are_measured_one_after_another() {
        let mut clock = Stopwatch::start(squares);
        clock.lap("decode");
        clock.lap("embed");
        let expected = [("decode", 3.0), ("embed", 5.0), ("total", 15.0)];
        let expected = expected.map(|(stage, time)| (stage.to_owned(), time));
        assert_eq!(clock.stop(), BTreeMap::from(expected));
    }
}

//! Chooses the numbers that a bundle multiplies on a CPU.

use std::fmt;

use clap::ValueEnum;
use espalier_core::caption::Captioner;
use espalier_eval::embed::Labelled;
use espalier_eval::stop::{self, KnownImage};

/// Least share of photos whose answer ends at the same concept.
const SAME_STOPS: f64 = 0.98;

/// Largest difference of a calibrated figure.
const MOST_MOVED: f64 = 0.01;

/// Numbers that the large products of the image encoder multiply on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportArithmetic {
    /// 8-bit integers if they are used and the answers stay the same, else floats.
    Auto,
    /// 32-bit floats.
    Float32,
}

/// The answers with integers beside those with floats.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    images: usize,
    /// Share of images whose answer ends at the same concept.
    pub same_stop: f64,
    /// The calibrated figure that differs the most, and by how much.
    moved: (String, f64),
    /// Top-1 accuracy lost, in percentage points.
    drop: f64,
}

impl Comparison {
    /// Compares the points of the same images, by the classifier of a bundle. `drop` is the top-1
    /// accuracy that integers lose, in percentage points.
    pub fn new(captioner: &Captioner, floats: &Labelled, integers: &Labelled, drop: f64) -> Self {
        let (classifier, space) = (captioner.untaught(), captioner.space());
        let stop = |point: &[f32]| {
            let path = captioner.place(classifier, point, None).path;
            path.steps.get(path.stop).map(|step| step.0)
        };
        let pairs = floats.points.iter().zip(&integers.points);
        let same = pairs.filter(|(a, b)| stop(a) == stop(b)).count();
        let figures = |found: &Labelled| {
            let images = found.points.iter().zip(&found.labels).enumerate();
            let images =
                images.map(|(photo, (point, label))| KnownImage::new(point, *label, photo));
            let images: Vec<KnownImage<'_>> = images.collect();
            stop::known(&stop::walks(classifier, space, &images))
        };
        let after = figures(integers);
        let shares = figures(floats).into_iter().filter(|(name, _)| {
            let is_share = ["_right", "_said"];
            is_share.iter().any(|kind| name.ends_with(kind))
        });
        let moved = shares.map(|(name, before)| {
            let difference = (after.get(&name).copied().unwrap_or(f64::NAN) - before).abs();
            (name, difference)
        });
        Self {
            images: floats.points.len(),
            same_stop: same as f64 / floats.points.len().max(1) as f64,
            moved: moved.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default(),
            drop,
        }
    }

    /// Returns whether the bundle may multiply integers.
    pub fn passes(&self, max_drop: f64) -> bool {
        self.drop <= max_drop && self.same_stop >= SAME_STOPS && self.moved.1 <= MOST_MOVED
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the answer ends at the same concept for {:.1} % of {} images, top-1 accuracy changes by \
             {:+.2} points, and {} by {:.4}",
            100.0 * self.same_stop,
            self.images,
            0.0 - self.drop,
            self.moved.0,
            self.moved.1
        )
    }
}

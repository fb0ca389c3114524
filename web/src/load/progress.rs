//! Progress bar of a load: bytes of the engine and of the model, summed.
//!
//! Invariants, checked by the tests: the total is fixed before the bar first moves; the bar never
//! goes back, never passes its end, and reaches it exactly when the engine is ready.

use serde::Deserialize;

use crate::messages::protocol::{Backend, Progress, Stage};

/// Bytes of an engine's wasm; 0 where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct EngineSizes {
    /// As sent, compressed.
    pub wire: u64,
    /// As it arrives in the worker, which counts these.
    #[serde(rename = "bytes")]
    pub unpacked: u64,
}

/// Sizes of both engines and of the model; 0 where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DownloadSizes {
    /// The CPU engine.
    pub cpu: EngineSizes,
    /// The WebGPU engine.
    pub gpu: EngineSizes,
    /// Bytes of the model's files.
    pub model: u64,
    /// Bytes of the model's text encoder, which is fetched only when a visitor types.
    pub text: u64,
}

impl DownloadSizes {
    /// Returns the sizes that have to be fetched before `backend` can answer.
    pub const fn for_backend(self, backend: Backend) -> Sizes {
        let engine = match backend {
            Backend::Cpu => self.cpu,
            Backend::WebGpu => self.gpu,
        };
        Sizes {
            engine,
            model: self.model,
        }
    }
}

/// Sizes that are known before anything heavy is fetched; 0 where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The engine.
    pub engine: EngineSizes,
    /// Bytes of the model's files that the page needs.
    pub model: u64,
}

impl Sizes {
    /// Returns the bytes that are sent; `None` while the model's size is unknown.
    pub const fn total(self) -> Option<u64> {
        if self.model == 0 {
            None
        } else {
            Some(self.engine.wire + self.model)
        }
    }
}

/// The bar of one load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    sizes: Sizes,
    engine: u64,
    model: u64,
    stage: Stage,
}

impl Bar {
    /// Creates an empty bar.
    pub const fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            engine: 0,
            model: 0,
            stage: Stage::Engine,
        }
    }

    /// Applies one progress report. Late, repeated or out-of-order reports are harmless.
    pub fn advance(&mut self, progress: &Progress) {
        match progress.stage {
            Stage::Engine => {
                let EngineSizes { wire, unpacked } = self.sizes.engine;
                // The share that has arrived, in bytes as they are sent.
                let arrived = progress.loaded.min(unpacked) * wire / unpacked.max(1);
                self.engine = self.engine.max(arrived);
            }
            stage => {
                // Later stages imply that the engine has arrived completely.
                self.engine = self.sizes.engine.wire;
                if stage == Stage::Model && self.sizes.model == 0 {
                    self.sizes.model = progress.total;
                }
                if stage == Stage::Model {
                    self.model = self.model.max(progress.loaded).min(self.sizes.model);
                } else if stage > Stage::Model {
                    self.model = self.sizes.model;
                }
            }
        }
        self.stage = self.stage.max(progress.stage);
    }

    /// Returns the current stage of the worker.
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// Returns the number of bytes that have arrived.
    pub const fn loaded(&self) -> u64 {
        self.engine + self.model
    }

    /// Returns the total number of bytes; `None` until the model's size is known.
    pub const fn total(&self) -> Option<u64> {
        self.sizes.total()
    }

    /// Returns the fraction that has arrived, in [0, 1]; `None` until the total is known.
    pub fn fraction(&self) -> Option<f64> {
        self.total()
            .map(|total| self.loaded() as f64 / total as f64)
    }
}

/// Formats a number of bytes, `1234567` → `1.2 MB`, in decimal units as file managers and browsers
/// do.
pub fn format_bytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.0} kB", megabytes * 1e3),
        _ => format!("{megabytes:.1} MB"),
    }
}

/// Formats a part of a number of bytes: `1.2 MB of 4.2 MB`.
pub fn format_part(loaded: u64, total: u64) -> String {
    format!("{} of {}", format_bytes(loaded), format_bytes(total))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZES: Sizes = Sizes {
        engine: EngineSizes {
            wire: 400,
            unpacked: 800,
        },
        model: 1_000,
    };

    fn report(stage: Stage, loaded: u64) -> Progress {
        Progress {
            stage,
            loaded,
            total: 1_000,
            file: None,
        }
    }

    #[test]
    fn the_bar_counts_engine_and_model_together() {
        let mut bar = Bar::new(SIZES);
        assert_eq!((bar.loaded(), bar.total()), (0, Some(1_400)));
        bar.advance(&report(Stage::Engine, 600));
        assert_eq!(bar.loaded(), 300);
        bar.advance(&report(Stage::Manifest, 0));
        assert_eq!(bar.loaded(), 400);
        bar.advance(&report(Stage::Model, 250));
        assert_eq!(bar.loaded(), 650);
        bar.advance(&report(Stage::SelfTest, 0));
        assert_eq!(bar.fraction(), Some(1.0));
    }

    #[test]
    fn without_a_known_size_there_is_no_fraction_until_the_worker_tells_it() {
        let mut bar = Bar::new(Sizes::default());
        bar.advance(&report(Stage::Engine, 300));
        assert_eq!(bar.fraction(), None);
        bar.advance(&report(Stage::Model, 500));
        assert_eq!(bar.fraction(), Some(0.5));
    }

    #[test]
    fn sizes_are_told_in_the_unit_that_suits_them() {
        assert_eq!(format_bytes(999), "999 bytes");
        assert_eq!(format_bytes(48_200), "48 kB");
        assert_eq!(format_bytes(4_249_000), "4.2 MB");
    }

    fn any_stage() -> impl Strategy<Value = Stage> {
        prop::sample::select(vec![
            Stage::Engine,
            Stage::Manifest,
            Stage::Model,
            Stage::SelfTest,
            Stage::WarmUp,
        ])
    }

    proptest! {
        #[test]
        fn whatever_arrives_the_bar_only_grows_and_its_total_stays(
            reports in prop::collection::vec((any_stage(), 0_u64..3_000), 0..40)
        ) {
            let mut bar = Bar::new(SIZES);
            let mut before = 0;
            for (stage, loaded) in reports {
                bar.advance(&report(stage, loaded));
                prop_assert!(bar.loaded() >= before);
                prop_assert!(bar.loaded() <= 1_400);
                prop_assert_eq!(bar.total(), Some(1_400));
                before = bar.loaded();
            }
            bar.advance(&report(Stage::SelfTest, 0));
            prop_assert_eq!(bar.fraction(), Some(1.0));
        }
    }
}

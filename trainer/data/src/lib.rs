//! Datasets: from shards on disk to the batches of a training step.
//!
//! The modules in the order of reading; each uses only those before it:
//! 1. [`records`]: the records of a dataset, their possible faults, and the order of an epoch as a
//!    pure function of the seed and the position.
//! 2. [`formats`]: published datasets. Resolves the paths given by the user to shards and
//!    [`records::source::Unit`]s from footers and headers alone; [`formats::open`] detects the
//!    format.
//! 3. [`batches`]: the inputs of a training step; [`sampling`]: worker threads make
//!    [`batches::batch::Batch`]es as defined by a [`batches::batch_spec::BatchSpec`] ahead of the
//!    step, or read records in file order for an evaluation.
//! 4. [`features`]: with a frozen image encoder, precomputed features that replace the images.
//! 5. [`benchmarks`]: datasets used only by evaluations; missing files are listed in a
//!    [`records::coverage`].
//! 6. [`nouns`]: all nouns of WordNet, their positions in a taxonomy, and the likely senses of a
//!    name.
//! 7. [`tools`]: the implementation of `trainer data`.
//!
//! Broken records are skipped and counted ([`records::fault`]); data that cannot be used at all is
//! reported as a typed [`records::error::DataError`].

pub mod batches;
pub mod benchmarks;
pub mod features;
pub mod formats;
mod needs;
pub mod nouns;
mod rank_text;
pub mod records;
pub mod sampling;
pub mod tools;

pub use batches::batch::{Batch, BatchContent, Chains, ImageRows, Scenes};
pub use batches::batch_spec::BatchSpec;
pub use batches::image_batch::{ImageBatch, Pixels};
pub use benchmarks::hierarcaps_test::HierarcapsTest;
pub use formats::captioned::{Captioned, Splits};
pub use formats::grit::Grit;
pub use formats::hierarcaps::Hierarcaps;
pub use formats::open_images::OpenImages;
pub use formats::synthetic::Synthetic;
pub use needs::Needs;
pub use rank_text::RankText;
pub use records::coverage::Coverage;
pub use records::error::DataError;
pub use records::fault::{BrokenCounts, Cause};
pub use records::lanes::Positions;
pub use records::mixture::Mixture;
pub use records::order::Position;
pub use records::source::Dataset;
pub use sampling::crops::Crops;
pub use sampling::eval_set::{EvalBatch, EvalSet};
pub use sampling::stream::BatchStream;

#[cfg(test)]
mod test_files;

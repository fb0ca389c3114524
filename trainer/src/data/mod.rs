//! Datasets: from shards on disk to the batches of a training step.
//!
//! In the order of reading, each using only those before it:
//! 1. [`records`]: what a dataset gives, record by record, what can be wrong with it, and the order of an
//!    epoch as a pure function of the seed and the position.
//! 2. [`formats`]: datasets as they are published. What the user names becomes shards and
//!    [`records::source::Unit`]s from footers and headers alone; [`formats::open`] tells by the paths which
//!    format it is.
//! 3. [`batches`]: what a step is given; [`sampling`]: a [`batches::batch_spec::BatchSpec`] and worker
//!    threads make [`batches::batch::Batch`]es ahead of the step, or read records in file order for an
//!    evaluation.
//! 4. [`features`]: with a locked image encoder, features of the pictures in place of their pixels.
//! 5. [`benchmarks`]: what only evaluations read; missing files are listed in a [`records::ledger`].
//! 6. [`nouns`]: all of WordNet's nouns, their places in a taxonomy, and which sense of a name is likely.
//! 7. [`tools`]: what `trainer data` does.
//!
//! What is broken is skipped and counted ([`records::fault`]); what cannot be used at all is a typed
//! [`records::error::DataError`].

pub mod batches;
pub mod benchmarks;
pub mod features;
pub mod formats;
pub mod nouns;
pub mod records;
pub mod sampling;
pub mod tools;

pub use batches::batch::{Batch, Chains, Scenes};
pub use batches::batch_spec::BatchSpec;
pub use batches::image_batch::{ImageBatch, Pictures};
pub use benchmarks::captioned::Captioned;
pub use benchmarks::hierarcaps_test::HierarcapsTest;
pub use formats::folders::Folders;
pub use formats::grit::Grit;
pub use formats::hierarcaps::Hierarcaps;
pub use formats::labels::Labels;
pub use formats::open_images::OpenImages;
pub use formats::synthetic::Synthetic;
pub use records::error::DataError;
pub use records::fault::{BrokenCounts, Cause};
pub use records::ledger::Ledger;
pub use records::mixture::Mixture;
pub use records::order::Position;
pub use records::source::Dataset;
pub use sampling::crops::Crops;
pub use sampling::eval_set::{EvalBatch, EvalSet};
pub use sampling::stream::BatchStream;

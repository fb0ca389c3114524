//! Datasets: from shards on disk to the batches of a training step.
//!
//! In order of reading:
//! 1. [`paths`], [`grit`]: what the user names becomes shards and [`source::Unit`]s, from footers
//!    and headers alone. [`folders`], [`open_images`]: pictures in folders. [`hierarcaps`],
//!    [`labels`]: texts alone. [`arrays`], [`inat`], [`splits`], [`metadata_csv`],
//!    [`coco_boxes`]: as those datasets are published, all of them a [`table`]; [`published_order`]:
//!    the order in which subsets of some are counted. [`synthetic`] needs no file. [`open`] tells by
//!    the paths which it is, [`mixture`] makes one of several.
//! 2. [`source`]: units load [`source::Record`]s; [`boxes`] reads their phrases and boxes,
//!    [`lineage`] the chain of texts above a label.
//! 3. [`order`], [`random`]: the order of an epoch and all other chance, as pure functions of the
//!    seed and the position.
//! 4. [`stream`]: a [`batch::BatchSpec`] and worker threads make [`batch::Batch`]es ahead of the
//!    step. [`eval_set`]: the same records in file order, without chance; [`cuttings`]: with all
//!    their boxes.
//!    [`features`]: with a locked image encoder, features of the pictures in place of their pixels.
//! 5. Benchmarks as they are published: [`captioned`], [`hierarcaps_test`], [`hyperlex`], [`chils`],
//!    [`sugar_crepe`], [`vl_checklist`]; their pictures through [`picture_index`] and [`files`], what is
//!    missing in a [`ledger`]; boxes as pictures of their own through [`crops`].
//!    [`typed_words`]: words that people type, with their right places.
//! 6. [`nouns`]: all of WordNet's nouns; [`noun_senses`]: their places in a taxonomy and which sense of
//!    a name is likely.
//! 7. [`audit`], [`prepare`]: what `trainer data` does.
//!
//! What is broken is skipped and counted ([`fault`]); what cannot be used at all is a typed
//! [`error::DataError`].

pub mod anchors;
pub mod arrays;
pub mod audit;
pub mod batch;
pub mod boxes;
pub mod captioned;
mod captioned_files;
pub mod changed;
pub mod chils;
pub mod climb;
pub mod coco_boxes;
pub mod coco_split;
mod companions;
pub mod crops;
pub mod cuttings;
pub mod distill;
mod draw;
pub mod error;
pub mod eval_set;
pub mod fault;
pub mod features;
pub mod files;
pub mod folders;
pub mod generality;
pub mod grit;
pub mod hierarcaps;
pub mod hierarcaps_test;
pub mod hyperlex;
pub mod inat;
pub mod label_texts;
pub mod labels;
pub mod ledger;
pub mod lineage;
pub mod listed;
pub mod metadata_csv;
mod mirror;
pub mod mixture;
pub(crate) mod nothing;
pub mod noun_senses;
pub mod noun_texts;
pub mod nouns;
pub mod open;
pub mod open_images;
pub mod order;
pub mod order_texts;
mod pack;
mod parquet_records;
mod parquet_shard;
pub mod paths;
mod phrasing;
pub mod picture;
pub mod picture_index;
pub mod prepare;
pub mod published_order;
pub mod random;
pub mod source;
mod split_lists;
pub mod splits;
pub mod stream;
pub mod sugar_crepe;
pub mod synthetic;
pub mod table;
mod tar_index;
mod tar_shard;
pub mod typed_words;
pub mod vl_checklist;

pub use batch::{Batch, BatchSpec, Chains, ImageBatch, Needs, Pictures, Scenes};
pub use captioned::Captioned;
pub use crops::Crops;
pub use error::DataError;
pub use eval_set::{EvalBatch, EvalSet};
pub use fault::{BrokenCounts, Cause};
pub use folders::Folders;
pub use grit::Grit;
pub use hierarcaps::Hierarcaps;
pub use hierarcaps_test::HierarcapsTest;
pub use labels::Labels;
pub use ledger::Ledger;
pub use mixture::Mixture;
pub use open_images::OpenImages;
pub use order::Position;
pub use source::Dataset;
pub use stream::BatchStream;
pub use synthetic::Synthetic;

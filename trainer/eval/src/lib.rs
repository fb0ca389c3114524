//! Evaluation of models: embeddings first, then metrics of embeddings.
//!
//! In order of reading:
//! 1. [`task`]: definition of a task; [`tasks`]: all of them, one file each; [`options`]: their
//!    options.
//! 2. [`embedder`]: a model that embeds each input once, with a [`cache`] on disk; [`embedded`]:
//!    its results; [`embed`]: forward passes of the encoders; [`prompts`]: named prompt sets for
//!    classes; [`stored`]: precomputed embeddings; [`points`]: rows on the host; [`captioned`]:
//!    photos read by a bundle's captioner, as the page reads them.
//! 3. [`search`]: scores of many points against many; all ranking happens here.
//! 4. [`metrics`]: mathematics of ranks, radii and histograms; [`matching`], [`zero_shot`],
//!    [`hierarchy`]: metrics that need a space or a taxonomy.
//! 5. [`record`]: the result; [`published`]: values from papers for comparison; [`protocols`]:
//!    number of images and classes of each benchmark; [`suite`]: all benchmarks of a folder;
//!    [`report`]: tables and a page.

pub mod cache;
pub mod calibrate;
pub mod captioned;
pub mod embed;
pub mod embedded;
pub mod embedder;
pub mod encoder_identity;
pub mod encoders;
pub mod hierarchy;
pub mod matching;
pub mod metrics;
pub mod options;
pub mod points;
pub mod prompts;
pub mod protocols;
pub mod published;
pub mod record;
pub mod report;
pub mod search;
pub mod shared;
pub mod stop;
pub mod stop_fit;
pub mod stored;
pub mod suite;
pub mod task;
pub mod tasks;
pub mod tensors;
pub mod zero_shot;

pub use encoders::{ImagePoints, PooledEncoder, TextFeatures};
pub use options::Options;
pub use points::Points;
pub use record::Record;
pub use task::Task;

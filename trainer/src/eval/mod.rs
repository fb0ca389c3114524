//! What a model is worth: embeddings first, then numbers from embeddings.
//!
//! In order of reading:
//! 1. [`task`]: what a task is; [`tasks`]: all of them, a file each; [`options`]: what they are told.
//! 2. [`embedder`]: a model that embeds each thing once, with a [`cache`] on disk; [`embedded`]: what
//!    it gives; [`embed`]: the passes through the towers; [`prompts`]: named sets of texts for a
//!    class; [`stored`]: embeddings that people bring along; [`points`]: rows on the host.
//! 3. [`search`]: scores of many points against many, the one place that ranks.
//! 4. [`metrics`]: mathematics of ranks, radii and histograms; [`matching`], [`zero_shot`],
//!    [`hierarchy`], [`ordering`]: metrics that need a space or a taxonomy.
//! 5. [`record`]: the result; [`published`]: what papers report beside it; [`protocols`]: how many
//!    pictures and classes benchmarks have; [`suite`]: all benchmarks of a folder; [`report`]: tables
//!    and a page.

pub mod cache;
pub mod calibrate;
pub mod embed;
pub mod embedded;
pub mod embedder;
pub mod hierarchy;
pub mod matching;
pub mod metrics;
pub mod options;
pub mod ordering;
pub mod points;
pub mod prompts;
pub mod protocols;
pub mod published;
pub mod record;
pub mod report;
pub mod search;
pub mod stop;
pub mod stored;
pub mod suite;
pub mod task;
pub mod tasks;
pub mod zero_shot;

pub use options::Options;
pub use points::Points;
pub use record::Record;
pub use task::Task;

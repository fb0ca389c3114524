//! Fuzz targets: functions that pass arbitrary bytes to code that reads what others wrote.
//!
//! A target must return for every input. It panics only if the code under test breaks a promise,
//! for example if a tree that was read cannot be written and read again. Two callers share the
//! targets: the fuzzer (`cargo xtask fuzz`), which searches for inputs, and the tests of this
//! package, which run the stored ones. `docs/reliability.md` describes both.

#![forbid(unsafe_code)]

mod input_files;
mod records;
pub mod targets;

/// A fuzz target: it runs one input.
pub type Target = fn(&[u8]);

/// All targets, by the names of their sections in `targets.toml` and of their folders in `corpus/`.
pub const TARGETS: [(&str, Target); 14] = [
    ("benchmarks", targets::benchmarks::run),
    ("config", targets::config::run),
    ("image", targets::image::run),
    ("manifest", targets::manifest::run),
    ("messages", targets::messages::run),
    ("nouns", targets::nouns::run),
    ("published", targets::published::run),
    ("results", targets::results::run),
    ("shards", targets::shards::run),
    ("taxonomy", targets::taxonomy::run),
    ("texts", targets::texts::run),
    ("tokenizer", targets::tokenizer::run),
    ("torch", targets::torch::run),
    ("weights", targets::weights::run),
];

/// Returns the target with a name.
pub fn target(name: &str) -> Option<Target> {
    let found = TARGETS.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, target)| target)
}

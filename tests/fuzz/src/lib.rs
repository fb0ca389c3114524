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

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its section in `targets.toml` and of its folder in `corpus/`.
    pub name: &'static str,
    /// Runs it on one input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 14] = [
    Target {
        name: "benchmarks",
        run: targets::benchmarks::run,
    },
    Target {
        name: "config",
        run: targets::config::run,
    },
    Target {
        name: "image",
        run: targets::image::run,
    },
    Target {
        name: "manifest",
        run: targets::manifest::run,
    },
    Target {
        name: "messages",
        run: targets::messages::run,
    },
    Target {
        name: "nouns",
        run: targets::nouns::run,
    },
    Target {
        name: "published",
        run: targets::published::run,
    },
    Target {
        name: "results",
        run: targets::results::run,
    },
    Target {
        name: "shards",
        run: targets::shards::run,
    },
    Target {
        name: "taxonomy",
        run: targets::taxonomy::run,
    },
    Target {
        name: "texts",
        run: targets::texts::run,
    },
    Target {
        name: "tokenizer",
        run: targets::tokenizer::run,
    },
    Target {
        name: "torch",
        run: targets::torch::run,
    },
    Target {
        name: "weights",
        run: targets::weights::run,
    },
];

/// Returns the target with a name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

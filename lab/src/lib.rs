//! Measurements and campaigns of Espalier, which take minutes to days: benchmarks, studies, fuzzing, mutants, faults.
//!
//! A package of its own, so that `cargo xtask` need not compile them before it serves a page. Their commands
//! are called as those of `xtask`, which starts the program of this package for them.

#![forbid(unsafe_code)]

pub mod bench;
pub mod browsers;
pub mod fuzz;
pub mod gpu;
pub mod mutants;
pub mod scale;
pub mod study;
#[cfg(unix)]
pub mod torture;

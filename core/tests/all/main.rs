//! Tests of the public interface of `espalier-core`: reference values, and both models of the
//! repository. One program, so that it is linked once after each change of `cargo xtask mutants`.

#![allow(clippy::unwrap_used)]

mod answers;
mod blocks;
mod bundles;
mod convolutions;
mod disturb;
mod geometry;
mod heat;
mod images;
mod kernels;
mod losses;
mod losses_golden;
mod methods;
mod preprocess;
mod questions;
mod taxonomy;
mod tokenizer;
mod weights;

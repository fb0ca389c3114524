//! The evaluation: reference values, and the program on small benchmarks.

mod bad_input;
mod benchmarks;
mod bundles;
mod folders;
mod golden;
mod labelled;
mod pictures_and_captions;
mod published;
mod support;

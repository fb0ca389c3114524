//! The evaluation: reference values, and the program on small benchmarks.

mod bad_input;
mod benchmarks;
mod bundles;
mod folders;
mod golden;
mod images_and_captions;
mod labelled;
mod published;
mod support;

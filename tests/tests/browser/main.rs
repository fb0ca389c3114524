//! The built page, driven in a real browser as a visitor would.
//!
//! All tests are marked as ignored, since they need a browser and the built page. `cargo xtask test`
//! builds the page, sets the variables that name both, and runs the tests of [`page`] one at a time;
//! `cargo xtask test --all` also runs those of [`nightly`].

#![allow(clippy::unwrap_used)]

// For every change: the page with its CPU engine, in Chromium.
mod page;

// For every night: WebGPU, load, costs, Firefox, and the npm package.
mod nightly;

// What both use.
mod visitor;

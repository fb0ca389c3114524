//! Tests that take long, or need what few changes touch: the WebGPU engine, Firefox, npm.
//!
//! The name of each test that needs Firefox contains `firefox`, so that it can be left out.

// Every engine gives the same answer.
mod agreement;
mod many_answers;
mod webgpu;
// What the page costs a visitor, and what it takes under load. `cargo xtask page-cost` and
// `cargo xtask siege` run these with other numbers.
mod cost;
mod siege;
// The widget from its npm package.
mod npm;

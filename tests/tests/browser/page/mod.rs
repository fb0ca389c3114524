//! The page with its CPU engine, in Chromium: what every change may break.
//!
//! These tests pass on a page that was built without the WebGPU engine.

// What the page says about a photo, and that it keeps the photo.
pub(crate) mod answers;
// What it shows around an answer: a first visit, then the dial, the tree and questions.
pub(crate) mod explore;
mod photo;
mod states;
pub(crate) mod visit;
// Where the network, the storage or a stranger is against it.
mod hostile;
mod offline;
// The widget on the pages of others.
mod widget;
mod widget_looks;

//! Drawing: what a figure is made of, and nothing about what it shows.
//!
//! A [`Canvas`] collects lines, shapes, texts and pictures and becomes an SVG; a PNG is that SVG
//! rendered ([`save()`]), so that the two cannot differ. Written here rather than taken from a
//! plotting library: those draw each output with another backend and measure text with the fonts of
//! the machine, and none places labels by what is free.
//!
//! - [`canvas`], [`paint`], [`text`]: what is drawn. [`size`]: sizes of texts and columns. [`theme`]: colours. [`font`]: widths, lines and cuts of texts in the embedded font.
//! - [`scale`], [`axes`]: from values to places, round ticks, thin axes.
//! - [`labels`]: labels beside their points without overlaps.
//! - [`photo`]: small copies of photos.

pub mod axes;
pub mod canvas;
pub mod font;
pub mod labels;
mod number;
pub mod paint;
pub mod photo;
pub mod save;
pub mod scale;
pub mod size;
pub mod text;
pub mod theme;

pub use canvas::Canvas;
pub use paint::Paint;
pub use photo::Thumbnail;
pub use save::{Output, save};
pub use scale::Scale;
pub use text::{Anchor, Text};
pub use theme::Theme;

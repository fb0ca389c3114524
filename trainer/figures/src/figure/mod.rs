//! Drawing primitives of figures, independent of their content.
//!
//! A [`Canvas`] collects lines, shapes, texts and images and becomes an SVG; a PNG is that SVG
//! rendered ([`save()`]), so that the two cannot differ. It does not use a plotting library: those
//! draw each output with another backend, measure text with the system's fonts, and do not place
//! labels in free space.
//!
//! - [`canvas`], [`paint`], [`text`]: what is drawn. [`size`]: sizes of texts and columns. [`theme`]: colours. [`font`]: widths, lines and cuts of texts in the embedded font.
//! - [`scale`], [`axes`]: mapping of values to positions, round ticks, thin axes.
//! - [`labels`]: labels next to their points, without overlaps.
//! - [`photo`]: thumbnails of photos.

pub mod axes;
pub mod canvas;
pub mod font;
pub mod labels;
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

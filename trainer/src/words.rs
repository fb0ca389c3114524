//! Small matters of English; kept in core, which composes texts too.

pub use espalier_core::words::{plural, with_article};

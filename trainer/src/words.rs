//! Plural forms and articles of English nouns; defined in core, which also composes texts.

pub use espalier_core::words::{plural, with_article};

//! Human-readable results: a table on the terminal, a page in a browser.

pub mod html;
pub mod pictures;
pub mod table;

//! Human-readable results: a table on the terminal, a page in a browser.

pub mod html;
pub mod images;
pub mod table;

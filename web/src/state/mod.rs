//! The page's state: pure, and tested without a browser.

pub mod choice;
pub mod session;

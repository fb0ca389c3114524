//! The page's state: pure code, tested without a browser.

pub mod batch;
pub mod choice;
pub mod dial;
pub mod examples;
pub mod heat;
pub mod lesson;
pub mod link;
pub mod models;
pub mod outline;
pub mod region;
pub mod search;
pub mod session;
pub mod sketch;
pub mod steady;
pub mod view;

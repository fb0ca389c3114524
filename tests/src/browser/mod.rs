//! The built page in a real Chromium, driven from outside as a visitor would.
//!
//! [`WebDriver`] speaks the wire protocol, [`Recorder`] is a proxy that records all requests of the
//! browser, [`Site`] is the built page in a folder that a test may damage, and [`Browser`] combines
//! the three: open the page, give it a photo, wait for the result.

mod native;
pub mod package;
mod page;
mod pages;
pub mod paper;
pub mod processes;
mod recorder;
mod site;
mod visitor;
mod webdriver;

pub use native::{natively, natively_by, sample, started, started_on};
pub use page::{Answer, Browser, ErrorCard, Gpu, Look, Outcome};
pub use pages::Host;
pub use recorder::{Recorder, Seen};
pub use site::{DEFAULT, Site, TINY};
pub use webdriver::WebDriver;

//! Set-up, build, serve, test and check commands of Espalier: `cargo xtask --help`.
//!
//! A library as well as a program, because the browser tests serve the built page with
//! [`serve::Server`], which is also what `cargo xtask demo` does.

#![forbid(unsafe_code)]

pub mod ci;
pub mod demo;
pub mod dependencies;
pub mod digest;
pub mod docs;
pub mod document;
pub mod engines;
pub mod files;
pub mod golden;
mod harness;
pub mod lab;
pub mod models;
pub mod names;
pub mod offline;
pub mod paths;
pub mod phases;
pub mod process;
pub mod python;
pub mod release;
pub mod serve;
pub mod setup;
pub mod sizes;
pub mod stamp;
pub mod test_run;
pub mod totals;
pub mod transfer;
pub mod web_build;
pub mod wire;

//! Figures of the papers, from any checkpoint: [`plot`] computes what is shown, [`figure`] draws it as SVG
//! or PNG.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod figure;
pub mod plot;

//! Figures of the papers, from any checkpoint: [`plot`] computes what is shown, [`figure`] draws it as SVG
//! or PNG.

pub mod figure;
pub mod plot;

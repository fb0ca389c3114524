//! Datasets used only by evaluations.

pub mod chils;
pub mod hierarcaps_test;
pub mod hyperlex;
pub mod sugar_crepe;
pub mod typed_words;
pub mod vl_checklist;

//! What a dataset is made of: records with pictures, boxes and texts, their order, and what can be wrong with them.

pub mod boxes;
pub mod changed;
pub mod error;
pub mod fault;
pub mod files;
pub mod ledger;
pub mod lineage;
pub(crate) mod mirror;
pub mod mixture;
pub mod order;
pub mod paths;
pub mod picture;
pub mod random;
pub mod source;
pub mod table;

//! Components of a dataset: records with images, boxes and texts, their order, and the possible
//! faults.

pub mod boxes;
pub mod caption_chains;
pub mod corruption;
pub mod coverage;
pub mod error;
pub mod fault;
pub mod files;
pub(crate) mod frame;
pub mod lanes;
pub mod lineage;
pub(crate) mod mirror;
pub mod mixture;
pub mod order;
mod path_list;
pub mod paths;
pub mod phrases;
pub mod prepared;
pub mod random;
pub mod record_image;
pub mod source;
pub mod table;
pub mod walk;

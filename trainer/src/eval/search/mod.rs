//! Scores of many points against many: the one implementation that every task ranks with.
//!
//! A score (notation 6.0) is a dot product once points carry their time coordinates
//! (`coordinates`), so a block of queries against a block of the gallery is one matrix product
//! (`product`). Of each block only the best items of a query are kept (`top`); the whole matrix
//! never exists. The products are `f32`; the order of what is kept is decided in `f64`.

pub mod angles;
mod coordinates;
mod product;
mod rows;
mod top;

pub use rows::{dots, scores};
pub use top::{Ranked, top_k};

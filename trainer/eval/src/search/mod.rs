//! Scores of many points against many: the one implementation that all tasks rank with.
//!
//! A score (notation 6.0) is a dot product once points carry their time coordinates
//! (`coordinates`), so a block of queries against a block of the gallery is one matrix product
//! (`product`). Only the best items of each query are kept per block (`top`); the whole matrix is
//! never materialised. The products are `f32`; the order of the kept items is decided in `f64`.

pub mod angles;
mod coordinates;
mod product;
mod rows;
mod top;

pub use rows::{dots, scores};
pub use top::{Ranked, best, top_k};

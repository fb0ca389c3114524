//! Drawing of the figures from their data.

mod disk;
mod factors;
mod key;
mod ladder;
mod lineage;
mod norms;
mod pr;
mod run;
mod traversal;

pub use disk::disk;
pub use factors::factors;
pub use ladder::ladder;
pub use lineage::lineage;
pub use norms::norms;
pub use pr::pr;
pub use run::run;
pub use traversal::{Shown, traversal};

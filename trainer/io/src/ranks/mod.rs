//! Processes that train one model together. Each of them is a rank, as in MPI: rank 0 writes the
//! files of the run, and all ranks hold the same weights.

mod collective;
mod compare;
mod launch;
#[cfg(feature = "mpi")]
mod mpi;
mod single;

pub use collective::{Collective, share};
pub use compare::{Difference, Fact, compare, differences, different_from_most};
pub use launch::{Launch, local_index, start};
pub use single::Single;

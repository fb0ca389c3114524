//! Named tensors: strict conversion between a file and a model.
//!
//! Files are safetensors with the tensor names of the MERU family (notation 7.1); linear weights
//! have the shape `(out, in)`. A tensor may be stored as int8 with one scale per output channel,
//! see [`q8`].

pub mod load;
pub mod names;
pub mod q8;
pub mod save;
pub mod tensors;

pub use load::{Loading, load};
pub use save::{collect, write};
pub use tensors::{HostTensor, Tensors};

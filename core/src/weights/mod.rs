//! Named tensors: strict conversion between a file and a model.
//!
//! Files are safetensors with the tensor names of the MERU family (notation 7.1); linear weights
//! have the shape `(out, in)`. A tensor may be stored as int8 with one scale per output channel,
//! see [`q8`].

mod host;
#[cfg(feature = "burn")]
pub mod load;
pub mod names;
pub mod q8;
#[cfg(feature = "burn")]
pub mod save;
pub mod stored;
pub mod tensors;

pub use host::HostTensor;
#[cfg(feature = "burn")]
pub use load::{Loading, load};
#[cfg(feature = "burn")]
pub use save::{collect, write};
pub use stored::{StoredTensor, StoredTensors, StoredValues};
pub use tensors::{Tensors, sort_header};

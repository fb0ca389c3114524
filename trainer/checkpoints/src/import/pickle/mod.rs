//! Parses pickles that contain tensors, without executing them.
//!
//! A pickle is a program for a stack machine that may call any Python function. The reader here
//! (`machine`) builds only plain values: numbers, strings, lists, dictionaries and descriptions of
//! tensors ([`tensor`]). It refuses a pickle that names anything else and reports the name.

pub mod calls;
mod machine;
pub mod tensor;
pub mod value;

pub use machine::{read, read_first};
pub use tensor::{Storage, TensorView};
pub use value::{Arena, Node, Ref};

//! Pickles that hold tensors, read and never executed.
//!
//! A pickle is a program for a stack machine that may call any function of Python. The reader here
//! (`machine`) builds plain values only: numbers, texts, lists, dictionaries and descriptions of
//! tensors ([`tensor`]). A program that names anything else is refused with that name.

pub mod calls;
mod machine;
pub mod tensor;
pub mod value;

pub use machine::{read, read_first};
pub use tensor::{Storage, TensorView};
pub use value::{Arena, Node, Ref};

//! Published checkpoints to ours.
//!
//! 1. [`source`]: what the user names, to files: a file, a folder, or a repository of a hub
//!    ([`hub`]).
//! 2. [`store`]: weights files to named tensors: safetensors, also in shards, and files of PyTorch
//!    ([`torch_file`], [`legacy_file`], both also inside a [`wheel`]), whose pickles are read by
//!    [`pickle`] and never executed.
//! 3. [`said`]: what configurations beside them (`beside`) say ([`hugging_face`], [`open_clip`]) or the family
//!    is known for ([`family`]); [`resolve`] joins that with the shapes and the user's [`flags`] and
//!    tells who made which of the [`choices`].
//!    An image encoder with a classifier has a way of its own, [`efficientnet`], with [`labels`] and a
//!    first `projection`.
//! 4. [`convert`]: tensor by tensor through the tables of [`crate::layout`]; [`pipeline`] puts it
//!    together, all or nothing.

mod beside;
pub mod choices;
pub mod convert;
pub mod efficientnet;
pub mod family;
pub mod flags;
pub mod hub;
pub mod hugging_face;
pub mod labels;
pub mod legacy_file;
pub mod open_clip;
mod open_clip_keys;
pub mod pickle;
pub mod pipeline;
pub mod preprocessing;
mod projection;
pub mod resolve;
pub mod said;
pub mod source;
pub mod store;
pub mod torch_file;
pub mod wheel;

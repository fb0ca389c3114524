//! Converts published checkpoints to ours.
//!
//! 1. [`source`] finds the files that the user names: a file, a folder, or a repository of a hub
//!    ([`hub`]).
//! 2. [`store`] opens weights files as named tensors: safetensors, also in shards, and PyTorch
//!    files ([`torch_file`], [`legacy_file`], both also inside a [`wheel`]), whose pickles are
//!    parsed by [`pickle`] and never executed. `dictionary` finds the weights among other entries of a
//!    training checkpoint, and `prefix` what wrappers put before all names.
//! 3. [`stated_config`] holds the settings that are stated: by sidecar configurations (`sidecars`,
//!    [`hugging_face`], [`open_clip`]) or by the model family ([`family`]). [`resolve`] merges them
//!    with the shapes and the user's [`flags`] and records the origin of each of the [`choices`].
//!    An image encoder with a classifier takes a separate path, [`efficientnet`], with [`labels`]
//!    and an initial `projection`, and so does an encoder of [`sentence`]s.
//! 4. [`convert`] converts tensor by tensor with the tables of [`crate::layout`]; [`pipeline`]
//!    combines the steps. An import either succeeds completely or writes nothing.

pub mod choices;
pub mod convert;
mod dictionary;
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
mod prefix;
pub mod preprocessing;
mod projection;
pub mod resolve;
mod section;
pub mod sentence;
mod sidecars;
pub mod source;
pub mod stated_config;
pub mod store;
pub mod torch_file;
pub mod wheel;

//! EfficientNet-Lite: the numbers of PyTorch, in use and in training; its import; its classifier.
//!
//! `golden/gen_efficientnet.py` makes the checkpoint and what is expected of it.

#![allow(clippy::unwrap_used)]

mod import;
mod parity;
mod support;
mod training;

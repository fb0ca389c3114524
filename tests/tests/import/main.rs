//! Published checkpoints: in, the same numbers as the programs that wrote them; out again, the same
//! bits; and what cannot be used, refused.
//!
//! `golden/gen_checkpoints.py` makes the checkpoints and what is expected of them.

#![allow(clippy::unwrap_used)]

mod gate;
mod hub;
mod parity;
mod pickles;
mod refused;
mod round_trip;
mod support;
mod used;

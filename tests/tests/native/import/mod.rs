//! Published checkpoints: imported, they give the numbers of the programs that wrote them; exported
//! again, they have the same bits; and unusable ones are refused.
//!
//! `golden/gen_checkpoints.py` writes the checkpoints and their expected outputs.

mod gate;
mod hub;
mod parity;
mod pickles;
mod refused;
mod round_trip;
pub mod support;
mod used;

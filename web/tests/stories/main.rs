//! The page's session, told as stories and tried in every state.
#![allow(clippy::unwrap_used)]

mod every_state;
mod loading;
mod reading;
mod sample;
mod story;

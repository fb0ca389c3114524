//! Tests of the page's session: courses of a visit, and every event in every state.
#![allow(clippy::unwrap_used)]

mod every_state;
mod loading;
mod reading;
mod sample;
mod story;

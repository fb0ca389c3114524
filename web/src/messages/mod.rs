//! What the page and an engine's worker say to each other: the wire, and nothing that acts on it.

pub mod ask;
pub mod narration;
pub mod photo_id;
pub mod protocol;

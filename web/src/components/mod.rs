//! The session drawn. Every component derives from it; none keeps a state of its own that matters.

mod answer;
mod engine_line;
mod error_card;
mod json;
mod ladder;
mod load_panel;
mod outcome;
mod path;
mod photo_drop;
mod status;
mod storage_panel;

pub use outcome::Outcome;
pub use photo_drop::PhotoDrop;
pub use status::Status;
pub use storage_panel::StoragePanel;

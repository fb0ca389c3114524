//! The components that display the session. They derive from it and keep no essential state of
//! their own.

mod answer;
mod card;
mod compare;
mod dial;
mod disk;
mod disk_paint;
mod engine_line;
mod error_card;
mod export;
mod folder;
mod in_view;
mod ladder;
mod live;
mod load_panel;
mod node;
mod outcome;
mod own_tree;
mod path;
mod photo_drop;
mod region;
pub mod samples;
mod scene;
mod sent_bytes;
mod space;
mod status;
mod storage_panel;
mod teach;
mod tree;
mod tree_rows;
mod tree_search;
mod tree_switch;
mod walk;
mod why_not;
mod workspace;

pub use folder::Folder;
pub use in_view::{follow_photos, mark_body};
pub use live::Live;
pub use outcome::Outcome;
pub use photo_drop::PhotoDrop;
pub use region::SelectedPart;
pub use status::Status;
pub use storage_panel::StoragePanel;
pub use workspace::WorkspaceView;

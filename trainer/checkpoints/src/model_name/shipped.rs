//! The shipped models, where an installation or the repository keeps them.

use std::path::PathBuf;

use espalier_io::disk::nearby::nearby;

use crate::model_file::is_bundle;

/// Names of the shipped models.
pub const SHIPPED: [&str; 2] = ["default", "tiny"];

/// Name of the shipped model that runs on photos of one's own start from.
pub const START: &str = "default";

/// Folders of models, below the folder of an installation or of the repository.
const FOLDERS: [&str; 4] = ["static/models", "models", "page/models", "dist/models"];

/// Returns the folder of a shipped model: in or above the folder of this program or the current
/// folder.
pub fn shipped(name: &str) -> Option<PathBuf> {
    let in_folder = |folder: PathBuf| FOLDERS.map(|models| folder.join(models).join(name));
    nearby()
        .flat_map(in_folder)
        .find(|folder| is_bundle(folder))
}

//! `models.json`: names of the models in the built page, so that the page can list them.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::files;

/// Name of the list in the built page.
pub const FILE: &str = "models.json";

/// Writes the names of the folders of `dist/models` that hold a manifest, in alphabetical order.
///
/// # Errors
/// Fails if the folder cannot be read or the list cannot be written.
pub fn write(dist: &Path) -> Result<()> {
    let folder = dist.join("models");
    let mut models = files::entries(&folder)
        .with_context(|| format!("there are no models in {}", folder.display()))?;
    models.retain(|path| path.join("manifest.json").is_file());
    let names = models.iter().map(|path| files::name_from(&folder, path));
    let names: Vec<String> = names.collect();
    std::fs::write(dist.join(FILE), format!("{:#}\n", json!(names)))
        .with_context(|| format!("cannot write to {}", dist.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_a_manifest_are_listed_in_order_and_others_are_not() {
        let dist = tempfile::tempdir().unwrap();
        for name in ["tiny", "birds"] {
            let folder = dist.path().join("models").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("manifest.json"), "{}").unwrap();
        }
        std::fs::create_dir(dist.path().join("models/half")).unwrap();
        write(dist.path()).unwrap();
        let text = std::fs::read_to_string(dist.path().join(FILE)).unwrap();
        let names: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(names, ["birds", "tiny"]);
    }

    #[test]
    fn a_page_without_models_is_an_error() {
        let dist = tempfile::tempdir().unwrap();
        let error = write(dist.path()).unwrap_err().to_string();
        assert!(error.contains("no models"), "{error}");
    }
}

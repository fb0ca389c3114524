//! Names of models, wherever the command line takes one: a path, a shipped model, a published one, a
//! repository of a hub, or files of another program.
//!
//! [`resolve`] turns a name into the path of a model on this disk. Models of other programs are converted
//! once and kept in a [`cache`].

pub mod cache;
mod convert;
pub mod published;
mod shipped;

use std::path::{Path, PathBuf};

use self::published::{PUBLISHED, Published};
pub use self::shipped::{SHIPPED, START, shipped};
use espalier_io::exit::usage;

use crate::model_file::{card_of, is_bundle, weights_file};

/// Prefix of a repository of the hub.
const HUB: &str = "hf-hub:";

/// Prefix of a folder in another program's format.
const LOCAL: &str = "local-dir:";

/// Extensions of weights files of other programs.
const WEIGHTS: [&str; 5] = ["safetensors", "pth", "pt", "bin", "whl"];

/// Files by which a folder of another program is recognised.
const CONFIGS: [&str; 2] = ["config.json", "open_clip_config.json"];

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelName {
    /// A run, a checkpoint, a weights file or a bundle.
    Own(PathBuf),
    /// Files of another program.
    Foreign(String),
    /// A shipped model.
    Shipped(&'static str),
    /// A published model with a short name.
    Published(&'static Published),
    /// A repository of the hub, `hf-hub:org/name` or `hf-hub:org/name@revision`.
    Hub(String),
}

/// Returns whether another program wrote what is at a path.
fn is_foreign(path: &Path) -> bool {
    if is_bundle(path) {
        return false;
    }
    if path.is_dir() {
        let is_own = weights_file(path).is_ok_and(|file| card_of(&file).is_ok());
        return !is_own && CONFIGS.iter().any(|name| path.join(name).is_file());
    }
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    WEIGHTS.contains(&&*extension) && convert::is_foreign(path)
}

impl ModelName {
    /// Parses a name. A path that exists comes first; one that has a short name is given as
    /// `./default`.
    ///
    /// # Errors
    /// Bad usage that lists what a model may be named by.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        if text.starts_with(HUB) {
            return Ok(Self::Hub(text.to_owned()));
        }
        if text.starts_with(LOCAL) {
            return Ok(Self::Foreign(text.to_owned()));
        }
        let path = Path::new(text);
        if path.exists() {
            return Ok(if is_foreign(path) {
                Self::Foreign(text.to_owned())
            } else {
                Self::Own(path.to_owned())
            });
        }
        if let Some(name) = SHIPPED.into_iter().find(|name| *name == text) {
            return Ok(Self::Shipped(name));
        }
        if let Some(published) = PUBLISHED.iter().find(|known| known.name == text) {
            return Ok(Self::Published(published));
        }
        let published = PUBLISHED.iter().map(|published| published.name);
        let names: Vec<&str> = SHIPPED.into_iter().chain(published).collect();
        Err(usage(format!(
            "{text}: expected a run folder, a checkpoint folder, a bundle or a .safetensors file, found no \
             such path; a model may also be named hf-hub:org/name, local-dir:PATH, or one of {}",
            names.join(", ")
        )))
    }
}

/// Returns the path of the model that a name means. A model of the hub is downloaded, and one of another
/// program is converted, unless the cache has it.
///
/// # Errors
/// Bad usage for a name that means nothing, files that cannot be converted, or offline for a model that
/// is not in the cache; another error (exit code 1) if the hub cannot be reached.
pub fn resolve(name: &Path, offline: bool) -> anyhow::Result<PathBuf> {
    let Some(text) = name.to_str() else {
        return Ok(name.to_owned());
    };
    match ModelName::parse(text)? {
        ModelName::Own(path) => Ok(path),
        ModelName::Shipped(name) => shipped(name).ok_or_else(|| {
            usage(format!(
                "{name}: expected the folder of the shipped model, models/{name}, in or above the folder \
                 of this program or the current folder, found none; name it by its path"
            ))
        }),
        ModelName::Foreign(source) => convert::local(&source),
        ModelName::Hub(source) => convert::hub(&source, None, offline),
        ModelName::Published(model) => convert::hub(&model.source(), Some(model), offline),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_name_is_told_apart() {
        let parse = |text: &str| ModelName::parse(text).unwrap();
        assert_eq!(
            parse("hf-hub:a/b@v1"),
            ModelName::Hub("hf-hub:a/b@v1".into())
        );
        assert_eq!(
            parse("local-dir:x"),
            ModelName::Foreign("local-dir:x".into())
        );
        assert_eq!(parse("default"), ModelName::Shipped("default"));
        assert!(matches!(parse("clip-vit-b32"), ModelName::Published(_)));
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().to_str().unwrap();
        assert_eq!(parse(folder), ModelName::Own(folder.into()));
        std::fs::write(dir.path().join("config.json"), "{}").unwrap();
        assert_eq!(parse(folder), ModelName::Foreign(folder.into()));
        let error = ModelName::parse("clip-vit-b23").unwrap_err().to_string();
        for form in [
            "run folder",
            "bundle",
            "hf-hub:org/name",
            "default",
            "clip-vit-b32",
        ] {
            assert!(error.contains(form), "{error}");
        }
    }
}

//! Names of repositories, and the download cache that programs share.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_io::exit::usage;

/// Extension of the name of an incomplete file.
pub(super) const PART: &str = "incomplete";

/// A repository and one of its revisions, as the user names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RepoId {
    pub(super) name: String,
    pub(super) revision: String,
}

/// Returns whether a word is safe in a path and in a URL.
pub(super) fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !word.is_empty() && !word.starts_with('.') && word.chars().all(plain)
}

impl RepoId {
    /// Parses `org/name` or `org/name@revision`; the default revision is `main`.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let (name, revision) = text.split_once('@').unwrap_or((text, "main"));
        let parts: Vec<&str> = name.split('/').collect();
        let plain = parts.len() == 2 && parts.iter().all(|p| is_plain(p));
        if !plain || !revision.split('/').all(is_plain) {
            return Err(usage(format!(
                "hf-hub:{text}: expected hf-hub:org/name or hf-hub:org/name@revision"
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            revision: revision.to_owned(),
        })
    }

    /// Returns the folder of the repository in the cache.
    pub(super) fn folder(&self) -> anyhow::Result<PathBuf> {
        let name = self.name.replace('/', "--");
        Ok(home()?.join("hub").join(format!("models--{name}")))
    }
}

/// Returns the folder of the cache: `HF_HOME`, else the default that other programs use.
pub(super) fn home() -> anyhow::Result<PathBuf> {
    if let Some(home) = std::env::var_os("HF_HOME") {
        return Ok(home.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    cache
        .map(|c| c.join("huggingface"))
        .ok_or_else(|| usage("hf-hub: found no folder for the cache; set HF_HOME"))
}

/// Collects the names of complete files below a folder, following links.
pub(super) fn files_below(folder: &Path, prefix: &str, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match fs::metadata(entry.path()) {
            Ok(found) if found.is_dir() => files_below(&entry.path(), &format!("{name}/"), into),
            Ok(_) if entry.path().extension().is_none_or(|e| e != PART) => into.push(name),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_two_plain_words() {
        assert!(RepoId::parse("openai/clip-vit-base-patch32").is_ok());
        assert_eq!(RepoId::parse("a/b@v1.0").unwrap().revision, "v1.0");
        for id in ["", "a", "a/b/c", "../b", "a/b c", "a/b@", "a/b@..", "/b"] {
            let message = RepoId::parse(id).unwrap_err().to_string();
            assert!(message.contains("expected hf-hub:org/name"), "{message}");
        }
    }
}

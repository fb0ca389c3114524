//! Repositories of the Hugging Face hub, in the cache that other programs share.
//!
//! `HF_HOME` moves the cache, `HF_ENDPOINT` names another hub, `HF_TOKEN` (or the file `token` in
//! `HF_HOME`) gives access to gated repositories. The hub's own crate would add an asynchronous
//! runtime or some thirty packages; only one list and plain downloads are needed here.

mod cache;
mod fetch;
mod network;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use espalier_io::exit::usage;
use serde::Deserialize;
use ureq::Agent;

use self::cache::{RepoId, files_below, is_plain};
use self::fetch::{RemoteFile, fetch};
use self::network::{agent, endpoint, request};

/// A repository of models.
pub struct Hub {
    id: RepoId,
    files: Vec<RemoteFile>,
    /// Folder of this revision of the repository in the cache.
    snapshot: PathBuf,
    /// HTTP client; `None` offline.
    agent: Option<Agent>,
    commit: String,
}

/// The hub's description of a repository.
#[derive(Deserialize)]
struct Info {
    sha: String,
    siblings: Vec<RemoteFile>,
}

impl Hub {
    /// Opens a repository; with `offline`, only its files in the cache.
    ///
    /// # Errors
    /// Bad usage for a malformed id, or offline if nothing is cached; another error (exit code 1)
    /// if the hub cannot be reached or knows no such repository.
    pub fn open(id: &str, offline: bool) -> anyhow::Result<Self> {
        let id = RepoId::parse(id)?;
        if offline {
            Self::cached(id)
        } else {
            Self::online(id)
        }
    }

    fn cached(id: RepoId) -> anyhow::Result<Self> {
        let folder = id.folder()?;
        let commit = fs::read_to_string(folder.join("refs").join(&id.revision));
        // A revision may be a commit itself.
        let commit = commit.map_or_else(|_| id.revision.clone(), |c| c.trim().to_owned());
        let snapshot = folder.join("snapshots").join(&commit);
        let mut names = Vec::new();
        if is_plain(&commit) {
            files_below(&snapshot, "", &mut names);
        }
        if names.is_empty() {
            return Err(usage(format!(
                "hf-hub:{}: --offline: expected the repository in the cache {}, found nothing of \
                 it there; download it once without --offline, or name a folder",
                id.name,
                folder.display()
            )));
        }
        Ok(Self {
            id,
            files: names.into_iter().map(RemoteFile::by_name).collect(),
            snapshot,
            agent: None,
            commit,
        })
    }

    fn online(id: RepoId) -> anyhow::Result<Self> {
        let agent = agent(&endpoint());
        let url = format!(
            "{}/api/models/{}/revision/{}?blobs=true",
            endpoint(),
            id.name,
            id.revision
        );
        let hint = || {
            format!(
                "hf-hub:{}: {} cannot be reached or knows no such repository; use --offline for \
                 cached files, or local-dir:PATH for a copy on disk",
                id.name,
                endpoint()
            )
        };
        let mut response = request(&agent, &url, 0).with_context(hint)?;
        let text = response.body_mut().read_to_vec().with_context(hint)?;
        let info: Info = serde_json::from_slice(&text).with_context(hint)?;
        if !is_plain(&info.sha) {
            bail!("{url}: expected the name of a commit, found `{}`", info.sha);
        }
        let folder = id.folder()?;
        let refs = folder.join("refs").join(&id.revision);
        let created = refs.parent().map_or(Ok(()), fs::create_dir_all);
        created
            .and_then(|()| fs::write(&refs, &info.sha))
            .with_context(|| format!("writing {}", refs.display()))?;
        Ok(Self {
            snapshot: folder.join("snapshots").join(&info.sha),
            id,
            files: info.siblings,
            agent: Some(agent),
            commit: info.sha,
        })
    }

    /// Returns the repository and its commit, for messages.
    pub fn label(&self) -> String {
        format!("hf-hub:{}@{}", self.id.name, self.commit)
    }

    /// Returns the names of the files of the repository; offline, of the cached ones.
    pub fn names(&self) -> Vec<String> {
        self.files.iter().map(|f| f.name.clone()).collect()
    }

    /// Returns the path of a file in the cache, downloading it if needed; `None` if the repository
    /// has no such file.
    ///
    /// # Errors
    /// If it cannot be downloaded (exit code 1).
    pub fn get(&self, name: &str) -> anyhow::Result<Option<PathBuf>> {
        let path = self.snapshot.join(name);
        let remote = self.files.iter().find(|f| f.name == name);
        let Some(remote) = remote.filter(|_| name.split('/').all(is_plain)) else {
            return Ok(None);
        };
        match &self.agent {
            _ if path.is_file() => Ok(Some(path)),
            None => Ok(None),
            Some(agent) => {
                let from = format!("{}/{}/resolve/{}", endpoint(), self.id.name, self.commit);
                fetch(agent, &format!("{from}/{name}"), remote, &path)
                    .with_context(|| format!("{}: downloading {name}", self.label()))?;
                Ok(Some(path))
            }
        }
    }
}

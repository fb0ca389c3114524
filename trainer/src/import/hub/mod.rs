//! Repositories of the Hugging Face hub, in the cache that other programs share.
//!
//! `HF_HOME` moves the cache, `HF_ENDPOINT` names another hub, `HF_TOKEN` (or the file `token` in
//! `HF_HOME`) opens what is gated. The hub's own crate would bring an asynchronous runtime or some
//! thirty packages more; what is needed of it is one list and plain downloads.

mod cache;
mod fetch;
mod network;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde::Deserialize;
use ureq::Agent;

use self::cache::{Id, files_below, is_plain};
use self::fetch::{Known, fetch};
use self::network::{agent, ask, endpoint};
use crate::exit::usage;

/// A repository of models.
pub struct Hub {
    id: Id,
    files: Vec<Known>,
    /// Folder of this state of the repository in the cache.
    snapshot: PathBuf,
    /// `None` offline.
    agent: Option<Agent>,
    commit: String,
}

/// What the hub says of a repository.
#[derive(Deserialize)]
struct Info {
    sha: String,
    siblings: Vec<Known>,
}

impl Hub {
    /// Open a repository; `offline`, only what the cache has of it.
    ///
    /// # Errors
    /// Bad usage for an id of another form, or offline when nothing is cached; a plain failure
    /// when the hub cannot be reached or knows no such repository.
    pub fn open(id: &str, offline: bool) -> anyhow::Result<Self> {
        let id = Id::parse(id)?;
        if offline {
            Self::cached(id)
        } else {
            Self::online(id)
        }
    }

    fn cached(id: Id) -> anyhow::Result<Self> {
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
                "hf-hub:{}: --offline wants it in the cache {}, found nothing of it there; fetch it \
                 once without --offline, or name a folder",
                id.name,
                folder.display()
            )));
        }
        Ok(Self {
            id,
            files: names.into_iter().map(Known::by_name).collect(),
            snapshot,
            agent: None,
            commit,
        })
    }

    fn online(id: Id) -> anyhow::Result<Self> {
        let agent = agent();
        let url = format!(
            "{}/api/models/{}/revision/{}?blobs=true",
            endpoint(),
            id.name,
            id.revision
        );
        let hint = || {
            format!(
                "hf-hub:{}: {} cannot be reached or knows no such repository; what is in the cache \
                 can be used with --offline, a copy on disk with local-dir:PATH",
                id.name,
                endpoint()
            )
        };
        let mut response = ask(&agent, &url, 0).with_context(hint)?;
        let text = response.body_mut().read_to_vec().with_context(hint)?;
        let info: Info = serde_json::from_slice(&text).with_context(hint)?;
        if !is_plain(&info.sha) {
            bail!("{url}: wanted the name of a commit, found `{}`", info.sha);
        }
        let folder = id.folder()?;
        let refs = folder.join("refs").join(&id.revision);
        let kept = refs.parent().map_or(Ok(()), fs::create_dir_all);
        kept.and_then(|()| fs::write(&refs, &info.sha))
            .with_context(|| format!("writing {}", refs.display()))?;
        Ok(Self {
            snapshot: folder.join("snapshots").join(&info.sha),
            id,
            files: info.siblings,
            agent: Some(agent),
            commit: info.sha,
        })
    }

    /// What the user named.
    #[must_use]
    pub fn label(&self) -> String {
        format!("hf-hub:{}@{}", self.id.name, self.commit)
    }

    /// Files of the repository; offline, those that are cached.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.files.iter().map(|f| f.name.clone()).collect()
    }

    /// The path of a file in the cache, fetched where it has to be; `None` where the repository has
    /// no such file.
    ///
    /// # Errors
    /// A plain failure when it cannot be fetched.
    pub fn get(&self, name: &str) -> anyhow::Result<Option<PathBuf>> {
        let path = self.snapshot.join(name);
        let known = self.files.iter().find(|f| f.name == name);
        let Some(known) = known.filter(|_| name.split('/').all(is_plain)) else {
            return Ok(None);
        };
        match &self.agent {
            _ if path.is_file() => Ok(Some(path)),
            None => Ok(None),
            Some(agent) => {
                let from = format!("{}/{}/resolve/{}", endpoint(), self.id.name, self.commit);
                fetch(agent, &format!("{from}/{name}"), known, &path)
                    .with_context(|| format!("{}: fetching {name}", self.label()))?;
                Ok(Some(path))
            }
        }
    }
}

//! Repositories of the Hugging Face hub, in the cache that other programs share.
//!
//! `HF_HOME` moves the cache, `HF_ENDPOINT` names another hub, `HF_TOKEN` (or the file `token` in
//! `HF_HOME`) opens what is gated. The hub's own crate would bring an asynchronous runtime or some
//! thirty packages more; what is needed of it is one list and plain downloads.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, stderr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Deserialize;
use ureq::{Agent, Body, http::Response};

use crate::exit::usage;

const ENDPOINT: &str = "https://huggingface.co";
/// Time to reach the hub. Downloads may take as long as they need.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a user names: a repository and a state of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Id {
    name: String,
    revision: String,
}

/// A repository of models.
pub struct Hub {
    id: Id,
    names: Vec<String>,
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
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

/// A word that is safe in a path and in an address.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !word.is_empty() && !word.starts_with('.') && word.chars().all(plain)
}

impl Id {
    /// `org/name`, or `org/name@revision`.
    fn parse(text: &str) -> anyhow::Result<Self> {
        let (name, revision) = text.split_once('@').unwrap_or((text, "main"));
        let parts: Vec<&str> = name.split('/').collect();
        let plain = parts.len() == 2 && parts.iter().all(|p| is_plain(p));
        if !plain || !revision.split('/').all(is_plain) {
            return Err(usage(format!(
                "hf-hub:{text}: wanted hf-hub:org/name or hf-hub:org/name@revision"
            )));
        }
        Ok(Self {
            name: name.to_owned(),
            revision: revision.to_owned(),
        })
    }

    /// Its folder in the cache.
    fn folder(&self) -> anyhow::Result<PathBuf> {
        let name = self.name.replace('/', "--");
        Ok(home()?.join("hub").join(format!("models--{name}")))
    }
}

/// `HF_HOME`, else where other programs put it.
fn home() -> anyhow::Result<PathBuf> {
    if let Some(home) = std::env::var_os("HF_HOME") {
        return Ok(home.into());
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    cache
        .map(|c| c.join("huggingface"))
        .ok_or_else(|| usage("hf-hub: wanted a folder for the cache: set HF_HOME"))
}

fn endpoint() -> String {
    let set = std::env::var("HF_ENDPOINT").ok().filter(|e| !e.is_empty());
    set.map_or_else(
        || ENDPOINT.to_owned(),
        |e| e.trim_end_matches('/').to_owned(),
    )
}

fn token() -> Option<String> {
    let set = std::env::var("HF_TOKEN").ok();
    let kept = || fs::read_to_string(home().ok()?.join("token")).ok();
    let token = set.or_else(kept)?.trim().to_owned();
    (!token.is_empty()).then_some(token)
}

fn agent() -> Agent {
    let version = concat!("espalier/", env!("CARGO_PKG_VERSION"));
    let config = Agent::config_builder()
        .timeout_connect(Some(PATIENCE))
        .user_agent(version);
    config.build().into()
}

/// Ask the hub. A token is not carried along when it sends on to another host.
fn ask(agent: &Agent, url: &str) -> Result<Response<Body>, Box<ureq::Error>> {
    let mut request = agent.get(url);
    if let Some(token) = token() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    request.call().map_err(Box::new)
}

/// Names of files below a folder, links followed.
fn files_below(folder: &Path, prefix: &str, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match fs::metadata(entry.path()) {
            Ok(found) if found.is_dir() => files_below(&entry.path(), &format!("{name}/"), into),
            Ok(_) if !name.ends_with(".incomplete") => into.push(name),
            _ => {}
        }
    }
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
            names,
            snapshot,
            agent: None,
            commit,
        })
    }

    fn online(id: Id) -> anyhow::Result<Self> {
        let agent = agent();
        let url = format!(
            "{}/api/models/{}/revision/{}",
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
        let mut response = ask(&agent, &url).with_context(hint)?;
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
            names: info.siblings.into_iter().map(|s| s.rfilename).collect(),
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
        self.names.clone()
    }

    /// The path of a file in the cache, fetched where it has to be; `None` where the repository has
    /// no such file.
    ///
    /// # Errors
    /// A plain failure when it cannot be fetched.
    pub fn get(&self, name: &str) -> anyhow::Result<Option<PathBuf>> {
        let path = self.snapshot.join(name);
        let fits = name.split('/').all(is_plain) && self.names.iter().any(|n| n == name);
        match &self.agent {
            _ if !fits => Ok(None),
            _ if path.is_file() => Ok(Some(path)),
            None => Ok(None),
            Some(agent) => {
                self.fetch(agent, name, &path)
                    .with_context(|| format!("{}: fetching {name}", self.label()))?;
                Ok(Some(path))
            }
        }
    }

    /// Fetch a file whole, under another name until it is.
    fn fetch(&self, agent: &Agent, name: &str, path: &Path) -> anyhow::Result<()> {
        let url = format!(
            "{}/{}/resolve/{}/{name}",
            endpoint(),
            self.id.name,
            self.commit
        );
        let response = ask(agent, &url)?;
        let length = response.body().content_length();
        let bar = progress(name, length);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".incomplete");
        let part = PathBuf::from(part);
        let mut file = File::create(&part)?;
        let mut body = bar.wrap_read(response.into_body().into_reader());
        let got = io::copy(&mut body.by_ref(), &mut file)?;
        bar.finish_and_clear();
        if length.is_some_and(|wanted| wanted != got) {
            bail!("wanted {} bytes, found {got}", length.unwrap_or(0));
        }
        file.sync_all()?;
        Ok(fs::rename(&part, path)?)
    }
}

/// A bar on a terminal, one line elsewhere.
fn progress(name: &str, length: Option<u64>) -> ProgressBar {
    if !stderr().is_terminal() {
        let size = length.map_or_else(String::new, |n| format!(", {n} bytes"));
        eprintln!("fetches {name}{size}");
        return ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
    }
    let bar = ProgressBar::new(length.unwrap_or(0));
    let style = ProgressStyle::with_template("{msg} {bytes} of {total_bytes} [{bar:30}] {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(name.to_owned());
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_two_plain_words() {
        assert!(Id::parse("openai/clip-vit-base-patch32").is_ok());
        assert_eq!(Id::parse("a/b@v1.0").unwrap().revision, "v1.0");
        for id in ["", "a", "a/b/c", "../b", "a/b c", "a/b@", "a/b@..", "/b"] {
            let message = Id::parse(id).unwrap_err().to_string();
            assert!(message.contains("wanted hf-hub:org/name"), "{message}");
        }
    }
}

//! One file of a repository: what a broken line left is continued, and nothing counts as there before
//! its size and hash are right.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write, stderr};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use ureq::Agent;

use super::cache::PART;
use super::network::ask;

/// What the hub says of a file.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Known {
    #[serde(rename = "rfilename")]
    pub(super) name: String,
    /// Its length, where the hub says it.
    size: Option<u64>,
    /// Its hash, for large files.
    lfs: Option<Large>,
}

#[derive(Clone, Debug, Deserialize)]
struct Large {
    sha256: Option<String>,
    size: Option<u64>,
}

impl Known {
    /// A file of which nothing is known but its name.
    pub(super) fn by_name(name: String) -> Self {
        Self {
            name,
            size: None,
            lfs: None,
        }
    }

    fn size(&self) -> Option<u64> {
        self.lfs.as_ref().and_then(|l| l.size).or(self.size)
    }

    fn sha256(&self) -> Option<&str> {
        self.lfs.as_ref()?.sha256.as_deref()
    }
}

/// Fetch a file to `path`, under another name until it is whole. A line that breaks is taken up again
/// as long as every attempt brings more.
pub(super) fn fetch(agent: &Agent, url: &str, known: &Known, path: &Path) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut part = path.as_os_str().to_owned();
    part.push(PART);
    let part = PathBuf::from(part);
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&part)
        .with_context(|| format!("writing {}", part.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => bail!(
            "another program is fetching it to {}; wait until it is done",
            part.display()
        ),
        // A file system without locks: only the hash guards against two programs at once.
        Err(TryLockError::Error(_)) => {}
    }
    loop {
        let before = file.seek(SeekFrom::End(0))?;
        match attempt(agent, url, known, &mut file) {
            Ok(()) => break,
            Err(error) => {
                let now = file.seek(SeekFrom::End(0))?;
                if now <= before {
                    return Err(if now == 0 {
                        error
                    } else {
                        error.context(format!(
                            "{now} bytes of it are kept in {}; the same command continues there",
                            part.display()
                        ))
                    });
                }
                eprintln!(
                    "{}: the line broke after {now} bytes, continues",
                    known.name
                );
            }
        }
    }
    if let Err(error) = check(known, &mut file) {
        drop(file);
        fs::remove_file(&part)?;
        return Err(error);
    }
    file.sync_all()?;
    drop(file);
    Ok(fs::rename(&part, path)?)
}

/// One request for what is missing; fails where the file is not whole after it.
fn attempt(agent: &Agent, url: &str, known: &Known, file: &mut File) -> anyhow::Result<()> {
    let mut have = file.seek(SeekFrom::End(0))?;
    if let Some(size) = known.size() {
        if have == size && have > 0 {
            return Ok(());
        }
        if have > size {
            // Of other content, or of a program that counted otherwise.
            have = 0;
        }
    }
    let response = match ask(agent, url, have) {
        // The part is no beginning of what is there.
        Err(error) if have > 0 && matches!(*error, ureq::Error::StatusCode(416)) => {
            have = 0;
            ask(agent, url, 0)?
        }
        other => other?,
    };
    let continued = response.status().as_u16() == 206;
    if continued {
        let range = response.headers().get("content-range");
        let range = range.and_then(|r| r.to_str().ok()).unwrap_or_default();
        let from = range
            .strip_prefix("bytes ")
            .and_then(|r| r.split('-').next());
        if from.and_then(|f| f.trim().parse().ok()) != Some(have) {
            bail!("asked for the bytes from {have} on, was given `{range}`");
        }
    } else {
        have = 0;
    }
    file.set_len(have)?;
    file.seek(SeekFrom::Start(have))?;
    let rest = response.body().content_length();
    let size = known.size().or(rest.map(|rest| have + rest));
    let bar = progress(&known.name, size, have);
    let mut body = bar.wrap_read(response.into_body().into_reader());
    let copied = io::copy(&mut body, file);
    bar.finish_and_clear();
    file.flush()?;
    let now = have + copied?;
    match size {
        Some(size) if size != now => Err(anyhow!("wanted {size} bytes, found {now}")),
        _ => Ok(()),
    }
}

/// Whether a whole file is what the hub has.
fn check(known: &Known, file: &mut File) -> anyhow::Result<()> {
    let Some(wanted) = known.sha256() else {
        return Ok(());
    };
    file.seek(SeekFrom::Start(0))?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        hash.update(&piece[..read]);
    }
    let found: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    if found != wanted {
        bail!("wanted SHA-256 {wanted}, found {found}; nothing of it is kept, fetch it again");
    }
    Ok(())
}

/// A bar on a terminal, one line elsewhere.
fn progress(name: &str, length: Option<u64>, have: u64) -> ProgressBar {
    let bar = if stderr().is_terminal() {
        ProgressBar::new(length.unwrap_or(0))
    } else {
        let size = length.map_or_else(String::new, |n| format!(", {n} bytes"));
        let kept = if have > 0 {
            format!(", {have} of them are there")
        } else {
            String::new()
        };
        eprintln!("fetches {name}{size}{kept}");
        ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden())
    };
    let style = ProgressStyle::with_template("{msg} {bytes} of {total_bytes} [{bar:30}] {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(name.to_owned());
    bar.set_position(have);
    bar
}

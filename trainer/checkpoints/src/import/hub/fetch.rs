//! Downloads one file of a repository. An interrupted download is resumed, and a file counts as
//! complete only after its size and hash have been checked.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write, stderr};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use espalier_io::output::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use ureq::Agent;

use super::cache::PART;
use super::network::request;

/// Most bytes of a file whose length neither the hub nor the response states.
const MAX_UNSTATED: u64 = 64 << 30;

/// The hub's description of a file.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RemoteFile {
    #[serde(rename = "rfilename")]
    pub(super) name: String,
    /// Length in bytes, if the hub states it.
    size: Option<u64>,
    /// Hash and length of large files.
    lfs: Option<LfsInfo>,
}

#[derive(Clone, Debug, Deserialize)]
struct LfsInfo {
    sha256: Option<String>,
    size: Option<u64>,
}

impl RemoteFile {
    /// Describes a file of which only the name is known.
    pub(super) fn by_name(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    fn size(&self) -> Option<u64> {
        self.lfs.as_ref().and_then(|l| l.size).or(self.size)
    }

    fn sha256(&self) -> Option<&str> {
        self.lfs.as_ref()?.sha256.as_deref()
    }
}

/// Downloads a file to `path`, under another name until it is complete. After a lost connection it
/// is resumed as long as every attempt yields more bytes.
pub(super) fn fetch(
    agent: &Agent,
    url: &str,
    remote: &RemoteFile,
    path: &Path,
) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let part = path.with_added_extension(PART);
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
            "another program is downloading it to {}; wait until it has finished",
            part.display()
        ),
        // The file system has no locks; only the hash protects against two programs at once.
        Err(TryLockError::Error(_)) => {}
    }
    loop {
        let before = file.seek(SeekFrom::End(0))?;
        match attempt(agent, url, remote, &mut file) {
            Ok(()) => break,
            Err(error) => {
                let now = file.seek(SeekFrom::End(0))?;
                if now <= before {
                    return Err(if now == 0 {
                        error
                    } else {
                        error.context(format!(
                            "{now} bytes are in {}; run the same command to resume",
                            part.display()
                        ))
                    });
                }
                note(format_args!(
                    "{}: connection lost after {now} bytes, resuming",
                    remote.name
                ));
            }
        }
    }
    if let Err(error) = check(remote, &mut file) {
        drop(file);
        fs::remove_file(&part)?;
        return Err(error);
    }
    file.sync_all()?;
    drop(file);
    Ok(fs::rename(&part, path)?)
}

/// Makes one request for the missing bytes; fails if the file is incomplete afterwards.
fn attempt(agent: &Agent, url: &str, remote: &RemoteFile, file: &mut File) -> anyhow::Result<()> {
    let mut have = file.seek(SeekFrom::End(0))?;
    if let Some(size) = remote.size() {
        if have == size && have > 0 {
            return Ok(());
        }
        if have > size {
            // The bytes are of other content, or another program wrote them; start again.
            have = 0;
        }
    }
    let response = match request(agent, url, have) {
        // The hub rejects the range: the file there has no bytes from this offset on. Start again.
        Err(error) if have > 0 && matches!(*error, ureq::Error::StatusCode(416)) => {
            have = 0;
            request(agent, url, 0)?
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
            bail!("expected the bytes from {have} on, found the range `{range}`");
        }
    } else {
        have = 0;
    }
    file.set_len(have)?;
    file.seek(SeekFrom::Start(have))?;
    let rest = response.body().content_length();
    let size = remote.size().or(rest.map(|rest| have + rest));
    let bar = progress(&remote.name, size, have);
    // One byte more than expected shows that there are too many.
    let most = size.unwrap_or(MAX_UNSTATED).saturating_sub(have) + 1;
    let mut body = bar.wrap_read(response.into_body().into_reader().take(most));
    let copied = io::copy(&mut body, file);
    bar.finish_and_clear();
    file.flush()?;
    let now = have + copied?;
    match size {
        Some(size) if size != now => Err(anyhow!(
            "expected {size} bytes, found {}{now}",
            if now > size { "at least " } else { "" }
        )),
        None if now > MAX_UNSTATED => Err(anyhow!(
            "expected at most {} GiB of a file whose length the hub does not state, found more",
            MAX_UNSTATED >> 30
        )),
        _ => Ok(()),
    }
}

/// Checks the SHA-256 of a complete file, if the hub states it.
fn check(remote: &RemoteFile, file: &mut File) -> anyhow::Result<()> {
    let Some(expected) = remote.sha256() else {
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
    if found != expected {
        bail!("expected SHA-256 {expected}, found {found}; the download was deleted, run it again");
    }
    Ok(())
}

/// Shows a progress bar on a terminal; elsewhere prints one line.
fn progress(name: &str, length: Option<u64>, have: u64) -> ProgressBar {
    let bar = if stderr().is_terminal() {
        ProgressBar::new(length.unwrap_or(0))
    } else {
        let size = length.map_or_else(String::new, |n| format!(", {n} bytes"));
        let resumed = if have > 0 {
            format!(", {have} of them already downloaded")
        } else {
            String::new()
        };
        note(format_args!("downloading {name}{size}{resumed}"));
        ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden())
    };
    let style = ProgressStyle::with_template("{msg} {bytes} of {total_bytes} [{bar:30}] {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(name.to_owned());
    bar.set_position(have);
    bar
}

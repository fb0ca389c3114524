//! The browser's processes, as reported by Linux: their kind and memory.

use std::fs;
use std::path::Path;

/// A process of a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub(super) id: u32,
    /// Peak resident memory in bytes.
    pub peak: u64,
    /// Resident memory in bytes.
    pub now: u64,
}

/// Returns the processes of one kind (`renderer`, `gpu-process`) of the Chromium with this profile.
pub fn of(profile: &Path, kind: &str) -> Vec<Process> {
    let wanted = format!("--type={kind}");
    below(profile, |said| said.contains(&wanted))
}

/// Returns the processes that run pages of the Firefox with this profile.
pub fn of_firefox(profile: &Path) -> Vec<Process> {
    below(profile, |said| {
        said.contains("-contentproc") && said.trim_end().ends_with(" tab")
    })
}

/// Returns the processes started by the browser with this profile whose command line satisfies
/// `fits`.
fn below(profile: &Path, fits: impl Fn(&str) -> bool) -> Vec<Process> {
    let Ok(all) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = all.flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let all: Vec<(u32, String)> = ids.filter_map(|id| Some((id, command_line(id)?))).collect();
    let profile = profile.to_string_lossy();
    let is_ours = |id: u32| {
        let mut known = all.iter();
        known.any(|(other, said)| *other == id && said.contains(&*profile))
    };
    all.iter()
        .filter(|(id, said)| fits(said) && ancestors(*id).into_iter().any(is_ours))
        .map(|(id, _)| Process {
            id: *id,
            peak: memory(*id, "VmHWM:"),
            now: memory(*id, "VmRSS:"),
        })
        .collect()
}

fn command_line(id: u32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{id}/cmdline")).ok()?;
    Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
}

/// Returns a field of `/proc/ID/status`.
fn status(id: u32, field: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}

fn memory(id: u32, field: &str) -> u64 {
    status(id, field).unwrap_or(0) * 1024
}

/// Returns a process and its ancestors.
fn ancestors(id: u32) -> Vec<u32> {
    let parent = |id: &u32| {
        let parent = status(*id, "PPid:")?;
        u32::try_from(parent).ok().filter(|parent| *parent > 1)
    };
    std::iter::successors(Some(id), parent).collect()
}

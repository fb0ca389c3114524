//! `cargo xtask release`: everything that a release publishes, in one folder.
//!
//! The program and the Python wheel for the system that this runs on, the page as a static site, the
//! widget for npm, and the hashes of all of them. The same sources give the same bytes: archives are
//! sorted, and every time in them is that of the commit.

pub mod archive;
mod licences;
mod page;
mod program;
mod sums;
pub mod version;
pub mod widget;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::{paths, python, setup, web_build};

/// A part of a release, in the order in which they are made.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Part {
    /// The program, with completions, manual pages and licences, for this system
    Program,
    /// The page with the shipped models, for any host of static files
    Page,
    /// The widget as an npm package
    Widget,
    /// The wheel of the Python package, for this system
    Wheel,
    /// SHA256SUMS of every file of the folder; always written last
    Checksums,
}

/// Options of `cargo xtask release`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Folder for the files; default: `archives` in cargo's target folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Make only this part (may be given several times)
    #[arg(long, value_enum, value_name = "PART")]
    pub only: Vec<Part>,
    /// Features of the program besides the default ones, such as `cloud,wgpu`
    #[arg(long, value_delimiter = ',')]
    pub features: Vec<String>,
}

/// Makes the chosen parts and prints the path of each file.
///
/// # Errors
/// Fails if a part cannot be built or the folder cannot be written.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let default = || paths::target(root).join("archives");
    let out = options.out.clone().unwrap_or_else(default);
    // npm runs in another folder.
    let out = std::path::absolute(out)?;
    std::fs::create_dir_all(&out)?;
    let wanted = |part| options.only.is_empty() || options.only.contains(&part);
    let mut made = Vec::new();
    if wanted(Part::Program) {
        made.push(program::pack(root, &options.features, &out)?);
    }
    if wanted(Part::Page) || wanted(Part::Widget) {
        let tools = setup::wasm(root)?;
        web_build::build(root, &tools, true)?;
    }
    if wanted(Part::Page) {
        made.push(page::pack(root, &out)?);
    }
    if wanted(Part::Widget) {
        made.push(widget::pack(root, &paths::dist(root), &out)?);
    }
    if wanted(Part::Wheel) {
        made.push(python::wheel(root, "release", &out)?);
    }
    made.push(sums::write(&out)?);
    for file in made {
        println!("{}", file.display());
    }
    Ok(())
}

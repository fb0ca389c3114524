//! `cargo xtask docs`: the documentation as a site, with its links checked.
//!
//! Sphinx renders the documents of the repository, in the order of `docs/README.md`. The reference of the
//! command line comes from the program's help, that of the packages from rustdoc.

mod api;
mod built;
pub mod documents;
pub mod markdown;
mod navigation;
mod reference;
mod stage;
pub mod tutorials;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::files::copy_folder;
use crate::golden::python_for;
use crate::paths;
use crate::process::{command, run as execute};
use crate::serve::{Server, check_port};
use tutorials::Outputs;

/// Packages whose API is part of the site.
const PACKAGES: [&str; 8] = [
    "espalier-checkpoints",
    "espalier-core",
    "espalier-data",
    "espalier-eval",
    "espalier-figures",
    "espalier-io",
    "espalier-kernels",
    "espalier-trainer",
];

/// Settings of the site.
const SETTINGS: &str = "docs/site/conf.py";

/// What to build.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Folder for the site; its former content is replaced [default: target/docs]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Serve the site when it is built
    #[arg(long)]
    pub serve: bool,
    /// Port on 127.0.0.1 for --serve
    #[arg(long, default_value_t = 8081, requires = "serve")]
    pub port: u16,
    /// Leave out the API of the packages, which takes longest
    #[arg(long)]
    pub no_api: bool,
    /// Also follow the links to other hosts
    #[arg(long)]
    pub external: bool,
    /// Run the commands of the tutorials, write what they print and their images into the documents,
    /// and build nothing
    #[arg(long, conflicts_with_all = ["out", "serve", "external"])]
    pub record: bool,
    /// Run the commands of the tutorials, compare the words that they print with the documents, and build nothing
    #[arg(long, conflicts_with_all = ["out", "serve", "external", "record"])]
    pub check: bool,
    /// Program `trainer` to use, instead of building it
    #[arg(long, value_name = "PROGRAM")]
    pub trainer: Option<PathBuf>,
    /// Record or check only the tutorials of these names, such as `researcher`
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
}

/// Builds the site and checks every link of it; or, with `record`, brings the tutorials up to date, or
/// with `check`, compares them.
///
/// # Errors
/// Fails if a tool cannot be had, a document cannot be rendered, or a link leads nowhere.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if options.serve {
        check_port(options.port)?;
    }
    let trainer = trainer(root, options.trainer.as_deref())?;
    if options.record || options.check {
        let outputs = match options.check {
            true => Outputs::Compare,
            false => Outputs::Write,
        };
        return tutorials::run(root, &trainer, &options.only, outputs);
    }
    if !options.only.is_empty() {
        bail!("--only NAME names a tutorial for --record or --check");
    }
    let broken = documents::broken_links(root)?;
    if !broken.is_empty() {
        bail!("links that lead nowhere:\n{}", broken.join("\n"));
    }
    let out = options
        .out
        .clone()
        .unwrap_or_else(|| paths::target(root).join("docs"));
    let source = tempfile::tempdir().context("cannot make a temporary folder")?;
    let source = source.path().join("source");
    write_source(root, &source, &trainer, !options.no_api)?;
    let site = build(root, &source, "html")?;
    if !options.no_api {
        write_api(root, &site.join("api"))?;
    }
    let report = built::check(&site)?;
    if !report.broken.is_empty() {
        let broken = report.broken.join("\n");
        bail!("links of the site that lead nowhere:\n{broken}");
    }
    replace(&site, &out)?;
    println!(
        "{} pages, {} links within the site, {} addresses of other hosts: {}",
        report.pages,
        report.links,
        report.external.len(),
        out.display()
    );
    if options.external {
        build(root, &source, "linkcheck").context("links to other hosts")?;
    }
    if options.serve {
        serve(&out, options.port)?;
    }
    Ok(())
}

/// Writes the source of the site: documents, generated pages, settings.
fn write_source(root: &Path, source: &Path, trainer: &Path, with_api: bool) -> Result<()> {
    let this = std::env::current_exe().context("cannot find this program")?;
    let mut generated = reference::pages(trainer, "trainer")?;
    generated.extend(reference::pages(&this, "cargo xtask")?);
    if with_api {
        generated.push(reference::api(&PACKAGES));
    }
    stage::write(root, source, &generated, &workspace(root, "repository")?)?;
    std::fs::copy(root.join(SETTINGS), source.join("conf.py"))
        .with_context(|| format!("cannot read {SETTINGS}"))?;
    std::fs::copy(root.join("static/icon.svg"), source.join("site/icon.svg"))
        .context("cannot read static/icon.svg")?;
    Ok(())
}

/// Returns the path of the given program `trainer`, or builds it.
fn trainer(root: &Path, given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        return given
            .canonicalize()
            .with_context(|| format!("there is no program {}", given.display()));
    }
    let mut build = command("cargo");
    build.args(["build", "--release", "-p", "espalier-trainer"]);
    execute(build.args(["--bin", "trainer"]).current_dir(root))?;
    Ok(paths::release(root).join("trainer"))
}

/// Returns a value that all packages of the workspace share.
fn workspace(root: &Path, key: &str) -> Result<String> {
    let text =
        std::fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let table: toml::Table = text.parse().context("Cargo.toml is not valid TOML")?;
    let value = table["workspace"]
        .get("package")
        .and_then(|package| package.get(key)?.as_str());
    value
        .map(str::to_owned)
        .with_context(|| format!("Cargo.toml lacks workspace.package.{key}"))
}

/// Runs one of Sphinx's builders on the source and returns the folder that it wrote.
fn build(root: &Path, source: &Path, builder: &str) -> Result<PathBuf> {
    let out = source.with_file_name(builder);
    let settings = root.join(SETTINGS);
    let mut sphinx: Command = python_for(&settings)?;
    // Each warning is an error: a page that no other leads to, a link that is not resolved.
    sphinx
        .arg(source.join("conf.py"))
        .args(["-b", builder, "-W", "--keep-going", "-q", "-d"])
        .arg(source.with_file_name("doctrees"))
        .args([source, &out])
        .env("ESPALIER_VERSION", workspace(root, "version")?);
    execute(&mut sphinx)?;
    // What Sphinx keeps for its next build is of no use to a visitor.
    std::fs::remove_file(out.join(".buildinfo")).ok();
    Ok(out)
}

/// Writes the API of the packages into a folder.
fn write_api(root: &Path, to: &Path) -> Result<()> {
    let doc = paths::target(root).join("doc");
    // Pages of other packages, from an earlier run, would be in the index.
    std::fs::remove_dir_all(&doc).ok();
    let mut cargo = command("cargo");
    cargo.args(["doc", "--release", "--no-deps"]);
    for package in PACKAGES {
        cargo.args(["-p", package]);
    }
    cargo.env("RUSTDOCFLAGS", "-D warnings");
    execute(cargo.current_dir(root))?;
    copy_folder(&doc, to).with_context(|| format!("cannot copy {}", doc.display()))?;
    std::fs::remove_file(to.join(".lock")).ok();
    api::complete(to, &PACKAGES)
}

/// Puts a built site at its place, where an earlier one may be.
fn replace(site: &Path, out: &Path) -> Result<()> {
    let is_site = |folder: &Path| folder.join("searchindex.js").is_file();
    let is_empty = std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if out.exists() && !is_empty && !is_site(out) {
        bail!(
            "{} exists and is no earlier site: choose another folder with --out",
            out.display()
        );
    }
    if out.exists() {
        std::fs::remove_dir_all(out).with_context(|| format!("cannot remove {}", out.display()))?;
    }
    copy_folder(site, out).with_context(|| format!("cannot write {}", out.display()))
}

fn serve(site: &Path, port: u16) -> Result<()> {
    let server = Server::start(site, port)?;
    eprintln!("serving until Ctrl-C at");
    println!("{}", server.url());
    loop {
        std::thread::park();
    }
}

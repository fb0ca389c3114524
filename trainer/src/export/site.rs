//! A page, its widget, a model and an example project page as one folder of static files.
//!
//! All its addresses are relative, so any host can serve it from any path.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use espalier_core::bundle::Manifest;
use espalier_io::disk::nearby::nearby;
use espalier_io::disk::read;
use espalier_io::disk::temporary::Temporary;
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;
use espalier_io::output::line;
use serde::Serialize;
use sha2::{Digest, Sha384};

use super::folder::{CARD, MANIFEST, PREVIEW};
use super::samples::{self, Sample};

/// Folder of the model in a site.
const MODEL: &str = "models/default";

/// Entry script of the widget.
const WIDGET: &str = "widget/espalier-ladder.js";

/// Files that identify a built page.
const PAGE_FILES: [&str; 4] = ["index.html", "engines.json", "sw.js", WIDGET];

/// The target folder of a site and the built page to copy; both have been checked.
#[derive(Debug)]
pub struct Site {
    folder: PathBuf,
    page: PathBuf,
    samples: Vec<Sample>,
}

/// The code for embedding the widget in a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EmbedCode {
    /// Folder of the site.
    pub site: PathBuf,
    /// Bytes of all its files.
    pub bytes: u64,
    /// Address of the site.
    pub url: String,
    /// Two lines of HTML.
    pub snippet: String,
    /// `integrity` of each of the widget's scripts, by its name in the folder.
    pub integrity: BTreeMap<String, String>,
}

impl Site {
    /// Checks both folders before anything is computed.
    ///
    /// # Errors
    /// Bad usage if there is no built page, or if the folder is not empty and `force` is off.
    pub fn plan(folder: &Path, page: Option<&Path>, force: bool) -> anyhow::Result<Self> {
        let page = match page {
            Some(given) if is_page(given) => given.to_owned(),
            Some(given) => return Err(page_not_found(&format!("--page {}", given.display()))),
            None => find_page()
                .ok_or_else(|| page_not_found("in or above the folder of this program"))?,
        };
        let folder = &std::path::absolute(folder)?;
        let occupied = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
        if occupied && !(force && is_page(folder)) {
            return Err(usage(format!(
                "--site {}: the folder is not empty; choose another, or give --force to replace an \
                 existing site",
                folder.display()
            )));
        }
        Ok(Self {
            folder: folder.to_owned(),
            page,
            samples: Vec::new(),
        })
    }

    /// Returns the same site with other sample photos than those of the page; none keep the page's.
    pub fn with_samples(self, samples: Vec<Sample>) -> Self {
        Self { samples, ..self }
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Builds the site from the page and a bundle, in a temporary folder beside it that then takes
    /// its name: a site is whole or not there, and an earlier one stays until the new one is.
    ///
    /// # Errors
    /// A file that cannot be read or written; an incomplete bundle.
    pub fn write(&self, bundle: &Path, url: &str) -> anyhow::Result<EmbedCode> {
        let manifest = read::bytes(bundle.join(MANIFEST))
            .map_err(|e| usage(format!("{}/manifest.json: {e}", bundle.display())))?;
        let parsed = Manifest::parse(&manifest)?;
        let hidden = |ending: &str| {
            let name = self.folder.file_name().unwrap_or_default().display();
            let path = self.folder.with_file_name(format!(".{name}.{ending}"));
            Temporary::new(path.clone()).with_context(|| format!("removing {}", path.display()))
        };
        let new = hidden("tmp")?;
        copy(&self.page, new.path(), &|name| {
            name == "models" || name.starts_with('.')
        })?;
        if !self.samples.is_empty() {
            samples::replace(new.path(), &self.samples)?;
        }
        let model = new.path().join(MODEL);
        fs::create_dir_all(&model).with_context(|| format!("creating {}", model.display()))?;
        for file in &parsed.files {
            let from = bundle.join(&file.path);
            let bytes =
                read::bytes(&from).map_err(|e| usage(format!("{}: {e}", from.display())))?;
            let checked = file.check(bytes)?;
            write_atomic(&model.join(&file.path), checked.bytes())?;
        }
        for name in [CARD, PREVIEW] {
            if let Ok(content) = read::bytes(bundle.join(name)) {
                write_atomic(&model.join(name), &content)?;
            }
        }
        // Last: a folder with a manifest is complete.
        write_atomic(&model.join(MANIFEST), &manifest)?;
        let naming = || format!("naming {}", self.folder.display());
        if self.folder.exists() {
            let old = hidden("old.tmp")?;
            fs::rename(&self.folder, old.path()).with_context(naming)?;
            new.rename_to(&self.folder).with_context(naming)?;
        } else {
            new.rename_to(&self.folder).with_context(naming)?;
        }
        self.embed(url)
    }

    fn embed(&self, url: &str) -> anyhow::Result<EmbedCode> {
        let base = url.trim_end_matches('/');
        let mut integrity = BTreeMap::new();
        for entry in fs::read_dir(self.folder.join("widget"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "js") {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let hash = BASE64_STANDARD.encode(Sha384::digest(read::bytes(&path)?));
                integrity.insert(format!("widget/{name}"), format!("sha384-{hash}"));
            }
        }
        let hash = integrity
            .get(WIDGET)
            .with_context(|| format!("{WIDGET} is missing in {}", self.folder.display()))?;
        let snippet = format!(
            "<script type=\"module\" src=\"{base}/{WIDGET}\" integrity=\"{hash}\" \
             crossorigin=\"anonymous\"></script>\n\
             <espalier-ladder src=\"photo.jpg\" alt=\"What the photo shows\">\
             <a href=\"{base}/\">Its ladder of captions</a></espalier-ladder>\n"
        );
        Ok(EmbedCode {
            bytes: size(&self.folder)?,
            site: self.folder.clone(),
            url: base.to_owned(),
            snippet,
            integrity,
        })
    }
}

impl EmbedCode {
    /// Prints how a page embeds the widget of this site.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return line(serde_json::json!({ "site": self }));
        }
        line(format_args!(
            "site: {}, {} bytes",
            self.site.display(),
            self.bytes
        ))?;
        line(format_args!(
            "publish it at {} (--url), and embed the widget in a page with:\n\n{}",
            self.url, self.snippet
        ))?;
        for (name, hash) in &self.integrity {
            line(format_args!("{hash}  {name}"))?;
        }
        let demo = self.site.join("demo/index.html");
        line(format_args!(
            "\nan example of a project page: {}",
            demo.display()
        ))
    }
}

fn is_page(folder: &Path) -> bool {
    PAGE_FILES.iter().all(|name| folder.join(name).is_file())
}

/// Returns the built page of this program: `page/` of an unpacked release, `dist/` in the repository.
fn find_page() -> Option<PathBuf> {
    nearby()
        .flat_map(|folder| [folder.join("page"), folder.join("dist")])
        .find(|folder| is_page(folder))
}

fn page_not_found(place: &str) -> anyhow::Error {
    usage(format!(
        "{place}: expected the built page, a folder with {}; unpack espalier-page-{}.tar.gz of the \
         release here, or build it in the repository with `cargo xtask build-web --release`, and give \
         its folder, page or dist, with --page",
        PAGE_FILES.join(", "),
        env!("CARGO_PKG_VERSION"),
    ))
}

fn copy(from: &Path, to: &Path, skipped: &dyn Fn(&str) -> bool) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if skipped(&name.to_string_lossy()) {
            continue;
        }
        let target = to.join(name);
        if path.is_dir() {
            copy(&path, &target, &|_| false)?;
        } else {
            fs::copy(&path, &target).with_context(|| format!("writing {}", target.display()))?;
        }
    }
    Ok(())
}

fn size(folder: &Path) -> anyhow::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += if entry.path().is_dir() {
            size(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(sum)
}

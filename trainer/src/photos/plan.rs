//! The plan of a run on folders of photos: its classes, their places and its files.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use espalier_core::taxonomy::Taxonomy;
use espalier_data::formats::open;
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;

use super::classes::{self, HELD_OUT, PhotoClass, TRAIN};
use super::places::{ClassPlace, FoundBy};
use super::reference::Reference;
use super::tree;

/// File of a run with the taxonomy of its classes.
pub const TAXONOMY: &str = "taxonomy.tsv";

/// File of a run with the list of its photos.
pub const PHOTOS: &str = "photos.csv";

/// Largest number of classes whose places are listed.
const LISTED: usize = 30;

/// A run on folders of photos before its first step.
pub struct PhotoPlan {
    /// The classes with their photos.
    pub classes: Vec<PhotoClass>,
    /// The taxonomy of the classes.
    pub taxonomy: Taxonomy,
    /// How the place of each class was found; empty for a taxonomy of the user.
    found: Vec<FoundBy>,
}

impl PhotoPlan {
    /// Plans a run on classes of photos. `model` is the model to start from. Without a taxonomy, one is made of
    /// the names of the folders and of what the model knows.
    ///
    /// # Errors
    /// Bad usage for a model that cannot be read, or a taxonomy without one of the classes.
    pub fn new(
        classes: Vec<PhotoClass>,
        model: &Path,
        taxonomy: Option<&Path>,
        device: &Device,
    ) -> anyhow::Result<Self> {
        let mut found = Vec::new();
        let taxonomy = if let Some(path) = taxonomy {
            let taxonomy = open::taxonomy(Some(path), &[])?;
            check_labels(path, &taxonomy, &classes)?;
            taxonomy
        } else {
            let reference = Reference::open(model)?;
            let opinions = reference.opinions(model, &classes, device)?;
            let opinions = classes.iter().zip(&opinions);
            let places: Vec<(&str, ClassPlace)> = opinions
                .map(|(class, opinion)| (&*class.label, reference.place(&class.label, opinion)))
                .collect();
            found.extend(places.iter().map(|(_, place)| place.found));
            Taxonomy::from_tsv(&tree::to_tsv(&reference.taxonomy, &places))?
        };
        Ok(Self {
            classes,
            taxonomy,
            found,
        })
    }

    /// Returns the number of photos to train on, and of those that are set aside.
    pub fn counts(&self) -> (usize, usize) {
        let sum = |of: fn(&PhotoClass) -> usize| self.classes.iter().map(of).sum();
        (
            sum(|class| class.train.len()),
            sum(|class| class.held_out.len()),
        )
    }

    /// Describes what was found: the photos, and the place of each class.
    pub fn describe(&self) -> String {
        let (train, held_out) = self.counts();
        let mut out = format!(
            "{} classes, {train} photos to train on, {held_out} set aside to measure with",
            self.classes.len()
        );
        for (class, found) in self.classes.iter().zip(&self.found).take(LISTED) {
            let why = match found {
                FoundBy::Id => "by its id",
                FoundBy::Name => "by its name",
                FoundBy::Sense => "by its name, which means several things, and its photos",
                FoundBy::Noun => "by its name in WordNet",
                FoundBy::Head => "by the last word of its name",
                FoundBy::Photos => "by what its photos show",
                FoundBy::Nowhere => "because neither its name nor its photos say more",
            };
            let node = self.taxonomy.find(&class.label);
            let parents = node.map(|ix| &self.taxonomy.node(ix).parents);
            let parent = parents.and_then(|parents| parents.first());
            let parent = parent.map_or("", |ix| self.taxonomy.name(*ix));
            let label = &class.label;
            out.push_str(&format!("\n  {label}: below \"{parent}\", {why}"));
        }
        if self.found.len() > LISTED {
            out.push_str(&format!("\n  and {} more", self.found.len() - LISTED));
        }
        out
    }

    /// Writes the taxonomy and the list of photos to the folder of a run.
    ///
    /// # Errors
    /// A failing disk, or a path that is not text.
    pub fn write(&self, run: &Path) -> anyhow::Result<()> {
        let node = |label: &str| match self.taxonomy.named(label) {
            Some(ix) => (
                self.taxonomy.node(ix).id.clone(),
                self.taxonomy.name(ix).to_owned(),
            ),
            None => (label.to_owned(), label.to_owned()),
        };
        let list = classes::to_csv(&self.classes, node)?;
        write_atomic(&run.join(TAXONOMY), self.taxonomy.to_tsv().as_bytes())?;
        write_atomic(&run.join(PHOTOS), list.as_bytes())
    }

    /// Returns the data and the validation data of a run in a folder.
    pub fn data(&self, run: &Path) -> (PathBuf, Option<PathBuf>) {
        let list = run.join(PHOTOS);
        let split = |name: &str| PathBuf::from(format!("{}?split={name}", list.display()));
        let held_out = (self.counts().1 > 0).then(|| split(HELD_OUT));
        (split(TRAIN), held_out)
    }
}

/// Checks that every class is a label of a taxonomy.
fn check_labels(path: &Path, taxonomy: &Taxonomy, classes: &[PhotoClass]) -> anyhow::Result<()> {
    let is_label = |name: &str| {
        let node = taxonomy.named(name);
        node.is_some_and(|ix| taxonomy.node(ix).labelled)
    };
    let names = classes.iter().map(|class| &*class.label);
    let missing: Vec<&str> = names.filter(|name| !is_label(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(usage(format!(
        "--taxonomy {}: expected every folder to be the id or the name of a label, found none for {}",
        path.display(),
        missing.join(", ")
    )))
}

/// Returns the name of a run for a folder of photos, `PREFIX-NAME`, without signs that a path cannot hold.
///
/// # Errors
/// If the current folder is unknown.
pub fn run_name(prefix: &str, folder: &Path) -> anyhow::Result<String> {
    let folder = std::path::absolute(folder)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    Ok(format!("{prefix}-{name}").chars().map(plain).collect())
}

//! What the model to start from knows: a tree of concepts, nouns, and a classifier of photos.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use espalier_checkpoints::model_file::{self, is_bundle, read_bundle};
use espalier_core::bundle::Part;
use espalier_core::caption::{Classifier, lexicon};
use espalier_core::geometry::Space;
use espalier_core::taxonomy::{Lexicon, Taxonomy};
use espalier_data::formats::listed::{Listed, table};
use espalier_data::formats::open;
use espalier_eval::embed::{self, ReadLimits};

use super::classes::PhotoClass;

/// Number of photos of a class that are looked at to find its place.
const PHOTOS: usize = 8;

/// Number of images encoded at a time.
const BATCH: usize = 16;

/// The shipped taxonomy of most concepts.
const SHIPPED: &str = "imagenet";

/// A tree of concepts that classes are placed in.
pub struct Reference {
    /// Its nodes.
    pub taxonomy: Taxonomy,
    /// Nouns that name none of them.
    pub lexicon: Lexicon,
    /// The classifier of a bundle, with its space.
    classifier: Option<(Classifier, Space)>,
}

impl Reference {
    /// Reads the tree, the nouns and the classifier of a bundle; for a checkpoint, which has none of
    /// them, the shipped taxonomy.
    ///
    /// # Errors
    /// Bad usage for a bundle that cannot be read.
    pub fn open(model: &Path) -> anyhow::Result<Self> {
        let shipped = open::taxonomy(Some(Path::new(SHIPPED)), &[])?;
        if !is_bundle(model) {
            return Ok(Self::of_tree(shipped, Lexicon::default()));
        }
        let (_, manifest, files) = read_bundle(model, &[Part::Taxonomy, Part::Text])?;
        let classifier = Classifier::read(&files, manifest.model.d_embed)?;
        let own = classifier.taxonomy().clone();
        // A small tree of its own would leave most names without a place.
        let is_larger = own.nodes().len() >= shipped.nodes().len();
        Ok(Self {
            taxonomy: if is_larger { own } else { shipped },
            lexicon: lexicon(&manifest, &files)?,
            classifier: Some((classifier, manifest.geometry)),
        })
    }

    /// Creates a reference without a classifier.
    pub fn of_tree(taxonomy: Taxonomy, lexicon: Lexicon) -> Self {
        Self {
            taxonomy,
            lexicon,
            classifier: None,
        }
    }

    /// Returns for each class the mean probability of every node over some of its photos, in the
    /// order of the nodes; empty where no photo could be read, or without a classifier.
    ///
    /// # Errors
    /// Bad usage for a model that cannot be read, or a failing device.
    pub fn opinions(
        &self,
        model: &Path,
        classes: &[PhotoClass],
        device: &Device,
    ) -> anyhow::Result<Vec<Vec<f32>>> {
        let mut opinions = vec![Vec::new(); classes.len()];
        let Some((classifier, space)) = &self.classifier else {
            return Ok(opinions);
        };
        // One record per photo, labelled with the number of its class.
        let rows = classes.iter().enumerate().flat_map(|(at, class)| {
            let step = class.train.len().div_ceil(PHOTOS).max(1);
            let photos = class.train.iter().step_by(step);
            photos.map(move |p| Listed::new(p.display().to_string(), Some(p), at.to_string()))
        });
        let rows: Vec<Listed> = rows.collect();
        let numbers: String = (0..classes.len())
            .map(|at| format!("{at}\t{at}\tr\t1\n"))
            .collect();
        let flat = format!("synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\n{numbers}");
        let flat = Taxonomy::from_tsv(&flat)?;
        let limits = ReadLimits {
            batch_size: BATCH,
            most: rows.len(),
            max_broken: 1.0,
        };
        let model = model_file::open(model, device)?;
        let data = Arc::new(table("photos", rows));
        let found = embed::labelled(&model, data, &flat, limits, device)?;
        let mut counts = vec![0.0_f32; classes.len()];
        for (point, label) in found.points.iter().zip(&found.labels) {
            let class: usize = flat.node(*label).id.parse()?;
            let p = self.in_tree(classifier, &classifier.probabilities(space, point, None));
            let sum = &mut opinions[class];
            sum.resize(p.len(), 0.0);
            sum.iter_mut().zip(p).for_each(|(sum, p)| *sum += p);
            counts[class] += 1.0;
        }
        for (sum, count) in opinions.iter_mut().zip(counts) {
            sum.iter_mut().for_each(|p| *p /= count);
        }
        Ok(opinions)
    }

    /// Returns the probabilities of the nodes of this tree, by their ids; 0 for a node that the classifier
    /// does not know.
    fn in_tree(&self, classifier: &Classifier, p: &[f32]) -> Vec<f32> {
        let known = classifier.taxonomy();
        let of = |id: &str| known.find(id).and_then(|ix| p.get(ix.index()).copied());
        let nodes = self.taxonomy.nodes().iter();
        nodes.map(|node| of(&node.id).unwrap_or(0.0)).collect()
    }
}

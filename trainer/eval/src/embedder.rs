//! A model that embeds the inputs of the tasks, each input once.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use espalier_checkpoints::model_file::Model;
use espalier_core::geometry::Space;
use espalier_core::input::{Preprocess, ResizeMode};
use espalier_core::model::Classifier;
use espalier_data::records::corruption::Corruption;
use espalier_data::records::files::{self, Item};
use espalier_data::{BrokenCounts, DataError, Dataset, EvalSet};
use espalier_io::exit::usage;
use espalier_io::ranks::{Collective, share};

use super::cache::{self, Cache};
use super::embedded::{Embedded, EmbeddedFiles, ImageMetadata, View};
use super::{Points, embed, encoder_identity, shared};
use crate::tensors::{self, image_tensor, matrix, values};
use crate::{PooledEncoder, TextFeatures};

/// How images are read and embedded.
#[derive(Clone, Debug)]
pub struct EmbedOptions {
    /// Images per batch.
    pub batch_size: usize,
    /// Threads that decode images.
    pub workers: usize,
    /// Stops when the share of broken records exceeds this.
    pub max_broken: f64,
    /// Modification applied to images before preprocessing.
    pub change: Option<Corruption>,
    /// Cached embeddings of former runs.
    pub cache: Cache,
}

/// Stops the work of an embedder with its error, for example after a request of the user.
pub type Check<'a> = &'a dyn Fn() -> anyhow::Result<()>;

/// A model on a device, with the embeddings computed so far.
pub struct Embedder<'a> {
    /// The model.
    pub model: &'a Model,
    device: &'a Device,
    options: EmbedOptions,
    ranks: Rc<dyn Collective>,
    classifier: Option<Classifier>,
    check: Check<'a>,
    space: OnceCell<Space>,
    image_encoder: OnceCell<String>,
    pooled_encoder: OnceCell<PooledEncoder>,
    text_encoder: OnceCell<TextFeatures<'a>>,
    images: RefCell<HashMap<String, Rc<Embedded>>>,
    texts: RefCell<HashMap<String, Rc<Points>>>,
}

impl<'a> Embedder<'a> {
    /// Returns an embedder without any embeddings yet. Each of `ranks` embeds a part of the inputs, and
    /// all of them call the same methods in the same order.
    pub fn new(
        model: &'a Model,
        device: &'a Device,
        options: EmbedOptions,
        ranks: Rc<dyn Collective>,
    ) -> Self {
        Self {
            model,
            device,
            options,
            ranks,
            classifier: None,
            check: &|| Ok(()),
            space: OnceCell::new(),
            image_encoder: OnceCell::new(),
            pooled_encoder: OnceCell::new(),
            text_encoder: OnceCell::new(),
            images: RefCell::default(),
            texts: RefCell::default(),
        }
    }

    /// Adds a classifier over pooled features. Images go through the encoder once for both the
    /// classifier and the embedding space.
    pub fn with_classifier(mut self, classifier: Option<Classifier>) -> Self {
        self.classifier = classifier;
        self
    }

    /// Calls `check` before every batch of images and every list of texts.
    pub fn checked(mut self, check: Check<'a>) -> Self {
        self.check = check;
        self
    }

    /// Returns the labels of the classifier in class order, if there is one.
    pub fn classifier_labels(&self) -> Option<&[String]> {
        self.classifier.as_ref().map(|c| c.labels.as_slice())
    }

    /// Returns the space of the embeddings.
    ///
    /// # Errors
    /// When the device fails.
    pub fn space(&self) -> anyhow::Result<&Space> {
        filled(&self.space, || embed::space(self.model, self.device))
    }

    /// Returns the identity of the image encoder.
    fn image_encoder(&self) -> anyhow::Result<&str> {
        let Model { encoder, card, .. } = self.model;
        let identity = || encoder_identity::of(&encoder.image, &card.config);
        filled(&self.image_encoder, identity).map(String::as_str)
    }

    /// Returns the image encoder without its projection.
    fn pooled_encoder(&self) -> anyhow::Result<&PooledEncoder> {
        let Model { encoder, card, .. } = self.model;
        let created = || PooledEncoder::new(&encoder.image, &card.config, self.device);
        filled(&self.pooled_encoder, created)
    }

    /// Returns the text encoder.
    fn text_encoder(&self) -> anyhow::Result<&TextFeatures<'a>> {
        let created = || TextFeatures::new(self.model, self.device);
        filled(&self.text_encoder, created)
    }

    /// Returns the factor by which the model multiplies its logits.
    pub fn logit_scale(&self) -> f64 {
        let scale = self.model.encoder.logit_scale.value();
        f64::from(scale.into_scalar::<f32>())
    }

    /// Returns the points cached under a key, or computes and caches them.
    fn points(
        &self,
        parts: &[&str],
        compute: impl FnOnce() -> anyhow::Result<Vec<Vec<f32>>>,
    ) -> anyhow::Result<Rc<Points>> {
        let parts = [&[self.model.sha256.as_str()], parts].concat();
        let key = cache::key(parts.iter().copied());
        remembered(&self.texts, &key, || {
            (self.check)()?;
            shared::check_same(&*self.ranks, &parts)?;
            if let Some(points) = self.cached(&key, |points, _| Some(points)) {
                return Ok(points);
            }
            let points = finite(Points::from_rows(&compute()?))?;
            self.options.cache.put(&key, &points, "")?;
            Ok(points)
        })
    }

    /// Returns what `read` makes of the points and notes under a key in the cache; `None` if one of the
    /// ranks lacks them or cannot read them, since the ranks then compute them together. Ranks on one machine
    /// share a cache, so each may find what another has written.
    fn cached<T>(&self, key: &str, read: impl FnOnce(Points, String) -> Option<T>) -> Option<T> {
        let found = self.options.cache.get(key);
        let found = found.and_then(|(points, notes)| read(points, notes));
        let is_missing = self.ranks.any(found.is_none());
        found.filter(|_| !is_missing)
    }

    /// Returns the points of texts, row by row; a repeated text is embedded once.
    ///
    /// # Errors
    /// When the device fails, or an embedding is not finite.
    pub fn texts(&self, texts: &[String]) -> anyhow::Result<Points> {
        let mut row_of: HashMap<&str, usize> = HashMap::new();
        let mut unique: Vec<String> = Vec::new();
        let mut rows = Vec::with_capacity(texts.len());
        for text in texts {
            let row = *row_of.entry(text).or_insert_with(|| {
                unique.push(text.clone());
                unique.len() - 1
            });
            rows.push(row);
        }
        let mut parts = vec!["texts"];
        parts.extend(unique.iter().map(String::as_str));
        let points = self.points(&parts, || {
            let own = shared::own_part(&*self.ranks, &unique);
            let rows = embed::texts(self.text_encoder()?, own)?;
            Ok(shared::all_rows(&*self.ranks, rows))
        })?;
        Ok(points.select(&rows))
    }

    /// Returns the points of classes with a prompt set (notation 6.1).
    ///
    /// # Errors
    /// Bad usage for an unknown set, or when the device fails.
    pub fn classes(&self, names: &[String], set: &str) -> anyhow::Result<Rc<Points>> {
        let prompts = super::prompts::templates(set)?;
        let mut parts = vec!["classes"];
        parts.extend(prompts.iter().map(String::as_str));
        parts.push("of");
        parts.extend(names.iter().map(String::as_str));
        self.points(&parts, || {
            let own = shared::own_part(&*self.ranks, names);
            let rows = embed::named(self.text_encoder()?, own, set)?;
            Ok(shared::all_rows(&*self.ranks, rows))
        })
    }

    /// Returns the points of labels that the bundle stores and the page uses; `None` if the model is
    /// no bundle or lacks one of them.
    pub fn stored_classes(&self, labels: &[String]) -> Option<Points> {
        let point = |label: &String| self.model.label_points.get(label).cloned();
        let rows: Option<Vec<Vec<f32>>> = labels.iter().map(point).collect();
        rows.map(|rows| Points::from_rows(&rows))
    }

    /// Returns the preprocessing with this resize mode; `None` uses the model's own.
    pub fn preprocess(&self, resize: Option<ResizeMode>) -> Preprocess {
        let preprocess = self.model.preprocess;
        Preprocess {
            resize: resize.unwrap_or(preprocess.resize),
            ..preprocess
        }
    }

    /// Embeds every readable image of a dataset that is stored in `paths`.
    ///
    /// # Errors
    /// [`espalier_data::DataError`], also when there are more broken records than allowed; a failing
    /// device.
    pub fn dataset(
        &self,
        data: Arc<dyn Dataset>,
        paths: &[PathBuf],
        view: impl Into<View>,
    ) -> anyhow::Result<Rc<Embedded>> {
        let stamp = cache::stamp(paths);
        let fingerprint = data.fingerprint();
        self.images(data, &[&stamp, &fingerprint], view.into())
    }

    /// Returns the classifier's logits of every readable image of a dataset that is stored in
    /// `paths`: one row per image, in the order of [`dataset`](Self::dataset), one column per
    /// class.
    ///
    /// # Errors
    /// As for [`dataset`](Self::dataset), and bad usage without a classifier.
    pub fn logits(
        &self,
        data: Arc<dyn Dataset>,
        paths: &[PathBuf],
        view: impl Into<View>,
    ) -> anyhow::Result<Points> {
        let Some(classifier) = &self.classifier else {
            return Err(usage(
                "--classifier: expected a checkpoint with a classifier, found none",
            ));
        };
        let stamp = cache::stamp(paths);
        let fingerprint = data.fingerprint();
        let pooled = self.pooled(data, &[&stamp, &fingerprint], view.into())?;
        self.map_rows(&pooled.points, |features| classifier.forward(features))
    }

    /// Maps rows on the device, a batch at a time.
    fn map_rows(
        &self,
        rows: &Points,
        map: impl Fn(Tensor<2>) -> Tensor<2>,
    ) -> anyhow::Result<Points> {
        let (width, batch) = (rows.width(), self.options.batch_size.max(1));
        let mut out = Vec::with_capacity(rows.len());
        for chunk in rows.data().chunks(width.max(1) * batch) {
            let tensor = matrix(chunk.to_vec(), width, self.device);
            out.extend(tensors::rows(map(tensor))?);
        }
        finite(Points::from_rows(&out))
    }

    /// Embeds the readable images of a list of files.
    ///
    /// # Errors
    /// As for [`Self::dataset`].
    pub fn files(&self, paths: &[PathBuf], view: impl Into<View>) -> anyhow::Result<EmbeddedFiles> {
        let mut files = paths.to_vec();
        files.dedup();
        let stamp = cache::stamp(&files);
        let items: Vec<Item> = paths.iter().cloned().map(Item::from).collect();
        let list: Vec<String> = items.iter().map(|i| format!("{i:?}")).collect();
        let list = cache::key(list.iter().map(String::as_str));
        let data = Arc::new(files::table("listed images".into(), items));
        let found = self.images(data, &[&stamp, &list], view.into())?;
        let mut row_of = vec![None; paths.len()];
        for (row, key) in found.about.keys.iter().enumerate() {
            let file = key.parse::<usize>().ok();
            if let Some(entry) = file.and_then(|file| row_of.get_mut(file)) {
                *entry = Some(row);
            }
        }
        Ok(EmbeddedFiles { found, row_of })
    }

    /// Returns the points of the readable images of a dataset.
    fn images(
        &self,
        data: Arc<dyn Dataset>,
        stamps: &[&str],
        view: View,
    ) -> anyhow::Result<Rc<Embedded>> {
        let (key, _) = self.key_of(&["images", &self.model.sha256], stamps, view);
        remembered(&self.images, &key, || {
            let pooled = self.pooled(data, stamps, view)?;
            let encoder = &self.model.encoder;
            let lift = |features| encoder.lift.image(encoder.image.project(features));
            Ok(Embedded {
                points: self.map_rows(&pooled.points, lift)?,
                about: pooled.about.clone(),
            })
        })
    }

    /// Returns the features of the readable images of a dataset before the projection. In the cache they serve all
    /// models with the same image encoder.
    fn pooled(
        &self,
        data: Arc<dyn Dataset>,
        stamps: &[&str],
        view: View,
    ) -> anyhow::Result<Rc<Embedded>> {
        let encoder = self.image_encoder()?;
        let (key, settings) = self.key_of(&["pooled", encoder], stamps, view);
        remembered(&self.images, &key, || {
            let fingerprint = data.fingerprint();
            let same = ["pooled", encoder, &settings, &fingerprint];
            shared::check_same(&*self.ranks, &same)?;
            let cached = self.cached(&key, |points, notes| {
                let about: ImageMetadata = serde_json::from_str(&notes).ok()?;
                (about.keys.len() == points.len()).then_some(Embedded { points, about })
            });
            if let Some(found) = cached {
                self.check_broken(&found.about.counts)?;
                return Ok(found);
            }
            let data = match self.options.change {
                Some(change) => change.wrap(data),
                None => data,
            };
            let found = self.encode(data, view)?;
            self.check_broken(&found.about.counts)?;
            let notes = serde_json::to_string(&found.about)?;
            self.options.cache.put(&key, &found.points, &notes)?;
            Ok(found)
        })
    }

    /// Returns the key of what a model computes for images, and the settings that it depends on.
    fn key_of(&self, of: &[&str], stamps: &[&str], view: View) -> (String, String) {
        let preprocess = self.preprocess(view.resize);
        let change = self.options.change;
        let settings = format!("{preprocess:?} {} {change:?}", view.double_norm);
        let parts = [of, &[&*settings], stamps].concat();
        (cache::key(parts.iter().copied()), settings)
    }

    /// Fails when there are more broken records than allowed; applies to cached results too.
    fn check_broken(&self, counts: &BrokenCounts) -> Result<(), DataError> {
        DataError::check_broken(counts, self.options.max_broken)
    }

    fn encode(&self, data: Arc<dyn Dataset>, view: View) -> anyhow::Result<Embedded> {
        let preprocess = self.preprocess(view.resize);
        let records = usize::try_from(data.records()).unwrap_or(usize::MAX);
        let (from, count) = share(records, self.ranks.rank(), self.ranks.world());
        let options = &self.options;
        let set = EvalSet::new(data, preprocess, options.batch_size, options.workers)?;
        let set = set.part(from, count);
        let encoder = self.pooled_encoder()?;
        let (mut rows, mut about) = (Vec::new(), ImageMetadata::default());
        let (encoded, counts) = set.read_ahead(|batches| -> anyhow::Result<()> {
            for batch in batches {
                (self.check)()?;
                let values = match view.double_norm {
                    true => {
                        let images = image_tensor(&batch.images, self.device) * 2.0 - 1.0;
                        values(self.model.encoder.image.pooled(images))?
                    }
                    false => encoder.encode(&batch.images)?,
                };
                rows.extend(values.chunks(encoder.width()).map(<[f32]>::to_vec));
                about.keys.extend(batch.keys);
                about.captions.extend(batch.captions);
                about.more_captions.extend(batch.more_captions);
                about.labels.extend(batch.labels);
            }
            Ok(())
        });
        encoded?;
        about.counts = counts;
        let rows = shared::all_rows(&*self.ranks, rows);
        let about = shared::all_metadata(&*self.ranks, about)?;
        let points = finite(Points::from_rows(&rows))?;
        Ok(Embedded { points, about })
    }
}

/// Returns what a cell holds; makes it the first time.
fn filled<T>(cell: &OnceCell<T>, make: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<&T> {
    if let Some(held) = cell.get() {
        return Ok(held);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}

/// Returns what is kept under a key; makes it the first time.
fn remembered<T>(
    kept: &RefCell<HashMap<String, Rc<T>>>,
    key: &str,
    make: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<Rc<T>> {
    if let Some(found) = kept.borrow().get(key) {
        return Ok(Rc::clone(found));
    }
    let made = Rc::new(make()?);
    kept.borrow_mut().insert(key.to_owned(), Rc::clone(&made));
    Ok(made)
}

/// Returns the points if all coordinates are finite.
///
/// # Errors
/// Names the first row that is not finite: a model that diverged has no metrics.
pub fn finite(points: Points) -> anyhow::Result<Points> {
    match points.first_not_finite() {
        None => Ok(points),
        Some(row) => anyhow::bail!(
            "embedding {row} of {}: expected finite numbers, found NaN or infinity; the model has \
             diverged",
            points.len()
        ),
    }
}

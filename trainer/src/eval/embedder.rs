//! A model that embeds what tasks ask for, each thing once.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use burn::tensor::Device;
use espalier_core::geometry::Space;
use espalier_core::input::{Preprocess, ResizeMode};

use super::cache::{self, Cache};
use super::embedded::{About, Embedded, Listed, View};
use super::{Points, embed};
use crate::data::changed::Change;
use crate::data::files::{self, Item};
use crate::data::{BrokenCounts, DataError, Dataset, EvalSet};
use crate::fit::inputs::picture_tensor;
use crate::model_file::Model;

/// How pictures are read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Pictures of a batch.
    pub batch_size: usize,
    /// Share of broken records at which to stop.
    pub max_broken: f64,
    /// What is done to pictures first.
    pub change: Option<Change>,
    /// Embeddings of former runs.
    pub cache: Cache,
}

/// A model on a device with what it has embedded so far.
pub struct Embedder<'a> {
    /// The model.
    pub model: &'a Model,
    device: &'a Device,
    reading: Reading,
    space: OnceCell<Space>,
    pictures: RefCell<HashMap<String, Rc<Embedded>>>,
    texts: RefCell<HashMap<String, Rc<Points>>>,
}

impl<'a> Embedder<'a> {
    /// Nothing is embedded yet.
    #[must_use]
    pub fn new(model: &'a Model, device: &'a Device, reading: Reading) -> Self {
        Self {
            model,
            device,
            reading,
            space: OnceCell::new(),
            pictures: RefCell::default(),
            texts: RefCell::default(),
        }
    }

    /// The space of the embeddings.
    ///
    /// # Errors
    /// When the device fails.
    pub fn space(&self) -> anyhow::Result<&Space> {
        if let Some(space) = self.space.get() {
            return Ok(space);
        }
        let space = embed::space(self.model, self.device)?;
        Ok(self.space.get_or_init(|| space))
    }

    /// What the model multiplies its logits by.
    #[must_use]
    pub fn logit_scale(&self) -> f64 {
        let scale = self.model.encoder.logit_scale.value();
        f64::from(scale.into_scalar::<f32>())
    }

    /// Points kept under a key, or made and kept.
    fn points(
        &self,
        parts: &[&str],
        make: impl FnOnce() -> anyhow::Result<Vec<Vec<f32>>>,
    ) -> anyhow::Result<Rc<Points>> {
        let parts = [&[self.model.sha256.as_str()], parts].concat();
        let key = cache::key(parts.iter().copied());
        if let Some(points) = self.texts.borrow().get(&key) {
            return Ok(Rc::clone(points));
        }
        let points = match self.reading.cache.get(&key) {
            Some((points, _)) => points,
            None => {
                let points = finite(Points::from_rows(&make()?))?;
                self.reading.cache.put(&key, &points, "")?;
                points
            }
        };
        let points = Rc::new(points);
        self.texts.borrow_mut().insert(key, Rc::clone(&points));
        Ok(points)
    }

    /// Points of texts, row by row; a text that comes again is not embedded again.
    ///
    /// # Errors
    /// When the device fails, or gives numbers that are none.
    pub fn texts(&self, texts: &[String]) -> anyhow::Result<Points> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut unique: Vec<String> = Vec::new();
        let mut rows = Vec::with_capacity(texts.len());
        for text in texts {
            let row = *places.entry(text).or_insert_with(|| {
                unique.push(text.clone());
                unique.len() - 1
            });
            rows.push(row);
        }
        let mut parts = vec!["texts"];
        parts.extend(unique.iter().map(String::as_str));
        let points = self.points(&parts, || embed::texts(self.model, &unique, self.device))?;
        Ok(points.select(&rows))
    }

    /// Points of classes through a prompt set (METHODS 6.1).
    ///
    /// # Errors
    /// Bad usage for an unknown set, or when the device fails.
    pub fn classes(&self, names: &[String], set: &str) -> anyhow::Result<Rc<Points>> {
        let prompts = super::prompts::templates(set)?;
        let mut parts = vec!["classes"];
        parts.extend(prompts.iter().map(String::as_str));
        parts.push("of");
        parts.extend(names.iter().map(String::as_str));
        self.points(&parts, || embed::named(self.model, names, set, self.device))
    }

    /// Preparation of pictures with this way of resizing; `None` is the model's own.
    #[must_use]
    pub fn preprocess(&self, resize: Option<ResizeMode>) -> Preprocess {
        let own = self.model.preprocess;
        Preprocess {
            resize: resize.unwrap_or(own.resize),
            ..own
        }
    }

    /// Every readable picture of a dataset that lies in `paths`.
    ///
    /// # Errors
    /// [`crate::data::DataError`], also for more broken records than allowed; a failing device.
    pub fn dataset(
        &self,
        data: Arc<dyn Dataset>,
        paths: &[PathBuf],
        view: impl Into<View>,
    ) -> anyhow::Result<Rc<Embedded>> {
        let stamp = cache::stamp(paths);
        let fingerprint = data.fingerprint();
        self.pictures(data, &[&stamp, &fingerprint], view.into())
    }

    /// The pictures of a list of files and boxes, those that can be read.
    ///
    /// # Errors
    /// As for [`Self::dataset`].
    pub fn files(&self, items: Vec<Item>, view: impl Into<View>) -> anyhow::Result<Listed> {
        let count = items.len();
        let mut files: Vec<PathBuf> = items.iter().map(|i| i.path.clone()).collect();
        files.dedup();
        let stamp = cache::stamp(&files);
        let list: Vec<String> = items.iter().map(|i| format!("{i:?}")).collect();
        let list = cache::key(list.iter().map(String::as_str));
        let data = Arc::new(files::table("listed pictures".into(), items));
        let found = self.pictures(data, &[&stamp, &list], view.into())?;
        let mut row_of = vec![None; count];
        for (row, key) in found.about.keys.iter().enumerate() {
            if let Some(place) = key.parse::<usize>().ok().and_then(|at| row_of.get_mut(at)) {
                *place = Some(row);
            }
        }
        Ok(Listed { found, row_of })
    }

    fn pictures(
        &self,
        data: Arc<dyn Dataset>,
        stamps: &[&str],
        view: View,
    ) -> anyhow::Result<Rc<Embedded>> {
        let change = self.reading.change;
        let preprocess = self.preprocess(view.resize);
        let how = format!("{preprocess:?} {} {change:?}", view.double_norm);
        let parts = [&["pictures", &self.model.sha256, &how], stamps].concat();
        let key = cache::key(parts.iter().copied());
        if let Some(found) = self.pictures.borrow().get(&key) {
            return Ok(Rc::clone(found));
        }
        let kept = self.reading.cache.get(&key).and_then(|(points, notes)| {
            let about: About = serde_json::from_str(&notes).ok()?;
            (about.keys.len() == points.len()).then_some(Embedded { points, about })
        });
        let found = match kept {
            Some(found) => {
                self.judge(&found.about.counts)?;
                found
            }
            None => {
                let data = match change {
                    Some(change) => change.of(data),
                    None => data,
                };
                let found = self.embed(data, view)?;
                self.judge(&found.about.counts)?;
                let notes = serde_json::to_string(&found.about)?;
                self.reading.cache.put(&key, &found.points, &notes)?;
                found
            }
        };
        let found = Rc::new(found);
        self.pictures.borrow_mut().insert(key, Rc::clone(&found));
        Ok(found)
    }

    /// Fails for more broken records than allowed, also among those of a former run.
    fn judge(&self, counts: &BrokenCounts) -> Result<(), DataError> {
        let limit = self.reading.max_broken;
        if counts.fraction() > limit {
            let counts = Box::new(counts.clone());
            return Err(DataError::TooManyBroken { limit, counts });
        }
        Ok(())
    }

    fn embed(&self, data: Arc<dyn Dataset>, view: View) -> anyhow::Result<Embedded> {
        let preprocess = self.preprocess(view.resize);
        let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut set = EvalSet::new(data, preprocess, self.reading.batch_size, workers)?;
        let (mut rows, mut about) = (Vec::new(), About::default());
        for batch in set.by_ref() {
            let mut pictures = picture_tensor(&batch.images, self.device);
            if view.double_norm {
                pictures = pictures * 2.0 - 1.0;
            }
            rows.extend(embed::rows(self.model.encoder.embed_image(pictures))?);
            about.keys.extend(batch.keys);
            about.captions.extend(batch.captions);
            about.labels.extend(batch.labels);
        }
        about.counts = set.counts().clone();
        let points = finite(Points::from_rows(&rows))?;
        Ok(Embedded { points, about })
    }
}

/// Points that are all numbers.
///
/// # Errors
/// Naming the first row that is not: a model that diverged has no metrics.
fn finite(points: Points) -> anyhow::Result<Points> {
    match points.not_finite() {
        None => Ok(points),
        Some(row) => anyhow::bail!(
            "embedding {row} of {} holds NaN or infinity; the model has diverged",
            points.len()
        ),
    }
}

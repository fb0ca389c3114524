//! A model that embeds what tasks ask for, each thing once.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use burn::tensor::Device;
use espalier_core::geometry::Space;
use espalier_core::input::{Preprocess, ResizeMode};
use serde::{Deserialize, Serialize};

use super::cache::{self, Cache};
use super::{Points, embed};
use crate::data::fault::CauseCount;
use crate::data::files::Item;
use crate::data::ledger::Missing;
use crate::data::{BrokenCounts, Cause, DataError, Dataset, EvalSet, Files, Ledger};
use crate::fit::inputs::picture_tensor;
use crate::model_file::Model;

/// What is known of embedded pictures besides their points; one entry a picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Keys of the records.
    pub keys: Vec<String>,
    /// Captions.
    pub captions: Vec<String>,
    /// Labels.
    pub labels: Vec<Option<String>>,
    /// Records that could not be read.
    pub counts: BrokenCounts,
}

impl About {
    /// Records that could not be read, by cause.
    #[must_use]
    pub fn broken(&self) -> BTreeMap<String, Missing> {
        let one = |(cause, of): (&Cause, &CauseCount)| {
            let example = format!("{}: {}", of.example.key, of.example.detail);
            let count = of.count;
            (cause.words().to_owned(), Missing { count, example })
        };
        self.counts.by_cause.iter().map(one).collect()
    }
}

/// Pictures with their points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedded {
    /// Points, row by row.
    pub points: Points,
    /// What else is known.
    pub about: About,
}

/// How pictures are shown to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// How they become squares; `None` is the model's own way.
    pub resize: Option<ResizeMode>,
    /// Whether pixels are moved to `[-1, 1]` before the model normalises them itself (METHODS trap
    /// 20).
    pub double_norm: bool,
}

impl From<Option<ResizeMode>> for View {
    fn from(resize: Option<ResizeMode>) -> Self {
        Self {
            resize,
            double_norm: false,
        }
    }
}

/// Points of a list of files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// The pictures that could be read.
    pub found: Rc<Embedded>,
    /// The row of each file of the list; `None` where it could not be read.
    pub row_of: Vec<Option<usize>>,
}

impl Listed {
    /// Points of the pictures that could be read.
    #[must_use]
    pub fn points(&self) -> &Points {
        &self.found.points
    }

    /// The point of a file of the list, if it could be read.
    #[must_use]
    pub fn point(&self, file: usize) -> Option<&[f32]> {
        let row = self.row_of.get(file).copied().flatten()?;
        Some(self.found.points.row(row))
    }

    /// Take files that could not be read out of a ledger that counted them as usable; each of
    /// them stands for `items(file)` of its items.
    pub fn settle(&self, ledger: &mut Ledger, items: impl Fn(usize) -> u64) {
        let lost: u64 = self
            .row_of
            .iter()
            .enumerate()
            .filter(|(_, row)| row.is_none())
            .map(|(file, _)| items(file))
            .sum();
        let broken = self.found.about.broken();
        let example = broken.values().next().map_or("", |m| m.example.as_str());
        ledger.lose("picture cannot be read", lost, example);
    }
}

/// How pictures are read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Pictures of a batch.
    pub batch_size: usize,
    /// Share of broken records at which to stop.
    pub max_broken: f64,
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
        let data = Arc::new(Files::new("listed pictures".into(), items));
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
        let how = format!("{:?} {}", self.preprocess(view.resize), view.double_norm);
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

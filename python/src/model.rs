//! An opened model: class `espalier.Model`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::Device;
use espalier_core::bundle::Caution;
use espalier_core::caption::{Captioner, Photo as CorePhoto, Request};
use espalier_trainer::commands::caption::{self, OfFile, captioner, teach};
use espalier_trainer::commands::opened;
use espalier_trainer::device::Backend;
use espalier_trainer::eval::embed;
use espalier_trainer::model_file::Model as TrainerModel;
use espalier_trainer::model_name;
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::arrays::{array, of_json};
use crate::encoders::{Encoders, pool, within};
use crate::errors::{detached, exception, refused};
use crate::photos::{Photo, Source, named, take};
use crate::space::Space;
use crate::taxonomy::Taxonomy;

/// A model of images and texts: a bundle, a run or a checkpoint.
#[pyclass(frozen, module = "espalier")]
pub struct Model {
    path: PathBuf,
    /// Captions, taxonomy and taught concepts, as given on the command line.
    captions: Option<PathBuf>,
    taxonomy: Option<PathBuf>,
    extra: Vec<PathBuf>,
    model: TrainerModel,
    space: espalier_core::geometry::Space,
    logit_scale: f64,
    encoders: Encoders,
    /// Opened when it is first used.
    captioner: Mutex<Option<Arc<Captioner>>>,
}

/// The device of all computations.
fn device() -> anyhow::Result<Device> {
    Backend::Flex.device()
}

/// Path, captions, taxonomy and taught concepts of a pickled model.
type Reopened = (PathBuf, Option<PathBuf>, Option<PathBuf>, Vec<PathBuf>);

impl Model {
    /// Returns the model as the trainer opened it.
    pub fn opened(&self) -> &TrainerModel {
        &self.model
    }

    fn captioner(&self) -> anyhow::Result<Arc<Captioner>> {
        let mut slot = self
            .captioner
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*slot {
            return Ok(Arc::clone(opened));
        }
        let (captions, taxonomy) = (self.captions.as_ref(), self.taxonomy.as_ref());
        let mut opened = captioner(&self.path, captions, taxonomy, &device()?)?;
        teach(&mut opened, Some(&self.extra))?;
        let opened = Arc::new(opened);
        *slot = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Returns the numbers of points as an array of rows.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        values: Vec<f32>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let rows = values.len() / self.width();
        array(py, values, &[rows, self.width()])
    }
}

/// Does work on batches of inputs, one after the other, until one is empty. Ctrl-C is noticed between two
/// batches.
fn in_batches<T: Send, R: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    mut next: impl FnMut() -> PyResult<Vec<T>>,
    work: impl Fn(Vec<T>) -> anyhow::Result<Vec<R>> + Sync,
) -> PyResult<Vec<R>> {
    let pool = pool(threads).map_err(exception)?;
    let mut results = Vec::new();
    loop {
        let batch = next()?;
        if batch.is_empty() {
            return Ok(results);
        }
        results.extend(detached(py, || within(pool.as_ref(), || work(batch)))?);
        py.check_signals()?;
    }
}

/// Captions one photo; the value is a line of `trainer caption --json`.
fn caption_one(captioner: &Captioner, photo: Photo, request: Request<'_>) -> anyhow::Result<Value> {
    let backend = Backend::Flex.name();
    let name = PathBuf::from(photo.name);
    let result = match &photo.source {
        Source::File(path) => caption::caption(captioner, path, request, backend)?,
        Source::Bytes(bytes) => caption::read(captioner, &name, bytes, request, backend)?,
        Source::Pixels(pixels) => {
            let photo = CorePhoto::of_pixels(pixels.clone());
            caption::read_photo(captioner, &name, photo, request, backend)?
        }
    };
    let file = match &photo.source {
        Source::File(path) => Some(path.as_path()),
        _ => None,
    };
    Ok(serde_json::to_value(OfFile { file, result })?)
}

/// Opens a bundle, a run folder, a checkpoint folder, a weights file, or a model by its name: a short one,
/// or `hf-hub:org/name`. With `offline`, only what is on this disk.
///
/// `captions` and `taxonomy` are those of a checkpoint; a bundle has its own. `extra` are concepts that
/// were taught on the page.
#[pyfunction]
#[pyo3(signature = (path, *, captions = None, taxonomy = None, extra = Vec::new(), offline = false))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    captions: Option<PathBuf>,
    taxonomy: Option<PathBuf>,
    extra: Vec<PathBuf>,
    offline: bool,
) -> PyResult<Model> {
    let wants_captioner = captions.is_some() || taxonomy.is_some() || !extra.is_empty();
    detached(py, || {
        let device = device()?;
        let path = model_name::resolve(&path, offline)?;
        let model = opened::open(&path, &device)?;
        let scale = model.encoder.logit_scale.value().into_scalar::<f32>();
        let opened = Model {
            path,
            captions,
            taxonomy,
            extra,
            space: embed::space(&model, &device)?,
            logit_scale: f64::from(scale),
            model,
            encoders: Encoders::default(),
            captioner: Mutex::default(),
        };
        // A file that cannot be used is an error here, not at the first photo.
        if wants_captioner {
            opened.captioner()?;
        }
        Ok(opened)
    })
}

#[pymethods]
impl Model {
    /// Pickles the path and the options, so that a process on the same machine opens the model again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Reopened)> {
        let absolute = |path: &PathBuf| std::path::absolute(path).map_err(|e| exception(e.into()));
        let optional = |path: &Option<PathBuf>| path.as_ref().map(absolute).transpose();
        let extra: PyResult<Vec<PathBuf>> = self.extra.iter().map(absolute).collect();
        let options = (
            absolute(&self.path)?,
            optional(&self.captions)?,
            optional(&self.taxonomy)?,
            extra?,
        );
        Ok((py.import("espalier._pickled")?.getattr("reopen")?, options))
    }

    /// The path that was opened.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Training method.
    #[getter]
    fn method(&self) -> &str {
        &self.model.card.method
    }

    /// Number of training steps.
    #[getter]
    fn step(&self) -> u64 {
        self.model.card.step
    }

    /// SHA-256 of the weights file or of the manifest.
    #[getter]
    fn sha256(&self) -> &str {
        &self.model.sha256
    }

    /// Width of embeddings.
    #[getter]
    fn width(&self) -> usize {
        self.model.card.config.d_embed
    }

    /// Side of the square that the image encoder sees, in pixels.
    #[getter]
    fn image_size(&self) -> u32 {
        self.model.preprocess.size
    }

    /// Factor on the similarities in the logits.
    #[getter]
    fn logit_scale(&self) -> f64 {
        self.logit_scale
    }

    /// Reasons to doubt the model's answers, as sentences: weights that were never trained, a training that ended
    /// at chance, probabilities that are not calibrated.
    #[getter]
    fn cautions(&self) -> Vec<&'static str> {
        let mut cautions = self.model.cautions.clone();
        if self.model.calibration.is_none() {
            cautions.push(Caution::NotCalibrated);
        }
        cautions.into_iter().map(Caution::sentence).collect()
    }

    /// Architecture.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let config = serde_json::to_value(&self.model.card.config);
        of_json(py, &config.map_err(|e| exception(e.into()))?)
    }

    /// Space of the embeddings.
    #[getter]
    fn space(&self) -> Space {
        Space {
            inner: self.space.clone(),
            width: Some(self.width()),
        }
    }

    /// Concepts that captions are given of.
    #[getter]
    fn taxonomy(&self, py: Python<'_>) -> PyResult<Taxonomy> {
        let taxonomy = detached(py, || {
            let captioner = self.captioner()?;
            Ok(Arc::new(captioner.classifier().taxonomy().clone()))
        })?;
        Ok(Taxonomy::new(taxonomy))
    }

    /// Embeds photos: one row of `width` numbers for each.
    ///
    /// A photo is a path, the bytes of a file, an image of Pillow, or an array of uint8 `[height, width,
    /// 3]`. `lift=False` gives the projected features, before they become points of the space. `threads`
    /// are all cores by default. Ctrl-C stops between two batches.
    #[pyo3(signature = (photos, *, batch_size = 32, threads = None, lift = true))]
    fn encode_image<'py>(
        &self,
        photos: &Bound<'py, PyAny>,
        batch_size: usize,
        threads: Option<usize>,
        lift: bool,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let py = photos.py();
        let (mut photos, _) = named(photos)?;
        let device = lift.then(device).transpose().map_err(exception)?;
        let next = || take(&mut photos, batch_size);
        let values = in_batches(py, threads, next, |batch| {
            self.encoders.images(&self.model, batch, device.as_ref())
        })?;
        self.rows(py, values)
    }

    /// Embeds texts: one row of `width` numbers for each. The options are those of `encode_image`.
    #[pyo3(signature = (texts, *, batch_size = 256, threads = None, lift = true))]
    fn encode_text<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        batch_size: usize,
        threads: Option<usize>,
        lift: bool,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let py = texts.py();
        let mut texts = match texts.cast::<PyString>() {
            Ok(one) => PyList::new(py, [one])?.try_iter()?,
            Err(_) => texts.try_iter()?,
        };
        let device = lift.then(device).transpose().map_err(exception)?;
        let next = || {
            let batch = texts.by_ref().take(batch_size.max(1));
            batch.map(|text| text?.extract::<String>()).collect()
        };
        let values = in_batches(py, threads, next, |batch: Vec<String>| {
            self.encoders.texts(&self.model, &batch, device.as_ref())
        })?;
        self.rows(py, values)
    }

    /// Logits of the training loss, the scale included, `[n, d], [m, d] -> [n, m]`.
    fn logits<'py>(
        &self,
        images: &Bound<'py, PyAny>,
        texts: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let scale = self.logit_scale;
        self.space()
            .pairwise((images, texts), |x, y| scale * self.space.logit(x, y))
    }

    /// Distances of points to the root, `[.., d] -> [..]`: small is general, large is specific.
    fn radius<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        self.space().radius(x)
    }

    /// Captions a photo as `trainer caption --json` does; a list of photos gives a list of results.
    ///
    /// `region` is a part of the photo: left, top, right and bottom as fractions of its sides. `below` is
    /// a node at or below which the photo is known to show something. With `on_error="return"` the result
    /// of a photo that cannot be read holds its error, and the others are captioned.
    #[expect(clippy::too_many_arguments, reason = "options of one command")]
    #[pyo3(signature = (
        photos, *, region = None, below = None, batch_size = 32, threads = None, on_error = "raise"
    ))]
    fn caption<'py>(
        &self,
        photos: &Bound<'py, PyAny>,
        region: Option<Vec<f32>>,
        below: Option<String>,
        batch_size: usize,
        threads: Option<usize>,
        on_error: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = photos.py();
        let (mut photos, is_one) = named(photos)?;
        let stop = match on_error {
            "raise" => true,
            "return" => false,
            other => {
                let words = format!("on_error: expected raise or return, found {other}");
                return Err(refused(words));
            }
        };
        let request = Request {
            region: caption::region(region.as_deref()).map_err(exception)?,
            below: below.as_deref(),
        };
        let captioner = detached(py, || self.captioner())?;
        let one = |photo: Photo| {
            let name = photo.name.clone();
            match caption_one(&captioner, photo, request) {
                Err(error) if !stop => Ok(json!({ "file": name, "error": format!("{error:#}") })),
                result => result,
            }
        };
        let next = || take(&mut photos, batch_size);
        let values: Vec<Value> = in_batches(py, threads, next, |batch: Vec<Photo>| {
            batch.into_par_iter().map(&one).collect()
        })?;
        let results = values.iter().map(|value| of_json(py, value));
        let mut results = results.collect::<PyResult<Vec<_>>>()?;
        match results.pop() {
            Some(one) if is_one => Ok(one),
            last => {
                results.extend(last);
                Ok(PyList::new(py, results)?.into_any())
            }
        }
    }

    fn __repr__(&self) -> String {
        format!(
            "Model('{}', method='{}')",
            self.path.display(),
            self.method()
        )
    }
}

//! Definition of the tasks of `trainer eval`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use espalier_core::geometry::Space;
use espalier_core::input::ResizeMode;
use espalier_core::taxonomy::Taxonomy;
use espalier_data::Coverage;
use espalier_data::formats::open;
use espalier_io::exit::usage;

use super::Points;
use super::embedder::Embedder;
use super::metrics::curve::Point;
pub use super::metrics::named;
use super::options::{Options, Resize};
use super::search::angles::{self, Apex};
use super::search::{self, Ranked};

/// A benchmark and its location in the suite.
#[derive(Clone, Copy, Debug)]
pub struct BenchmarkData {
    /// Name of the benchmark, as in the table of published values.
    pub dataset: &'static str,
    /// Folder or file below the suite's `--data`.
    pub path: &'static str,
    /// Its source and the expected layout.
    pub get: &'static str,
}

/// One task: its input, its run and its report.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// Its metrics, in a line.
    pub about: &'static str,
    /// The expected `--data`, in a sentence.
    pub needs: &'static str,
    /// The benchmarks that the papers' suite runs it on.
    pub benchmarks: &'static [BenchmarkData],
    /// Runs it; fails for bad usage or data (exit code 2), or a failing device (1).
    pub run: fn(&Context<'_, '_>) -> anyhow::Result<TaskResult>,
}

/// Source of the shipped taxonomy, where no other one is given.
pub const DEFAULT: &str = "default";

/// Input of a task.
pub struct Context<'a, 'm> {
    /// The model; some tasks only need embeddings.
    pub embedder: Option<&'a Embedder<'m>>,
    /// Options of the command line.
    pub options: &'a Options,
    /// Data as given on the command line.
    pub data: &'a [PathBuf],
    /// Name of the benchmark, if known.
    pub dataset: Option<&'a str>,
    /// Whether the papers evaluate the model's method by MERU's protocol (notation 6.0).
    pub by_meru_protocol: bool,
    /// Whether the model's method compares images and texts by the angle at the text (notation 2.8).
    pub by_angles: bool,
}

impl<'a, 'm> Context<'a, 'm> {
    /// Returns the model.
    ///
    /// # Errors
    /// Bad usage without a model.
    pub fn model(&self) -> anyhow::Result<&'a Embedder<'m>> {
        self.embedder
            .ok_or_else(|| usage("expected --checkpoint, found none"))
    }

    /// Returns the `k` texts that fit each image best.
    pub fn texts_of(&self, space: &Space, images: &Points, texts: &Points, k: usize) -> Ranked {
        match self.by_angles {
            true => angles::top_k(space, images, texts, Apex::Gallery, k),
            false => search::top_k(space, images, texts, k),
        }
    }

    /// Returns the `k` images that fit each text best.
    pub fn images_of(&self, space: &Space, texts: &Points, images: &Points, k: usize) -> Ranked {
        match self.by_angles {
            true => angles::top_k(space, texts, images, Apex::Query, k),
            false => search::top_k(space, texts, images, k),
        }
    }

    /// Returns the taxonomy to judge with, and where it comes from: the one that is asked for, or else the data
    /// if that is one, or else that of the bundle or of the run that trained the checkpoint, or else the shipped
    /// one. The labels of a benchmark in its published form are not those of a bundle or a run.
    ///
    /// # Errors
    /// As [`open::taxonomy`].
    pub fn taxonomy(&self, data: &[PathBuf]) -> anyhow::Result<(Taxonomy, &'static str)> {
        let flag = self.options.taxonomy.as_deref();
        if let Some(model) = self.embedder.map(|embedder| embedder.model)
            && let Some(taxonomy) = &model.taxonomy
            && flag.is_none()
            && open::taxonomy_file(data).is_none()
            && self.dataset.is_none()
        {
            let source = match model.label_points.is_empty() {
                true => "the run's",
                false => "the bundle's",
            };
            return Ok((taxonomy.clone(), source));
        }
        let source = flag.map_or(DEFAULT, |_| "--taxonomy");
        Ok((open::taxonomy(flag, data)?, source))
    }

    /// Returns the one path of the data.
    ///
    /// # Errors
    /// Bad usage if there are none or several.
    pub fn path(&self) -> anyhow::Result<&Path> {
        match self.data {
            [path] => Ok(path),
            several => Err(usage(format!(
                "--data: expected one file or folder, found {}",
                several.len()
            ))),
        }
    }

    /// Returns the resize mode of images: the requested one, else that of the papers of the MERU
    /// family for this task (notation 6.0), else the model's own.
    pub fn resize(&self, published: ResizeMode) -> Option<ResizeMode> {
        match self.options.resize {
            Resize::Crop => Some(ResizeMode::CentreCrop),
            Resize::Squeeze => Some(ResizeMode::Squeeze),
            Resize::Pad => Some(ResizeMode::WhitePad),
            Resize::Model => None,
            // An encoder that was pretrained with another crop keeps it in every task.
            Resize::Auto if self.model_resize() == Some(ResizeMode::InnerCrop) => None,
            Resize::Auto => self.by_meru_protocol.then_some(published),
        }
    }

    /// Returns the model's own resize mode.
    fn model_resize(&self) -> Option<ResizeMode> {
        self.embedder.map(|e| e.preprocess(None).resize)
    }

    /// Returns the setting of [`Self::resize`] for the record.
    pub fn resize_name(&self, published: ResizeMode) -> String {
        match self.resize(published).or(self.model_resize()) {
            Some(ResizeMode::CentreCrop) => "crop",
            Some(ResizeMode::InnerCrop) => "inner-crop",
            Some(ResizeMode::Squeeze) => "squeeze",
            Some(ResizeMode::WhitePad) => "pad",
            None => "none",
        }
        .to_owned()
    }
}

/// A frequent wrong answer, for the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Confusion {
    /// Name of the true class.
    pub truth: String,
    /// Name of the answer.
    pub answer: String,
    /// Name of their nearest common ancestor, if there is a taxonomy.
    pub ancestor: String,
    /// Its depth; small means that the answer is far off.
    pub depth: u32,
    /// Number of occurrences.
    pub count: usize,
    /// Keys of records with this answer.
    pub examples: Vec<String>,
}

/// Results of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskResult {
    /// Name of the benchmark, if the data itself determines it.
    pub dataset: Option<String>,
    /// Number of items evaluated.
    pub n: usize,
    /// Number of classes or items to choose from.
    pub classes: usize,
    /// Prompt set; empty if there are no prompts.
    pub prompts: String,
    /// Number of items that were skipped, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Which part of the benchmark was available.
    pub coverage: Option<Coverage>,
    /// Settings that change the numbers.
    pub settings: BTreeMap<String, String>,
    /// Values.
    pub metrics: BTreeMap<String, f64>,
    /// Precision-recall curves by name.
    pub curves: BTreeMap<String, Vec<Point>>,
    /// Frequent wrong answers.
    pub confusions: Vec<Confusion>,
}

/// Returns the name of a value on the command line.
pub fn value_name(value: &impl clap::ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |v| v.get_name().to_owned())
}

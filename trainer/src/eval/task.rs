//! What a task of `trainer eval` is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use espalier_core::input::ResizeMode;

use super::embedder::Embedder;
use super::metrics::curve::Point;
use super::options::{Options, Resize};
use crate::data::Ledger;
use crate::exit::usage;

/// A benchmark where the suite looks for it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Name of the benchmark, as in the table of published values.
    pub dataset: &'static str,
    /// Folder or file below the suite's `--data`.
    pub path: &'static str,
    /// Where it comes from and how it must lie.
    pub get: &'static str,
}

/// One task: what it needs, how it runs, what it reports.
pub trait Task: Sync {
    /// Name on the command line and in results.
    fn name(&self) -> &'static str;

    /// What it measures, in a line.
    fn about(&self) -> &'static str;

    /// What `--data` must be, in a sentence.
    fn needs(&self) -> &'static str;

    /// Benchmarks that the suite of the papers runs it on.
    fn places(&self) -> &'static [Place];

    /// Run it.
    ///
    /// # Errors
    /// Bad usage or data (exit code 2), or a failing device (1).
    fn run(&self, cx: &Context<'_>) -> anyhow::Result<Outcome>;
}

/// What a task runs on.
pub struct Context<'a> {
    /// The model; some tasks do with embeddings alone.
    pub embedder: Option<&'a Embedder<'a>>,
    /// Options of the command line.
    pub options: &'a Options,
    /// Data as named.
    pub data: &'a [PathBuf],
    /// Name of the benchmark, where it is known.
    pub dataset: Option<&'a str>,
}

impl Context<'_> {
    /// The model.
    ///
    /// # Errors
    /// Bad usage where none was given.
    pub fn model(&self) -> anyhow::Result<&Embedder<'_>> {
        self.embedder
            .ok_or_else(|| usage("expected --checkpoint, found none"))
    }

    /// The one path of the data.
    ///
    /// # Errors
    /// Bad usage where there are none or several.
    pub fn path(&self) -> anyhow::Result<&Path> {
        match self.data {
            [one] => Ok(one),
            several => Err(usage(format!(
                "--data: expected one file or folder, found {}",
                several.len()
            ))),
        }
    }

    /// How pictures are resized: as asked for, else as the papers of the MERU family do in this
    /// task (notation 6.0), else as the model itself has it.
    #[must_use]
    pub fn resize(&self, published: ResizeMode) -> Option<ResizeMode> {
        match self.options.resize {
            Resize::Crop => Some(ResizeMode::CentreCrop),
            Resize::Squeeze => Some(ResizeMode::Squeeze),
            Resize::Pad => Some(ResizeMode::WhitePad),
            Resize::Model => None,
            // An encoder that was pretrained with another crop keeps it whatever the task.
            Resize::Auto if self.own_resize() == Some(ResizeMode::InnerCrop) => None,
            Resize::Auto => {
                let method = self.embedder.map(|e| e.model.card.method.as_str());
                let family = ["clip", "meru", "hycoclip", "phyclip", "atmg"];
                method
                    .is_some_and(|m| family.contains(&m))
                    .then_some(published)
            }
        }
    }

    /// The model's own way to a square.
    fn own_resize(&self) -> Option<ResizeMode> {
        self.embedder.map(|e| e.preprocess(None).resize)
    }

    /// The setting of [`Self::resize`] for the record.
    #[must_use]
    pub fn resize_word(&self, published: ResizeMode) -> String {
        match self.resize(published).or(self.own_resize()) {
            Some(ResizeMode::CentreCrop) => "crop",
            Some(ResizeMode::InnerCrop) => "inner-crop",
            Some(ResizeMode::Squeeze) => "squeeze",
            Some(ResizeMode::WhitePad) => "pad",
            None => "none",
        }
        .to_owned()
    }
}

/// A wrong answer that is given often, for the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Confusion {
    /// Name of the true class.
    pub truth: String,
    /// Name of the answer.
    pub answer: String,
    /// Name of their nearest common ancestor, where there is a taxonomy.
    pub ancestor: String,
    /// Its depth; small means that the answer is far off.
    pub depth: u32,
    /// How often.
    pub count: usize,
    /// Keys of records that were answered so.
    pub examples: Vec<String>,
}

/// What a task found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Name of the benchmark, where the data itself tells it.
    pub dataset: Option<String>,
    /// Items judged.
    pub n: usize,
    /// Classes or items to choose from.
    pub classes: usize,
    /// Prompt set; empty where there are no prompts.
    pub prompts: String,
    /// Items left out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// What of the benchmark was there.
    pub ledger: Option<Ledger>,
    /// Settings that change the numbers.
    pub settings: BTreeMap<String, String>,
    /// Values.
    pub metrics: BTreeMap<String, f64>,
    /// Curves of precision over recall, by what is found.
    pub curves: BTreeMap<String, Vec<Point>>,
    /// Frequent wrong answers.
    pub confusions: Vec<Confusion>,
}

/// A map of settings from pairs.
pub fn settings<const N: usize>(pairs: [(&str, String); N]) -> BTreeMap<String, String> {
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The word of a setting on the command line.
pub fn word(value: &impl clap::ValueEnum) -> String {
    let word = value.to_possible_value();
    word.map_or_else(String::new, |v| v.get_name().to_owned())
}

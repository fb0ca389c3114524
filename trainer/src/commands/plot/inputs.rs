//! Reads the inputs of figures from the flags.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_core::taxonomy::Taxonomy;
use espalier_data::formats::registry::{self, Need};
use espalier_data::formats::{captions, synthetic};
use espalier_data::{Dataset, Splits, Synthetic};
use espalier_figures::figure::Output;
use espalier_figures::plot::photo_parts::{self, PhotoParts, ReadOptions};
use espalier_figures::plot::subject::Subject;
use espalier_io::exit::usage;
use espalier_io::output::note;

use crate::cli::plot::{DataArgs, FigureArgs, FileArgs};
use crate::config::DatasetKind;

/// Returns the output file of the figure.
pub(super) fn output(args: &FileArgs) -> anyhow::Result<Output> {
    Output::new(&args.out, args.scale)
}

/// Checks that the value of a flag lies in a range.
pub(super) fn check_range(
    flag: &str,
    allowed: RangeInclusive<usize>,
    found: usize,
) -> anyhow::Result<()> {
    if allowed.contains(&found) {
        return Ok(());
    }
    let (least, most) = allowed.into_inner();
    Err(usage(format!(
        "{flag}: expected {least} to {most}, found {found}"
    )))
}

/// Opens the model on the device of the flags.
pub(super) fn subject(model: &Path, args: &FigureArgs) -> anyhow::Result<Subject> {
    Subject::open(model, &args.common.backend.device()?)
}

/// Returns whether the flags name data.
pub(super) fn has_data(args: &DataArgs) -> bool {
    args.dataset == DatasetKind::Synthetic || !args.data.is_empty()
}

/// Opens the dataset of the flags. `most` is the number of images needed; the synthetic dataset
/// generates this many.
pub(super) fn dataset(args: &DataArgs, most: usize, seed: u64) -> anyhow::Result<Arc<dyn Dataset>> {
    if most == 0 {
        return Err(usage("--samples: expected at least 1, found 0"));
    }
    if args.dataset == DatasetKind::Synthetic {
        if let Some(path) = args.data.first() {
            return Err(usage(format!(
                "--data {}: the synthetic dataset is generated on the fly and takes no file",
                path.display()
            )));
        }
        return Ok(Arc::new(Synthetic::new(most as u64, synthetic::SIDE, seed)));
    }
    if args.data.is_empty() {
        return Err(usage(
            "--data: expected files, folders or globs with images, or --dataset synthetic, found \
             neither",
        ));
    }
    match args.dataset {
        DatasetKind::Hierarcaps => Err(usage(
            "--dataset hierarcaps: expected a dataset with images, found one with texts only; use \
             grit, captions, taxonomy, parts or synthetic",
        )),
        DatasetKind::Captions => Ok(captions::open(&args.data, Splits::ALL)?),
        DatasetKind::Parts => Ok(registry::open(&args.data, Need::Boxes)?),
        _ => Ok(registry::open(&args.data, Need::Labels)?),
    }
}

/// Reads images of the dataset with their texts and boxes, and embeds them.
pub(super) fn read_scenes(
    subject: &Subject,
    args: &DataArgs,
    default: usize,
    thumbnails: bool,
    seed: u64,
) -> anyhow::Result<Vec<PhotoParts>> {
    let most = args.samples.unwrap_or(default);
    let options = ReadOptions {
        most,
        max_broken: args.max_broken,
        thumbnails,
    };
    let progress = |n| note(format_args!("{n} images"));
    photo_parts::read(subject, &dataset(args, most, seed)?, options, progress)
}

/// Returns the taxonomy of the flag, else of synthetic data, else of the bundle, else of the run.
pub(super) fn taxonomy(
    flag: Option<&PathBuf>,
    data: Option<DatasetKind>,
    subject: &Subject,
) -> anyhow::Result<Taxonomy> {
    match (flag, data, &subject.model.taxonomy) {
        (None, Some(DatasetKind::Synthetic), _) => {
            Ok(Taxonomy::from_tsv(&synthetic::taxonomy_tsv())?)
        }
        (None, _, Some(bundled)) => Ok(bundled.clone()),
        _ => super::super::export::taxonomy(flag, &subject.model.card),
    }
}

/// Returns the name of a file as figures show it.
pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

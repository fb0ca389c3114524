//! `trainer caption`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Instant;

use burn::tensor::Device;
use espalier_checkpoints::device::engine;
use espalier_checkpoints::model_file::{is_bundle, read_bundle};
use espalier_core::CoreError;
use espalier_core::bundle::{Manifest, Part};
use espalier_core::caption::{
    CaptionResult, Captioner, Photo, Reading, Receipt, Request, Standing, TaughtConcept,
    TaughtFile, standings,
};
use espalier_core::taxonomy::{Lexicon, Taxonomy};
use espalier_io::disk::read as read_file;
use espalier_io::exit::usage;
use espalier_io::output::{line, note};
use serde::Serialize;

use super::{export, opened};
use crate::cli::CaptionArgs;
use crate::export::{Bundle, Contents, ExportDtype, captions};

/// Opens a bundle, or a checkpoint with captions and a taxonomy, for captioning photos.
///
/// # Errors
/// Bad usage for captions or a taxonomy given with a bundle, and for files that cannot be read.
pub fn captioner(
    path: &Path,
    captions: Option<&PathBuf>,
    taxonomy: Option<&PathBuf>,
    device: &Device,
) -> anyhow::Result<Captioner> {
    if is_bundle(path) {
        for (flag, given) in [("--captions", captions), ("--taxonomy", taxonomy)] {
            if given.is_some() {
                return Err(usage(format!(
                    "{flag}: a bundle has its own; use the flag with a checkpoint only"
                )));
            }
        }
        let (manifest, _, files) = read_bundle(path, &Part::OF_AN_ANSWER)?;
        return Ok(Captioner::open(&manifest, &files, &engine(device))?);
    }
    let model = opened::open(path, device)?;
    let taxonomy = export::taxonomy(taxonomy, &model.card)?;
    let captions = match captions {
        Some(file) => captions::from_file(file, &taxonomy)?,
        None => captions::of_taxonomy(&taxonomy, true),
    };
    let nouns = Lexicon::default();
    let contents = Contents {
        model: &model,
        taxonomy: &taxonomy,
        captions,
        directions: &export::directions(path, &model, device)?,
        nouns: &nouns,
        dtype: ExportDtype::Fp32,
        name: path.display().to_string(),
        version: model.card.step.to_string(),
    };
    Bundle::build(contents, device)?.captioner(&engine(device))
}

/// Returns the milliseconds since the first call.
fn now() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_secs_f64() * 1e3
}

/// Captions a photo from its file's bytes, in the same way as the page; `backend` names the engine
/// in the result.
///
/// # Errors
/// Bad usage for bytes that are not a photo, a region without pixels, or an unknown node.
pub fn read(
    captioner: &Captioner,
    path: &Path,
    bytes: &[u8],
    request: Request<'_>,
    backend: &str,
) -> anyhow::Result<CaptionResult> {
    let reading = pollster::block_on(captioner.read(bytes, request, now));
    Ok(explained(reading, path, request)?.result(captioner, backend))
}

/// Captions a photo that is in memory; `name` stands for it in errors.
///
/// # Errors
/// As [`read`].
pub fn read_photo(
    captioner: &Captioner,
    name: &Path,
    photo: Photo,
    request: Request<'_>,
    backend: &str,
) -> anyhow::Result<CaptionResult> {
    let reading = pollster::block_on(captioner.read_photo(photo, request, now));
    Ok(explained(reading, name, request)?.result(captioner, backend))
}

/// Names the photo and the flag in the error of a reading.
fn explained(
    reading: Result<Reading, CoreError>,
    path: &Path,
    request: Request<'_>,
) -> anyhow::Result<Reading> {
    let path = path.display();
    reading.map_err(|error| match error {
        CoreError::Image(_) => usage(format!("{path}: {error}")),
        CoreError::Region(region) => usage(format!(
            "--region {region:?}: expected a part of {path}, found no pixel of it"
        )),
        CoreError::Taxonomy { .. } => usage(format!(
            "--below {}: {error}",
            request.below.unwrap_or_default()
        )),
        other => other.into(),
    })
}

/// Captions the photo in a file.
///
/// # Errors
/// As [`read`], and bad usage for a file that cannot be read.
pub fn caption(
    captioner: &Captioner,
    path: &Path,
    request: Request<'_>,
    backend: &str,
) -> anyhow::Result<CaptionResult> {
    let bytes = read_file::bytes(path).map_err(|e| usage(format!("{}: {e}", path.display())))?;
    read(captioner, path, &bytes, request, backend)
}

/// Teaches the concepts of the files of `--extra`.
///
/// # Errors
/// Bad usage for a file that cannot be read, was made with another model, or names an unknown place.
pub fn teach(captioner: &mut Captioner, files: Option<&[PathBuf]>) -> anyhow::Result<()> {
    let mut concepts: Vec<TaughtConcept> = Vec::new();
    for path in files.unwrap_or_default() {
        let place = |reason: String| usage(format!("--extra {}: {reason}", path.display()));
        let fault = |error: CoreError| match error {
            CoreError::Bundle { reason, .. } => place(reason),
            other => place(other.to_string()),
        };
        let text = read_file::text(path).map_err(|error| place(error.to_string()))?;
        let file = TaughtFile::parse(&text, captioner.info()).map_err(fault)?;
        // A later file replaces concepts of the same name.
        concepts.retain(|known| file.concepts.iter().all(|new| new.id() != known.id()));
        concepts.extend(file.concepts);
        captioner.teach(&concepts).map_err(fault)?;
    }
    Ok(())
}

/// Returns the manifest for receipts, if receipts are requested.
fn manifest_for_receipts(args: &CaptionArgs) -> anyhow::Result<Option<Manifest>> {
    match (args.receipt, is_bundle(&args.model)) {
        (false, _) => Ok(None),
        (true, true) if args.extra.is_some() => Err(usage(
            "--receipt: a receipt names no taught concepts, so it cannot be used with --extra",
        )),
        (true, true) => Ok(Some(read_bundle(&args.model, &[])?.1)),
        (true, false) => Err(usage(format!(
            "--receipt: expected a bundle, found {}; a receipt names its bundle by hash, so export \
             the checkpoint first",
            args.model.display()
        ))),
    }
}

/// Prints a result: its captions with their distances from the root and similarities, what else the
/// photo shows, and the steps of the path that people have words for. `--json` has all of them.
fn show(captioner: &Captioner, path: &Path, result: &CaptionResult) -> anyhow::Result<()> {
    line(path.display())?;
    if !result.ladder.is_empty() {
        line("  radius  similarity  caption")?;
    }
    let last = supported_rungs(result);
    for (index, rung) in result.ladder.iter().enumerate() {
        let mark = supported(last == Some(index + 1));
        let (radius, similarity) = (rung.radius, rung.similarity);
        line(format_args!(
            "  {radius:6.2}  {similarity:10.3}  {}{mark}",
            rung.text
        ))?;
    }
    for shown in &result.shows {
        let percent = 100.0 * shown.p;
        line(format_args!("  shows {} ({percent:.0} %)", shown.text))?;
    }
    let steps = named_steps(captioner.untaught().taxonomy(), result);
    match steps.is_empty() {
        true => Ok(()),
        false => line(format_args!("  {steps}")),
    }
}

/// Returns the steps of a path that have everyday names, with their probabilities. The mark of a stop
/// without such a name belongs to the last step before it; if there is none, all steps are a guess.
fn named_steps(tree: &Taxonomy, result: &CaptionResult) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut is_guess = false;
    for step in &result.taxonomy.path {
        if tree.find(&step.id).is_none_or(|ix| tree.is_nameable(ix)) {
            words.push(format!("{} {:.0} %", step.name, 100.0 * step.p));
        }
        if step.id == result.taxonomy.stop {
            match words.last_mut() {
                Some(last) => last.push_str(supported(true)),
                None => is_guess = true,
            }
        }
    }
    let guess = match is_guess && !words.is_empty() {
        true => "a guess: ",
        false => "",
    };
    format!("{guess}{}", words.join(" > "))
}

/// Returns the number of rungs that the evidence supports; `None` for captions that describe no nodes.
fn supported_rungs(result: &CaptionResult) -> Option<usize> {
    let known = standings(&result.ladder, &result.taxonomy);
    let last = known.iter().rposition(|s| *s == Standing::Known);
    let has_nodes = result.ladder.iter().any(|rung| rung.node.is_some());
    let of_nodes = last.filter(|_| has_nodes).map(|last| last + 1);
    result.said.or(of_nodes)
}

/// Marks the last step that the evidence supports.
pub(super) fn supported(is_stop: bool) -> &'static str {
    match is_stop {
        true => " (supported down to here)",
        false => "",
    }
}

/// A result with the photo that it belongs to.
#[derive(Serialize)]
pub struct OfFile<'a> {
    /// The photo's file; none if the photo was in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'a Path>,
    /// The result.
    #[serde(flatten)]
    pub result: CaptionResult,
}

/// Returns the part of a photo that `--region` names.
///
/// # Errors
/// Bad usage for numbers that are no left, top, right and bottom.
pub fn region(numbers: Option<&[f32]>) -> anyhow::Result<Option<[f32; 4]>> {
    match numbers {
        None => Ok(None),
        Some([x1, y1, x2, y2]) if x1 < x2 && y1 < y2 => Ok(Some([*x1, *y1, *x2, *y2])),
        Some(other) => Err(usage(format!(
            "--region: expected x1,y1,x2,y2 in [0, 1], found {other:?}"
        ))),
    }
}

/// Captions photos one after another. Each gives one line of JSON, also one that cannot be read,
/// whose line has the error; a photo that cannot be read does not stop the others.
///
/// # Errors
/// Bad usage (exit code 2) for a bundle or a photo that cannot be read, after the other photos.
pub fn run(args: &CaptionArgs) -> anyhow::Result<()> {
    let region = region(args.region.as_deref())?;
    let device = args.common.backend.device()?;
    let (captions, taxonomy) = (args.captions.as_ref(), args.taxonomy.as_ref());
    let mut captioner = captioner(&args.model, captions, taxonomy, &device)?;
    teach(&mut captioner, args.extra.as_deref())?;
    let manifest = manifest_for_receipts(args)?;
    let backend = args.common.backend.resolve().name();
    let request = Request {
        region,
        below: args.below.as_deref(),
    };
    let mut failed = None;
    for path in &args.photos {
        match (caption(&captioner, path, request, backend), &manifest) {
            (Ok(result), Some(manifest)) => {
                let mut receipt = Receipt::new(result, manifest);
                receipt.region = region;
                receipt.below.clone_from(&args.below);
                line(serde_json::to_string(&receipt)?)?;
            }
            (Ok(result), None) if args.common.json => {
                let file = Some(path.as_path());
                line(serde_json::to_string(&OfFile { file, result })?)?;
            }
            (Ok(result), None) => show(&captioner, path, &result)?,
            (Err(e), _) => {
                if args.common.json || args.receipt {
                    let error = format!("{e:#}");
                    line(serde_json::json!({ "file": path, "error": error }))?;
                }
                if let Some(before) = failed.replace(e) {
                    note(format_args!("error: {before:#}"));
                }
            }
        }
    }
    opened::tell(captioner.cautions());
    failed.map_or(Ok(()), Err)
}

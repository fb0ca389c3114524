//! `trainer export`.

mod arithmetic;
mod inputs;
mod probe;

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use espalier_checkpoints::device::engine;
use espalier_checkpoints::published::{self, Checkpoint, ExportFormat};
use espalier_checkpoints::{averaged, model_file};
use espalier_core::bundle::Caution;
use espalier_core::caption::detectors::POINTS;
use espalier_core::caption::{Engine, TextEmbedder};
use espalier_data::Dataset;
use espalier_data::formats::registry::{self, Need};
use espalier_eval::{embed, zero_shot};
use espalier_io::disk::read;
use espalier_io::disk::write::{check_writable, write_atomic};
use espalier_io::exit::usage;
use espalier_io::output::{line, note};
use serde_json::json;

use super::opened;
use super::preview::preview;
use crate::cli::ExportArgs;
use crate::export::calibrate::calibrate;
use crate::export::detectors::{self, DetectorData};
use crate::export::folder::{CARD, PREVIEW, StagedBundle, check_unused};
use crate::export::gate::{Gate, Row};
use crate::export::site::{EmbedCode, Site};
use crate::export::{Bundle, ExportDtype, card};
use crate::fit::source::{self, run_config};

use inputs::{Inputs, file_names};
pub use inputs::{directions, taxonomy};
use probe::{embed_probe, read_limits};

/// Version of a model that is given none.
const FIRST_VERSION: &str = "0.1.0";

/// Terms of use of detectors.
const STATEMENT_TERMS: &str = " Detectors of statements: within the terms of the photos that they were fitted on (see the card).";

/// Returns whether the image of a model was drawn; says why where it was not.
fn was_drawn(image: anyhow::Result<()>) -> bool {
    if let Err(error) = &image {
        note(format_args!("the card has no preview image: {error:#}"));
    }
    image.is_ok()
}

/// Writes a checkpoint for other programs, with bit-identical weights.
fn publish(args: &ExportArgs, name: &str, notes: &str) -> anyhow::Result<()> {
    let Some(out) = args.out.as_deref().filter(|_| args.site.is_none()) else {
        return Err(usage(
            "--site: a site needs a bundle; omit --format, or give --out instead of --site",
        ));
    };
    check_writable("--out", out)?;
    let (_, _, card, tensors) = match args.average {
        Some(count) => averaged::read(&args.checkpoint, count)?,
        None => model_file::read(&args.checkpoint)?,
    };
    let checkpoint = Checkpoint { card, tensors };
    let draw = || {
        let taxonomy = taxonomy(args.taxonomy.as_ref(), &checkpoint.card);
        let image = taxonomy.and_then(|t| preview(&args.checkpoint, &t, &args.common, out));
        was_drawn(image).then_some(PREVIEW)
    };
    let target = (out, args.force);
    let files = published::write(&checkpoint, args.format, target, (name, notes), draw)?;
    if args.common.json {
        line(json!({ "out": out, "files": files }))?;
    } else {
        line(format_args!("{}: {}", out.display(), files.join(", ")))?;
    }
    Ok(())
}

/// Calibrates a bundle on the probe and compares it with the model that it was built from. Records
/// the results in its manifest.
fn measure(
    args: &ExportArgs,
    inputs: &Inputs,
    (plain, bundle): (&Bundle, &mut Bundle),
    device: &Device,
) -> anyhow::Result<Gate> {
    let (model, taxonomy, probe) = (&inputs.model, &inputs.taxonomy, &inputs.probe);
    let (data, size) = (&probe.data, args.probe_size);
    let engine = engine(device);
    let (stored, full) = (bundle.model(device)?, plain.model(device)?);
    let captioner = bundle.captioner(&engine)?;
    note(format_args!(
        "comparing on up to {size} images of {}",
        probe.name
    ));
    let stored = embed_probe(&stored, data, taxonomy, size, device)?;
    let full = embed_probe(&full, data, taxonomy, size, device)?;
    let of = (data, taxonomy, read_limits(size));
    let (calibration, stops) = calibrate(&captioner, stored.model, &stored.images, of, device)?;
    bundle.set_calibration(&calibration)?;
    let captioners = (&plain.captioner(&engine)?, &bundle.captioner(&engine)?);
    let gate = Gate::compare(&full, &stored, captioners, taxonomy, device)?;
    gate.check(args.max_drop)?;
    arithmetic::choose(args, &stored, (data, taxonomy), bundle, device)?;

    let classes = zero_shot::classes_of(&stored.images).len();
    let metrics = &mut bundle.manifest.metrics;
    metrics.extend(gate.rows.iter().map(|r| (r.name.clone(), r.quantised)));
    metrics.insert("chance".into(), 1.0 / classes.max(1) as f64);
    metrics.extend(stops);
    let provenance = &mut bundle.manifest.provenance;
    provenance.insert("measured_on".into(), probe.name.clone().into());
    if let Some(config) = run_config(&model.card) {
        provenance.insert("run".into(), config.without_folders().to_toml()?.into());
    }
    let mut cautions = model.cautions.clone();
    if let Some(warning) = opened::warning_at_chance(&model.card, &args.checkpoint) {
        note(warning);
        cautions.push(Caution::AtChance);
    }
    if probe.is_training {
        cautions.push(Caution::CalibratedOnTraining);
    }
    bundle.manifest.set_cautions(cautions);
    Ok(gate)
}

/// Calibrates a bundle anew on labelled images; it keeps its calibration if they are too few.
fn recalibrate(
    args: &ExportArgs,
    data: &Arc<dyn Dataset>,
    bundle: &mut Bundle,
    device: &Device,
) -> anyhow::Result<()> {
    let captioner = bundle.captioner(&engine(device))?;
    let model = bundle.model(device)?;
    let taxonomy = captioner.untaught().taxonomy();
    let limits = read_limits(args.probe_size);
    let images = embed::labelled(&model, Arc::clone(data), taxonomy, limits, device)?;
    let of = (data, taxonomy, limits);
    let (calibration, stops) = calibrate(&captioner, &model, &images, of, device)?;
    if calibration.evidence.is_none() {
        note("--probe: too few images for a calibration; the bundle keeps its own");
        return Ok(());
    }
    bundle.set_calibration(&calibration)?;
    bundle.manifest.metrics.extend(stops);
    let provenance = &mut bundle.manifest.provenance;
    let measured_on = file_names(&args.probe).join(", ");
    provenance.insert("measured_on".into(), measured_on.into());
    Ok(())
}

/// Fits the detectors of a bundle, if --statements names images with captions.
fn add_detectors(
    args: &ExportArgs,
    labelled: Option<&Arc<dyn Dataset>>,
    bundle: &mut Bundle,
    device: &Device,
) -> anyhow::Result<()> {
    if args.statements.is_empty() {
        return Ok(());
    }
    let vocabulary = source::statements(args.vocabulary.as_deref(), "--vocabulary")?;
    let data = DetectorData {
        captions: &args.statements,
        described: &args.shows,
        labelled,
    };
    let captioner = bundle.captioner(&Engine::Kernels)?;
    let texts = TextEmbedder::open(&bundle.manifest, &bundle.checked()?, &Engine::Kernels)?;
    let mut detectors = detectors::fit(&captioner, &vocabulary, &data, device)?;
    let points = detectors::points(&texts, &vocabulary)?;
    detectors.tensors.insert(POINTS.to_owned(), points);
    bundle.set_detectors(&vocabulary, &detectors, args.dtype)?;
    let licence = &mut bundle.manifest.licence;
    if !licence.contains(STATEMENT_TERMS) {
        licence.push_str(STATEMENT_TERMS);
    }
    let provenance = &mut bundle.manifest.provenance;
    provenance.insert("statements".into(), file_names(&args.statements).into());
    provenance.insert("statements_shows".into(), file_names(&args.shows).into());
    Ok(())
}

/// Writes a bundle with detectors added, and with the arithmetic that --arithmetic asks for or else a new
/// calibration if --probe names images for it; everything else stays as it is. Returns its folder.
fn extend_bundle<'a>(args: &'a ExportArgs, notes: &str) -> anyhow::Result<&'a Path> {
    let Some(out) = &args.out else {
        return Err(usage("--out: expected a folder, found none"));
    };
    check_writable("--out", out)?;
    check_unused(out, args.force)?;
    let device = args.common.backend.device()?;
    let mut bundle = Bundle::read(&args.checkpoint)?;
    let labelled = match args.probe.is_empty() {
        true => None,
        false => Some(registry::open(&args.probe, Need::Labels)?),
    };
    match (args.arithmetic, &labelled) {
        (Some(_), data) => arithmetic::choose_again(args, data.as_ref(), &mut bundle, &device)?,
        (None, Some(data)) => recalibrate(args, data, &mut bundle, &device)?,
        (None, None) => {}
    }
    add_detectors(args, labelled.as_ref(), &mut bundle, &device)?;
    let manifest = &mut bundle.manifest;
    if let Some(name) = &args.name {
        manifest.name.clone_from(name);
    }
    if let Some(version) = &args.model_version {
        manifest.version.clone_from(version);
    }
    let staged = StagedBundle::new(out)?;
    bundle.write(staged.path())?;
    let card = read::text(args.checkpoint.join(CARD)).unwrap_or_default();
    let card = format!("{}\n\n{}", card.trim_end(), notes.trim());
    let card = format!("{}\n", card.trim());
    write_atomic(&staged.path().join(CARD), card.as_bytes())?;
    if let Ok(image) = read::bytes(args.checkpoint.join(PREVIEW)) {
        write_atomic(&staged.path().join(PREVIEW), &image)?;
    }
    staged.finish()?;
    match args.common.json {
        true => line(json!({ "out": out }))?,
        false => line(format_args!("bundle: {}", out.display()))?,
    }
    Ok(out)
}

/// A bundle that was written, its measurements, and the code that embeds its site.
pub struct Written {
    /// The bundle.
    pub bundle: Bundle,
    /// Comparison with the model that it was made from.
    pub gate: Gate,
    /// Description of the images on which it was measured.
    pub probe: String,
    /// File with the image of the model, if it could be drawn.
    pub preview: Option<&'static str>,
    /// How pages embed the widget of its site, if there is one.
    pub embed_code: Option<EmbedCode>,
}

/// Builds, measures and writes a bundle, and the site if there is to be one.
///
/// # Errors
/// Bad usage or data, a failing device or disk, or a quantisation that the gate refuses.
pub fn write_bundle(
    args: &ExportArgs,
    name: &str,
    notes: &str,
    site: Option<&Site>,
) -> anyhow::Result<Written> {
    // A bundle that is needed only for a site is built in a temporary folder and then copied.
    let (out, _temporary) = match &args.out {
        Some(out) => (out.clone(), None),
        None => {
            let folder = tempfile::tempdir()?;
            (folder.path().join("bundle"), Some(folder))
        }
    };
    for (flag, folder) in [("--out", &args.out), ("--site", &args.site)] {
        if let Some(folder) = folder {
            check_writable(flag, folder)?;
        }
    }
    check_unused(&out, args.force)?;
    let device = args.common.backend.device()?;
    let inputs = Inputs::read(args, &device)?;
    let version = args.model_version.as_deref().unwrap_or(FIRST_VERSION);
    let contents = |dtype| inputs.contents(name, version, dtype);
    note(format_args!(
        "embedding {} captions and {} labels",
        inputs.captions.len(),
        inputs.taxonomy.labelled().len()
    ));
    let plain = Bundle::build(contents(ExportDtype::Fp32), &device)?;
    let mut bundle = match args.dtype {
        ExportDtype::Fp32 => plain.clone(),
        rounded => Bundle::build(contents(rounded), &device)?,
    };
    let gate = measure(args, &inputs, (&plain, &mut bundle), &device)?;
    add_detectors(args, Some(&inputs.probe.data), &mut bundle, &device)?;
    let staged = StagedBundle::new(&out)?;
    bundle.write(staged.path())?;
    let mut written = Written {
        bundle,
        gate,
        probe: inputs.probe.name,
        preview: None,
        embed_code: None,
    };
    let folder = staged.path();
    if was_drawn(preview(folder, &inputs.taxonomy, &args.common, folder)) {
        written.preview = Some(PREVIEW);
    }
    written.write_card(folder, notes)?;
    staged.finish()?;
    if let Some(site) = site {
        written.embed_code = Some(site.write(&out, &args.url)?);
    }
    Ok(written)
}

impl Written {
    /// Writes the model card of the bundle, with a text of the exporter.
    ///
    /// # Errors
    /// A failing disk.
    pub fn write_card(&self, folder: &Path, notes: &str) -> anyhow::Result<()> {
        let facts = card::Facts {
            gate: &self.gate,
            probe: &self.probe,
            notes,
            preview: self.preview,
        };
        let card = card::write(&self.bundle.manifest, &facts);
        write_atomic(&folder.join(CARD), card.as_bytes())
    }
}

/// Prints the measurements of a bundle, and the folders that were written.
fn print(args: &ExportArgs, written: &Written) -> anyhow::Result<()> {
    let (gate, embed_code) = (&written.gate, &written.embed_code);
    if args.common.json {
        let value = |r: &Row| json!({ "f32": r.full, "bundle": r.quantised });
        let rows = gate.rows.iter().map(|r| (r.name.clone(), value(r)));
        let rows: serde_json::Map<_, _> = rows.collect();
        return line(json!({
            "out": args.out, "gate": rows, "images": gate.images, "site": embed_code,
        }));
    }
    line(gate.table())?;
    if let Some(remark) = gate.remark() {
        line(remark)?;
        line("")?;
    }
    for file in &written.bundle.manifest.files {
        line(format_args!(
            "{:>9} bytes  {}  {}",
            file.bytes, file.dtype, file.path
        ))?;
    }
    if let Some(folder) = &args.out {
        line(format_args!("bundle: {}", folder.display()))?;
    }
    if let Some(embed_code) = embed_code {
        embed_code.print(false)?;
    }
    Ok(())
}

/// Exports a checkpoint as a bundle or for other programs.
///
/// # Errors
/// Bad usage or data (exit code 2), or a quantisation that the gate refuses (3); nothing is written
/// then.
pub fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let notes = match &args.notes {
        Some(path) => {
            read::text(path).map_err(|e| usage(format!("--notes {}: {e}", path.display())))?
        }
        None => String::new(),
    };
    let name = args.name.clone().unwrap_or_else(|| {
        let folder = args.checkpoint.file_name().unwrap_or_default();
        folder.to_string_lossy().into_owned()
    });
    if args.format != ExportFormat::Bundle {
        return publish(args, &name, &notes);
    }
    let site = match &args.site {
        Some(folder) => Some(Site::plan(folder, args.page.as_deref(), args.force)?),
        None => None,
    };
    if model_file::is_bundle(&args.checkpoint) {
        let extends = !args.statements.is_empty() || args.arithmetic.is_some();
        let bundle = match extends {
            true => extend_bundle(args, &notes)?,
            false => &args.checkpoint,
        };
        if let Some(site) = &site {
            return site.write(bundle, &args.url)?.print(args.common.json);
        }
        if extends {
            return Ok(());
        }
    }
    print(args, &write_bundle(args, &name, &notes, site.as_ref())?)
}

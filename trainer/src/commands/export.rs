//! `trainer export`.

mod inputs;

use std::sync::Arc;

use burn::tensor::Device;
use espalier_core::caption::Captioner;
use espalier_core::taxonomy::Taxonomy;
use serde_json::json;

use crate::cli::ExportArgs;
use crate::data::Dataset;
use crate::device::engine;
use crate::disk::read;
use crate::disk::write::{check_writable, write_atomic};
use crate::eval::embed::{self, Reading};
use crate::eval::zero_shot;
use crate::exit::usage;
use crate::export::build::PROMPTS;
use crate::export::calibrate::calibrate;
use crate::export::gate::{EmbeddedProbe, Gate};
use crate::export::published::{self, Checkpoint, ExportFormat};
use crate::export::site::{EmbedCode, Site};
use crate::export::{Bundle, ExportDtype, card};
use crate::model_file::{self, Model};
use crate::output::{line, note};

pub use inputs::taxonomy;
use inputs::{Inputs, run_config};

/// Number of images encoded at a time.
const BATCH: usize = 64;

/// Returns the settings for reading up to `size` images of the probe.
fn reading(size: usize) -> Reading {
    Reading {
        batch_size: BATCH,
        most: size,
        max_broken: 0.01,
    }
}

fn embed_probe<'a>(
    model: &'a Model,
    probe: Arc<dyn Dataset>,
    taxonomy: &Taxonomy,
    size: usize,
    device: &Device,
) -> anyhow::Result<EmbeddedProbe<'a>> {
    let pictures = embed::labelled(model, probe, taxonomy, reading(size), device)?;
    if pictures.labels.is_empty() {
        return Err(usage(
            "--probe: expected images with labels of the taxonomy, found none",
        ));
    }
    let nodes = zero_shot::classes_of(&pictures);
    let classes = embed::classes(model, taxonomy, &nodes, PROMPTS, device)?;
    Ok(EmbeddedProbe {
        model,
        pictures,
        classes,
    })
}

/// Writes a checkpoint for other programs, with bit-identical weights.
fn publish(args: &ExportArgs, name: &str, notes: &str) -> anyhow::Result<()> {
    if let Some(out) = &args.out {
        check_writable("--out", out)?;
    }
    let (_, _, card, tensors) = model_file::read(&args.checkpoint)?;
    let checkpoint = Checkpoint { card, tensors };
    let Some(out) = args.out.as_deref().filter(|_| args.site.is_none()) else {
        return Err(usage(
            "--site: a site needs a bundle; omit --format, or give --out instead of --site",
        ));
    };
    let files = published::write(&checkpoint, args.format, (out, args.force), (name, notes))?;
    if args.common.json {
        line(json!({ "out": out, "files": files }))?;
    } else {
        line(format_args!("{}: {}", out.display(), files.join(", ")))?;
    }
    Ok(())
}

/// Calibrates a bundle on the probe and compares it with the model that it was built from. Records
/// the results in its manifest.
///
/// # Errors
/// Bad data, a failing device, or a quantisation that the gate refuses.
fn measure(
    args: &ExportArgs,
    inputs: &Inputs,
    (plain, bundle): (&Bundle, &mut Bundle),
    device: &Device,
) -> anyhow::Result<Gate> {
    let (model, taxonomy, data) = (&inputs.model, &inputs.taxonomy, &inputs.probe);
    let open = |b: &Bundle| -> anyhow::Result<Captioner> {
        Ok(Captioner::open(
            &b.manifest_bytes()?,
            &b.checked()?,
            &engine(device),
        )?)
    };
    let stored = model_file::from_bundle(bundle.manifest.clone(), &bundle.checked()?, device)?;
    let captioner = open(bundle)?;
    note(format_args!(
        "comparing on up to {} images of {}",
        args.probe_size, inputs.probe_name
    ));
    let stored = embed_probe(&stored, Arc::clone(data), taxonomy, args.probe_size, device)?;
    let full = embed_probe(model, Arc::clone(data), taxonomy, args.probe_size, device)?;
    let (calibration, stops) = calibrate(
        &captioner,
        stored.model,
        &stored.pictures,
        (data, taxonomy, reading(args.probe_size)),
        device,
    )?;
    bundle.set_calibration(&calibration)?;
    let captioners = (&open(plain)?, &open(bundle)?);
    let gate = Gate::compare(&full, &stored, captioners, taxonomy, device)?;
    gate.check(args.max_drop)?;

    let classes = zero_shot::classes_of(&stored.pictures).len();
    let metrics = &mut bundle.manifest.metrics;
    metrics.extend(gate.rows.iter().map(|r| (r.name.clone(), r.quantised)));
    metrics.insert("chance".into(), 1.0 / classes.max(1) as f64);
    metrics.extend(stops);
    let provenance = &mut bundle.manifest.provenance;
    provenance.insert("measured_on".into(), inputs.probe_name.clone().into());
    if let Some(config) = run_config(model) {
        provenance.insert("run".into(), config.without_folders().to_toml()?.into());
    }
    Ok(gate)
}

/// Builds, measures and writes a bundle, and the site if there is to be one.
fn write_bundle(
    args: &ExportArgs,
    name: &str,
    notes: &str,
    site: Option<&Site>,
) -> anyhow::Result<()> {
    // A bundle that is needed only for a site is built in a temporary folder and then copied.
    let temporary = match &args.out {
        Some(_) => None,
        None => Some(tempfile::tempdir()?),
    };
    let out = match (&args.out, &temporary) {
        (Some(out), _) => out.clone(),
        (None, Some(temporary)) => temporary.path().join("bundle"),
        (None, None) => return Err(usage("--out: expected a folder, found none")),
    };
    for (flag, folder) in [("--out", &args.out), ("--site", &args.site)] {
        if let Some(folder) = folder {
            check_writable(flag, folder)?;
        }
    }
    let device = args.common.backend.device()?;
    let inputs = Inputs::read(args, &device)?;
    let contents = |dtype| inputs.contents(name, &args.model_version, dtype);
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
    bundle.write(&out, args.force)?;
    let facts = card::Facts {
        gate: Some(&gate),
        probe: &inputs.probe_name,
        notes,
    };
    write_atomic(
        &out.join("README.md"),
        card::write(&bundle.manifest, &facts).as_bytes(),
    )?;
    let embed_code = match site {
        Some(site) => Some(site.write(&out, &args.url)?),
        None => None,
    };
    print(args, &bundle, &gate, embed_code.as_ref())
}

/// Prints the measurements of a bundle, and the folders that were written.
fn print(
    args: &ExportArgs,
    bundle: &Bundle,
    gate: &Gate,
    embed_code: Option<&EmbedCode>,
) -> anyhow::Result<()> {
    if args.common.json {
        let rows: serde_json::Map<_, _> = gate
            .rows
            .iter()
            .map(|r| {
                (
                    r.name.clone(),
                    json!({ "f32": r.full, "bundle": r.quantised }),
                )
            })
            .collect();
        return line(json!({
            "out": args.out, "gate": rows, "pictures": gate.pictures, "site": embed_code,
        }));
    }
    line(gate.table())?;
    for file in &bundle.manifest.files {
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
    if let Some(site) = site
        .as_ref()
        .filter(|_| model_file::is_bundle(&args.checkpoint))
    {
        return site
            .write(&args.checkpoint, &args.url)?
            .print(args.common.json);
    }
    write_bundle(args, &name, &notes, site.as_ref())
}

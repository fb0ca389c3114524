//! `trainer export`.

use std::path::PathBuf;
use std::sync::Arc;

use burn::tensor::Device;
use espalier_core::caption::Captioner;
use espalier_core::taxonomy::{Lexicon, Taxonomy};
use serde_json::json;
use toml::Table;

use crate::cli::ExportArgs;
use crate::config::TrainConfig;
use crate::data::Dataset;
use crate::data::formats::open;
use crate::data::nouns::wordnet::Nouns;
use crate::disk::write::write_atomic;
use crate::eval::embed::{self, Reading};
use crate::eval::zero_shot;
use crate::exit::usage;
use crate::export::build::PROMPTS;
use crate::export::calibrate::calibrate;
use crate::export::gate::{Gate, Side};
use crate::export::published::{self, Checkpoint, ExportFormat};
use crate::export::site::Site;
use crate::export::{Bundle, Contents, ExportDtype, captions, card, nouns};
use crate::fit::{Source, source};
use crate::model_file::{self, Model};

/// Number of images encoded at a time.
const BATCH: usize = 64;

/// Returns the configuration of the run that produced a model, if the model records it.
fn run_of(model: &Model) -> Option<TrainConfig> {
    let table: Table = model.card.run.parse().ok()?;
    TrainConfig::resolve(None, table, &[]).ok()
}

/// Returns the taxonomy of the flag, else of the run, else the shipped one.
///
/// # Errors
/// Bad usage if the file cannot be read, or a taxonomy error naming the line.
pub fn taxonomy(flag: Option<&PathBuf>, model: &Model) -> anyhow::Result<Taxonomy> {
    match (flag, run_of(model)) {
        (None, Some(config)) => source::taxonomy(&config),
        (flag, _) => open::taxonomy(flag.map(PathBuf::as_path), &[]),
    }
}

/// Returns the probe and its description: the data of the flag, else the run's validation data,
/// else its training data.
fn probe(args: &ExportArgs, model: &Model) -> anyhow::Result<(Arc<dyn Dataset>, String)> {
    if !args.probe.is_empty() {
        // Only file names: folders of this machine mean nothing to readers of the model card.
        let names = args.probe.iter().map(|path| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.display().to_string()
        });
        let names: Vec<String> = names.collect();
        return Ok((open::labelled(&args.probe)?, names.join(", ")));
    }
    let config = run_of(model).ok_or_else(|| {
        usage("the checkpoint records no training data; give labelled images with --probe")
    })?;
    let hint = "; give labelled images with --probe";
    if !config.dataset.val_data.is_empty() {
        let data = open::labelled(&config.dataset.val_data);
        let data = data.map_err(|e| usage(format!("the run's validation data: {e}{hint}")))?;
        return Ok((data, "the run's validation data".into()));
    }
    eprintln!(
        "the run has no validation data; calibrating on its training data, which gives \
         overconfident probabilities"
    );
    let source = Source::open(&config);
    let source = source.map_err(|e| usage(format!("the run's data: {e}{hint}")))?;
    Ok((
        source.data,
        "the run's training data, so the values are too high".into(),
    ))
}

/// Returns the settings for reading up to `size` images of the probe.
fn reading(size: usize) -> Reading {
    Reading {
        batch_size: BATCH,
        most: size,
        max_broken: 0.01,
    }
}

fn side<'a>(
    model: &'a Model,
    probe: Arc<dyn Dataset>,
    taxonomy: &Taxonomy,
    size: usize,
    device: &Device,
) -> anyhow::Result<Side<'a>> {
    let pictures = embed::labelled(model, probe, taxonomy, reading(size), device)?;
    if pictures.labels.is_empty() {
        return Err(usage(
            "--probe: expected images with labels of the taxonomy, found none",
        ));
    }
    let nodes = zero_shot::classes_of(&pictures);
    let classes = embed::classes(model, taxonomy, &nodes, PROMPTS, device)?;
    Ok(Side {
        model,
        pictures,
        classes,
    })
}

/// Writes a checkpoint for other programs, with bit-identical weights.
fn publish(args: &ExportArgs, name: &str, notes: &str) -> anyhow::Result<()> {
    let (_, _, card, tensors) = model_file::read(&args.checkpoint)?;
    let checkpoint = Checkpoint { card, tensors };
    let Some(out) = args.out.as_deref().filter(|_| args.site.is_none()) else {
        return Err(usage(
            "--site: a site needs a bundle; omit --format, or give --out instead of --site",
        ));
    };
    let files = published::write(&checkpoint, args.format, (out, args.force), (name, notes))?;
    if args.common.json {
        println!("{}", json!({ "out": out, "files": files }));
    } else {
        println!("{}: {}", out.display(), files.join(", "));
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
        Some(path) => std::fs::read_to_string(path)
            .map_err(|e| usage(format!("--notes {}: {e}", path.display())))?,
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
        site.write(&args.checkpoint, &args.url)?
            .print(args.common.json);
        return Ok(());
    }
    // A bundle that is needed only for a site is built in a temporary folder and then copied.
    let parked = match &args.out {
        Some(_) => None,
        None => Some(tempfile::tempdir()?),
    };
    let out = match (&args.out, &parked) {
        (Some(out), _) => out.clone(),
        (None, Some(parked)) => parked.path().join("bundle"),
        (None, None) => return Err(usage("--out: expected a folder, found none")),
    };
    let device = args.common.backend.device()?;
    let model = model_file::open(&args.checkpoint, &device)?;
    let taxonomy = taxonomy(args.taxonomy.as_ref(), &model)?;
    let captions = match &args.captions {
        Some(path) => captions::from_file(path, &taxonomy)?,
        None => captions::of_taxonomy(&taxonomy, !args.no_places),
    };
    let nouns = match &args.nouns {
        Some(path) => nouns::of_taxonomy(&taxonomy, &Nouns::open(path)?),
        None => Lexicon::default(),
    };
    let (data, probe_name) = probe(args, &model)?;
    let contents = |dtype| Contents {
        model: &model,
        taxonomy: &taxonomy,
        captions: captions.clone(),
        nouns: &nouns,
        dtype,
        name: name.clone(),
        version: args.model_version.clone(),
    };
    let open = |b: &Bundle| -> anyhow::Result<Captioner> {
        Ok(Captioner::open(
            &b.manifest_bytes()?,
            &b.checked()?,
            &device,
        )?)
    };
    eprintln!(
        "embedding {} captions and {} labels",
        captions.len(),
        taxonomy.labelled().len()
    );
    let plain = Bundle::build(contents(ExportDtype::Fp32), &device)?;
    let mut bundle = match args.dtype {
        ExportDtype::Fp32 => plain.clone(),
        rounded => Bundle::build(contents(rounded), &device)?,
    };
    let stored = model_file::from_bundle(bundle.manifest.clone(), &bundle.checked()?, &device)?;
    let captioner = open(&bundle)?;
    eprintln!(
        "comparing on up to {} images of {probe_name}",
        args.probe_size
    );
    let stored = side(
        &stored,
        Arc::clone(&data),
        &taxonomy,
        args.probe_size,
        &device,
    )?;
    let full = side(
        &model,
        Arc::clone(&data),
        &taxonomy,
        args.probe_size,
        &device,
    )?;
    let (calibration, stops) = calibrate(
        &captioner,
        stored.model,
        &stored.pictures,
        (&data, &taxonomy, reading(args.probe_size)),
        &device,
    )?;
    bundle.set_calibration(&calibration)?;
    let gate = Gate::compare(
        &full,
        &stored,
        (&open(&plain)?, &open(&bundle)?),
        &taxonomy,
        &device,
    )?;
    gate.judge(args.max_drop)?;

    let classes = zero_shot::classes_of(&stored.pictures).len();
    let metrics = &mut bundle.manifest.metrics;
    metrics.extend(gate.rows.iter().map(|r| (r.name.clone(), r.quantised)));
    metrics.insert("chance".into(), 1.0 / classes.max(1) as f64);
    metrics.extend(stops);
    let provenance = &mut bundle.manifest.provenance;
    provenance.insert("measured_on".into(), probe_name.clone().into());
    if let Some(config) = run_of(&model) {
        provenance.insert("run".into(), config.without_folders().to_toml()?.into());
    }
    bundle.write(&out, args.force)?;
    let facts = card::Facts {
        gate: Some(&gate),
        probe: &probe_name,
        notes: &notes,
    };
    write_atomic(
        &out.join("README.md"),
        card::write(&bundle.manifest, &facts).as_bytes(),
    )?;

    let made = match &site {
        Some(site) => Some(site.write(&out, &args.url)?),
        None => None,
    };
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
        println!(
            "{}",
            json!({ "out": args.out, "gate": rows, "pictures": gate.pictures, "site": made })
        );
        return Ok(());
    }
    println!("{}", gate.table());
    for file in &bundle.manifest.files {
        println!("{:>9} bytes  {}  {}", file.bytes, file.dtype, file.path);
    }
    if let Some(folder) = &args.out {
        println!("bundle: {}", folder.display());
    }
    if let Some(made) = made {
        made.print(false);
    }
    Ok(())
}

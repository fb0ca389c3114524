//! `trainer make-page`: from folders of photos to a site, in one command.

mod judge;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use espalier_checkpoints::model_file::is_bundle;
use espalier_io::exit::usage;
use espalier_io::output::{line, note};
use judge::{Judgement, judge};
use serde_json::json;

use super::{export, fit};
use crate::cli::{ExportArgs, FitArgs, MakePageArgs};
use crate::export::samples::Sample;
use crate::export::site::Site;
use crate::photos::classes::{self, PhotoClass};
use crate::photos::plan::{PHOTOS, run_name};

/// Loss of top-1 accuracy by quantisation that is always accepted, in percentage points.
const MAX_DROP: f64 = 5.0;

/// Largest number of samples on the page.
const SAMPLES: usize = 12;

/// Builds the arguments of another command from its words.
fn arguments<A: Args>(words: &[(&str, Option<OsString>)]) -> anyhow::Result<A> {
    let mut all: Vec<OsString> = vec!["trainer".into()];
    for (flag, value) in words {
        if let Some(value) = value {
            all.extend([OsString::from(flag), value.clone()]);
        }
    }
    let command = A::augment_args(clap::Command::new("trainer"));
    Ok(A::from_arg_matches(&command.try_get_matches_from(all)?)?)
}

fn word(value: impl ToString) -> Option<OsString> {
    Some(value.to_string().into())
}

/// Returns the arguments of `fit`: of a new run, or of one that continues.
fn fit_args(args: &MakePageArgs, name: &str, resume: bool) -> anyhow::Result<FitArgs> {
    let new = |value: Option<OsString>| value.filter(|_| !resume);
    let path = |path: &Option<PathBuf>| new(path.as_ref().map(|path| path.clone().into()));
    // A built page has the shipped model.
    let of_page = args.page.as_ref().map(|page| page.join("models/default"));
    let init = args
        .init
        .clone()
        .or(of_page.filter(|model| is_bundle(model)));
    arguments(&[
        ("--logs", Some(args.logs.clone().into())),
        ("--name", word(name)),
        ("--backend", word(args.common.backend.name())),
        ("--data", new(Some(args.photos.clone().into()))),
        ("--init", path(&init)),
        ("--taxonomy", path(&args.taxonomy)),
        ("--steps", args.steps.and_then(word)),
        ("--resume", resume.then(|| "latest".into())),
    ])
}

/// Returns the arguments of `export` for the site.
fn export_args(args: &MakePageArgs, run: &Path, held_out: usize) -> anyhow::Result<ExportArgs> {
    // With few photos, one or two changed answers are many percent.
    let max_drop = (200.0 / held_out.max(1) as f64).clamp(MAX_DROP, 100.0);
    let mut export: ExportArgs = arguments(&[
        ("--checkpoint", Some(run.into())),
        ("--site", Some(args.out.clone().into())),
        ("--url", word(&args.url)),
        // The shipped model has 63 levels. Rounded to as few again, most of what a short training has
        // changed would be lost.
        ("--dtype", word("q8")),
        ("--max-drop", word(max_drop)),
        ("--backend", word(args.common.backend.name())),
    ])?;
    export.no_places = true;
    Ok(export)
}

/// Checks that a run that continues was made of the same photos.
fn check_photos(run: &Path, now: &[PhotoClass]) -> anyhow::Result<()> {
    let photos = |classes: &[PhotoClass]| -> [BTreeSet<PathBuf>; 2] {
        let train = classes.iter().flat_map(|class| &class.train);
        let held_out = classes.iter().flat_map(|class| &class.held_out);
        [train.cloned().collect(), held_out.cloned().collect()]
    };
    let before = classes::from_csv(&run.join(PHOTOS))?;
    if photos(&before) == photos(now) {
        return Ok(());
    }
    Err(usage(format!(
        "{}: expected the photos that this run was trained on, found other photos in the folder; give another \
         --name to start a new run",
        run.display()
    )))
}

/// Reads a photo of each class, one that was set aside where there is one; classes are evenly spaced if
/// there are too many.
fn samples(classes: &[PhotoClass]) -> Vec<Sample> {
    let step = classes.len().div_ceil(SAMPLES).max(1);
    let read = |class: &PhotoClass| {
        let mut photos = class.held_out.iter().chain(&class.train);
        photos.find_map(|photo| Sample::read(photo, &class.name).ok())
    };
    classes.iter().step_by(step).filter_map(read).collect()
}

fn notes(judgement: &Judgement, train: usize) -> String {
    format!(
        "## How it was made\n\n\
         `trainer make-page` trained it on {train} photos in one folder per class, starting from another \
         model whose image encoder stayed as it was.\n\n## Photos that were set aside\n\n{}\n",
        judgement.table()
    )
}

/// Trains on folders of photos, writes a site, and measures it on the photos that were set aside.
///
/// # Errors
/// Those of `fit` and `export`. An interrupted command continues when it is run again.
pub fn run(args: &MakePageArgs) -> anyhow::Result<()> {
    let site = Site::plan(&args.out, args.page.as_deref(), args.force)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => run_name("page", &args.photos)?,
    };
    let run = args.logs.join(&name);
    let resume = run.join(fit::CONFIG).exists();
    if resume {
        check_photos(&run, &classes::read(&args.photos, args.hold_out)?.classes)?;
        note(format_args!("{}: continuing this run", run.display()));
    }
    fit::run_on_photos(&fit_args(args, &name, resume)?, args.hold_out)?;
    note("measuring the model and writing the site");

    let classes = classes::from_csv(&run.join(PHOTOS))?;
    let held_out = classes.iter().map(|class| class.held_out.len()).sum();
    let train: usize = classes.iter().map(|class| class.train.len()).sum();
    let samples = if args.no_samples {
        Vec::new()
    } else {
        samples(&classes)
    };
    let site = site.with_samples(samples);
    let bundle = tempfile::tempdir()?;
    let mut export_args = export_args(args, &run, held_out)?;
    export_args.out = Some(bundle.path().to_owned());
    export_args.force = true;
    let written = export::write_bundle(&export_args, &name, "", None)?;
    let judgement = judge(bundle.path(), &run, &args.common)?;
    written.write_card(bundle.path(), &notes(&judgement, train))?;
    let embed_code = site.write(bundle.path(), &args.url)?;
    if args.common.json {
        return line(json!({
            "run": run, "site": embed_code, "trained_on": train, "held_out": judgement,
        }));
    }
    line(format_args!(
        "\n{}\n\n{}",
        judgement.in_words(train),
        judgement.table()
    ))?;
    embed_code.print(false)?;
    line(format_args!(
        "\nlook at it: python3 -m http.server 8080 --directory {}, then open http://127.0.0.1:8080/",
        site.folder().display()
    ))
}

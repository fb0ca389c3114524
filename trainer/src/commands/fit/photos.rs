//! `trainer fit --data PHOTOS` with nothing else: everything that a run on class folders needs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use espalier_checkpoints::model_name;
use espalier_data::formats::folders::Folders;
use espalier_io::exit::usage;
use espalier_io::output::note;

use super::resume::CONFIG;
use crate::cli::FitArgs;
use crate::fit::run::free_name;
use crate::photos::classes;
use crate::photos::plan::{PHOTOS, PhotoPlan, TAXONOMY, run_name};

/// Name of the recipe of such runs.
const RECIPE: &str = "photos";

/// Samples per step in the recipe.
const BATCH: usize = 32;

/// A completed command line, and the folder with the files that it names.
pub(super) struct PhotoRun {
    /// The command line with everything that was missing.
    pub(super) args: FitArgs,
    folder: PathBuf,
    /// Folder of a dry run, which leaves nothing behind.
    _temporary: Option<tempfile::TempDir>,
}

/// Returns the folder of class folders, if the command line names only that.
fn bare_folder(args: &FitArgs) -> Option<&Path> {
    let [folder] = args.data.as_slice() else {
        return None;
    };
    let is_bare = args.dataset.is_none()
        && args.method.is_none()
        && args.config.is_none()
        && args.model.is_none()
        && args.resume.is_none();
    (is_bare && folder.is_dir() && Folders::matches(folder)).then_some(folder)
}

/// Returns the model to start from: the one of the command line, else the shipped one.
fn start_model(init: Option<&PathBuf>) -> anyhow::Result<PathBuf> {
    let shipped = || model_name::shipped(model_name::START);
    init.cloned().or_else(shipped).ok_or_else(|| {
        usage(
            "--init: expected the shipped model (static/models/default, or models/default of a built page) \
             in or above the folder of this program or the current folder, found none; name a model with \
             --init, or a --method to train without one",
        )
    })
}

impl PhotoRun {
    /// Plans a run if the command line names class folders and nothing that says how to train on
    /// them, writes its taxonomy and its list of photos, and prints what was chosen.
    ///
    /// # Errors
    /// Bad usage for folders that cannot be classes, without a model to start from, or with several
    /// processes.
    pub(super) fn plan(
        args: &FitArgs,
        hold_out: f64,
        processes: usize,
        is_brief: bool,
    ) -> anyhow::Result<Option<Self>> {
        let Some(folder) = bare_folder(args) else {
            return Ok(None);
        };
        if processes > 1 {
            return Err(usage(
                "--data: expected one process for a folder of photos with nothing else, found several; name \
                 --dataset, --taxonomy and --method",
            ));
        }
        let model = start_model(args.init.as_ref())?;
        let device = args.common.backend.device()?;
        let share = if args.val_data.is_empty() {
            hold_out
        } else {
            0.0
        };
        let listing = classes::read(folder, share)?;
        let left_out = listing.describe_left_out();
        if !left_out.is_empty() {
            note(left_out);
        }
        let taxonomy = args.taxonomy.as_deref();
        let plan = PhotoPlan::new(listing.classes, &model, taxonomy, &device)?;
        let choices = match is_brief {
            true => String::new(),
            false => format!(
                " by the recipe `{RECIPE}` (--dataset, --method or --config choose otherwise)"
            ),
        };
        note(format_args!(
            "{}: a folder of photos per class; starting from {}{choices}\n{}",
            folder.display(),
            model.display(),
            plan.describe()
        ));
        let name = match &args.name {
            Some(name) => name.clone(),
            None => free_name(&args.logs, run_name("photos", folder)?),
        };
        let temporary = args.dry_run.then(tempfile::tempdir).transpose()?;
        let run = match &temporary {
            Some(folder) => folder.path().to_owned(),
            None => std::path::absolute(args.logs.join(&name))?,
        };
        if run.join(CONFIG).exists() {
            return Err(usage(format!(
                "{}: the run already exists; continue it with --resume latest --name {name}, or choose \
                 another --name",
                run.display()
            )));
        }
        fs::create_dir_all(&run).with_context(|| format!("creating {}", run.display()))?;
        plan.write(&run)?;
        let (data, held_out) = plan.data(&run);
        let mut args = args.clone();
        args.name = Some(name);
        args.config = Some(RECIPE.into());
        args.init = Some(model);
        args.data = vec![data];
        args.val_data.extend(held_out);
        args.taxonomy = Some(run.join(TAXONOMY));
        if args.batch_size.is_none() {
            // With few photos, a step takes half of them: one unreadable photo must not end the run.
            let photos = plan.counts().0 / 2;
            args.batch_size = (photos < BATCH).then_some(photos.max(2));
        }
        Ok(Some(Self {
            args,
            folder: run,
            _temporary: temporary,
        }))
    }

    /// Removes the files of a run that did not begin.
    pub(super) fn discard(&self) {
        // Ignore clean-up errors: the user must see the original error.
        for file in [PHOTOS, TAXONOMY] {
            let _ = fs::remove_file(self.folder.join(file));
        }
        let _ = fs::remove_dir(&self.folder);
    }
}

//! `trainer models`: the models with short names, and the cache.

use std::time::SystemTime;

use espalier_checkpoints::model_file::read_bundle;
use espalier_checkpoints::model_name::cache::{self, Kept};
use espalier_checkpoints::model_name::published::PUBLISHED;
use espalier_checkpoints::model_name::{SHIPPED, shipped};
use espalier_core::model::Preset;
use espalier_io::disk::cache::cache_folder;
use espalier_io::output::line;
use serde::Serialize;
use serde_json::json;

use crate::cli::{ModelsArgs, ModelsCommand};

/// A model with a short name.
#[derive(Debug, Default, Serialize)]
struct Named {
    name: &'static str,
    architecture: String,
    licence: String,
    bytes: u64,
    /// Source of the model.
    source: String,
    /// Whether it can be used without the network.
    here: bool,
}

/// Returns the shipped models; one that this installation lacks has no size.
fn shipped_models() -> anyhow::Result<Vec<Named>> {
    let mut out = Vec::new();
    for name in SHIPPED {
        let mut named = Named {
            name,
            source: "shipped with this program".to_owned(),
            ..Named::default()
        };
        if let Some(folder) = shipped(name) {
            let manifest = read_bundle(&folder, &[])?.1;
            let vision = &manifest.model.vision;
            named.architecture = Preset::of_image_encoder(vision).map_or_else(
                || format!("an encoder of {} px", vision.image_size),
                |preset| preset.name().to_owned(),
            );
            named.licence = "see its README.md".to_owned();
            named.bytes = manifest.files.iter().map(|file| file.bytes).sum();
            named.source = folder.display().to_string();
            named.here = true;
        }
        out.push(named);
    }
    Ok(out)
}

fn published_models(kept: &[Kept]) -> Vec<Named> {
    let named = PUBLISHED.iter().map(|model| Named {
        name: model.name,
        architecture: model.architecture.name().to_owned(),
        licence: model.licence.to_owned(),
        bytes: model.bytes(),
        source: model.source(),
        here: kept.iter().any(|kept| kept.source.name == model.name),
    });
    named.collect()
}

/// Returns a number of bytes in words.
fn size(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Returns how long ago something was, in words.
fn age(written: SystemTime) -> String {
    let seconds = written.elapsed().unwrap_or_default().as_secs();
    match seconds / 86_400 {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        days => format!("{days} days ago"),
    }
}

/// Returns the seconds since 1970, for programs.
fn seconds(written: SystemTime) -> u64 {
    let since = written.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

fn list(args: &ModelsArgs) -> anyhow::Result<()> {
    let kept = cache::all();
    let mut named = shipped_models()?;
    named.extend(published_models(&kept));
    if args.json {
        let kept = kept.iter().map(|kept| {
            json!({
                "name": kept.source.name, "files": kept.source.files, "folder": kept.folder,
                "bytes": kept.bytes, "written": seconds(kept.written),
            })
        });
        let kept: Vec<_> = kept.collect();
        return line(json!({ "models": named, "cache": kept }));
    }
    line(format_args!(
        "{:16} {:14} {:>10}  {:4}  {:20} from",
        "name", "architecture", "size", "here", "licence"
    ))?;
    for model in named {
        line(format_args!(
            "{:16} {:14} {:>10}  {:4}  {:20} {}",
            model.name,
            model.architecture,
            size(model.bytes),
            if model.here { "yes" } else { "no" },
            model.licence,
            model.source
        ))?;
    }
    line(format_args!(
        "\nhf-hub:org/name, a folder or a file of another program, and models of your own work too\n\ncache: {}",
        cache_folder("models").display()
    ))?;
    for kept in kept {
        line(format_args!(
            "{:40} {:>10}  {:14} {}",
            kept.source.name,
            size(kept.bytes),
            age(kept.written),
            kept.source.files
        ))?;
    }
    Ok(())
}

/// Lists models, or removes one from the cache.
///
/// # Errors
/// Bad usage for a name that is not in the cache; a failing disk.
pub fn run(args: &ModelsArgs) -> anyhow::Result<()> {
    let Some(ModelsCommand::Remove { name }) = &args.command else {
        return list(args);
    };
    let removed = cache::remove(name)?;
    if args.json {
        let folders: Vec<_> = removed.iter().map(|kept| &kept.folder).collect();
        return line(json!({ "removed": folders }));
    }
    for kept in removed {
        line(format_args!(
            "removed {} ({}), {}",
            kept.source.name,
            kept.source.files,
            size(kept.bytes)
        ))?;
    }
    Ok(())
}

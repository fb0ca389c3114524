//! `trainer import`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::exit::usage;
use crate::fit::checkpoint::MODEL;
use crate::fit::method::MethodName;
use crate::import::flags::Flags;
use crate::import::pipeline::{About, Plan, plan, tensors};
use crate::import::source::Files;
use crate::import::store::Store;
use crate::weights_file::{self, Stored};

/// Turn a published checkpoint into one of ours.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer import hf-hub:openai/clip-vit-base-patch32 --out clip-b32\n\
                  Example: trainer import hycoclip_vit_s.pth --method hycoclip --out hycoclip-s"
)]
pub struct ImportArgs {
    /// `hf-hub:org/name` (also `@revision`), `local-dir:PATH`, a folder, or a weights file.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Folder of the checkpoint, or a .safetensors file.
    #[arg(long, value_name = "CKPT")]
    pub out: PathBuf,
    /// Weights file inside the source, where it has several.
    #[arg(long, value_name = "NAME")]
    pub file: Option<String>,
    /// What neither the weights nor files beside them say.
    #[command(flatten)]
    pub unsaid: Flags,
    /// Method that it was trained with; MERU and HyCoCLIP look alike.
    #[arg(long, value_enum)]
    pub method: Option<MethodName>,
    /// Text of the root, for a model on the unit sphere.
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub root_text: String,
    /// Terms of use of the weights; those of a README beside them where not given.
    #[arg(long)]
    pub licence: Option<String>,
    /// Replace a checkpoint that is there.
    #[arg(long)]
    pub force: bool,
    /// Never use the network; a repository must be in the cache.
    #[arg(long)]
    pub offline: bool,
    /// Print the report as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// The file that `--out` means.
fn target(args: &ImportArgs) -> anyhow::Result<PathBuf> {
    let is_file = args.out.extension().is_some_and(|e| e == "safetensors");
    let path = if is_file {
        args.out.clone()
    } else {
        args.out.join(MODEL)
    };
    if path.exists() && !args.force {
        return Err(usage(format!(
            "--out: {} is there already; choose another or give --force",
            path.display()
        )));
    }
    Ok(path)
}

fn report(
    args: &ImportArgs,
    files: &Files,
    store: &Store,
    plan: &Plan,
    out: Option<&Path>,
) -> Value {
    json!({
        "source": files.label, "layout": plan.layout, "out": out,
        "method": plan.card.method, "config": plan.card.config,
        "preprocess": plan.card.origin.as_ref().map(|o| o.preprocess),
        "parameters": plan.card.config.parameters(),
        "tensors": plan.matched, "left_aside": store.left_aside,
        "choices": plan.choices, "offline": args.offline,
    })
}

fn print(files: &Files, store: &Store, plan: &Plan, out: &Path) {
    let m = &plan.matched;
    println!(
        "{}: {}, {} parameters",
        files.label,
        plan.layout.title(),
        plan.card.config.parameters()
    );
    println!(
        "tensors: {} applied, {} missing, {} unused, {} misshapen",
        m.applied.len(),
        m.missing.len(),
        m.unused.len(),
        m.misshapen.len()
    );
    for (what, names) in [
        ("says nothing", &m.ignored),
        ("kept, not used", &m.kept),
        ("left aside", &store.left_aside),
    ] {
        if !names.is_empty() {
            println!("  {what}: {}", names.join(", "));
        }
    }
    for choice in &plan.choices {
        println!("  {:36} {}  ({})", choice.what, choice.value, choice.by);
    }
    println!("checkpoint: {}", out.display());
}

/// Import a checkpoint and say how it went.
///
/// # Errors
/// Bad usage or data (exit code 2), with nothing written; a hub that cannot be reached or a disk
/// that cannot be written to (1).
pub fn run(args: &ImportArgs) -> anyhow::Result<()> {
    let path = target(args)?;
    let files = Files::find(&args.source, args.file.as_deref(), args.offline)?;
    let mut store = Store::open(&files.weights)?;
    let about = About {
        method: args.method.map(|m| m.name().to_owned()),
        licence: args.licence.clone(),
        root_text: args.root_text.clone(),
    };
    let plan = plan(&files, &mut store, &args.unsaid, &about)?;
    let read = tensors(&mut store, &plan);
    if args.json && read.is_err() {
        println!("{}", report(args, &files, &store, &plan, None));
    }
    let stored = read?.tensors.into_iter();
    let stored = stored.map(|(name, tensor)| (name, Stored::Floats(tensor)));
    weights_file::write(&path, &stored.collect(), plan.card.metadata()?)?;
    if args.json {
        println!("{}", report(args, &files, &store, &plan, Some(&path)));
    } else {
        print(&files, &store, &plan, &path);
    }
    Ok(())
}

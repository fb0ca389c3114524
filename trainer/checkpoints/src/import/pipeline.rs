//! Converts files to a checkpoint in memory, completely or not at all.

use std::collections::BTreeMap;
use std::path::Path;

use espalier_core::geometry::DistanceReduction;
use espalier_core::model::LiftKind;
use espalier_core::weights::{HostTensor, Tensors};
use espalier_io::disk::weights_file::{self, Stored};
use espalier_io::exit::usage;
use serde_json::json;

use super::choices::Choice;
use super::convert::{self, Match};
use super::flags::Flags;
use super::resolve::{Evidence, PixelTensors, Resolved, resolve};
use super::sidecars::{check_vocabulary, licence, named_preprocessing, read_stated};
use super::source::Files;
use super::store::Store;
use crate::layout::{Layout, Measured};
use crate::model_file::{CARD, ModelCard, Origin, PUBLISHED_CARD};

/// Settings from the user that are not part of the architecture.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Method that the model was trained with.
    pub method: Option<String>,
    /// Licence of the weights.
    pub licence: Option<String>,
    /// Text whose embedding is the root of a model on the unit sphere.
    pub root_text: String,
}

/// Plan of an import, before its tensors are read.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Naming scheme of the tensors in the file.
    pub layout: Layout,
    /// Metadata of the new checkpoint.
    pub card: ModelCard,
    /// Choices and their origins.
    pub choices: Vec<Choice>,
    /// How the tensors fit.
    pub matched: Match,
}

/// Determines the embedding space from a file's learned scalars.
fn lift(layout: Layout, store: &Store, measured: &Measured) -> LiftKind {
    match layout {
        // The published way to combine the distances in the factors; the weights do not show it.
        Layout::Meru if measured.factors > 0 => LiftKind::Product {
            factors: measured.factors,
            join: DistanceReduction::L1,
        },
        Layout::Meru if store.shape("curv").is_some() => LiftKind::Lorentz,
        _ => LiftKind::Sphere,
    }
}

/// Reads pixel statistics from the tensors of the MERU family (notation 3.3: always use these).
fn pixel_tensors(layout: Layout, store: &mut Store) -> anyhow::Result<PixelTensors> {
    if layout != Layout::Meru {
        return Ok(None);
    }
    let mut read = |name: &str| -> anyhow::Result<Option<[f32; 3]>> {
        if store.shape(name) != Some(&[3, 1, 1]) {
            return Ok(None);
        }
        Ok(<[f32; 3]>::try_from(store.read(name)?).ok())
    };
    let mean = read("pixel_mean")?;
    Ok(mean.zip(read("pixel_std")?))
}

/// Returns the name of the method, for reports. The learned scalars determine it, except that MERU
/// and HyCoCLIP have the same ones.
fn method(about: &About, lift: LiftKind) -> Choice {
    let (value, by) = match (&about.method, lift) {
        (Some(method), _) => (method.as_str(), "--method"),
        (None, LiftKind::Sphere) => ("clip", "no curvature among the tensors"),
        (None, LiftKind::Lorentz) => (
            "meru",
            "one curvature among the tensors; for HyCoCLIP, with the same, set --method hycoclip",
        ),
        (None, LiftKind::Product { .. }) => ("phyclip", "curvatures of factors"),
    };
    Choice::new("method", json!(value), by)
}

/// Reads the card of a file that this program exported under published names; `None` for other
/// files.
fn exported_card(store: &Store) -> anyhow::Result<Option<ModelCard>> {
    if store.metadata.contains_key(CARD) {
        return Err(usage(
            "the file is already a checkpoint of this program; use it directly",
        ));
    }
    let Some(text) = store.metadata.get(PUBLISHED_CARD) else {
        return Ok(None);
    };
    let card: ModelCard = serde_json::from_str(text)
        .map_err(|e| usage(format!("metadata `{PUBLISHED_CARD}`: {e}")))?;
    card.config.validate()?;
    Ok(Some(card))
}

/// Determines the layout and architecture of a source, and how its tensors fit by their shapes.
///
/// # Errors
/// Bad usage: names of no known layout, missing choices, an architecture that cannot be built.
/// Tensors that do not fit are not an error yet, see [`Match::is_complete`].
pub fn plan(
    files: &Files,
    store: &mut Store,
    flags: &Flags,
    about: &About,
) -> anyhow::Result<Plan> {
    let exported = exported_card(store)?;
    let layout = Layout::of(store.names()).ok_or_else(|| {
        let names: Vec<&str> = store.names().take(5).collect();
        usage(format!(
            "{}: expected tensors named as in transformers' CLIP, open_clip, the MERU family, \
             EfficientNet-Lite or BERT, found {}",
            files.label,
            if names.is_empty() {
                "none".into()
            } else {
                names.join(", ")
            }
        ))
    })?;
    let shape = |name: &str| store.shape(name);
    let measured = Measured::of(layout, store.names(), shape);
    let (mut card, mut choices) = match exported {
        Some(card) => {
            let by = format!("metadata `{PUBLISHED_CARD}` of the file");
            let choice = Choice::new("architecture", json!(card.config), by);
            (card, vec![choice])
        }
        None => plan_published(files, store, flags, about, layout, &measured)?,
    };
    choices.push(check_vocabulary(files, card.config.text.vocab_size)?);
    let lift = card.config.lift;
    let matched = Match::of(store, layout, lift, &layout.mappings(&card.config));
    let mut kept = BTreeMap::new();
    for name in &matched.kept {
        kept.extend(store.read(name)?.first().map(|v| (name.clone(), *v)));
    }
    if let Some(origin) = &mut card.origin {
        origin.kept = kept;
    }
    Ok(Plan {
        layout,
        card,
        choices,
        matched,
    })
}

/// Returns the card and the choices for a file from another program.
fn plan_published(
    files: &Files,
    store: &mut Store,
    flags: &Flags,
    about: &About,
    layout: Layout,
    measured: &Measured,
) -> anyhow::Result<(ModelCard, Vec<Choice>)> {
    let lift = lift(layout, store, measured);
    let evidence = Evidence {
        layout,
        measured,
        lift,
        pixels: pixel_tensors(layout, store)?,
        pre_norm: store.shape("visual.ln_pre.weight").is_some(),
        preprocess: named_preprocessing(flags)?,
    };
    let Resolved {
        config,
        preprocess,
        mut choices,
    } = resolve(read_stated(layout, files, measured)?, &evidence, flags)?;
    let method = method(about, lift);
    let card = ModelCard {
        root_text: about.root_text.clone(),
        origin: Some(Origin {
            source: files.label.clone(),
            layout: Some(layout),
            licence: licence(files, about.licence.as_ref())?,
            preprocess,
            root: store.root.clone(),
            kept: BTreeMap::new(),
        }),
        ..ModelCard::new(config, method.value.as_str().unwrap_or_default())
    };
    choices.push(method);
    Ok((card, choices))
}

/// Reads the tensors of a plan; they must all fit.
///
/// # Errors
/// Bad usage: tensors that do not fit (all of them named), numbers that cannot be read or are not
/// finite.
pub fn tensors(store: &mut Store, plan: &Plan) -> anyhow::Result<Tensors> {
    let config = &plan.card.config;
    let mappings = plan.layout.mappings(config);
    let mut out = convert::read_fitting(store, &plan.matched, &mappings)?;
    for (name, values) in [
        ("pixel_mean", config.pixel_mean),
        ("pixel_std", config.pixel_std),
    ] {
        // The configuration holds the file's own statistics unless a flag overrides them.
        let constant = HostTensor {
            shape: vec![3, 1, 1],
            data: values.to_vec(),
        };
        out.tensors.insert(name.into(), constant);
    }
    Ok(out)
}

/// Writes a checkpoint.
///
/// # Errors
/// A failing disk.
pub fn write(path: &Path, tensors: Tensors, card: &ModelCard) -> anyhow::Result<()> {
    let stored = tensors.tensors.into_iter();
    let stored = stored.map(|(name, tensor)| (name, Stored::Floats(tensor)));
    weights_file::write(path, &stored.collect(), card.metadata()?)
}

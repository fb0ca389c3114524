//! Encoders of sentences of BERT's family, such as all-MiniLM-L6-v2: a text encoder alone, which is put
//! beside the image encoder of a checkpoint. The layers after it start from random numbers.

use std::collections::BTreeMap;
use std::path::Path;

use espalier_core::model::{DualConfig, TextConfig, TextFamily};
use espalier_core::weights::Tensors;
use espalier_io::exit::usage;
use serde_json::{Value, json};

use super::choices::Choice;
use super::convert::{self, Match};
use super::pipeline::{self, About};
use super::sidecars::licence;
use super::source::Files;
use super::store::Store;
use crate::first_weights::first_weights;
use crate::layout::{Layout, SEGMENTS, TEXT_POSITIONS};
use crate::model_file::{self, ModelCard, Origin, WORD_PIECES, preprocess};

/// Width of the hidden layer of the new layers, for each number of a feature.
const HEAD_FACTOR: usize = 3;

/// Plan of an import, before its tensors are read.
pub struct Plan {
    /// The parts that every import has.
    pub common: pipeline::Plan,
    /// Tensors of the image encoder and of what both encoders share.
    image: Tensors,
    seed: u64,
}

/// Determines the architecture of a file, and how its tensors fit, without reading them. `image` is the
/// checkpoint whose image encoder the text encoder is put beside.
///
/// # Errors
/// Bad usage: settings of another family, or another vocabulary; as [`model_file::read`] for the image
/// encoder.
pub fn plan(
    files: &Files,
    store: &Store,
    image: &Path,
    (seed, about): (u64, &About),
) -> anyhow::Result<Plan> {
    let (_, _, card, mut tensors) = model_file::read(image)?;
    tensors
        .tensors
        .retain(|name, _| !name.starts_with("textual"));
    let (text, choices) = text_config(files, store)?;
    let config = card.config.clone().with_text(text);
    config.validate()?;
    check_vocabulary(files, &config)?;
    let mappings = Layout::Bert.mappings(&config);
    let mut matched = Match::of(store, Layout::Bert, config.lift, &mappings);
    matched.unused.retain(|name| name != SEGMENTS);
    let licence = licence(files, about.licence.as_ref())?;
    let origin = match card.origin {
        Some(image) => Origin {
            source: format!("{} and {}", image.source, files.label),
            licence: match (image.licence, licence) {
                (Some(image), Some(text)) if image != text => {
                    Some(format!("{image}; texts: {text}"))
                }
                (image, text) => image.or(text),
            },
            root: None,
            ..image
        },
        None => Origin {
            source: files.label.clone(),
            layout: None,
            licence,
            preprocess: preprocess(&config),
            root: None,
            kept: BTreeMap::new(),
        },
    };
    let common = pipeline::Plan {
        layout: Layout::Bert,
        card: ModelCard {
            origin: Some(origin),
            ..ModelCard::new(config, card.method)
        },
        choices,
        matched,
    };
    Ok(Plan {
        common,
        image: tensors,
        seed,
    })
}

/// Returns the architecture of the text encoder, and where each part of it comes from.
fn text_config(files: &Files, store: &Store) -> anyhow::Result<(TextConfig, Vec<Choice>)> {
    let stated = files.json("config.json")?.ok_or_else(|| {
        usage(format!(
            "{}: expected a config.json beside the weights, which states the number of heads",
            files.label
        ))
    })?;
    let number = |key: &str| {
        let value = stated.get(key).and_then(Value::as_u64);
        let value = value.and_then(|value| usize::try_from(value).ok());
        value.ok_or_else(|| {
            usage(format!(
                "config.json: expected a number `{key}`, found none"
            ))
        })
    };
    for (key, only) in [
        ("model_type", json!("bert")),
        ("hidden_act", json!("gelu")),
        ("position_embedding_type", json!("absolute")),
    ] {
        let found = stated.get(key).unwrap_or(&only);
        if *found != only {
            return Err(usage(format!(
                "config.json: `{key}`: expected {only}, found {found}"
            )));
        }
    }
    let pooling = files.json("1_Pooling/config.json")?;
    let is_other = |pooling: &Value| pooling["pooling_mode_mean_tokens"] == json!(false);
    if pooling.as_ref().is_some_and(is_other) {
        return Err(usage(
            "1_Pooling/config.json: expected an encoder whose feature is the mean of its tokens",
        ));
    }
    let width = number("hidden_size")?;
    let positions = number("max_position_embeddings")?;
    let tokens = store
        .shape("embeddings.word_embeddings.weight")
        .map_or(0, |shape| shape[0]);
    let mut text = TextConfig::new(
        tokens,
        positions,
        width,
        number("num_hidden_layers")?,
        number("num_attention_heads")?,
    );
    text.d_hidden = Some(number("intermediate_size")?);
    let eps = stated.get("layer_norm_eps").and_then(Value::as_f64);
    text.norm_eps = Some(eps.unwrap_or(1e-12));
    text.family = TextFamily::Bert;
    text.d_head = Some(HEAD_FACTOR * width);
    let choices = vec![
        Choice::new("text encoder", json!(text), "config.json"),
        Choice::new(
            "feature of a text",
            json!("mean of its tokens"),
            match pooling {
                Some(_) => "1_Pooling/config.json",
                None => "the family",
            },
        ),
        Choice::new(
            "layers after it",
            json!("random, not trained"),
            "the file has none",
        ),
    ];
    Ok((text, choices))
}

/// Checks that the word pieces are those of BERT's uncased models, the only ones that are known.
fn check_vocabulary(files: &Files, config: &DualConfig) -> anyhow::Result<()> {
    config.text.tokenizer(WORD_PIECES)?;
    let other = files.text("vocab.txt")?;
    match other.is_none_or(|text| text.lines().eq(WORD_PIECES.lines())) {
        true => Ok(()),
        false => Err(usage(
            "vocab.txt: expected the word pieces of BERT's uncased models, found different ones; \
             models with another tokenizer cannot be imported",
        )),
    }
}

/// Reads the tensors of a plan that fits, puts those of the image encoder beside them and initialises
/// the layers after the text encoder at random.
///
/// # Errors
/// Bad usage: tensors that do not fit (all of them named), numbers that cannot be read or are not
/// finite.
pub fn tensors(store: &mut Store, plan: &Plan) -> anyhow::Result<Tensors> {
    let config = &plan.common.card.config;
    let mappings = Layout::Bert.mappings(config);
    let mut found = convert::read_fitting(store, &plan.common.matched, &mappings)?;
    let segments = store.read(SEGMENTS)?;
    if let Some(positions) = found.tensors.get_mut(TEXT_POSITIONS) {
        for position in positions.data.chunks_mut(config.text.d_model) {
            for (value, segment) in position.iter_mut().zip(&segments) {
                *value += segment;
            }
        }
    }
    let mut tensors = first_weights(config, plan.seed)?;
    tensors.tensors.extend(plan.image.tensors.clone());
    tensors.tensors.extend(found.tensors);
    Ok(tensors)
}

//! A folder for `transformers`' CLIPModel and CLIPProcessor.

use espalier_core::input::{Resampling, ResizeMode, merges_prefix, symbols};
use espalier_core::model::{Pool, Positions};
use espalier_core::nn::Activation;
use serde_json::{Map, Value, json};

use super::checkpoint::{Checkpoint, Requirements, Written, pixels, pretty, require_clip};
use crate::model_file::MERGES;

fn activation(activation: Activation) -> &'static str {
    match activation {
        Activation::Gelu => "gelu",
        Activation::QuickGelu => "quick_gelu",
    }
}

fn config(checkpoint: &Checkpoint) -> Value {
    let c = &checkpoint.card.config;
    let (v, t) = (&c.vision, &c.text);
    json!({
        "architectures": ["CLIPModel"],
        "model_type": "clip",
        "projection_dim": c.d_embed,
        "torch_dtype": "float32",
        "vision_config": {
            "model_type": "clip_vision_model",
            "image_size": v.image_size, "patch_size": v.patch, "num_channels": 3,
            "hidden_size": v.d_model, "intermediate_size": v.hidden(),
            "num_hidden_layers": v.n_layers, "num_attention_heads": v.n_heads,
            "hidden_act": activation(v.activation), "layer_norm_eps": v.norm_eps.unwrap_or(1e-5),
            "projection_dim": c.d_embed,
        },
        "text_config": {
            "model_type": "clip_text_model",
            "vocab_size": t.vocab_size, "max_position_embeddings": t.context,
            "hidden_size": t.d_model, "intermediate_size": t.hidden(),
            "num_hidden_layers": t.n_layers, "num_attention_heads": t.n_heads,
            "hidden_act": activation(t.activation), "layer_norm_eps": t.norm_eps.unwrap_or(1e-5),
            "projection_dim": c.d_embed,
            "bos_token_id": t.vocab_size - 2, "eos_token_id": t.vocab_size - 1,
            "pad_token_id": t.vocab_size - 1,
        },
    })
}

fn preprocessor(checkpoint: &Checkpoint) -> anyhow::Result<Value> {
    let side = checkpoint.card.config.vision.image_size;
    let [mean, std] = pixels(checkpoint)?;
    let square = json!({"height": side, "width": side});
    let preprocess = checkpoint.card.preprocess();
    let crop = preprocess.resize == ResizeMode::CentreCrop;
    let (processor, filter) = match preprocess.resampling {
        Resampling::Bicubic => ("CLIPImageProcessorFast", 3),
        Resampling::PillowBicubic => ("CLIPImageProcessor", 3),
        Resampling::PillowBilinear => ("CLIPImageProcessor", 2),
    };
    let size = if crop {
        json!({"shortest_edge": side})
    } else {
        square.clone()
    };
    Ok(json!({
        "image_processor_type": processor,
        "do_convert_rgb": true, "do_resize": true, "resample": filter, "size": size,
        "do_center_crop": crop, "crop_size": square,
        "do_rescale": true, "rescale_factor": 1.0 / 255.0,
        "do_normalize": true, "image_mean": mean, "image_std": std,
    }))
}

/// Returns the vocabulary, the merges and their configuration, as CLIPTokenizer reads them.
fn tokenizer(vocab: usize, context: usize) -> anyhow::Result<Vec<(&'static str, String)>> {
    let listed = symbols(MERGES, vocab)?.into_iter().zip(0_u64..);
    let ids: Map<String, Value> = listed.map(|(s, id)| (s, id.into())).collect();
    let prefix = merges_prefix(MERGES, vocab);
    let merges = prefix.lines().filter(|l| !l.contains("#version"));
    let merges: Vec<&str> = std::iter::once("#version: 0.2").chain(merges).collect();
    let (start, end) = ("<|startoftext|>", "<|endoftext|>");
    let special = json!({
        "bos_token": start, "eos_token": end, "unk_token": end, "pad_token": end,
    });
    let mut config = special.clone();
    config["tokenizer_class"] = "CLIPTokenizer".into();
    config["model_max_length"] = context.into();
    config["do_lower_case"] = true.into();
    Ok(vec![
        ("vocab.json", serde_json::to_string(&ids)?),
        ("merges.txt", merges.join("\n") + "\n"),
        ("tokenizer_config.json", pretty(&config)?),
        ("special_tokens_map.json", pretty(&special)?),
    ])
}

pub(super) fn write(checkpoint: &Checkpoint) -> anyhow::Result<Written> {
    let c = &checkpoint.card.config;
    let v = &c.vision;
    let mut requirements = Requirements::new("hf");
    require_clip(&mut requirements, c, checkpoint.card.preprocess().resize);
    requirements.check(v.pool == Pool::Class, "the class token as feature", v.pool);
    requirements.check(v.pre_norm, "a norm before the first block", "none");
    let learned = v.positions == Positions::Learned;
    requirements.check(learned, "learned positions", v.positions);
    requirements.finish()?;
    let mut files = vec![
        ("config.json", pretty(&config(checkpoint))?),
        (
            "preprocessor_config.json",
            pretty(&preprocessor(checkpoint)?)?,
        ),
    ];
    files.extend(tokenizer(c.text.vocab_size, c.text.context)?);
    Ok(Written {
        weights: "model.safetensors",
        files,
        ..Written::default()
    })
}

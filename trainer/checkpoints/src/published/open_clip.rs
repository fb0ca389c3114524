//! A folder for open_clip: `open_clip_config.json` and `open_clip_model.safetensors`.

use espalier_core::input::{Resampling, ResizeMode};
use espalier_core::model::{Pool, Positions};
use espalier_core::nn::Activation;
use serde_json::{Value, json};

use super::checkpoint::{Checkpoint, Requirements, Written, pixels, pretty, require_clip};

/// Returns the ratio by which open_clip multiplies the width before truncating to an integer.
fn ratio(hidden: usize, width: usize) -> f64 {
    let exact = hidden as f64 / width as f64;
    if (width as f64 * exact) as usize == hidden {
        exact
    } else {
        // The division rounded down; the extra half is truncated again.
        (hidden as f64 + 0.5) / width as f64
    }
}

fn model_cfg(checkpoint: &Checkpoint) -> Value {
    let c = &checkpoint.card.config;
    let (v, t) = (&c.vision, &c.text);
    let mut vision = json!({
        "image_size": v.image_size, "patch_size": v.patch, "width": v.d_model,
        "layers": v.n_layers, "head_width": v.d_model / v.n_heads,
        "mlp_ratio": ratio(v.hidden(), v.d_model),
    });
    let mut text = json!({
        "context_length": t.context, "vocab_size": t.vocab_size, "width": t.d_model,
        "heads": t.n_heads, "layers": t.n_layers, "mlp_ratio": ratio(t.hidden(), t.d_model),
    });
    for (section, eps) in [(&mut vision, v.norm_eps), (&mut text, t.norm_eps)] {
        if let Some(eps) = eps {
            section["norm_kwargs"] = json!({"eps": eps});
        }
    }
    if !v.pre_norm {
        vision["no_ln_pre"] = true.into();
    }
    if v.pool == Pool::PatchMean {
        vision["pool_type"] = "avg".into();
    }
    if v.positions == Positions::Sincos {
        vision["pos_embed_type"] = "sin_cos_2d".into();
    }
    json!({
        "embed_dim": c.d_embed, "quick_gelu": v.activation == Activation::QuickGelu,
        "vision_cfg": vision, "text_cfg": text,
    })
}

pub(super) fn write(checkpoint: &Checkpoint) -> anyhow::Result<Written> {
    let c = &checkpoint.card.config;
    let (v, t) = (&c.vision, &c.text);
    let preprocess = checkpoint.card.preprocess();
    let mode = preprocess.resize;
    let mut requirements = Requirements::new("open_clip");
    require_clip(&mut requirements, c, mode);
    requirements.check(v.pool.has_class(), "a class token", v.pool);
    let same = v.activation == t.activation;
    let both = (v.activation, t.activation);
    requirements.check(same, "one activation for both encoders", both);
    requirements.finish()?;
    let [mean, std] = pixels(checkpoint)?;
    let mode = match mode {
        ResizeMode::Squeeze => "squash",
        _ => "shortest",
    };
    let interpolation = match preprocess.resampling {
        Resampling::Bicubic | Resampling::PillowBicubic => "bicubic",
        Resampling::PillowBilinear => "bilinear",
    };
    let config = json!({
        "model_cfg": model_cfg(checkpoint),
        "preprocess_cfg": {
            "size": v.image_size, "mode": "RGB", "mean": mean, "std": std,
            "interpolation": interpolation, "resize_mode": mode,
        },
    });
    Ok(Written {
        weights: "open_clip_model.safetensors",
        files: vec![("open_clip_config.json", pretty(&config)?)],
        ..Written::default()
    })
}

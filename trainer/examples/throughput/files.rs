//! Writes what the peer needs to compute the same features.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use espalier_core::input::to_planes;
use espalier_core::kernels::ImageKernels;
use espalier_core::weights::{HostTensor, Tensors, write as safetensors};
use serde_json::{Value, json};

use super::inference::{CHECKED, random_images};
use super::models::{ModelName, Models};

/// Writes `config.json`, `encoder.safetensors` and `check.safetensors` into a folder: the last one
/// holds images as planes in `[0, 1]` and the features that the kernels compute of them.
pub fn write(models: &Models, name: &ModelName, folder: &Path) -> Result<Value> {
    let (config, encoder) = models.image_encoder(name)?;
    let side = config.vision.image_size;
    let images = random_images(side, CHECKED);
    let kernels = ImageKernels::of(&config, &encoder)?;
    let tensor = |shape: Vec<usize>, data: Vec<f32>| HostTensor { shape, data };
    let check = Tensors {
        tensors: BTreeMap::from([
            (
                "images".to_owned(),
                tensor(vec![CHECKED, 3, side, side], to_planes(&images)),
            ),
            (
                "features".to_owned(),
                tensor(
                    vec![CHECKED, config.d_embed],
                    kernels.forward_all(&images).concat(),
                ),
            ),
        ]),
        metadata: BTreeMap::new(),
    };
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let put = |file: &str, bytes: Vec<u8>| {
        let path = folder.join(file);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    put("config.json", serde_json::to_vec(&config)?)?;
    put("encoder.safetensors", safetensors(&encoder, [])?)?;
    put("check.safetensors", check.write(|_, _| None)?)?;
    Ok(json!({}))
}

//! An engine that computes a layer wrongly is caught by the self-tests of a bundle.
//!
//! A fault of an engine has the effect of other weights in the layer that it computes wrongly. So
//! each layer's weights are spoiled in turn.

use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::Device;
use espalier_core::bundle::{BundleFiles, Manifest, Part, sha256_hex};
use espalier_core::caption::{Captioner, Engine, MIN_TEXT_COSINE, TextEmbedder, text_weight_files};
use espalier_core::weights::{HostTensor, Tensors};
use espalier_tests::models::{manifest, shipped, tiny};

/// What a fault does to the result of a layer.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Nothing is computed.
    Zero,
    Negated,
    /// Each channel is computed with the weights of the channel before.
    Shifted,
    /// The last quarter of the channels is not computed.
    Cut,
}

impl Fault {
    fn spoil(self, tensor: &mut HostTensor) {
        let channels = tensor.shape[0];
        let width = tensor.data.len() / channels;
        match self {
            Self::Zero => tensor.data.fill(0.0),
            Self::Negated => tensor.data.iter_mut().for_each(|v| *v = -*v),
            Self::Shifted => tensor.data.rotate_right(width),
            Self::Cut => {
                let lost = channels.div_ceil(4) * width;
                let kept = tensor.data.len() - lost;
                tensor.data[kept..].fill(0.0);
            }
        }
    }
}

/// A bundle whose weights can be changed.
struct Bundle {
    manifest: Manifest,
    /// Contents of all files but those of `weights`.
    others: BTreeMap<String, Vec<u8>>,
    /// Weights by file.
    weights: BTreeMap<String, Tensors>,
}

impl Bundle {
    fn read(folder: &Path, part: Part) -> Self {
        let read = |path: &str| std::fs::read(folder.join(path)).unwrap();
        let mut manifest = manifest(folder);
        let of_text = text_weight_files(&manifest).map(|file| file.path.clone());
        let of_text: Vec<String> = of_text.collect();
        let (mut others, mut weights) = (BTreeMap::new(), BTreeMap::new());
        for file in &mut manifest.files {
            let content = file.check(read(&file.path)).unwrap();
            let content = content.into_content().unwrap();
            file.unpacked = None;
            (file.bytes, file.sha256) = (content.len() as u64, sha256_hex(&content));
            let has_weights = match part {
                Part::Text => of_text.contains(&file.path),
                _ => file.part == part,
            };
            match has_weights {
                true => drop(weights.insert(file.path.clone(), Tensors::read(&content).unwrap())),
                false => drop(others.insert(file.path.clone(), content)),
            }
        }
        Self {
            manifest,
            others,
            weights,
        }
    }

    /// Returns the files and names of the weights of all layers.
    fn layers(&self) -> Vec<(String, String)> {
        let layers = self.weights.iter().flat_map(|(file, weights)| {
            let layers = weights.tensors.iter();
            let layers = layers.filter(|(name, t)| t.shape.len() > 1 && !name.starts_with("pixel"));
            layers.map(|(name, _)| (file.clone(), name.clone()))
        });
        layers.collect()
    }

    /// Returns the bundle with a fault in one layer, and its manifest.
    fn with(&self, (file, layer): &(String, String), fault: Fault) -> (Vec<u8>, BundleFiles) {
        let (mut manifest, mut contents) = (self.manifest.clone(), self.others.clone());
        for (path, weights) in &self.weights {
            let mut weights = weights.clone();
            if path == file {
                fault.spoil(weights.tensors.get_mut(layer).unwrap());
            }
            contents.insert(path.clone(), weights.write(|_, _| None).unwrap());
        }
        let mut files = BundleFiles::default();
        for entry in &mut manifest.files {
            let content = contents.remove(&entry.path).unwrap();
            (entry.bytes, entry.sha256) = (content.len() as u64, sha256_hex(&content));
            files.insert(entry.check(content).unwrap()).unwrap();
        }
        (serde_json::to_vec(&manifest).unwrap(), files)
    }
}

/// Returns the layers in which a fault is not caught; `faults` take turns.
fn uncaught(
    bundle: &Bundle,
    faults: &[Fault],
    is_caught: impl Fn(&[u8], &BundleFiles) -> bool,
) -> Vec<String> {
    let layers = bundle.layers();
    assert!(layers.len() > 5, "{layers:?}");
    let tried = layers.iter().zip(faults.iter().cycle());
    let uncaught = tried.filter(|(layer, fault)| {
        let (manifest, files) = bundle.with(layer, **fault);
        !is_caught(&manifest, &files)
    });
    uncaught
        .map(|((_, layer), fault)| format!("{layer}, {fault:?}"))
        .collect()
}

fn is_image_fault_caught(manifest: &[u8], files: &BundleFiles, engine: &Engine) -> bool {
    let captioner = Captioner::open(manifest, files, engine).unwrap();
    // An embedding that is not finite is an error.
    let cosine = pollster::block_on(captioner.self_test());
    !cosine.is_ok_and(|cosine| cosine >= captioner.least_cosine())
}

#[test]
fn a_fault_in_any_layer_of_the_image_encoder_fails_the_self_test() {
    let faults = [Fault::Zero, Fault::Negated, Fault::Shifted, Fault::Cut];
    let device = Engine::Device(Device::flex());
    for (folder, engine, turns) in [
        (tiny(), &Engine::Kernels, 4),
        (tiny(), &device, 1),
        (shipped(), &Engine::Kernels, 1),
        (shipped(), &device, 1),
    ] {
        let bundle = Bundle::read(&folder, Part::Image);
        for turn in 0..turns {
            let faults: Vec<Fault> = (0..4).map(|i| faults[(i + turn) % 4]).collect();
            let uncaught = uncaught(&bundle, &faults, |manifest, files| {
                is_image_fault_caught(manifest, files, engine)
            });
            assert!(uncaught.is_empty(), "{}: {uncaught:?}", folder.display());
        }
    }
}

#[test]
fn a_fault_in_a_layer_of_the_text_encoder_fails_its_self_test() {
    let bundle = Bundle::read(&shipped(), Part::Text);
    let faults = [Fault::Zero, Fault::Negated, Fault::Shifted];
    let uncaught = uncaught(&bundle, &faults, |manifest, files| {
        let captioner = Captioner::open(manifest, files, &Engine::Kernels).unwrap();
        let manifest = Manifest::parse(manifest).unwrap();
        let texts = TextEmbedder::open(&manifest, files, &Engine::Kernels).unwrap();
        let cosine = pollster::block_on(texts.self_test(captioner.index()));
        !cosine.is_ok_and(|cosine| cosine >= MIN_TEXT_COSINE)
    });
    assert!(uncaught.is_empty(), "{uncaught:?}");
}

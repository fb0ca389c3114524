//! Tensor names of published EfficientNet-Lite files: an image encoder and a classifier, no text
//! encoder.

use espalier_core::model::DualConfig;

use super::tensor_mapping::TensorMapping;

/// Prefix of the tensor names of the image encoder in our files.
const OURS: &str = "visual.";

/// Weight and bias of the classifier: name in the file, and our name.
pub const CLASSIFIER: [(&str, &str); 2] = [
    ("_fc.weight", "classifier.weight"),
    ("_fc.bias", "classifier.bias"),
];

/// The four tensors of a batch norm.
const NORM: [&str; 4] = ["weight", "bias", "running_mean", "running_var"];

fn mapping(name: String, shape: Vec<usize>) -> TensorMapping {
    TensorMapping::renamed(format!("{OURS}{name}"), name, shape)
}

/// Returns every tensor of the image encoder: of each convolution and the norm after it.
pub(super) fn mappings(config: &DualConfig) -> Vec<TensorMapping> {
    let mut out = Vec::new();
    let Some(inverted) = &config.vision.inverted else {
        return out;
    };
    let mut add = |conv: &str, norm: &str, shape: [usize; 4]| {
        out.push(mapping(format!("{conv}.weight"), shape.to_vec()));
        out.extend(NORM.map(|part| mapping(format!("{norm}.{part}"), vec![shape[0]])));
    };
    add("_conv_stem", "_bn0", [inverted.stem_width, 3, 3, 3]);
    let mut last = inverted.stem_width;
    for (at, block) in inverted.blocks().into_iter().enumerate() {
        let inside = |name: &str| format!("_blocks.{at}.{name}");
        let mut add = |conv, norm, shape| add(&inside(conv), &inside(norm), shape);
        let (inner, kernel) = (block.d_inner, block.kernel);
        if block.expands {
            add("_expand_conv", "_bn0", [inner, block.d_in, 1, 1]);
        }
        add("_depthwise_conv", "_bn1", [inner, 1, kernel, kernel]);
        add("_project_conv", "_bn2", [block.d_out, inner, 1, 1]);
        last = block.d_out;
    }
    add("_conv_head", "_bn1", [config.vision.d_model, last, 1, 1]);
    out
}

/// Returns the two tensors of a classifier with `classes` classes.
pub fn classifier(config: &DualConfig, classes: usize) -> Vec<TensorMapping> {
    let shapes = [vec![classes, config.vision.d_model], vec![classes]];
    let both = CLASSIFIER.iter().zip(shapes);
    both.map(|((theirs, ours), shape)| TensorMapping::renamed(*ours, *theirs, shape))
        .collect()
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use espalier_core::model::Preset;
    use espalier_core::nn::{InvertedConfig, InvertedStage};
    use espalier_core::weights::collect;

    use super::*;

    #[test]
    fn the_table_has_exactly_the_tensors_of_the_encoder() {
        let mut config = Preset::EfficientnetLite0.config();
        let stages = vec![
            InvertedStage::new(1, 3, 1, 8, 1),
            InvertedStage::new(2, 5, 2, 12, 2),
        ];
        config.vision.inverted = Some(InvertedConfig::new(4, stages));
        (config.vision.patch, config.vision.d_model) = (4, 16);
        config.validate().unwrap();
        let model = config.init_image(&Device::flex());
        let known: Vec<_> = collect(&model)
            .unwrap()
            .tensors
            .into_iter()
            .filter(|(name, _)| name.starts_with(OURS))
            .map(|(name, tensor)| (name, tensor.shape))
            .collect();
        let mut found: Vec<_> = mappings(&config)
            .into_iter()
            .map(|mapping| (mapping.ours, mapping.shape))
            .collect();
        found.sort();
        assert_eq!(found, known);
    }
}

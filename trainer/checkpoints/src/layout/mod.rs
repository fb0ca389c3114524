//! Names and shapes of tensors in published files, as tables for both import and export.
//!
//! A [`TensorMapping`] says which tensors of a published file make one of ours. Import and export use the
//! same table, so a round trip gives the same bits. Notation 7.1 to 7.3 list the names.

mod bert;
mod blocks;
mod convert;
mod efficientnet;
mod meru;
mod name;
mod shapes;
mod table;
mod tensor_mapping;

use espalier_core::model::{DualConfig, LiftKind};

pub use bert::SEGMENTS;
pub use convert::{export_tensors, import_tensor};
pub use efficientnet::{CLASSIFIER, classifier};
pub use meru::causal_mask;
pub use name::Layout;
pub use shapes::Measured;
pub use table::{PROJECTION, TEXT_POSITIONS};
pub use tensor_mapping::{TensorMapping, Transform};

impl Layout {
    /// Returns every tensor of a model with this configuration; for EfficientNet-Lite those of the
    /// image encoder and for BERT those of the text encoder, because such files have no more.
    pub fn mappings(self, config: &DualConfig) -> Vec<TensorMapping> {
        match self {
            Self::EfficientnetLite => efficientnet::mappings(config),
            Self::Bert => bert::mappings(config),
            _ => {
                let mut mappings = table::mappings(self, config);
                if self == Self::Meru {
                    mappings.extend(meru::scalars(config.lift));
                }
                mappings
            }
        }
    }

    /// Returns the scalars that files of this layout contain although the model does not use them;
    /// they are kept for exporting the model again.
    pub fn unused_scalars(self, lift: LiftKind) -> &'static [&'static str] {
        match (self, lift) {
            (Self::Meru, LiftKind::Product { .. }) => &meru::UNUSED_BY_PRODUCTS,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use espalier_core::geometry::DistanceReduction;
    use espalier_core::model::{LiftKind, Pool, Preset};
    use espalier_core::weights::collect;

    use super::*;

    /// Returns a configuration small enough to build in a test.
    fn small(preset: Preset, lift: LiftKind) -> DualConfig {
        let mut config = preset.config().with_lift(lift);
        config.vision.d_model = 24;
        config.vision.n_layers = 2;
        config.vision.n_heads = 2;
        config.vision.image_size = 2 * config.vision.patch;
        config.text.d_model = 16;
        config.text.n_layers = 1;
        config.text.n_heads = 2;
        config.text.vocab_size = 600;
        config.text.d_hidden = Some(20);
        config.d_embed = 8;
        config
    }

    #[test]
    fn a_table_has_exactly_the_tensors_of_the_model_and_conversion_is_lossless() {
        let lorentz = LiftKind::Lorentz;
        let product = LiftKind::Product {
            factors: 2,
            join: DistanceReduction::L1,
        };
        let sphere = LiftKind::Sphere;
        let mut mean = small(Preset::VitS16_224, lorentz);
        mean.vision.pool = Pool::Mean;
        let clip = small(Preset::ClipVitB32, sphere);
        let mut without_pre_norm = clip.clone();
        without_pre_norm.vision.pre_norm = false;
        let device = burn::tensor::Device::flex();
        for (layout, config) in [
            (Layout::HuggingFace, clip.clone()),
            (Layout::OpenClip, clip),
            (Layout::OpenClip, without_pre_norm),
            (Layout::Meru, small(Preset::VitS16_224, sphere)),
            (Layout::Meru, small(Preset::VitS16_224, lorentz)),
            (Layout::Meru, small(Preset::VitS16_224, product)),
            (Layout::Meru, mean),
        ] {
            let mut expected = collect(&config.init(&device)).unwrap();
            let mappings = layout.mappings(&config);
            let exported = export_tensors(&mappings, &expected).unwrap();
            let names = exported.iter().map(|t| t.0.as_str());
            assert_eq!(Layout::of(names), Some(layout));
            let mut imported = espalier_core::weights::Tensors::default();
            for mapping in &mappings {
                let parts = mapping.theirs.iter().map(|name| {
                    let found = exported.iter().find(|t| &t.0 == name).unwrap();
                    assert_eq!(found.1.shape, mapping.their_shape, "{name}");
                    found.1.data.clone()
                });
                let tensor = import_tensor(mapping, parts.collect()).unwrap();
                imported.tensors.insert(mapping.ours.clone(), tensor);
            }
            if layout != Layout::Meru {
                // These layouts store pixel statistics in a configuration file.
                expected.tensors.remove("pixel_mean");
                expected.tensors.remove("pixel_std");
            }
            assert_eq!(expected, imported, "{layout:?}");
        }
    }
}

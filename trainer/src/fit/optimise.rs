//! AdamW over parameter groups, and the norm of the whole gradient.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamGroup, ParamId};
use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::Tensor;
use espalier_core::ops;
use sha2::{Digest, Sha256};

use super::adamw::AdamW;
use crate::config::{DecayGroups, OptimConfig};

/// Returns the parameters without weight decay, as a pattern for the end of their path.
fn without_decay(groups: DecayGroups) -> &'static str {
    match groups {
        DecayGroups::Code => r"(^|\.)(logit_scale|curv|visual_alpha|textual_alpha)\.log$",
        DecayGroups::Paper => r"(^|\.)(log|bias|gamma|beta|gain)$",
    }
}

/// Creates AdamW with the decay groups of a configuration (notation 4).
///
/// # Errors
/// Never for the fixed patterns of this module; the pattern's own error otherwise.
pub fn optimizer(config: &OptimConfig) -> anyhow::Result<ModuleOptimizer> {
    let exempt = ParamGroup::from_regex(without_decay(config.wd_groups))
        .map_err(|e| anyhow::anyhow!("pattern of parameters without weight decay: {e:?}"))?;
    let optimizer = ModuleOptimizer::from(AdamW::new(config, config.wd));
    Ok(optimizer.with_group(exempt, AdamW::new(config, 0.0), None))
}

/// Gives every parameter an id that depends only on its path, and rows that follow each other in
/// memory.
///
/// The optimiser keys its state by these ids. Burn draws them at random, so without stable ids the
/// state of a checkpoint would not match a model in a later process. The weights of a checkpoint may
/// be transposed in memory, and products with such a matrix add in another order: a resumed run would
/// differ from an unbroken one in the last digits.
pub fn with_stable_ids<M: Module>(module: M) -> M {
    struct Namer(Vec<String>);
    impl ModuleMapper for Namer {
        fn enter_module(&mut self, name: &str, _container: &str) {
            self.0.push(name.to_owned());
        }
        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.0.pop();
        }
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let hash = Sha256::digest(self.0.join(".").as_bytes());
            let mut id = [0; 8];
            id.copy_from_slice(&hash[..8]);
            let (_, tensor, mapper) = param.consume();
            let learned = tensor.is_require_grad();
            let device = tensor.device();
            let values = tensor.into_data();
            let tensor = Tensor::from_data(values, &device).set_require_grad(learned);
            Param::from_mapped_value(ParamId::from(u64::from_le_bytes(id)), tensor, mapper)
        }
    }
    module.map(&mut Namer(Vec::new()))
}

/// Returns the norm of the whole gradient; 0 where no parameter has one.
pub fn gradient_norm<M: Module>(module: &M, grads: &GradientsParams) -> f64 {
    struct Norm<'a> {
        grads: &'a GradientsParams,
        squares: Vec<Tensor<1>>,
    }
    impl ModuleVisitor for Norm<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(g) = self.grads.get::<D>(param.id) {
                self.squares.push(ops::sum_of_squares(g));
            }
        }
    }
    let mut norm = Norm {
        grads,
        squares: Vec::new(),
    };
    module.visit(&mut norm);
    if norm.squares.is_empty() {
        return 0.0;
    }
    // Reads the norm of all parameters at once, to synchronise with the device only once.
    let squares = Tensor::cat(norm.squares, 0);
    f64::from(squares.sum().sqrt().into_scalar::<f32>())
}

/// Scales a gradient of this norm to a norm of at most `limit` (0: no limit).
pub fn clip_norm<M: Module>(
    module: &M,
    grads: GradientsParams,
    norm: f64,
    limit: f64,
) -> GradientsParams {
    struct Scale {
        grads: GradientsParams,
        factor: f64,
    }
    impl ModuleVisitor for Scale {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(g) = self.grads.remove::<D>(param.id) {
                self.grads.register(param.id, g * self.factor);
            }
        }
    }
    if limit <= 0.0 || norm <= limit || !norm.is_finite() {
        return grads;
    }
    let mut scale = Scale {
        grads,
        factor: limit / norm,
    };
    module.visit(&mut scale);
    scale.grads
}

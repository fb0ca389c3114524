//! Learned positive scalars, stored as clamped logarithms.

use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

/// Configuration of a [`LogScalar`]: positive numbers learned as their logarithms.
#[derive(Config, Debug)]
pub struct LogScalarConfig {
    /// Initial value (not its logarithm).
    pub init: f64,
    /// Smallest value after [`LogScalar::clamped`].
    #[config(default = 0.0)]
    pub min: f64,
    /// Largest value after [`LogScalar::clamped`].
    #[config(default = "f64::INFINITY")]
    pub max: f64,
    /// Number of values: one, or one for each factor of a product.
    #[config(default = 1)]
    pub count: usize,
}

/// Positive numbers learned in log space, `value = exp(log)`: one, or one for each factor.
///
/// The stored logarithm is clamped *before* a forward pass by [`clamped`](Self::clamped), never
/// inside the graph, where a clamp would block the gradient at the bound (notation trap 36).
#[derive(Module, Debug)]
pub struct LogScalar {
    /// The logarithms, shape `[count]`.
    pub log: Param<Tensor<1>>,
    min: f64,
    max: f64,
}

/// Minus the sectional curvature, `c > 0`, clamped to `[0.1, 10]` (notation 2.0).
pub type Curvature = LogScalar;

impl LogScalarConfig {
    /// Returns the curvature of MERU and HyCoCLIP: 1 at the start, within `[0.1, 10]`.
    #[must_use]
    pub fn curvature() -> Self {
        Self::new(1.0).with_min(0.1).with_max(10.0)
    }

    /// Returns the feature scale before the lift: `d_embed^-0.5` at the start, at most 1 (notation
    /// 2.0).
    #[must_use]
    pub fn alpha(d_embed: usize) -> Self {
        Self::new((d_embed as f64).powf(-0.5)).with_max(1.0)
    }

    /// Returns the logit scale `s`: `1/0.07` at the start, at most 100 (stored logarithm at most
    /// 4.6052).
    #[must_use]
    pub fn logit_scale() -> Self {
        Self::new(1.0 / 0.07).with_max(4.6052_f64.exp())
    }

    /// Builds the scalar on a device.
    pub fn init(&self, device: &Device) -> LogScalar {
        LogScalar {
            log: Param::from_tensor(Tensor::full([self.count], self.init.ln(), device)),
            min: self.min,
            max: self.max,
        }
    }
}

impl LogScalar {
    /// Returns the values, `exp(log)`, shape `[count]`.
    pub fn value(&self) -> Tensor<1> {
        self.log.val().exp()
    }

    /// Returns a single value with shape `[1, 1]`, which broadcasts against rows.
    pub fn row(&self) -> Tensor<2> {
        self.value().unsqueeze()
    }

    /// Returns the values with shape `[count, 1, 1]`, which broadcasts against the points of
    /// factors.
    pub fn factors(&self) -> Tensor<3> {
        let [count] = self.log.dims();
        self.value().reshape([count, 1, 1])
    }

    /// Returns the scalar with its stored logarithm clamped to the allowed interval.
    #[must_use]
    pub fn clamped(mut self) -> Self {
        let (lo, hi) = (self.min.ln(), self.max.ln());
        self.log = self.log.map(|log| {
            let (autodiff, learned) = (log.is_autodiff(), log.is_require_grad());
            let mut log = log.inner();
            if lo.is_finite() {
                log = log.clamp_min(lo);
            }
            if hi.is_finite() {
                log = log.clamp_max(hi);
            }
            let log = if autodiff { log.autodiff() } else { log };
            log.set_require_grad(autodiff && learned)
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(scalar: &LogScalar, expected: f32) {
        let found: f32 = scalar.value().into_scalar();
        let gap = (found - expected).abs();
        assert!(gap < 1e-5 * expected, "{found}, {expected}");
    }

    #[test]
    fn scalars_start_at_the_published_values() {
        let device = Device::flex();
        near(&LogScalarConfig::curvature().init(&device), 1.0);
        near(&LogScalarConfig::alpha(16).init(&device), 0.25);
        near(&LogScalarConfig::logit_scale().init(&device), 14.285_714);
    }

    #[test]
    fn values_are_clamped_and_stay_learned() {
        let device = Device::flex();
        let set = |config: LogScalarConfig, to: f64| {
            let mut scalar = config.init(&device);
            scalar.log = scalar.log.map(|log| log.full_like(to.ln()));
            scalar.clamped()
        };
        for (to, expected) in [(0.01, 0.1), (0.5, 0.5), (20.0, 10.0)] {
            near(&set(LogScalarConfig::curvature(), to), expected);
        }
        // No lower limit.
        near(&set(LogScalarConfig::alpha(16), 1e-6), 1e-6);
        near(&set(LogScalarConfig::logit_scale(), 500.0), 100.003);
        let autodiff = Device::flex().autodiff();
        let learned = LogScalarConfig::curvature().init(&autodiff);
        let learned = learned.clamped();
        assert!(learned.log.val().is_require_grad());
        let mut fixed = LogScalarConfig::curvature().init(&autodiff);
        fixed.log = fixed.log.set_require_grad(false);
        assert!(!fixed.clamped().log.val().is_require_grad());
    }
}

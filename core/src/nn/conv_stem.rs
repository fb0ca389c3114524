//! Images to tokens: stages of convolutions, each halving the side.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::conv::{Conv, ConvBlock, PIXEL_GAIN, RELU_GAIN};
use super::layer_config::StageConfig;
use crate::ops::relu;

/// A convolution that halves the side, then residual blocks.
#[derive(Module, Debug)]
pub struct Stage {
    /// Convolution that halves the side.
    pub down: Conv,
    /// Residual blocks.
    pub blocks: Vec<ConvBlock>,
}

/// Convolutions of an image encoder.
#[derive(Module, Debug)]
pub struct ConvStem {
    /// Stages, finest first.
    pub stages: Vec<Stage>,
}

impl ConvStem {
    /// Builds the stages on a device; at least one.
    pub fn new(stages: &[StageConfig], device: &Device) -> Self {
        let mut d_in = 3;
        let stage = |(i, stage): (usize, &StageConfig)| {
            let gain = if i == 0 { PIXEL_GAIN } else { RELU_GAIN };
            let down = Conv::new([d_in, stage.width], 2, gain, device);
            d_in = stage.width;
            Stage {
                down,
                blocks: (0..stage.blocks)
                    .map(|_| ConvBlock::new(stage.width, device))
                    .collect(),
            }
        };
        Self {
            stages: stages.iter().enumerate().map(stage).collect(),
        }
    }

    /// # Shapes
    /// `[batch, 3, s, s] -> [batch, (s / 2^stages)^2, width of the last stage]`, row major
    pub fn forward(&self, images: Tensor<4>) -> Tensor<3> {
        let mut x = images;
        for (i, stage) in self.stages.iter().enumerate() {
            x = stage.down.forward(if i == 0 { x } else { relu(x) });
            for block in &stage.blocks {
                x = block.forward(x);
            }
        }
        let x = relu(x);
        let [batch, d, rows, cols] = x.dims();
        x.reshape([batch, d, rows * cols]).swap_dims(1, 2)
    }
}

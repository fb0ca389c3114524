//! The layers of an inverted residual, of floats or of bytes.

use std::ops::Range;

use crate::activation::Activation;
use crate::byte_depthwise::ByteDepthwise;
use crate::bytes::Output;
use crate::depthwise::Depthwise;
use crate::patches::Patches;
use crate::product::{ByteWeights, PackedWeights};
use crate::sides::{ImageRows, Sides, Window};

/// Layers that multiply floats.
#[derive(Clone, Debug)]
pub struct FloatLayers {
    /// Gives the image that is filtered.
    pub expand: Expansion,
    /// Filters each channel of the expanded image.
    pub depthwise: Depthwise,
    /// Narrows each pixel, without a non-linearity.
    pub project: PackedWeights,
}

/// Source of the image that a block filters. ReLU6 is applied to the output of a layer.
#[derive(Clone, Debug)]
pub enum Expansion {
    /// The image is filtered as it is.
    None,
    /// A map that widens each pixel.
    Pixels(PackedWeights),
    /// A convolution. The first layer of a network belongs to its first block, so that its output,
    /// the largest after that of the second block, is never stored.
    Window(Patches),
}

/// Layers that multiply bytes; the expanded image consists of bytes too.
#[derive(Clone, Debug)]
pub struct ByteLayers {
    /// Widens each pixel.
    pub expand: ByteWeights,
    /// Filters each channel of the expanded image.
    pub depthwise: ByteDepthwise,
    /// Narrows each pixel, without a non-linearity.
    pub project: ByteWeights,
}

/// The layers of a block.
pub(super) trait Block: Sync {
    /// Type of the values of the expanded image.
    type Value: Output;

    /// Returns the numbers of channels of the expanded image and of the output.
    fn channels(&self) -> [usize; 2];

    /// Returns the window of the filter.
    fn window(&self) -> Window;

    /// Returns the sides of the expanded image.
    fn expanded(&self, sides: Sides) -> Sides;

    /// Returns the number of multiplications of the expansion.
    fn products(&self, sides: Sides) -> usize;

    /// Computes rows of the expanded image from `first` on.
    fn expand(&self, input: &[f32], sides: Sides, first: usize, output: &mut [Self::Value]);

    /// Returns whether channels of the expanded image can be computed separately: each pixel is widened
    /// without its neighbours.
    fn has_channels(&self) -> bool;

    /// Computes channels of the expanded image; the first one begins a panel.
    fn expand_channels(&self, input: &[f32], channels: Range<usize>, output: &mut [Self::Value]);

    /// Returns the input if it is filtered as it is.
    fn unexpanded<'a>(&self, input: &'a [f32]) -> Option<&'a [Self::Value]>;

    /// Computes rows of the filtered image from `first` on, with the channels of the input.
    fn filter(&self, input: ImageRows<'_, Self::Value>, first: usize, output: &mut [Self::Value]);

    /// Computes pixels of the output.
    fn project(&self, input: &[Self::Value], skip: Option<&[f32]>, output: &mut [f32]);
}

impl Block for FloatLayers {
    type Value = f32;

    fn channels(&self) -> [usize; 2] {
        [self.project.inputs(), self.project.outputs()]
    }

    fn window(&self) -> Window {
        self.depthwise.window()
    }

    fn expanded(&self, sides: Sides) -> Sides {
        match &self.expand {
            Expansion::None | Expansion::Pixels(_) => sides,
            Expansion::Window(layer) => layer.after(sides),
        }
    }

    fn products(&self, sides: Sides) -> usize {
        match &self.expand {
            Expansion::None => 0,
            Expansion::Pixels(layer) => sides.pixels() * layer.inputs() * layer.outputs(),
            Expansion::Window(layer) => layer.products(sides),
        }
    }

    fn expand(&self, input: &[f32], sides: Sides, first: usize, output: &mut [f32]) {
        match &self.expand {
            Expansion::None => {}
            Expansion::Pixels(layer) => {
                let input = &input[first * sides.width * layer.inputs()..];
                layer.apply(input, None, Activation::Relu6, output);
            }
            Expansion::Window(layer) => {
                layer.apply_rows((input, sides), first, None, Activation::Relu6, output);
            }
        }
    }

    fn has_channels(&self) -> bool {
        matches!(self.expand, Expansion::Pixels(_))
    }

    fn expand_channels(&self, input: &[f32], channels: Range<usize>, output: &mut [f32]) {
        if let Expansion::Pixels(layer) = &self.expand {
            layer.apply_columns(input, channels, Activation::Relu6, output);
        }
    }

    fn unexpanded<'a>(&self, input: &'a [f32]) -> Option<&'a [f32]> {
        matches!(self.expand, Expansion::None).then_some(input)
    }

    fn filter(&self, input: ImageRows<'_, f32>, first: usize, output: &mut [f32]) {
        self.depthwise
            .apply_rows(input, first, Activation::Relu6, output);
    }

    fn project(&self, input: &[f32], skip: Option<&[f32]>, output: &mut [f32]) {
        self.project.apply(input, skip, Activation::None, output);
    }
}

impl Block for ByteLayers {
    type Value = u8;

    fn channels(&self) -> [usize; 2] {
        [self.project.inputs(), self.project.outputs()]
    }

    fn window(&self) -> Window {
        self.depthwise.window()
    }

    fn expanded(&self, sides: Sides) -> Sides {
        sides
    }

    fn products(&self, sides: Sides) -> usize {
        sides.pixels() * self.expand.inputs() * self.expand.outputs()
    }

    fn expand(&self, input: &[f32], sides: Sides, first: usize, output: &mut [u8]) {
        let input = &input[first * sides.width * self.expand.inputs()..];
        self.expand.apply(input, None, Activation::Relu6, output);
    }

    fn has_channels(&self) -> bool {
        true
    }

    fn expand_channels(&self, input: &[f32], channels: Range<usize>, output: &mut [u8]) {
        self.expand
            .apply_columns(input, channels, Activation::Relu6, output);
    }

    fn unexpanded<'a>(&self, _: &'a [f32]) -> Option<&'a [u8]> {
        None
    }

    fn filter(&self, input: ImageRows<'_, u8>, first: usize, output: &mut [u8]) {
        self.depthwise.apply_rows(input, first, output);
    }

    fn project(&self, input: &[u8], skip: Option<&[f32]>, output: &mut [f32]) {
        self.project.apply(input, skip, Activation::None, output);
    }
}

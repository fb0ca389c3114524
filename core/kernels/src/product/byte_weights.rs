//! Integer weights in the order in which they are multiplied with bytes.

use crate::panel::{PANEL, PanelRow, padded};
use crate::quads::{QUAD, Quads};

/// Integers of a linear map that are multiplied with inputs in bytes, so that an input has an error of
/// at most 1/255 of its row's range. Large maps are several times faster than with floats. All
/// processors give the same bits.
#[derive(Clone, Debug)]
pub struct ByteWeights {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// Panel after panel, one element for each four inputs, padded with zeros.
    pub(super) quads: Vec<Quads<i8>>,
    /// One element for each panel.
    pub(super) constants: Vec<Constants>,
}

/// Constants of the columns of a panel.
#[derive(Clone, Debug)]
pub(super) struct Constants {
    /// Factors that turn sums of integer products into outputs; the scale of the input row is a
    /// further factor.
    pub(super) scales: PanelRow,
    /// The sum of the weights of each output, multiplied by its scale.
    pub(super) totals: PanelRow,
    pub(super) bias: PanelRow,
}

impl ByteWeights {
    /// Arranges integers `weight(output, input)`, which are multiplied by one scale for each output.
    ///
    /// # Shapes
    /// `[inputs] -> [outputs]`, with `outputs` the length of `bias` and of `scales`
    #[must_use]
    pub fn new(
        inputs: usize,
        bias: &[f32],
        scales: &[f32],
        weight: impl Fn(usize, usize) -> i8,
    ) -> Self {
        let outputs = bias.len();
        let mut quads = Vec::with_capacity(outputs.div_ceil(PANEL) * inputs.div_ceil(QUAD));
        let mut totals = Vec::with_capacity(outputs);
        for first in (0..outputs).step_by(PANEL) {
            let columns = || (first..outputs).take(PANEL);
            totals.extend(columns().map(|output| {
                let weights = (0..inputs).map(|input| i32::from(weight(output, input)));
                weights.sum::<i32>() as f32 * scales[output]
            }));
            for from in (0..inputs).step_by(QUAD) {
                let mut row = Quads::default();
                for (column, output) in row.0.iter_mut().zip(columns()) {
                    for (slot, input) in column.iter_mut().zip(from..inputs) {
                        *slot = weight(output, input);
                    }
                }
                quads.push(row);
            }
        }
        let rows = padded(scales)
            .into_iter()
            .zip(padded(&totals))
            .zip(padded(bias));
        let constants = rows.map(|((scales, totals), bias)| Constants {
            scales,
            totals,
            bias,
        });
        Self {
            inputs,
            outputs,
            quads,
            constants: constants.collect(),
        }
    }

    /// Returns the weights with outputs in units of `step`.
    pub(crate) fn in_steps_of(mut self, step: f32) -> Self {
        for Constants {
            scales,
            totals,
            bias,
        } in &mut self.constants
        {
            for value in [scales, totals, bias]
                .into_iter()
                .flat_map(|row| &mut row.0)
            {
                *value /= step;
            }
        }
        self
    }

    /// Returns the length of an input row.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the length of an output row.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }
}

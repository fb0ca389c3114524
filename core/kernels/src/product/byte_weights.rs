//! Integer weights in the order in which they are multiplied with bytes.

use super::panel::{PANEL, PanelRow};

/// Largest absolute value of narrow weights: the sum of two of their products with bytes fits into 16
/// bits.
pub(super) const NARROW: i8 = 63;

/// Inputs that are multiplied by one instruction.
pub(super) const QUAD: usize = 4;

/// The weights of four inputs for each column of a panel, in cache lines of their own.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Quads(pub(super) [[i8; QUAD]; PANEL]);

/// Integers in the order in which they are multiplied.
#[derive(Clone, Debug)]
pub(super) struct ByteWeights {
    /// Panel after panel, one element for each four inputs, padded with zeros.
    pub(super) quads: Vec<Quads>,
    /// One element for each panel, as those of the bias.
    pub(super) scales: Vec<PanelRow>,
    /// The sums of the weights of each output.
    pub(super) totals: Vec<[i32; PANEL]>,
    /// Whether all weights lie within [`NARROW`].
    pub(super) is_narrow: bool,
}

impl ByteWeights {
    /// Arranges `weight(output, input)` in as many panels as there are rows of scales.
    pub(super) fn new(
        [inputs, outputs]: [usize; 2],
        scales: Vec<PanelRow>,
        weight: impl Fn(usize, usize) -> i8,
    ) -> Self {
        let mut quads = Vec::with_capacity(scales.len() * inputs.div_ceil(QUAD));
        let mut totals = Vec::with_capacity(scales.len());
        for first in (0..outputs).step_by(PANEL) {
            let columns = || (first..outputs).take(PANEL).enumerate();
            let mut sums = [0; PANEL];
            for (column, output) in columns() {
                let weights = (0..inputs).map(|input| i32::from(weight(output, input)));
                sums[column] = weights.sum();
            }
            totals.push(sums);
            for from in (0..inputs).step_by(QUAD) {
                let mut row = Quads([[0; QUAD]; PANEL]);
                for (column, output) in columns() {
                    for (slot, input) in row.0[column].iter_mut().zip(from..inputs) {
                        *slot = weight(output, input);
                    }
                }
                quads.push(row);
            }
        }
        let is_narrow = |weight: &i8| weight.unsigned_abs() <= NARROW.unsigned_abs();
        Self {
            is_narrow: quads
                .iter()
                .flat_map(|row| row.0.as_flattened())
                .all(is_narrow),
            quads,
            scales,
            totals,
        }
    }
}

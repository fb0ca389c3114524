//! Weights in the order in which products of floats read them.

use std::ops::Range;

use crate::panel::{PANEL, PanelRow, padded};

/// Rows of a panel that are multiplied before the next panel: 32 kB, which stay in the first-level
/// cache.
pub(super) const DEPTH: usize = 256;
/// Number of weights that do not fit into the caches of a core.
const LARGE: usize = 1 << 18;

/// The weights in the order in which they are multiplied; the last panel is padded with zeros.
#[derive(Clone, Debug)]
enum Panels {
    /// For each [`DEPTH`] inputs panel after panel, one row for each input.
    Floats(Vec<PanelRow>),
    /// In the same order integers, which are unpacked for every product, and a row of scales for
    /// each panel.
    Integers(Vec<[i8; PANEL]>, Vec<PanelRow>),
}

/// Weights of a linear map that are multiplied as floats.
#[derive(Clone, Debug)]
pub(super) struct FloatWeights {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    panels: Panels,
    /// One row for each panel.
    pub(super) bias: Vec<PanelRow>,
}

impl FloatWeights {
    /// See [`PackedWeights::new`](super::PackedWeights::new).
    pub(super) fn new(inputs: usize, bias: &[f32], weight: impl Fn(usize, usize) -> f32) -> Self {
        Self {
            inputs,
            outputs: bias.len(),
            panels: Panels::Floats(arrange(inputs, bias.len(), weight, PanelRow)),
            bias: padded(bias),
        }
    }

    /// See [`PackedWeights::of_integers`](super::PackedWeights::of_integers).
    pub(super) fn of_integers(
        inputs: usize,
        bias: &[f32],
        scales: &[f32],
        weight: impl Fn(usize, usize) -> i8,
    ) -> Self {
        let integers = arrange(inputs, bias.len(), weight, |row| row);
        Self {
            inputs,
            outputs: bias.len(),
            panels: Panels::Integers(integers, padded(scales)),
            bias: padded(bias),
        }
    }

    /// Returns memory for a part of a panel that [`Self::part`] unpacks.
    pub(super) fn buffer(&self) -> Vec<PanelRow> {
        match &self.panels {
            Panels::Floats(_) => Vec::new(),
            Panels::Integers(..) => vec![PanelRow::default(); DEPTH.min(self.inputs)],
        }
    }

    /// Returns the rows of a panel for some inputs; integers are multiplied by their scales into
    /// the buffer.
    #[inline(always)]
    pub(super) fn part<'a>(
        &'a self,
        panel: usize,
        inputs: Range<usize>,
        buffer: &'a mut [PanelRow],
    ) -> &'a [PanelRow] {
        let from = inputs.start * self.bias.len() + panel * inputs.len();
        let rows = from..from + inputs.len();
        let (integers, scales) = match &self.panels {
            Panels::Floats(panels) => return &panels[rows],
            Panels::Integers(integers, scales) => (&integers[rows], &scales[panel]),
        };
        let buffer = &mut buffer[..integers.len()];
        for (row, integers) in buffer.iter_mut().zip(integers) {
            for ((value, integer), scale) in row.0.iter_mut().zip(integers).zip(&scales.0) {
                *value = f32::from(*integer) * scale;
            }
        }
        buffer
    }

    /// Returns the rows after a part of a panel, as many as it has, if they come from the memory.
    pub(super) fn after(&self, panel: usize, inputs: Range<usize>) -> &[PanelRow] {
        let Panels::Floats(panels) = &self.panels else {
            return &[];
        };
        if self.inputs * self.outputs < LARGE {
            return &[];
        }
        let from = inputs.start * self.bias.len() + (panel + 1) * inputs.len();
        let rows = &panels[from..];
        &rows[..inputs.len().min(rows.len())]
    }
}

/// Arranges weights in panels, [`DEPTH`] inputs after the other.
fn arrange<T: Copy + Default, R>(
    inputs: usize,
    outputs: usize,
    weight: impl Fn(usize, usize) -> T,
    panel_row: impl Fn([T; PANEL]) -> R,
) -> Vec<R> {
    let mut panels = Vec::with_capacity(outputs.div_ceil(PANEL) * inputs);
    for depth in (0..inputs).step_by(DEPTH) {
        for first in (0..outputs).step_by(PANEL) {
            for input in depth..inputs.min(depth + DEPTH) {
                let mut row = [T::default(); PANEL];
                for (slot, output) in row.iter_mut().zip(first..outputs) {
                    *slot = weight(output, input);
                }
                panels.push(panel_row(row));
            }
        }
    }
    panels
}

//! Panels: the columns of a product that are computed before the next ones.

/// Columns of a panel: two vectors of AVX-512, or more of other instruction sets.
pub(crate) const PANEL: usize = 32;

/// One row of a panel, in cache lines of its own: a vector that lies in two lines takes twice as long
/// to load.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct PanelRow(pub(crate) [f32; PANEL]);

impl Default for PanelRow {
    fn default() -> Self {
        Self([0.0; PANEL])
    }
}

/// Splits values into rows of panels, the last one padded with zeros.
pub(super) fn padded(values: &[f32]) -> Vec<PanelRow> {
    let rows = values.chunks(PANEL).map(|values| {
        let mut row = [0.0; PANEL];
        row[..values.len()].copy_from_slice(values);
        PanelRow(row)
    });
    rows.collect()
}

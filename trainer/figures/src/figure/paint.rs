//! Fill and stroke of shapes, and the numbers of their attributes.

use std::fmt::Write as _;

use super::theme::Colour;

/// Fill and stroke of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paint {
    fill: Colour,
    stroke: Colour,
    width: f64,
    opacity: f64,
    dash: Option<&'static str>,
}

impl Paint {
    const NONE: Self = Self {
        fill: "none",
        stroke: "none",
        width: 0.0,
        opacity: 1.0,
        dash: None,
    };

    /// Returns a filled shape.
    pub fn fill(fill: Colour) -> Self {
        Self { fill, ..Self::NONE }
    }

    /// Returns a line.
    pub fn stroke(stroke: Colour, width: f64) -> Self {
        Self {
            stroke,
            width,
            ..Self::NONE
        }
    }

    /// Adds an outline.
    pub fn outlined(mut self, stroke: Colour, width: f64) -> Self {
        (self.stroke, self.width) = (stroke, width);
        self
    }

    /// Sets the opacity; 1 is opaque.
    pub fn opacity(mut self, opacity: f64) -> Self {
        self.opacity = opacity;
        self
    }

    /// Returns a dashed line.
    pub fn dashed(mut self, dash: &'static str) -> Self {
        self.dash = Some(dash);
        self
    }

    pub(super) fn attributes(self) -> String {
        let mut out = format!(" fill=\"{}\"", self.fill);
        if self.stroke != "none" {
            let width = number(self.width);
            let _ = write!(out, " stroke=\"{}\" stroke-width=\"{width}\"", self.stroke);
        }
        if self.opacity < 1.0 {
            let _ = write!(out, " opacity=\"{}\"", number(self.opacity));
        }
        if let Some(dash) = self.dash {
            let _ = write!(out, " stroke-dasharray=\"{dash}\"");
        }
        out
    }
}

/// Returns at most two decimals; a value that is not finite cannot be drawn and becomes 0.
pub(super) fn number(v: f64) -> String {
    if !v.is_finite() {
        return "0".into();
    }
    let text = format!("{v:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".into()
    } else {
        text.into()
    }
}

//! Lines of text, not yet drawn.

use super::font::Weight;
use super::size::{BODY, SMALL};
use super::theme::{Colour, Theme};

/// Anchor of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Left end.
    Start,
    /// Middle.
    Middle,
    /// Right end.
    End,
}

/// One line of text; `y` is the middle of its small letters' height.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    pub(super) at: [f64; 2],
    pub(super) text: String,
    pub(super) size: f64,
    pub(super) weight: Weight,
    pub(super) colour: Option<Colour>,
    pub(super) anchor: Anchor,
    pub(super) upward: bool,
    pub(super) halo: bool,
}

impl Text {
    /// Returns a left-aligned text at a position, in the theme's ink.
    pub fn new(at: [f64; 2], text: impl Into<String>) -> Self {
        Self {
            at,
            text: text.into(),
            size: BODY,
            weight: Weight::Regular,
            colour: None,
            anchor: Anchor::Start,
            upward: false,
            halo: false,
        }
    }

    /// Returns a small left-aligned text in the theme's colour of secondary text.
    pub fn secondary(at: [f64; 2], text: impl Into<String>, theme: Theme) -> Self {
        Self::new(at, text).size(SMALL).colour(theme.muted())
    }

    /// Sets the size of the font.
    pub fn size(mut self, size: f64) -> Self {
        self.size = size;
        self
    }

    /// Makes it bold.
    pub fn bold(mut self) -> Self {
        self.weight = Weight::Bold;
        self
    }

    /// Sets the colour.
    pub fn colour(mut self, colour: Colour) -> Self {
        self.colour = Some(colour);
        self
    }

    /// Sets the anchor.
    pub fn anchor(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }

    /// Rotates it to read from bottom to top.
    pub fn upward(mut self) -> Self {
        self.upward = true;
        self
    }

    /// Adds a rim of the background's colour, for text over lines and points.
    pub fn halo(mut self) -> Self {
        self.halo = true;
        self
    }
}

//! Two sets of colours, for paper and for dark slides.

use clap::ValueEnum;

/// Background and what goes with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Theme {
    /// Dark on white, for paper.
    #[default]
    Light,
    /// Light on near-black, for slides.
    Dark,
}

/// A colour in SVG notation.
pub type Colour = &'static str;

/// The palette of Okabe and Ito (2008) without its yellow, which is hard to see on white. Its
/// colours are distinguishable with every common kind of colour blindness.
const ON_LIGHT: [Colour; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#b0558a", "#3d9bd4", "#c98500",
];

/// The same hues, lighter.
const ON_DARK: [Colour; 6] = [
    "#5ab4ee", "#ff8f4a", "#3fcfa3", "#e79ac4", "#9ad4f5", "#f2bd4b",
];

impl Theme {
    fn pick<T>(self, light: T, dark: T) -> T {
        match self {
            Self::Light => light,
            Self::Dark => dark,
        }
    }

    /// Returns the background.
    pub fn paper(self) -> Colour {
        self.pick("#ffffff", "#14171c")
    }

    /// Text and the most important marks.
    pub fn ink(self) -> Colour {
        self.pick("#1a1a1a", "#eceff4")
    }

    /// Axes, ticks and secondary text.
    pub fn muted(self) -> Colour {
        self.pick("#5f6670", "#a3abb8")
    }

    /// Lines behind everything.
    pub fn faint(self) -> Colour {
        self.pick("#d5d9df", "#3a414c")
    }

    /// Returns the colour of a series; the colours repeat after six.
    pub fn series(self, at: usize) -> Colour {
        let colours = self.pick(ON_LIGHT, ON_DARK);
        colours[at % colours.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the relative luminance of WCAG 2.
    fn luminance(colour: Colour) -> f64 {
        let channel = |at: usize| {
            let level = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
            let level = f64::from(level) / 255.0;
            if level <= 0.04045 {
                level / 12.92
            } else {
                ((level + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: Colour, b: Colour) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_series_stand_out_from_the_background() {
        for theme in [Theme::Light, Theme::Dark] {
            assert!(contrast(theme.ink(), theme.paper()) > 12.0);
            assert!(contrast(theme.muted(), theme.paper()) > 4.5);
            for at in 0..6 {
                let found = contrast(theme.series(at), theme.paper());
                assert!(found >= 3.0, "{theme:?} {at}: {found}");
            }
        }
    }
}

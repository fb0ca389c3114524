//! What the MERU family is known for: its files hold weights only (notation 3.1, 3.2, traps 24 to
//! 26). A width that no published model has says nothing, and is asked for.

use espalier_core::input::ResizeMode;
use espalier_core::model::{Pool, Positions};
use espalier_core::nn::Activation;

use super::said::{Maybe, Pixels, Said, Tower, stated};
use crate::layout::Measured;

/// Widths of published picture towers and their heads; the small one has 12, not 6 (trap 24).
const HEADS: [(usize, usize); 3] = [(384, 12), (768, 12), (1024, 16)];
/// Width of a head of the text tower.
const TEXT_HEAD: usize = 64;

/// What is known of a file of the family.
#[must_use]
pub fn meru(measured: &Measured) -> Said {
    let by = "the MERU family";
    let tower = |heads: Option<usize>| Tower {
        heads: heads.and_then(|n| stated(n, by)),
        activation: stated(Activation::Gelu, by),
        norm_eps: stated(1e-5, by),
        ..Tower::default()
    };
    let published = HEADS
        .iter()
        .find(|(w, _)| Some(*w) == measured.vision_width);
    let text = measured.text_width.filter(|w| w.is_multiple_of(TEXT_HEAD));
    Said {
        vision: tower(published.map(|(_, heads)| *heads)),
        text: tower(text.map(|w| w / TEXT_HEAD)),
        pool: stated(Pool::Class, by),
        positions: stated(Positions::Sincos, by),
        pre_norm: stated(false, by),
        patch_bias: stated(true, by),
        pixels: Pixels {
            // Mean and deviation are tensors of the file.
            resize: stated(ResizeMode::CentreCrop, by),
            ..Pixels::default()
        },
        ..Said::default()
    }
}

/// What every file of the layouts of CLIP has in common, whatever stands beside it.
#[must_use]
pub fn clip(by: &str) -> Said {
    let norm = |by: &str| -> Maybe<f64> { stated(1e-5, by) };
    let tower = || Tower {
        norm_eps: norm(by),
        ..Tower::default()
    };
    Said {
        vision: tower(),
        text: tower(),
        pool: stated(Pool::Class, by),
        positions: stated(Positions::Learned, by),
        patch_bias: stated(false, by),
        ..Said::default()
    }
}

//! Draws a card to share: the photo, the sentence and the ladder in one image.

use espalier_core::caption::{CaptionResult, Standing, standings};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, CanvasRenderingContext2d, HtmlImageElement};

use crate::photo::{Photo, canvas, context, encoded};

/// Width and height of the card in pixels, the usual size of link previews.
const SIZE: (f64, f64) = (1200.0, 630.0);
/// Width of the photo on the card.
const PHOTO_WIDTH: f64 = 520.0;
/// Margin around the text.
const MARGIN: f64 = 56.0;
/// Maximum number of rungs.
const MAX_RUNGS: usize = 6;

const BACKGROUND: &str = "#f4efe6";
const INK: &str = "#241f19";
const SOFT: &str = "#5d5347";
const WOOD: &str = "#7a3a22";
const LEAF: &str = "#2c6a3f";
const SERIF: &str =
    "'Iowan Old Style', 'Palatino Linotype', Palatino, 'URW Palladio L', P052, Georgia, serif";
const SANS: &str = "system-ui, sans-serif";

/// Draws the card; `None` if the browser cannot draw it.
pub async fn card(photo: &Photo, result: &CaptionResult, sentence: &str) -> Option<Blob> {
    let image = HtmlImageElement::new().ok()?;
    image.set_src(&photo.url);
    // If the browser cannot show the photo, its area stays empty.
    let is_loaded = JsFuture::from(image.decode()).await.is_ok();
    let canvas = canvas(SIZE.0, SIZE.1)?;
    let pen = context(&canvas)?;
    pen.set_fill_style_str(BACKGROUND);
    pen.fill_rect(0.0, 0.0, SIZE.0, SIZE.1);
    if is_loaded {
        cover(&pen, &image);
    }
    let left = PHOTO_WIDTH + MARGIN;
    let width = SIZE.0 - left - MARGIN;
    pen.set_fill_style_str(INK);
    pen.set_font(&format!("500 38px {SERIF}"));
    let mut y = 88.0;
    for line in wrap(&pen, sentence, width, 4) {
        let _ = pen.fill_text(&line, left, y);
        y += 46.0;
    }
    ladder(&pen, result, (left, y + 10.0), width);
    pen.set_fill_style_str(SOFT);
    pen.set_font(&format!("400 19px {SANS}"));
    let footer = format!(
        "Espalier · {} {} · read on this device",
        result.model.name, result.model.version
    );
    let _ = pen.fill_text(&footer, left, SIZE.1 - 40.0);
    encoded(&canvas, "image/png").await.ok()
}

/// Draws the photo, cropped to fill its side of the card.
fn cover(pen: &CanvasRenderingContext2d, image: &HtmlImageElement) {
    let (width, height) = (
        f64::from(image.natural_width()),
        f64::from(image.natural_height()),
    );
    let scale = (PHOTO_WIDTH / width).max(SIZE.1 / height);
    let (crop_width, crop_height) = (PHOTO_WIDTH / scale, SIZE.1 / scale);
    let _ = pen.draw_image_with_html_image_element_and_sw_and_sh_and_dx_and_dy_and_dw_and_dh(
        image,
        (width - crop_width) / 2.0,
        (height - crop_height) / 2.0,
        crop_width,
        crop_height,
        0.0,
        0.0,
        PHOTO_WIDTH,
        SIZE.1,
    );
}

/// Draws the rungs along a trunk, as on the page.
fn ladder(pen: &CanvasRenderingContext2d, result: &CaptionResult, at: (f64, f64), width: f64) {
    const STEP: f64 = 46.0;
    let (x, top) = at;
    let standings = standings(&result.ladder, &result.taxonomy);
    let fitting = ((SIZE.1 - 84.0 - top) / STEP).floor().max(1.0);
    let count = MAX_RUNGS.min(fitting as usize);
    let rungs = result.ladder.iter().zip(standings);
    let shown = rungs.filter(|(_, standing)| *standing != Standing::Unlikely);
    for (index, (rung, standing)) in (0_u32..).zip(shown.take(count)) {
        let is_guess = standing == Standing::Guess;
        let y = top + STEP * f64::from(index);
        let branch_end = x + 22.0 + 16.0 * f64::from(index);
        pen.set_stroke_style_str(WOOD);
        pen.set_line_width(3.0);
        pen.begin_path();
        // Starts at the previous rung, so that the trunk is continuous.
        pen.move_to(x, if index == 0 { y - 8.0 } else { y - 26.0 });
        pen.line_to(x, y + STEP - 26.0);
        pen.quadratic_curve_to(x, y + STEP - 14.0, x + 12.0, y + STEP - 14.0);
        pen.line_to(branch_end, y + STEP - 14.0);
        pen.stroke();
        pen.begin_path();
        let _ = pen.ellipse(
            branch_end + 9.0,
            y + STEP - 14.0,
            9.0,
            5.5,
            -0.5,
            0.0,
            std::f64::consts::TAU,
        );
        pen.set_fill_style_str(if is_guess { BACKGROUND } else { LEAF });
        pen.fill();
        pen.set_stroke_style_str(LEAF);
        pen.set_line_width(2.0);
        pen.stroke();
        pen.set_fill_style_str(if is_guess { SOFT } else { INK });
        let size = if is_guess { 21 } else { 27 };
        pen.set_font(&format!("400 {size}px {SERIF}"));
        let text = branch_end + 28.0;
        let _ = pen.fill_text_with_max_width(&rung.text, text, y + STEP - 5.0, x + width - text);
    }
}

/// Wraps a text into at most `max_lines` lines of this width; the last line ends with an ellipsis if the
/// text is truncated.
fn wrap(pen: &CanvasRenderingContext2d, text: &str, width: f64, max_lines: usize) -> Vec<String> {
    let fits = |line: &str| pen.measure_text(line).is_ok_and(|m| m.width() <= width);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let full = lines.len() == max_lines;
        match lines.last_mut() {
            Some(line) if fits(&format!("{line} {word}")) => {
                line.push(' ');
                line.push_str(word);
            }
            Some(line) if full => {
                line.push('…');
                break;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

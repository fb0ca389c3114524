//! Writes a figure to a file: SVG, or PNG rendered from that SVG.

use std::path::{Path, PathBuf};

use anyhow::Context;
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;
use resvg::{tiny_skia, usvg};

use super::canvas::Canvas;
use super::font;

/// Largest side of a PNG in pixels; a larger value is most likely a typing error.
const LARGEST: f64 = 20_000.0;

/// Output file of a figure, checked before anything is computed.
#[derive(Clone, Debug)]
pub struct Output {
    path: PathBuf,
    /// Pixels of a PNG per unit of the SVG; `None` for an SVG.
    scale: Option<f64>,
}

impl Output {
    /// Returns an output file by its extension; a PNG has `scale` pixels per unit of the SVG.
    ///
    /// # Errors
    /// Bad usage for another extension, a missing folder, or an invalid scale.
    pub fn new(path: &Path, scale: f64) -> anyhow::Result<Self> {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let is_png = match ending.to_lowercase().as_str() {
            "svg" => false,
            "png" => true,
            _ => {
                let found = path.display();
                return Err(usage(format!(
                    "--out: expected a file that ends in .svg or .png, found {found}"
                )));
            }
        };
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|p| !p.is_dir()) {
            return Err(usage(format!(
                "--out {}: no folder {}; create it first",
                path.display(),
                folder.display()
            )));
        }
        if path.is_dir() {
            return Err(usage(format!(
                "--out {}: expected a file, found a folder",
                path.display()
            )));
        }
        if !(scale.is_finite() && (0.1..=20.0).contains(&scale)) {
            return Err(usage(format!(
                "--scale: expected 0.1 to 20 pixels per unit, found {scale}"
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            scale: is_png.then_some(scale),
        })
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes a figure atomically; replaces an existing file.
///
/// # Errors
/// When the file cannot be written, or the figure is too large for a PNG.
pub fn save(canvas: &Canvas, output: &Output) -> anyhow::Result<()> {
    let svg = canvas.svg();
    match output.scale {
        None => write_atomic(&output.path, svg.as_bytes()),
        Some(scale) => write_atomic(&output.path, &render(canvas, &svg, scale)?),
    }
}

fn render(canvas: &Canvas, svg: &str, scale: f64) -> anyhow::Result<Vec<u8>> {
    let [width, height] = canvas.size().map(|v| (v * scale).round());
    if width.max(height) > LARGEST {
        return Err(usage(format!(
            "--scale: expected an image of at most {LARGEST} pixels per side, found {width} x {height}"
        )));
    }
    let mut options = usvg::Options {
        font_family: font::FAMILY.to_owned(),
        ..usvg::Options::default()
    };
    *options.fontdb_mut() = font::database(canvas.texts());
    let tree = usvg::Tree::from_str(svg, &options).context("reading the figure back")?;
    let mut pixels =
        tiny_skia::Pixmap::new(width as u32, height as u32).context("an image without pixels")?;
    let by = tiny_skia::Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, by, &mut pixels.as_mut());
    pixels.encode_png().context("writing a PNG")
}

#[cfg(test)]
mod tests {
    use super::super::{Canvas, Paint, Text, Theme};
    use super::*;

    #[test]
    fn a_png_has_the_requested_size_and_shows_text_without_system_fonts() {
        let mut canvas = Canvas::new(40.0, 20.0, Theme::Light, "t");
        canvas.rect([0.0, 0.0, 10.0, 20.0], Paint::fill("#ff0000"));
        canvas.text(&Text::new([20.0, 10.0], "W").size(14.0));
        let png = render(&canvas, &canvas.svg(), 2.0).unwrap();
        let image = image::load_from_memory(&png).unwrap().to_rgb8();
        assert_eq!(image.dimensions(), (80, 40));
        assert_eq!(image.get_pixel(5, 20).0, [255, 0, 0]);
        let dark = image.pixels().filter(|p| p.0[1] < 100 && p.0[0] < 100);
        assert!(dark.count() > 20, "the letter is there");
    }

    #[test]
    fn texts_in_other_scripts_do_not_affect_latin_text() {
        let mut canvas = Canvas::new(40.0, 20.0, Theme::Light, "t");
        canvas.text(&Text::new([4.0, 10.0], "W").size(14.0));
        canvas.text(&Text::new([24.0, 10.0], "日").size(14.0));
        let png = render(&canvas, &canvas.svg(), 2.0).unwrap();
        let image = image::load_from_memory(&png).unwrap().to_rgb8();
        let left = image
            .enumerate_pixels()
            .filter(|(x, _, p)| *x < 40 && p.0[0] < 100);
        assert!(left.count() > 20);
    }

    #[test]
    fn an_unusable_output_file_is_an_error_before_any_work() {
        let of = |path: &str, scale| Output::new(Path::new(path), scale).unwrap_err().to_string();
        assert_eq!(
            of("a.pdf", 1.0),
            "--out: expected a file that ends in .svg or .png, found a.pdf"
        );
        assert!(of("no/such/a.svg", 1.0).contains("no folder no/such"));
        assert!(of("a.svg", f64::NAN).contains("--scale"));
        assert!(Output::new(Path::new("A.PNG"), 3.0).is_ok());
    }
}

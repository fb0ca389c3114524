//! The sample photos of a site, in place of those of the page.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use anyhow::Context;
use espalier_core::bundle::sha256_hex;
use espalier_core::input::decode;
use espalier_eval::report::html::escape;
use espalier_io::disk::read;
use espalier_io::disk::write::write_atomic;
use espalier_io::exit::usage;
use espalier_io::output::note;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, RgbImage};
use serde_json::Value;

/// Largest side of a sample in pixels.
const SIDE: u32 = 800;

/// Side of its small image in pixels.
const SMALL: u32 = 128;

/// Quality of the JPEG files.
const QUALITY: u8 = 85;

/// First and last words of the list of samples in the page.
const LIST: (&str, &str) = ("<ul class=\"samples-list\">", "</ul>");

/// First and last words of the list of files in the page's service worker.
const BUILD: (&str, &str) = ("const BUILD = ", "};");

/// A sample photo of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// What it shows, in words.
    words: String,
    /// The photo and its small image, as JPEG without metadata.
    photo: Vec<u8>,
    small: Vec<u8>,
}

/// Returns an image as JPEG.
fn jpeg(image: &RgbImage) -> anyhow::Result<Vec<u8>> {
    let mut out = Cursor::new(Vec::new());
    image.write_with_encoder(JpegEncoder::new_with_quality(&mut out, QUALITY))?;
    Ok(out.into_inner())
}

impl Sample {
    /// Reads a photo. It is drawn anew, upright and not larger than a page needs, so that its metadata,
    /// such as the place where it was taken, is not published.
    ///
    /// # Errors
    /// Bad usage for a file that is not a photo.
    pub fn read(path: &Path, words: &str) -> anyhow::Result<Self> {
        let fail = |e: String| usage(format!("{}: {e}", path.display()));
        let bytes = read::bytes(path).map_err(|e| fail(e.to_string()))?;
        let image = DynamicImage::ImageRgb8(decode(&bytes).map_err(|e| fail(e.to_string()))?);
        let is_large = image.width().max(image.height()) > SIDE;
        let photo = if is_large {
            image.resize(SIDE, SIDE, FilterType::CatmullRom)
        } else {
            image.clone()
        };
        let small = image.resize_to_fill(SMALL, SMALL, FilterType::CatmullRom);
        Ok(Self {
            words: words.to_owned(),
            photo: jpeg(&photo.to_rgb8())?,
            small: jpeg(&small.to_rgb8())?,
        })
    }
}

/// Returns the list of samples for the page.
fn list(samples: &[Sample]) -> String {
    let mut out = String::from(LIST.0);
    for (number, sample) in (1..).zip(samples) {
        out.push_str(&format!(
            "<li><a class=\"sample\" href=\"?sample=own-{number}\" data-sample=\"own-{number}\">\
             <img src=\"samples/small/own-{number}.jpg\" alt=\"{}\" width=\"{SMALL}\" height=\"{SMALL}\" />\
             </a></li>",
            escape(&sample.words)
        ));
    }
    out + LIST.1
}

/// Returns the page with another list of samples; `None` if it has no list.
fn with_list(page: &str, samples: &[Sample]) -> Option<String> {
    let (before, rest) = page.split_once(LIST.0)?;
    let (_, after) = rest.split_once(LIST.1)?;
    Some(format!("{before}{}{after}", list(samples)))
}

/// Returns the page's service worker with these samples in its list of files, and a version of its own;
/// `None` if it has no list.
fn with_files(worker: &str, samples: &[Sample]) -> Option<String> {
    let (before, rest) = worker.split_once(BUILD.0)?;
    let (build, after) = rest.split_once(BUILD.1)?;
    let mut build: Value = serde_json::from_str(&format!("{build}}}")).ok()?;
    let shell = build.get_mut("shell")?.as_array_mut()?;
    let is_sample = |name: &str| name.starts_with("samples/");
    shell.retain(|file| !file.as_str().is_some_and(is_sample));
    for number in 1..=samples.len() {
        shell.push(format!("samples/own-{number}.jpg").into());
        shell.push(format!("samples/small/own-{number}.jpg").into());
    }
    let photos: Vec<&[u8]> = samples.iter().map(|sample| &sample.photo[..]).collect();
    let version = build.get("version")?.as_str()?;
    build["version"] = format!("{version}-{}", &sha256_hex(&photos.concat())[..8]).into();
    Some(format!("{before}{}{build:#};{after}", BUILD.0))
}

/// Reads a file of a page. [`read::text`] would refuse it as a web page in place of a text.
fn text(file: &Path) -> anyhow::Result<String> {
    let bytes = read::bytes(file).with_context(|| format!("reading {}", file.display()))?;
    String::from_utf8(bytes).with_context(|| format!("reading {}", file.display()))
}

/// Replaces the samples of a copied page.
pub(super) fn replace(site: &Path, samples: &[Sample]) -> anyhow::Result<()> {
    let index = site.join("index.html");
    let page = text(&index)?;
    let script = site.join("sw.js");
    let worker = text(&script)?;
    let changed = with_list(&page, samples).zip(with_files(&worker, samples));
    let Some((page, worker)) = changed else {
        note("the page has no list of samples; it is left as it is");
        return Ok(());
    };
    let folder = site.join("samples");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let small = folder.join("small");
    fs::create_dir_all(&small).with_context(|| format!("creating {}", small.display()))?;
    for (number, sample) in (1..).zip(samples) {
        let name = format!("own-{number}.jpg");
        write_atomic(&folder.join(&name), &sample.photo)?;
        write_atomic(&small.join(&name), &sample.small)?;
    }
    write_atomic(&script, worker.as_bytes())?;
    write_atomic(&index, page.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_made_small_and_its_name_is_escaped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.png");
        RgbImage::new(1600, 400).save(&path).unwrap();
        let sample = Sample::read(&path, "a \"<b>").unwrap();
        let size = |bytes: &[u8]| decode(bytes).unwrap().dimensions();
        assert_eq!(size(&sample.photo), (800, 200));
        assert_eq!(size(&sample.small), (128, 128));
        let page = "<p>x</p><ul class=\"samples-list\"><li>cat</li></ul><p>y</p>";
        let page = with_list(page, &[sample]).unwrap();
        assert!(
            page.starts_with("<p>x</p><ul") && page.ends_with("</ul><p>y</p>"),
            "{page}"
        );
        assert!(page.contains("alt=\"a &quot;&lt;b&gt;\""), "{page}");
        assert!(!page.contains("cat"), "{page}");
        let worker = "// a\nconst BUILD = {\n \"version\": \"v\",\n \"shell\": [\"index.html\", \
                      \"samples/cat.jpg\"]\n};\nrest();";
        let sample = Sample::read(&path, "b").unwrap();
        let worker = with_files(worker, &[sample]).unwrap();
        assert!(
            worker.contains("samples/own-1.jpg") && !worker.contains("cat"),
            "{worker}"
        );
        assert!(
            worker.contains("\"v-") && worker.ends_with("};\nrest();"),
            "{worker}"
        );
        assert_eq!(with_list("<p></p>", &[]), None);
    }
}

//! `trainer caption` on files of every kind: the right answer, or exit code 2 and the reason.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use espalier_core::caption::CaptionResult;
use espalier_tests::browser::natively;
use espalier_tests::calls::{Call, call};
use espalier_tests::models::tiny;
use espalier_tests::photos::{grey, jpeg, keep, landscape, noise, save};
use image::{ImageFormat, RgbImage};

/// Returns the call that captions photos.
fn caption(photos: &[PathBuf]) -> Call {
    let caption = call("caption --json").set("--model", tiny());
    photos.iter().fold(caption, Call::arg)
}

/// Captions photos that must all be readable.
fn results(photos: &[PathBuf]) -> Vec<CaptionResult> {
    let lines = caption(photos).done().out;
    let result = |line| serde_json::from_str(line).unwrap();
    let results: Vec<CaptionResult> = lines.lines().map(result).collect();
    assert_eq!(results.len(), photos.len());
    results
}

/// Returns the largest difference of similarity among the captions that two results share; infinite
/// if they share none.
fn apart(a: &CaptionResult, b: &CaptionResult) -> f64 {
    let of = |text: &str| b.ladder.iter().find(|rung| rung.text == text);
    a.ladder
        .iter()
        .filter_map(|rung| Some((rung.similarity - of(&rung.text)?.similarity).abs()))
        .reduce(f64::max)
        .unwrap_or(f64::INFINITY)
}

/// Returns the size of the upright photo.
fn size(result: &CaptionResult) -> (u32, u32) {
    (result.image.width, result.image.height)
}

/// Returns the files of `golden/pictures`, each with a PNG of its pixels and the tolerance in
/// levels of 255.
fn golden(folder: &Path) -> Vec<(PathBuf, PathBuf, u8)> {
    let table = include_str!("../../golden/pictures.tsv");
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/pictures");
    let case = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let byte = |at: usize| u8::from_str_radix(&fields[4][2 * at..2 * at + 2], 16).unwrap();
        let (width, height) = (fields[1].parse().unwrap(), fields[2].parse().unwrap());
        let rgb: Vec<u8> = (0..fields[4].len() / 2).map(byte).collect();
        let plain = RgbImage::from_raw(width, height, rgb).unwrap();
        let plain = save(folder, &format!("{}.png", fields[0]), plain);
        (images.join(fields[0]), plain, fields[3].parse().unwrap())
    };
    table.lines().skip(2).map(case).collect()
}

#[test]
fn every_kind_of_image_is_captioned_as_the_plain_image_of_its_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let golden = golden(folder.path());
    let named = |name: &str| {
        let place = golden.iter().position(|(file, ..)| file.ends_with(name));
        place.unwrap_or_else(|| panic!("{name} is not tested"))
    };
    for kind in [
        ["cmyk.jpg", "grey.jpg", "exif-6.jpg"],
        ["rgb-16bit.png", "rgba.png", "grey-1bit.png"],
        ["animated.gif", "animated.webp", "exif-6.webp"],
    ]
    .concat()
    {
        named(kind);
    }
    let files: Vec<PathBuf> = golden.iter().map(|(file, ..)| file.clone()).collect();
    let plain: Vec<PathBuf> = golden.iter().map(|(_, plain, _)| plain.clone()).collect();
    let (files, plain) = (results(&files), results(&plain));
    let colour = apart(&plain[named("rgb.png")], &plain[named("grey.png")]);
    for ((path, _, levels), (file, plain)) in golden.iter().zip(files.iter().zip(&plain)) {
        let name = path.file_name().unwrap().to_string_lossy();
        assert_eq!(size(file), size(plain), "{name}");
        if *levels == 0 {
            assert_eq!(file.ladder, plain.ladder, "{name}");
            assert_eq!(file.taxonomy, plain.taxonomy, "{name}");
        } else {
            // Decoders of lossy files differ by a few levels of 255, which matters less than
            // colour.
            let found = apart(file, plain);
            assert!(
                found < colour / 3.0,
                "{name}: {found}, without colour {colour}"
            );
        }
    }
}

#[test]
fn a_photo_stored_on_its_side_is_read_upright() {
    let folder = tempfile::tempdir().unwrap();
    let upright = landscape(300, 420);
    let stored = image::imageops::rotate270(&upright);
    let found = results(&[
        keep(folder.path(), "upright.jpg", &jpeg(&upright, 1)),
        keep(folder.path(), "turned.jpg", &jpeg(&stored, 6)),
        keep(folder.path(), "lying.jpg", &jpeg(&stored, 1)),
    ]);
    assert_eq!((size(&found[0]), size(&found[1])), ((300, 420), (300, 420)));
    assert_eq!(size(&found[2]), (420, 300));
    let (same, other) = (apart(&found[0], &found[1]), apart(&found[0], &found[2]));
    assert!(same < other / 3.0, "{same}, for the lying photo {other}");
}

#[test]
fn a_part_is_read_as_a_photo_of_its_full_resolution_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let whole = landscape(2_400, 1_600);
    let cut = image::imageops::crop_imm(&whole, 1_440, 320, 240, 160).to_image();
    let photo = save(folder.path(), "whole.png", whole);
    let of_part = natively(&photo, &["--region", "0.6,0.2,0.7,0.3"]);
    let of_cut = results(&[save(folder.path(), "cut.png", cut)]).remove(0);
    assert_eq!(of_part.ladder, of_cut.ladder);
    assert_eq!(of_part.taxonomy, of_cut.taxonomy);
    // The size and the hash stay those of the whole photo.
    assert_eq!(size(&of_part), (2_400, 1_600));
    let of_whole = results(&[photo]).remove(0);
    assert_eq!(of_part.image, of_whole.image);
    assert_ne!(of_part.ladder, of_whole.ladder);
}

fn half(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() / 2]
}

#[test]
fn what_cannot_be_read_ends_with_code_2_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let image = landscape(64, 48);
    let whole = jpeg(&image, 1);
    let encoded = |format: ImageFormat| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    };
    let [png, webp, gif] = [ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif].map(encoded);
    let phone = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic";
    let cases: [(&str, &[u8], &str); 9] = [
        ("empty.jpg", b"", "0 bytes"),
        (
            "letter.jpg",
            b"Dear reader, this is no photo.",
            "`Dear reader",
        ),
        ("cut.jpg", half(&whole), "this JPEG is truncated"),
        ("cut.png", half(&png), "this PNG is truncated"),
        ("cut.webp", half(&webp), "this WebP is truncated"),
        ("cut.gif", half(&gif), "this GIF is truncated"),
        ("start.jpg", &whole[..3], "truncated"),
        ("phone.jpg", phone, "convert to JPEG or PNG"),
        ("bytes.png", &[0, 1, 2, 254, 255], "not an image"),
    ];
    for (name, bytes, words) in cases {
        let path = keep(folder.path(), name, bytes);
        let told = caption(&[path]).refused(&[words, name]).json();
        assert!(told["error"].is_string(), "{told}");
    }
    for path in [folder.path().to_owned(), folder.path().join("nowhere.jpg")] {
        let shown = path.display().to_string();
        caption(&[path]).refused(&[&shown]);
    }
}

#[test]
fn a_photo_that_cannot_be_read_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let good = keep(folder.path(), "good.jpg", &jpeg(&landscape(120, 90), 1));
    let bad = keep(folder.path(), "bad.jpg", b"no photo");
    let worse = keep(folder.path(), "worse.jpg", b"");
    let call = caption(&[bad, good.clone(), worse, good]);
    let found = call.refused(&["bad.jpg", "worse.jpg"]).json_lines();
    let names = ["bad.jpg", "good.jpg", "worse.jpg", "good.jpg"];
    assert_eq!(found.len(), names.len());
    for (line, name) in found.iter().zip(names) {
        assert!(line["file"].as_str().unwrap().ends_with(name), "{line}");
        assert_eq!(line["error"].is_string(), name != "good.jpg", "{line}");
    }
    assert_eq!(found[1]["ladder"], found[3]["ladder"]);
}

/// Writes a PNG row by row, so that the test itself does not hold the whole image in memory.
fn write_png(path: &Path, side: u32, packing: png::Compression, row: impl Fn(u32) -> Vec<u8>) {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path).unwrap()), side, side);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(packing);
    let mut writer = encoder.write_header().unwrap();
    let mut stream = writer.stream_writer().unwrap();
    for y in 0..side {
        stream.write_all(&row(y)).unwrap();
    }
    stream.finish().unwrap();
}

#[test]
fn a_photo_of_144_megapixels_is_captioned_as_its_small_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (side, small) = (12_000, 120);
    let (large, copy) = (folder.path().join("large.png"), landscape(small, small));
    write_png(&large, side, png::Compression::Fast, |y| {
        let row = (0..side).map(|x| copy.get_pixel(x * small / side, y * small / side).0);
        row.flatten().collect()
    });
    let grey = save(folder.path(), "grey.png", grey(&copy));
    let found = results(&[large, save(folder.path(), "small.png", copy), grey]);
    assert_eq!(size(&found[0]), (side, side));
    let (same, other) = (apart(&found[0], &found[1]), apart(&found[1], &found[2]));
    assert!(same < other / 3.0, "{same}, for a grey copy {other}");
}

#[test]
fn a_photo_of_40_megabytes_is_captioned() {
    let folder = tempfile::tempdir().unwrap();
    let (path, side) = (folder.path().join("noise.png"), 3_700);
    let rows = noise(side, 64);
    write_png(&path, side, png::Compression::NoCompression, |y| {
        let row = rows.rows().nth((y % 64) as usize).unwrap();
        row.flat_map(|pixel| pixel.0).collect()
    });
    assert!(path.metadata().unwrap().len() > 40_000_000);
    assert!(results(&[path])[0].ladder.len() >= 3);
}

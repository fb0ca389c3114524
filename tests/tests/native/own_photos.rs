//! `trainer fit` on folders of photos with nothing else, and `trainer make-page`.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_core::taxonomy::Taxonomy;
use espalier_tests::calls::call;
use espalier_tests::models::tiny;
use espalier_tests::photos::{jpeg, landscape};
use image::{Rgb, RgbImage};

use crate::site::write_page;

/// Number of photos of each class.
const PHOTOS: usize = 6;

/// Returns a photo of one of three kinds: a landscape, a disk on red, stripes on blue.
fn photo(kind: usize, number: usize) -> RgbImage {
    let shift = number as u32 * 5;
    match kind {
        0 => landscape(80 + shift, 64),
        1 => RgbImage::from_fn(72, 64, |x, y| {
            let (dx, dy) = (x.abs_diff(20 + shift), y.abs_diff(32));
            match dx * dx + dy * dy {
                ..300 => Rgb([250, 240, 60]),
                _ => Rgb([180, 20, 20]),
            }
        }),
        _ => RgbImage::from_fn(64, 72, |x, y| match (x + y + shift) % 16 {
            ..8 => Rgb([20, 30, 160]),
            _ => Rgb([230; 3]),
        }),
    }
}

fn photos(folder: &Path) -> PathBuf {
    let root = folder.join("my photos");
    for (kind, class) in ["castle", "xq-17", "n02123045"].into_iter().enumerate() {
        let class = root.join(class);
        fs::create_dir_all(&class).unwrap();
        for number in 0..PHOTOS {
            let name = format!("{number}.jpg");
            fs::write(class.join(name), jpeg(&photo(kind, number), 1)).unwrap();
        }
    }
    root
}

/// Writes a folder with the files by which a built page is recognised.
fn page(folder: &Path) -> PathBuf {
    let page = folder.join("dist");
    let worker = "const BUILD = {\n  \"version\": \"v1\",\n  \"shell\": [\n    \"index.html\",\n    \
                  \"samples/cat.jpg\"\n  ]\n};\n";
    let index = "<!doctype html>\n<html><ul class=\"samples-list\"><li>a cat</li></ul></html>";
    let sample = ("samples/cat.jpg", "cat");
    write_page(&page, &[("index.html", index), ("sw.js", worker), sample]);
    page
}

#[test]
fn photos_become_a_site_that_knows_them() {
    let folder = tempfile::tempdir().unwrap();
    let (root, page) = (photos(folder.path()), page(folder.path()));
    let (site, logs) = (folder.path().join("site"), folder.path().join("logs"));
    let make = |more: &str| {
        call("make-page --steps 100 --json")
            .arg(&root)
            .set("--out", &site)
            .set("--page", &page)
            .set("--init", tiny())
            .set("--logs", &logs)
            .with(more)
    };
    let placed = ["n02123045: below \"domestic cat\", by its id"];
    let told = make("").ends_with(0, &placed).json();
    assert_eq!(told["trained_on"], 15);
    assert_eq!(told["held_out"]["all"]["photos"], 3);

    // The three kinds look so different that all photos which were set aside are recognised.
    assert_eq!(told["held_out"]["all"]["right"], 3, "{told}");
    let taxonomy = fs::read_to_string(site.join("models/default/taxonomy.tsv")).unwrap();
    let taxonomy = Taxonomy::from_tsv(&taxonomy).unwrap();
    let labels = taxonomy.labelled().iter().map(|ix| taxonomy.name(*ix));
    assert_eq!(labels.collect::<Vec<_>>(), ["castle", "tabby cat", "xq-17"]);
    let cat = taxonomy.path_to(taxonomy.find("n02123045").unwrap());
    assert!(cat.iter().any(|ix| taxonomy.name(*ix) == "domestic cat"));

    // Its samples are photos of the classes.
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    let is_own = index.contains("alt=\"xq-17\"") && !index.contains("a cat");
    assert!(is_own, "{index}");
    assert!(site.join("samples/own-3.jpg").is_file() && !site.join("samples/cat.jpg").exists());
    let worker = fs::read_to_string(site.join("sw.js")).unwrap();
    let is_own = worker.contains("samples/small/own-1.jpg") && !worker.contains("cat.jpg");
    assert!(is_own, "{worker}");

    // Its card says how good it is, and has an image.
    let card = fs::read_to_string(site.join("models/default/README.md")).unwrap();
    assert!(card.starts_with("---\nlibrary_name: espalier\n"), "{card}");
    for words in ["](preview.png)", "| all | 3 |"] {
        assert!(card.contains(words), "{card}");
    }
    assert!(site.join("models/default/preview.png").is_file());

    // A second time continues the run, which is complete, and never overwrites a site unasked.
    make("").refused(&["--force"]);
    let text = || fs::read(site.join("models/default/text.safetensors")).unwrap();
    let before = text();
    make("--force").done();
    assert_eq!(text(), before);

    // Other photos need another run.
    fs::write(root.join("castle/new.jpg"), jpeg(&photo(0, 9), 1)).unwrap();
    make("--force").refused(&["--name"]);
}

#[test]
fn fit_chooses_what_a_folder_of_photos_needs_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (root, logs) = (photos(folder.path()), folder.path().join("logs"));
    let fit = |more: &str| {
        call("fit --steps 2")
            .set("--data", &root)
            .set("--init", tiny())
            .set("--logs", &logs)
            .with(more)
    };
    // A run that fails before its first step leaves no files.
    fit("--lr -1").refused(&[]);
    fit("--dry-run").done();
    assert_eq!(fs::read_dir(&logs).map_or(0, Iterator::count), 0);

    let divided = ["3 classes, 15 photos to train on, 3 set aside"];
    fit("").ends_with(0, &divided);
    let run = logs.join("photos-my-photos-1");
    let config = fs::read_to_string(run.join("config.toml")).unwrap();
    for words in ["lock_image = true", "?split=train"] {
        assert!(config.contains(words), "{config}");
    }
    assert!(run.join("taxonomy.tsv").is_file());
}

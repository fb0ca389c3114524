//! Index files of published datasets: photos with captions, labels, boxes and questions; pairs of
//! words; chains of texts.

use std::path::Path;

use espalier_trainer::data::benchmarks::chils::TwoLevels;
use espalier_trainer::data::benchmarks::hyperlex::Hyperlex;
use espalier_trainer::data::benchmarks::sugar_crepe::SugarCrepe;
use espalier_trainer::data::benchmarks::vl_checklist::VlChecklist;
use espalier_trainer::data::formats::{coco_boxes, inat, metadata_csv, splits};
use espalier_trainer::data::{Captioned, Coverage, Hierarcaps, HierarcapsTest, OpenImages, Splits};

use crate::input_files::InputFiles;
use crate::records::check;

/// Photos that the stored inputs name; their content is never decoded.
const PHOTO: &[u8] = b"not decoded";

/// Names of the input in a folder for each format.
const NAMES: [&str; 23] = [
    "captioned/captions.json",
    "captions_table/captions.csv",
    "chils/living17.json",
    "hierarcaps/hierarcaps_test.csv",
    "hierarcaps/hierarcaps_test.csv.gz",
    "hyperlex/hyperlex-all.txt",
    "sugar_crepe/swap_obj.json",
    "vl_corpus/vg.yaml",
    "vl_list/center.json",
    "coco/instances_val2017.json",
    "inat/val.json",
    "csv/metadata.csv",
    "open_images/validation-annotations-bbox.csv",
    "open_images_names/class-descriptions-boxable.csv",
    "food/meta/test.txt",
    "aircraft/images_variant_test.txt",
    "dtd/labels/test1.txt",
    "pets/annotations/test.txt",
    "sun/Testing_01.txt",
    "cub/images.txt",
    "cub/train_test_split.txt",
    "cub_marks/train_test_split.txt",
    "clevr/scenes/CLEVR_val_scenes.json",
];

/// Files beside the input.
const OTHERS: [(&str, &[u8]); 18] = [
    ("captioned/1.jpg", PHOTO),
    ("captions_table/1.jpg", PHOTO),
    ("hierarcaps/COCO_val2014_000000000001.jpg", PHOTO),
    ("sugar_crepe/1.jpg", PHOTO),
    (
        "vl_corpus/center.json",
        br#"[["1.jpg", {"POS": ["a cat"], "NEG": ["a dog"]}]]"#,
    ),
    ("vl_corpus/1.jpg", PHOTO),
    (
        "vl_list/vg.yaml",
        b"ANNO_PATH: center.json\nTYPE: Object/Location\n",
    ),
    ("vl_list/1.jpg", PHOTO),
    ("coco/1.jpg", PHOTO),
    ("inat/1.jpg", PHOTO),
    ("csv/1.jpg", PHOTO),
    ("open_images/1.jpg", PHOTO),
    ("open_images_names/1.jpg", PHOTO),
    (
        "open_images_names/validation-annotations-bbox.csv",
        b"ImageID,LabelName,XMin,XMax,YMin,YMax\n1,/m/1,0,0.5,0,0.5\n",
    ),
    ("food/images/1.jpg", PHOTO),
    ("cub/images/1.jpg", PHOTO),
    (
        "cub_marks/images.txt",
        b"1 001.Albatross/1.jpg\n2 002.Gull/2.jpg\n",
    ),
    ("clevr/images/val/CLEVR_val_000000.png", PHOTO),
];

/// Folders with a published split, and folders that have to exist for it.
const SPLITS: [(&str, &str); 8] = [
    ("food", "images"),
    ("aircraft", "images"),
    ("dtd", "images"),
    ("pets", "images"),
    ("sun", "images"),
    ("cub", "images"),
    ("cub_marks", "images"),
    ("clevr", "images"),
];

thread_local! {
    static FILES: InputFiles = {
        let files = InputFiles::new(&NAMES, &OTHERS);
        for (folder, photos) in SPLITS {
            let photos = files.path(folder).join(photos);
            std::fs::create_dir_all(&photos).unwrap_or_else(|e| panic!("{photos:?}: {e}"));
        }
        files
    };
}

/// Reads a file in every format: JSON in those that are JSON, anything else in the others.
///
/// # Panics
/// If a benchmark refers to what it does not have, its counts do not add up, or a record breaks a
/// promise, see `check`.
pub fn run(input: &[u8]) {
    FILES.with(|files| {
        files.write(input);
        // Lines of JSON or columns.
        captioned(&files.path("captions_table/captions.csv"));
        if input.trim_ascii_start().starts_with(b"{") || input.trim_ascii_start().starts_with(b"[")
        {
            json(files);
        } else {
            text(files);
        }
    });
}

fn captioned(file: &Path) {
    let Ok(data) = Captioned::open(file, None, Splits(&["test"])) else {
        return;
    };
    assert_eq!(data.names.len(), data.files.len());
    assert_eq!(data.captions.len(), data.image_of.len());
    let images = data.names.len() as u32;
    assert!(data.image_of.iter().all(|image| *image < images));
    check_counts(&data.coverage);
    assert_eq!(data.into_images().count() as u32, images);
}

fn json(files: &InputFiles) {
    captioned(&files.path("captioned/captions.json"));
    if let Ok(classes) = TwoLevels::open(&files.path("chils/living17.json")) {
        let labels = classes.labels();
        for subclass in classes.below.values().flatten() {
            assert!(labels.binary_search(subclass).is_ok());
            assert!(classes.above(subclass).is_some());
        }
    }
    if let Ok(data) = SugarCrepe::open(&files.path("sugar_crepe"), None) {
        let mut questions = data.kinds.values().flatten();
        assert!(questions.all(|q| q.image < data.images.len()));
        check_counts(&data.coverage);
    }
    check_vl_checklist(&files.path("vl_list"));
    for opened in [
        coco_boxes::open(&files.path("coco")),
        inat::open(&files.path("inat")),
    ] {
        let _ = opened.map(|table| check(&table));
    }
    check_split(&files.path("clevr"), "clevr");
}

fn text(files: &InputFiles) {
    for name in ["hierarcaps_test.csv", "hierarcaps_test.csv.gz"] {
        let path = files.path("hierarcaps").join(name);
        let _ = HierarcapsTest::matches(&path);
        if let Ok(data) = HierarcapsTest::open(&path, None) {
            assert_eq!(data.chains.len(), data.image_of.len());
            let tiers = data.chains[0].len();
            assert!(data.chains.iter().all(|chain| chain.len() == tiers));
            assert!(
                data.image_of
                    .iter()
                    .flatten()
                    .all(|p| *p < data.images.len())
            );
            check_counts(&data.coverage);
        }
        for drop_tier in [0, 4] {
            let chains = Hierarcaps::open(std::slice::from_ref(&path), drop_tier);
            let _ = chains.map(|data| check(&data));
        }
    }
    if let Ok(data) = Hyperlex::open(&files.path("hyperlex")) {
        assert!(data.pairs.iter().all(|pair| pair.score.is_finite()));
        check_counts(&data.coverage);
    }
    check_vl_checklist(&files.path("vl_corpus"));
    let _ = metadata_csv::open(&files.path("csv")).map(|table| check(&table));
    let conditional = files.path("csv/metadata.csv?source=a");
    let _ = metadata_csv::open(&conditional).map(|table| check(&table));
    for folder in ["open_images", "open_images_names"] {
        let _ = OpenImages::open(&[files.path(folder)]).map(|table| check(&table));
    }
    for (folder, _) in SPLITS {
        check_split(&files.path(folder), "food101");
    }
}

fn check_vl_checklist(folder: &Path) {
    if let Ok(data) = VlChecklist::open(folder, None) {
        let mut questions = data.lists.iter().flat_map(|list| &list.questions);
        assert!(questions.all(|q| q.image < data.images.len()));
        check_counts(&data.coverage);
    }
}

fn check_split(folder: &Path, dataset: &str) {
    if let Ok(Some(split)) = splits::open(folder, Some(dataset), splits::TEST) {
        check(&split.data);
    }
}

fn check_counts(coverage: &Coverage) {
    let missing: u64 = coverage.missing.values().map(|of| of.count).sum();
    assert_eq!(coverage.expected, coverage.found + missing);
}

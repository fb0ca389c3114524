//! Retrieval: published data, precomputed embeddings, the cache.

use espalier_core::geometry::Space;
use espalier_tests::trainer;
use espalier_trainer::eval::stored::Stored;
use serde_json::{Value, json};

use crate::evaluation::support::{Bench, eval, model, record, refused};

const CAPTIONS: [(usize, &str); 7] = [
    (0, "a house with a red roof"),
    (0, "a tree beside a house"),
    (1, "a green house under a strange sky"),
    (2, "a blue house"),
    (2, "a house and a tree"),
    (3, "a photo in wrong colours"),
    (9, "an image that is not there"),
];

/// Writes COCO's format: five images, one of them without a file, and a caption without an image.
fn coco() -> Bench {
    let bench = Bench::new();
    let images: Vec<Value> = (0..5)
        .map(|i| json!({"id": 10 + i, "file_name": format!("{i}.jpg")}))
        .collect();
    let annotations: Vec<Value> = CAPTIONS
        .iter()
        .enumerate()
        .map(|(i, (of, text))| json!({"id": i, "image_id": 10 + of, "caption": text}))
        .collect();
    let index = json!({"images": images, "annotations": annotations});
    bench.write("coco/annotations/captions_val2017.json", index.to_string());
    for i in 0..4 {
        bench.image(&format!("coco/val2017/{i}.jpg"), i);
    }
    bench.write(
        "texts.txt",
        CAPTIONS[..6]
            .iter()
            .map(|c| format!("{}\n", c.1))
            .collect::<String>(),
    );
    bench
}

fn embeddings(bench: &Bench) -> (Stored, Stored) {
    let model = model();
    let (images, texts) = (bench.text("coco/val2017"), bench.text("texts.txt"));
    for (kind, path, out) in [("--images", images, "i"), ("--texts", texts, "t")] {
        let out = bench.text(&format!("{out}.safetensors"));
        let done = trainer(&["embed", "--model", &model, kind, &path, "--out", &out]);
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
    let open = |name: &str| Stored::open(&bench.path(name)).unwrap();
    (open("i.safetensors"), open("t.safetensors"))
}

/// Computes recall from images and texts with plain loops over every score.
fn plain(space: &Space, images: &Stored, texts: &Stored, k: usize) -> (f64, f64) {
    let place = |query: &[f32], gallery: &Stored, own: &[usize]| {
        let score = |g: usize| space.score(query, gallery.points.row(g));
        let best = own
            .iter()
            .map(|o| score(*o))
            .fold(f64::NEG_INFINITY, f64::max);
        (0..gallery.points.len())
            .filter(|g| !own.contains(g) && score(*g) > best)
            .count()
    };
    let of_text: Vec<usize> = CAPTIONS[..6].iter().map(|c| c.0).collect();
    let to_image = (0..6)
        .filter(|t| place(texts.points.row(*t), images, &[of_text[*t]]) < k)
        .count();
    let own = |i: usize| (0..6).filter(|t| of_text[*t] == i).collect::<Vec<_>>();
    let to_text = (0..4)
        .filter(|i| place(images.points.row(*i), texts, &own(*i)) < k)
        .count();
    (to_image as f64 / 6.0, to_text as f64 / 4.0)
}

#[test]
fn coco_is_scored_as_plain_loops_score_it_and_what_is_missing_is_counted() {
    let bench = coco();
    let data = bench.text("coco");
    let found = record(&eval(&[
        "--task",
        "retrieval",
        "--data",
        &data,
        "--resize",
        "model",
        "--k",
        "1,2,3",
    ]));
    assert_eq!(
        (&found["task"], &found["benchmark"]),
        (&json!("retrieval"), &json!("coco"))
    );
    assert_eq!((&found["n"], &found["classes"]), (&json!(6), &json!(4)));
    let coverage = &found["ledger"];
    assert_eq!(
        (&coverage["expected"], &coverage["found"]),
        (&json!(5), &json!(4))
    );
    assert_eq!(
        coverage["missing"]["image not there"]["example"],
        json!("4.jpg")
    );
    assert_eq!(
        coverage["odd"]["caption without an image"]["count"],
        json!(1)
    );
    let (images, texts) = embeddings(&bench);
    let space = images.space.clone().unwrap();
    for k in 1..=3 {
        let (image, text) = plain(&space, &images, &texts, k);
        let value = |name: &str| found["metrics"][format!("{name}@{k}")].as_f64().unwrap();
        assert!(
            (value("image_retrieval_recall") - image).abs() < 1e-12,
            "{k}: {found}"
        );
        assert!(
            (value("text_retrieval_recall") - text).abs() < 1e-12,
            "{k}: {found}"
        );
    }

    // The same from embeddings alone, without the model.
    let (i, t) = (bench.text("i.safetensors"), bench.text("t.safetensors"));
    let brought = [
        "eval",
        "--task",
        "retrieval",
        "--json",
        "--k",
        "1,2,3",
        "--image-embeddings",
        &i,
        "--text-embeddings",
        &t,
        "--data",
        &data,
    ];
    let alone = record(&trainer(&brought));
    assert_eq!(alone["metrics"], found["metrics"]);
    assert_eq!(alone["model"], json!("embeddings"));
    // Without `--data` the rows must match one to one, but there are four images and six texts.
    let said = refused(&trainer(&brought[..brought.len() - 2]));
    assert!(said.contains("found 4 images and 6 texts"), "{said}");
}

#[test]
fn a_second_run_reads_what_the_first_kept() {
    let bench = coco();
    let (model, data, cache) = (model(), bench.text("coco"), bench.text("cache"));
    let args = [
        "eval",
        "--checkpoint",
        &model,
        "--task",
        "retrieval",
        "--data",
        &data,
        "--json",
        "--cache",
        &cache,
    ];
    let first = record(&trainer(&args));
    let kept = || {
        let files = std::fs::read_dir(bench.path("cache")).unwrap();
        let mut files: Vec<_> = files.map(|f| f.unwrap().path()).collect();
        files.sort();
        files
            .iter()
            .map(|f| (f.clone(), f.metadata().unwrap().modified().unwrap()))
            .collect::<Vec<_>>()
    };
    let before = kept();
    assert_eq!(
        before.len(),
        2,
        "expected one file for the images and one for the texts"
    );
    assert_eq!(record(&trainer(&args)), first);
    assert_eq!(kept(), before);
    // A damaged file is computed again; a changed image is embedded again.
    std::fs::write(&before[0].0, "cut").unwrap();
    assert_eq!(record(&trainer(&args))["metrics"], first["metrics"]);
    bench.image("coco/val2017/0.jpg", 5);
    let _ = record(&trainer(&args));
    assert_eq!(kept().len(), 3);
}

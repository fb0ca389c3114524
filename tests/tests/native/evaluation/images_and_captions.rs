//! Retrieval: published data, precomputed embeddings, the cache.

use std::collections::BTreeSet;
use std::path::PathBuf;

use espalier_core::geometry::Space;
use espalier_tests::calls::call;
use espalier_trainer::eval::stored::Stored;
use serde_json::{Value, json};

use crate::evaluation::support::{Bench, judged, metric, refused, there};

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
    let captions = CAPTIONS.iter().enumerate();
    let annotations: Vec<Value> = captions
        .map(|(i, (of, text))| json!({"id": i, "image_id": 10 + of, "caption": text}))
        .collect();
    let index = json!({"images": images, "annotations": annotations});
    bench.write("coco/annotations/captions_val2017.json", index.to_string());
    for i in 0..4 {
        bench.image(&format!("coco/val2017/{i}.jpg"), i);
    }
    let texts = CAPTIONS[..6].iter().map(|c| format!("{}\n", c.1));
    bench.write("texts.txt", texts.collect::<String>());
    bench
}

fn embeddings(bench: &Bench) -> [Stored; 2] {
    let files = [
        ("--images", "coco/val2017", "i.safetensors"),
        ("--texts", "texts.txt", "t.safetensors"),
    ];
    files.map(|(kind, files, out)| {
        bench.embed(kind, files, out).done();
        Stored::open(&bench.path(out)).unwrap()
    })
}

/// Computes recall from images and texts with plain loops over every score.
fn plain(space: &Space, images: &Stored, texts: &Stored, k: usize) -> (f64, f64) {
    let place = |query: &[f32], gallery: &Stored, own: &[usize]| {
        let score = |g: usize| space.score(query, gallery.points.row(g));
        let scores = own.iter().map(|o| score(*o));
        let best = scores.fold(f64::NEG_INFINITY, f64::max);
        let others = (0..gallery.points.len()).filter(|g| !own.contains(g));
        others.filter(|g| score(*g) > best).count()
    };
    let of_text = |t: usize| CAPTIONS[t].0;
    let is_found = |t: &usize| place(texts.points.row(*t), images, &[of_text(*t)]) < k;
    let to_image = (0..6).filter(is_found).count();
    let own = |i: usize| (0..6).filter(|t| of_text(*t) == i).collect::<Vec<_>>();
    let is_found = |i: &usize| place(images.points.row(*i), texts, &own(*i)) < k;
    let to_text = (0..4).filter(is_found).count();
    (to_image as f64 / 6.0, to_text as f64 / 4.0)
}

#[test]
fn coco_is_scored_as_plain_loops_score_it_and_what_is_missing_is_counted() {
    let bench = coco();
    let words = "--task retrieval --resize model --k 1,2,3";
    let found = bench.eval(words, "coco").json();
    assert_eq!(found["task"], "retrieval");
    assert_eq!(found["benchmark"], "coco");
    judged(&found, 6, 4);
    there(&found, 5, 4);
    let ledger = &found["ledger"];
    assert_eq!(ledger["missing"]["image not there"]["example"], "4.jpg");
    assert_eq!(ledger["odd"]["caption without an image"]["count"], 1);
    let [images, texts] = embeddings(&bench);
    let space = images.space.clone().unwrap();
    for k in 1..=3 {
        let (image, text) = plain(&space, &images, &texts, k);
        for (kind, known) in [("image", image), ("text", text)] {
            let value = metric(&found, &format!("{kind}_retrieval_recall@{k}"));
            assert!((value - known).abs() < 1e-12, "{kind}, {k}: {found}");
        }
    }

    // The same from embeddings alone, without the model.
    let brought = || {
        call("eval --task retrieval --json --k 1,2,3")
            .set("--image-embeddings", bench.path("i.safetensors"))
            .set("--text-embeddings", bench.path("t.safetensors"))
    };
    let alone = brought().set("--data", bench.path("coco")).json();
    assert_eq!(alone["metrics"], found["metrics"]);
    assert_eq!(alone["model"], "embeddings");
    // Without `--data` the rows must match one to one, but there are four images and six texts.
    refused(brought(), &["found 4 images and 6 texts"]);
}

#[test]
fn a_second_run_reads_what_the_first_kept() {
    let bench = coco();
    let eval = || bench.eval_with_cache("--task retrieval", "coco").json();
    let first = eval();
    let kept = || {
        let files = std::fs::read_dir(bench.path("cache")).unwrap();
        let file = |path: PathBuf| (path.metadata().unwrap().modified().unwrap(), path);
        let files = files.map(|f| file(f.unwrap().path()));
        files.collect::<BTreeSet<_>>()
    };
    let before = kept();
    // One for the images and one for the texts.
    assert_eq!(before.len(), 2, "{before:?}");
    assert_eq!(eval(), first);
    assert_eq!(kept(), before);
    // A damaged file is computed again; a changed image is embedded again.
    std::fs::write(&before.first().unwrap().1, "cut").unwrap();
    assert_eq!(eval()["metrics"], first["metrics"]);
    bench.image("coco/val2017/0.jpg", 5);
    let _ = eval();
    assert_eq!(kept().len(), 3);
}

//! Benchmarks in their published formats: splits, CSV files, and COCO's boxes with their split of
//! categories.

use std::path::Path;

use espalier_tests::calls::call;
use espalier_tests::json_of;
use serde_json::{Value, json};

use crate::evaluation::support::{Bench, judged, metric, refused, there};

#[test]
fn a_published_list_says_which_images_are_judged_and_what_the_benchmark_has_more() {
    let bench = Bench::new();
    bench.write("food/meta/test.txt", "apple_pie/1\nfish/2\nfish/3\n");
    bench.write("food/meta/train.txt", "fish/4\n");
    bench.image("food/images/apple_pie/1.jpg", 0);
    bench.image("food/images/fish/2.jpg", 1);
    bench.image("food/images/fish/4.jpg", 2);
    let zero_shot = |more: &str| {
        let call = bench.eval("--task zero-shot --max-broken 0.5", "food");
        call.with(more).json()
    };
    let found = zero_shot("");
    judged(&found, 2, 2);
    assert_eq!(found["settings"]["split"], "test");
    there(&found, 3, 2);
    assert_eq!(found["ledger"]["missing"]["no image"]["count"], 1);
    // Compared with the benchmark of that name, nearly everything is missing.
    let named = zero_shot("--dataset-name food101");
    assert_eq!(named["ledger"]["expected"], 25_250);
    let absent = &named["ledger"]["missing"]["image of the benchmark that is not there"];
    assert_eq!(absent["count"], 25_247);
    let classes = &named["ledger"]["odd"]["other number of classes than the benchmark has"];
    assert_eq!(classes["example"], "2 of 101");
    let train = zero_shot("--split train");
    assert_eq!(train["n"], 1);
    assert_eq!(train["settings"]["split"], "train");
}

#[test]
fn what_is_kept_of_one_split_is_not_taken_for_another() {
    let bench = Bench::new();
    bench.write("cub/images.txt", "1 001.House/a.jpg\n2 002.Wren/b.jpg\n");
    bench.write("cub/train_test_split.txt", "1 0\n2 1\n");
    bench.image("cub/images/001.House/a.jpg", 0);
    bench.image("cub/images/002.Wren/b.jpg", 1);
    for (split, class) in [("test", "House"), ("train", "Wren"), ("test", "House")] {
        let zero_shot = bench.eval_with_cache("--task zero-shot", "cub");
        let found = zero_shot.set("--split", split).json();
        let only = &found["ledger"]["odd"]["one class alone, every answer is right"];
        assert_eq!(only["example"], class, "{split}");
    }
}

#[test]
fn a_subset_that_cannot_be_told_is_said_not_to_be_one() {
    let bench = Bench::new();
    for (look, name) in (0..).zip(["Forest", "River"]) {
        bench.image(&format!("eurosat/{name}/{name}_1.jpg"), look);
    }
    let words = "--task zero-shot --dataset-name eurosat";
    let found = bench.eval(words, "eurosat").json();
    let split = found["settings"]["split"].as_str().unwrap();
    assert!(split.contains("all 2 images"), "{split}");
    assert_eq!(found["prompts"], "meru-eurosat");
}

#[test]
fn metadata_of_bioclip_and_of_rcme_give_lineages_and_a_plain_csv_classes() {
    let bench = Bench::new();
    for (look, name) in (0..).zip(["1", "2", "3"]) {
        bench.image(&format!("rare/images/{name}.jpg"), look);
    }
    bench.write(
        "rare/metadata.csv",
        "index,kingdom,phylum,cls,order,family,genus,species,common_name,filepath,class\n\
         0,Animalia,Chordata,Aves,O,F,G,alpha,bird,images/1.jpg,0\n\
         1,Animalia,Chordata,Mammalia,P,Q,R,beta,,images/2.jpg,1\n\
         2,Plantae,X,Y,Z,U,V,gamma,,images/3.jpg,2\n\
         3,Plantae,X,Y,Z,U,V,gamma,,images/4.jpg,2\n",
    );
    let words = "--task rank-zero-shot,rank-ordering,image-to-image --prompts plain-1";
    let rare = bench.eval(words, "rare").with("--max-broken 0.5");
    let found = rare.done().json_lines();
    assert_eq!(found.len(), 3);
    // Two kingdoms, two phyla, then three of each.
    judged(&found[0], 3, 2 + 2 + 5 * 3);
    assert_eq!(found[0]["ledger"]["missing"]["no image"]["count"], 1);
    let chain = |names: [&str; 7]| {
        let texts: Vec<String> = (0..7).map(|i| names[..=i].join(" ")).collect();
        texts.join("=>")
    };
    let birds = chain(["Animalia", "Chordata", "Aves", "O", "F", "G", "alpha"]);
    let mammals = chain(["Animalia", "Chordata", "Mammalia", "P", "Q", "R", "beta"]);
    let order = format!("captions,img_fn\n{birds},1.jpg\n{mammals},2.jpg\n");
    bench.write("order.csv", order);
    let order = bench.eval("--task rank-ordering", "order.csv");
    judged(&order.json(), 2, 14);
    let list = "filepath,class\nrare/images/1.jpg,house\n2.jpg,tree\n";
    bench.write("list.csv", list);
    let zero_shot = || bench.eval("--task zero-shot", "list.csv");
    judged(&zero_shot().json(), 2, 2);
    bench.write("list.csv", "a,b\n1,2\n");
    refused(zero_shot(), &["filepath", "the columns a, b"]);
}

/// Writes COCO's index of one image with these boxes, each a category and its left edge in pixels.
fn coco(bench: &Bench, boxes: &[(&str, u32)]) {
    let names = ["dog", "cat", "person", "car", "stop sign"];
    let categories = (1..).zip(names);
    let categories = categories.map(|(id, name)| json!({"id": id, "name": name}));
    let annotations = boxes.iter().map(|(name, left)| {
        let id = names.iter().position(|n| n == name).unwrap() + 1;
        json!({"image_id": 1, "category_id": id, "bbox": [left, 5, 30, 40], "iscrowd": 0})
    });
    let index = json!({
        "images": [{"id": 1, "file_name": "000000000001.jpg", "width": 80, "height": 70}],
        "annotations": annotations.collect::<Vec<_>>(),
        "categories": categories.collect::<Vec<_>>(),
    });
    bench.write("coco/annotations/instances_val2017.json", index.to_string());
    bench.image("coco/val2017/000000000001.jpg", 0);
}

#[test]
fn novel_categories_of_coco_are_judged_apart_and_others_left_out() {
    let bench = Bench::new();
    let boxes = [
        ("dog", 0),
        ("cat", 20),
        ("person", 40),
        ("stop sign", 45),
        ("dog", 48),
    ];
    let detection = |boxes: &[(&str, u32)]| {
        coco(&bench, boxes);
        bench.eval("--task detection", "coco")
    };
    let found = detection(&boxes).json();
    assert_eq!(found["benchmark"], "coco");
    // One box is of none of the 65 categories of the split.
    judged(&found, 4, 65);
    there(&found, 5, 4);
    let value = |name: &str| metric(&found, name);
    for name in ["ap", "ap_base", "ap_novel", "ap_novel_among_novel"] {
        assert!((0.0..=1.0).contains(&value(name)), "{name}: {found}");
    }
    // Means over the categories that have a box: dog, cat; person; all three.
    let all = (2.0 * value("ap_novel") + value("ap_base")) / 3.0;
    assert!((value("ap") - all).abs() < 1e-12, "{found}");
    // If all novel boxes show one category, it has a precision of 1 among them.
    let found = detection(&[("dog", 0), ("dog", 30)]).json();
    assert_eq!(metric(&found, "ap_novel_among_novel"), 1.0);
    assert!(found["metrics"].get("ap_base").is_none());
    refused(detection(&[("stop sign", 0)]), &["65 categories"]);
}

#[test]
fn boxes_of_an_image_that_is_not_there_are_never_passed_over() {
    let bench = Bench::new();
    coco(&bench, &[("dog", 0), ("cat", 20)]);
    let file = "coco/annotations/instances_val2017.json";
    let mut index = json_of(&bench.path(file));
    let gone = json!({"id": 2, "file_name": "gone.jpg", "width": 80, "height": 70});
    index["images"].as_array_mut().unwrap().push(gone);
    let lost = json!({"image_id": 2, "category_id": 1, "bbox": [0, 0, 9, 9]});
    index["annotations"].as_array_mut().unwrap().push(lost);
    bench.write(file, index.to_string());
    let none = bench.eval("--task detection --max-broken 0", "coco");
    refused(none, &["gone.jpg", "1 of 3"]);
    there(&bench.eval("--task detection", "coco").json(), 3, 2);
}

#[test]
fn the_curve_of_parts_is_in_its_object_and_can_be_drawn() {
    let bench = Bench::new();
    coco(&bench, &[("dog", 0), ("cat", 20), ("person", 40)]);
    let result = bench.path("parts.json");
    let parts = bench.eval("--task parts", "coco").set("--out", &result);
    let found = parts.json();
    let curve = found["curves"]["parent_to_child"].as_array().unwrap();
    let value = |p: &Value, name: &str| p[name].as_f64().unwrap();
    assert!(!curve.is_empty());
    let last = curve.last().unwrap();
    // The only scene has all labels, so every box is right.
    let ends = ["recall", "precision"].map(|name| value(last, name));
    assert_eq!(ends, [1.0, 1.0]);
    let recalls: Vec<f64> = curve.iter().map(|p| value(p, "recall")).collect();
    assert!(recalls.is_sorted());
    let figure = bench.path("pr.svg");
    let plot = |of: &Path| call("plot pr").set("--eval", of).set("--out", &figure);
    plot(&result).done();
    let drawn = std::fs::read_to_string(&figure).unwrap();
    assert!(drawn.contains("AP 1.000"), "{drawn}");
    bench.write("other.json", "{}");
    refused(plot(&bench.path("other.json")), &["other.json"]);
}

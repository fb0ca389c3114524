//! `trainer plot`: every kind of figure from small models and synthetic data, read back as XML and
//! as pixels, and the error messages for unusable input.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use espalier_fixtures::listing::names;
use espalier_tests::calls::{Call, call};
use espalier_tests::models::tiny;
use espalier_tests::photos::{keep, landscape, noise, save};
use serde_json::Value;
use tempfile::TempDir;

/// Returns the folder of a run of two steps; each method is trained only once.
fn run(method: &'static str) -> PathBuf {
    static RUNS: OnceLock<TempDir> = OnceLock::new();
    static TRAINED: Mutex<()> = Mutex::new(());
    let logs = RUNS.get_or_init(|| tempfile::tempdir().unwrap()).path();
    // A test that failed with the lock held does not invalidate the runs.
    let _one_at_a_time = TRAINED.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = logs.join(method);
    if !folder.exists() {
        call("fit --dataset synthetic --steps 2 --batch-size 4 --report-to jsonl")
            .set("--method", method)
            .set("--name", method)
            .set("--logs", logs)
            .with("train.log_frequency=1")
            .done();
    }
    folder
}

/// Returns the call that draws a figure of a model. `kind` may be followed by options.
fn plot(kind: &str, model: impl AsRef<OsStr>) -> Call {
    call("plot").with(kind).set("--model", model)
}

/// Draws a figure and returns standard output.
fn drawn(plot: Call, out: &Path) -> String {
    plot.set("--out", out).done().out
}

/// Draws a figure as SVG and returns its texts and its numbers.
fn svg(plot: Call) -> (Vec<String>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("figure.svg");
    let numbers = plot.set("--out", &out).with("--json").json();
    let content = fs::read_to_string(&out).unwrap();
    let document = roxmltree::Document::parse(&content).unwrap();
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    assert!(root.attribute("viewBox").is_some());
    let texts = document.descendants().filter(|n| n.has_tag_name("text"));
    let texts = texts.map(|n| n.text().unwrap_or_default().to_owned());
    (texts.collect(), numbers)
}

#[track_caller]
fn shows(texts: &[String], wanted: &[&str]) {
    for text in wanted {
        assert!(texts.iter().any(|t| t == text), "no `{text}` in {texts:?}");
    }
}

#[track_caller]
fn refused(plot: Call, words: &[&str]) {
    let ended = plot.refused(words);
    assert!(ended.out.is_empty(), "{ended:?}");
}

fn photo(folder: &TempDir, name: &str, width: u32, height: u32) -> PathBuf {
    save(folder.path(), name, landscape(width, height))
}

#[test]
fn the_metrics_of_a_run_are_drawn() {
    let run = run("clip");
    assert!(!run.join("tensorboard").exists());
    let (texts, _) = svg(call("plot run").set("--run", run));
    shows(&texts, &["loss", "grad norm", "lr", "images per s"]);
}

#[test]
fn norms_show_four_kinds_of_items_and_their_percents_add_up() {
    let norms = plot("norms --dataset synthetic --samples 40", tiny());
    let (texts, numbers) = svg(norms);
    let kinds = ["images", "texts", "box images", "box texts"];
    shows(&texts, &kinds);
    shows(&texts, &["percent", "norm of the space components"]);
    assert_eq!(numbers["measure"], "space_norm");
    let series = numbers["series"].as_array().unwrap();
    assert_eq!(series.len(), 4);
    assert_eq!(series[0]["n"], 40);
    let edges = numbers["edges"].as_array().unwrap().len();
    for one in series {
        let percents = one["percents"].as_array().unwrap();
        let sum: f64 = percents.iter().map(|p| p.as_f64().unwrap()).sum();
        assert!((sum - 100.0).abs() < 1e-6);
        assert_eq!(edges, percents.len() + 1);
    }
}

#[test]
fn norms_of_a_product_show_its_factors_and_of_a_sphere_the_radius() {
    let norms = |method| plot("norms --dataset synthetic --samples 20", run(method));
    let (texts, numbers) = svg(norms("phyclip"));
    shows(&texts, &["distance to the root, summed over factors"]);
    shows(&texts, &["factor, ordered by the median of images"]);
    // The medians of all factors add up to about the median of the sums in the first panel.
    let medians = numbers["factors"][0]["percentiles"].as_array().unwrap();
    let sum: f64 = medians.iter().map(|p| p[1].as_f64().unwrap()).sum();
    let whole = numbers["series"][0]["median"].as_f64().unwrap();
    assert!((sum - whole).abs() < 0.2 * whole, "{sum} {whole}");
    let (texts, numbers) = svg(norms("clip"));
    shows(&texts, &["distance to the root"]);
    assert_eq!(numbers["measure"], "radius");
}

#[test]
fn a_walk_begins_with_what_is_nearest_and_ends_at_the_root() {
    let folder = tempfile::tempdir().unwrap();
    let image = photo(&folder, "hill.png", 90, 60);
    let captions = "a hill with a house & a tree\na house\n\na hill\n";
    let file = keep(folder.path(), "texts.txt", captions.as_bytes());
    let traversal = |more: &str| {
        let plot = plot("traversal", tiny()).set("--image", &image);
        plot.set("--texts", &file).with(more)
    };
    let (texts, numbers) = svg(traversal("--steps 20"));
    shows(&texts, &["[root]", "root", "radius"]);
    let stops = numbers["stops"].as_array().unwrap();
    assert_eq!(stops[stops.len() - 1]["name"], "[root]");
    assert_eq!(stops[0]["share"], 0.0);
    assert_eq!(numbers["candidates"], 3);
    let steps: u64 = stops.iter().map(|s| s["steps"].as_u64().unwrap()).sum();
    assert_eq!(steps, 20);
    // The root is exempt from the filter, so a walk with `--entailment` ends there too.
    let (_, entailed) = svg(traversal("--entailment"));
    let stops = entailed["stops"].as_array().unwrap();
    assert_eq!(stops[stops.len() - 1]["name"], "[root]");
}

#[test]
fn a_walk_between_photos_passes_images_and_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("walk.svg");
    let walk = "traversal --with-images --dataset synthetic --samples 12 --steps 9";
    let walk = plot(walk, run("phyclip"))
        .set("--image", photo(&folder, "a.png", 80, 80))
        .set("--to", save(folder.path(), "b.png", noise(70, 50)));
    drawn(walk, &out);
    let content = fs::read_to_string(&out).unwrap();
    let document = roxmltree::Document::parse(&content).unwrap();
    let images = document.descendants().filter(|n| n.has_tag_name("image"));
    let all: Vec<_> = images.map(|n| n.attribute("href").unwrap()).collect();
    assert!(all.len() >= 2 && all.iter().all(|h| h.starts_with("data:image/jpeg;base64,")));
}

#[test]
fn a_disk_shows_broad_nodes_inside_the_unit_circle() {
    let (texts, numbers) = svg(plot("disk --nodes 60", tiny()));
    shows(&texts, &["root", "animal", "artifact"]);
    let nodes = numbers["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 60);
    for node in nodes {
        let at = |k: usize| node["at"][k].as_f64().unwrap();
        assert!(at(0).hypot(at(1)) < 1.0);
    }
    let kept = numbers["kept"].as_f64().unwrap();
    assert!(kept > 0.1 && kept <= 1.0, "{kept}");
}

#[test]
fn a_disk_by_cosne_depends_on_the_seed_alone_and_takes_photos() {
    let folder = tempfile::tempdir().unwrap();
    let draw = |name: &str, seed: &str| {
        let out = folder.path().join(name);
        let words = "disk --by cosne --dataset synthetic --samples 10 --json";
        let disk = plot(words, run("phyclip")).set("--seed", seed);
        (drawn(disk, &out), fs::read(&out).unwrap())
    };
    let (numbers, first) = draw("1.svg", "3");
    assert_eq!(first, draw("2.svg", "3").1);
    assert_ne!(first, draw("3.svg", "4").1);
    let numbers: Value = serde_json::from_str(&numbers).unwrap();
    assert_eq!(numbers["photos"].as_array().unwrap().len(), 10);
    // The number of the factor that is shown.
    assert!(numbers["factor"].as_u64() >= Some(1), "{numbers}");
}

#[test]
fn umap_names_the_whole_lineage() {
    let (texts, numbers) = svg(plot("umap --label goldfish", tiny()));
    shows(&texts, &["goldfish", "fish", "animal", "entity"]);
    shows(&texts, &["general", "specific"]);
    assert_eq!(numbers["label"], "goldfish");
    let items = numbers["items"].as_array().unwrap();
    assert!(items.iter().any(|i| i["on_lineage"] == false));
}

#[test]
fn factors_compare_a_composition_with_the_larger_of_both() {
    let texts = [
        "a red circle",
        "a blue square",
        "a red circle and a blue square",
    ];
    let (shown, numbers) = svg(plot("factors", run("phyclip")).args(&texts));
    shows(&shown, &texts);
    let (a, b) = (&numbers["texts"][0]["norms"], &numbers["texts"][1]["norms"]);
    for (at, largest) in numbers["largest"].as_array().unwrap().iter().enumerate() {
        let [a, b, largest] = [&a[at], &b[at], largest].map(|v| v.as_f64().unwrap());
        assert_eq!(a.max(b), largest);
    }
    let strongest = numbers["texts"][0]["strongest"].as_u64().unwrap() as usize;
    shows(&shown, &[&format!("factor {}", strongest + 1)]);
}

#[test]
fn precision_ends_at_chance_where_all_is_found() {
    let pr = plot("pr --dataset synthetic --samples 20", tiny());
    let (texts, numbers) = svg(pr.arg(run("clip")));
    shows(&texts, &["precision", "recall"]);
    let is_named = |text: &String| text.starts_with("clip") && text.contains("AP");
    assert!(texts.iter().any(is_named), "{texts:?}");
    let curves = numbers["curves"].as_array().unwrap();
    let scores = [&curves[0]["score"], &curves[1]["score"]];
    assert_eq!(scores, ["beta1", "cosine"]);
    let last = curves[0]["points"].as_array().unwrap().last().unwrap();
    assert_eq!(last["recall"], 1.0);
    let (found, chance) = (&last["precision"], &numbers["chance"]);
    assert!((found.as_f64().unwrap() - chance.as_f64().unwrap()).abs() < 1e-9);
}

#[test]
fn a_ladder_shows_every_rung_and_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let image = photo(&folder, "hill.png", 120, 80);
    let (texts, numbers) = svg(plot("ladder", tiny()).arg(image));
    let rungs = numbers["rungs"].as_array().unwrap();
    assert!(rungs.len() >= 3);
    for rung in rungs {
        shows(&texts, &[rung["text"].as_str().unwrap()]);
    }
    let taxonomy = &numbers["taxonomy"];
    let mut path = taxonomy["path"].as_array().unwrap().iter();
    let stop = path.find(|step| step["id"] == taxonomy["stop"]).unwrap();
    shows(&texts, &[stop["name"].as_str().unwrap()]);
}

#[test]
fn a_png_has_the_size_of_the_svg_times_the_scale_and_replaces_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let image = photo(&folder, "hill.png", 120, 80);
    let ladder = |more: &str| plot("ladder", tiny()).arg(&image).with(more);
    let (vector, pixels) = (folder.path().join("l.svg"), folder.path().join("l.png"));
    drawn(ladder(""), &vector);
    fs::write(&pixels, "something else").unwrap();
    drawn(ladder("--scale 2 --theme dark"), &pixels);
    let content = fs::read_to_string(&vector).unwrap();
    let document = roxmltree::Document::parse(&content).unwrap();
    let side = |name: &str| -> f64 {
        let value = document.root_element().attribute(name).unwrap();
        value.parse().unwrap()
    };
    let image = image::open(&pixels).unwrap().to_rgb8();
    let wanted = ["width", "height"].map(|name| (2.0 * side(name)).round() as u32);
    assert_eq!(<[u32; 2]>::from(image.dimensions()), wanted);
    let corner = image.get_pixel(0, 0).0;
    assert!(corner.iter().all(|level| *level < 40), "{corner:?}");
    assert_eq!(names(folder.path()), ["hill.png", "l.png", "l.svg"]);
}

#[test]
fn input_that_cannot_be_used_is_refused_with_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let no_photo = keep(folder.path(), "no.jpg", b"not a photo");
    let ladder = plot("ladder", tiny()).arg(&no_photo);
    let traversal = plot("traversal", tiny()).set("--image", &no_photo);
    let of_tiny = |kind: &str| plot(kind, tiny());
    let none = "norms --dataset synthetic --samples 0";
    let cases: [(Call, &[&str]); 11] = [
        (plot("disk", "no/such/run"), &["no/such/run", "run folder"]),
        (
            plot("disk", run("clip")),
            &["unit sphere", "trainer plot umap"],
        ),
        (ladder, &["no.jpg"]),
        (traversal, &["no.jpg"]),
        (
            of_tiny("factors"),
            &["product model", "phyclip", "hycoclip"],
        ),
        (of_tiny("norms"), &["--data", "synthetic"]),
        (of_tiny(none), &["--samples", "at least 1"]),
        (
            of_tiny("umap --label unicorn"),
            &["--label", "unicorn", "goldfish"],
        ),
        (of_tiny("umap --label entity"), &["nodes on its path"]),
        (of_tiny("disk --factor 2"), &["--factor", "phyclip"]),
        (of_tiny("disk --nodes 2"), &["--nodes", "found 2"]),
    ];
    for (plot, words) in cases {
        refused(plot.set("--out", path("x.svg")), words);
    }
    for (out, words) in [("x.pdf", ".svg or .png"), ("no/x.svg", "no folder")] {
        refused(of_tiny("disk").set("--out", path(out)), &[words, out]);
    }
    assert_eq!(names(folder.path()), ["no.jpg"]);
}

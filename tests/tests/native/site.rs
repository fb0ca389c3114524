//! `trainer export --site`: one folder for any host, with the HTML that embeds the widget.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_tests::calls::{Call, call};
use espalier_tests::models::tiny;
use espalier_tests::photos::{jpeg, keep, landscape};

/// Writes a folder with the files by which a built page is recognised.
fn page(folder: &Path) -> PathBuf {
    let page = folder.join("dist");
    let files = [
        ("index.html", "<!doctype html><title>page</title>"),
        ("sw.js", "// offline"),
        ("widget/view.js", "export {}"),
        ("demo/index.html", "<title>demo</title>"),
        ("models/default/manifest.json", "of another model"),
        ("models/default/old.txt", "of another model"),
        (".stamp", "of a build"),
    ];
    write_page(&page, &files);
    page
}

/// Writes the files of a built page whose content does not matter, and these.
pub fn write_page(page: &Path, files: &[(&str, &str)]) {
    let always = [
        ("engines.json", "{}"),
        ("widget/espalier-ladder.js", "customElements"),
    ];
    for (name, content) in always.iter().chain(files) {
        let path = page.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Returns the call that makes a site of a model and a page.
fn export(model: &Path, site: &Path, page: &Path) -> Call {
    call("export")
        .set("--checkpoint", model)
        .set("--site", site)
        .set("--page", page)
}

/// Asserts that the model of a site answers.
fn answers(site: &Path, folder: &Path) {
    let photo = keep(folder, "photo.jpg", &jpeg(&landscape(64, 48), 1));
    let caption = call("caption").set("--model", site.join("models/default"));
    caption.arg(photo).done();
}

#[test]
fn a_bundle_becomes_a_site_that_is_whole_and_says_how_to_embed_it() {
    let folder = tempfile::tempdir().unwrap();
    let (page, site) = (page(folder.path()), folder.path().join("site"));
    let export = export(&tiny(), &site, &page).with("--json");
    let told = export.set("--url", "https://lab.example/paper/w/").json();
    let snippet = told["site"]["snippet"].as_str().unwrap();
    let source = "src=\"https://lab.example/paper/w/widget/espalier-ladder.js\"";
    assert!(snippet.contains(source), "{snippet}");

    // The hash is the one that a browser compares.
    let script = fs::read(page.join("widget/espalier-ladder.js")).unwrap();
    let hash = xtask::digest::integrity(&script);
    assert!(snippet.contains(&hash), "{snippet} {hash}");
    assert_eq!(told["site"]["integrity"].as_object().unwrap().len(), 2);

    // The model in it is the one given, not the page's own, and it answers.
    let model = site.join("models/default");
    let manifest = |model: &Path| fs::read(model.join("manifest.json")).unwrap();
    assert_eq!(manifest(&model), manifest(&tiny()));
    assert!(!model.join("old.txt").exists() && !site.join(".stamp").exists());
    answers(&site, folder.path());
    assert!(site.join("demo/index.html").is_file());
}

#[test]
fn a_site_is_replaced_only_by_force_and_other_folders_never() {
    let folder = tempfile::tempdir().unwrap();
    let (page, site) = (page(folder.path()), folder.path().join("site"));
    // An empty folder is free.
    fs::create_dir(&site).unwrap();
    let export = |site: &Path| export(&tiny(), site, &page);
    export(&site).done();
    export(&site).refused(&[]);
    export(&site).with("--force").done();
    let thesis = folder.path().join("thesis");
    fs::create_dir(&thesis).unwrap();
    fs::write(thesis.join("thesis.tex"), "years").unwrap();
    export(&thesis).with("--force").refused(&[]);
    assert_eq!(fs::read_dir(&thesis).unwrap().count(), 1);
}

#[test]
fn without_a_built_page_the_way_to_one_is_told_before_anything_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("site");
    let told = ["cargo xtask build-web --release"];
    export(&tiny(), &site, folder.path()).refused(&told);
    assert!(!site.exists());
}

#[test]
fn a_checkpoint_becomes_a_site_in_one_command() {
    let folder = tempfile::tempdir().unwrap();
    let (page, site) = (page(folder.path()), folder.path().join("site"));
    let logs = folder.path().join("logs");
    let captions = folder.path().join("captions.txt");
    fs::write(&captions, "a red thing\na thing on the left\n").unwrap();
    call("fit --dataset synthetic --method clip --model vit_t8_64 --name t")
        .with("--steps 1 --batch-size 4")
        .set("--logs", &logs)
        .done();

    let said = export(&logs.join("t"), &site, &page)
        .set("--captions", captions)
        .with("--probe-size 8 --max-drop 100")
        .done()
        .out;
    for words in ["<espalier-ladder", "integrity="] {
        assert!(said.contains(words), "{said}");
    }
    let manifest = fs::read_to_string(site.join("models/default/manifest.json")).unwrap();
    assert!(manifest.contains("\"method\": \"clip\""), "{manifest}");
    answers(&site, folder.path());
}

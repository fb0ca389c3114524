//! `trainer export --site`: one folder for any host, with the HTML that embeds the widget.

use std::fs;
use std::path::{Path, PathBuf};

use espalier_tests::models::tiny;
use espalier_tests::photos::{jpeg, keep, landscape};
use espalier_tests::trainer;
use serde_json::Value;

/// Writes a folder with the files by which a built page is recognised.
fn page(folder: &Path) -> PathBuf {
    let page = folder.join("dist");
    let files = [
        ("index.html", "<!doctype html><title>page</title>"),
        ("engines.json", "{}"),
        ("sw.js", "// offline"),
        ("widget/espalier-ladder.js", "customElements"),
        ("widget/view.js", "export {}"),
        ("demo/index.html", "<title>demo</title>"),
        ("models/default/manifest.json", "of another model"),
    ];
    for (name, content) in files {
        let path = page.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    page
}

fn export(site: &Path, page: &Path, more: &[&str]) -> std::process::Output {
    let paths = [tiny(), site.to_owned(), page.to_owned()];
    let [bundle, site, page] = paths.map(|path| path.to_string_lossy().into_owned());
    let mut args = vec![
        "export",
        "--checkpoint",
        &bundle,
        "--site",
        &site,
        "--page",
        &page,
    ];
    args.extend(more);
    trainer(&args)
}

#[test]
fn a_bundle_becomes_a_site_that_is_whole_and_says_how_to_embed_it() {
    let folder = tempfile::tempdir().unwrap();
    let (page, site) = (page(folder.path()), folder.path().join("site"));
    let output = export(
        &site,
        &page,
        &["--url", "https://lab.example/paper/w/", "--json"],
    );
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let snippet = told["site"]["snippet"].as_str().unwrap();
    assert!(
        snippet.contains("src=\"https://lab.example/paper/w/widget/espalier-ladder.js\""),
        "{snippet}"
    );

    // The hash is the one that a browser compares.
    let script = fs::read(page.join("widget/espalier-ladder.js")).unwrap();
    let hash = xtask::digest::integrity(&script);
    assert!(snippet.contains(&hash), "{snippet} {hash}");
    assert_eq!(told["site"]["integrity"].as_object().unwrap().len(), 2);

    // The model in it is the one given, not the page's own, and it answers.
    let model = site.join("models/default");
    assert_eq!(
        fs::read(model.join("manifest.json")).unwrap(),
        fs::read(tiny().join("manifest.json")).unwrap()
    );
    let photo = keep(folder.path(), "photo.jpg", &jpeg(&landscape(64, 48), 1));
    let answer = trainer(&[
        "caption",
        "--model",
        &model.to_string_lossy(),
        &photo.to_string_lossy(),
    ]);
    assert!(answer.status.success());
    assert!(site.join("demo/index.html").is_file());
}

#[test]
fn a_site_is_replaced_only_by_force_and_other_folders_never() {
    let folder = tempfile::tempdir().unwrap();
    let (page, site) = (page(folder.path()), folder.path().join("site"));
    assert_eq!(export(&site, &page, &[]).status.code(), Some(0));
    assert_eq!(export(&site, &page, &[]).status.code(), Some(2));
    assert_eq!(export(&site, &page, &["--force"]).status.code(), Some(0));
    let thesis = folder.path().join("thesis");
    fs::create_dir(&thesis).unwrap();
    fs::write(thesis.join("thesis.tex"), "years").unwrap();
    assert_eq!(export(&thesis, &page, &["--force"]).status.code(), Some(2));
    assert_eq!(fs::read_dir(&thesis).unwrap().count(), 1);
}

#[test]
fn without_a_built_page_the_way_to_one_is_told_before_anything_is_computed() {
    let folder = tempfile::tempdir().unwrap();
    let output = export(&folder.path().join("site"), folder.path(), &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cargo xtask build-web --release"), "{said}");
    assert!(!folder.path().join("site").exists());
}

#[test]
fn a_checkpoint_becomes_a_site_in_one_command() {
    let folder = tempfile::tempdir().unwrap();
    let (page, site) = (page(folder.path()), folder.path().join("site"));
    let logs = folder.path().join("logs");
    let captions = folder.path().join("captions.txt");
    fs::write(&captions, "a red thing\na thing on the left\n").unwrap();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let fit =
        "fit --dataset synthetic --method clip --model vit_t8_64 --steps 1 --batch-size 4 --name t";
    let mut args: Vec<&str> = fit.split(' ').collect();
    let logs_path = text(&logs);
    args.extend(["--logs", &logs_path]);
    let output = trainer(&args);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let paths = [logs.join("t"), captions, site.clone(), page].map(|path| text(&path));
    let [run, captions, to, page] = paths;
    let export = [
        "export",
        "--checkpoint",
        &run,
        "--captions",
        &captions,
        "--site",
        &to,
        "--page",
        &page,
        "--probe-size",
        "8",
        "--max-drop",
        "100",
    ];
    let output = trainer(&export);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("<espalier-ladder") && said.contains("integrity="),
        "{said}"
    );
    let manifest = fs::read_to_string(site.join("models/default/manifest.json")).unwrap();
    assert!(manifest.contains("\"method\": \"clip\""), "{manifest}");
    let photo = keep(folder.path(), "photo.jpg", &jpeg(&landscape(64, 48), 1));
    let model = text(&site.join("models/default"));
    assert!(
        trainer(&["caption", "--model", &model, &text(&photo)])
            .status
            .success()
    );
}

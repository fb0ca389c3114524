//! The widget from its npm package: what is in it, a page that installs it, and its types.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use espalier_tests::browser::package;
use espalier_tests::browser::paper::{ELEMENT, STRICT, agree, heard, settled};
use espalier_tests::browser::{Browser, Host, natively_by};
use espalier_tests::photos::{jpeg, landscape};
use serde_json::{Value, json};

/// The folder that npm installs the package into.
const INSTALLED: &str = "node_modules/espalier-ladder";

#[test]
#[ignore = "needs Chromium: cargo xtask test --all"]
fn an_installed_package_captions_a_photo_under_a_strict_policy() {
    let host = Host::new();
    package::unpack(&host.path(INSTALLED));
    host.write("photo.jpg", jpeg(&landscape(640, 480), 1));
    let script =
        format!("<script type=\"module\" src=\"{INSTALLED}/widget/espalier-ladder.js\"></script>");
    host.page("index.html", STRICT, &script, ELEMENT);
    let browser = Browser::at_element(&host.url("index.html"));
    browser.press_poster("#a");
    let model = host.path(&format!("{INSTALLED}/models/default"));
    let native = natively_by(&model, &host.path("photo.jpg"), &[]);
    agree(&settled(&browser, "a", &native), &native);
    assert_eq!(heard(&browser, "ready").len(), 1);
    assert_eq!(heard(&browser, "fallback"), Vec::<Value>::new());
    let faults = browser.evaluate("return [refused, thrown]");
    assert_eq!(faults, json!([[], []]));
}

#[test]
#[ignore = "needs npm and the built page: cargo xtask test --all"]
fn the_package_has_every_file_that_it_names_and_the_licences() {
    let folder = tempfile::tempdir().unwrap();
    package::unpack(folder.path());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let package: Value = serde_json::from_str(&read("package.json")).unwrap();
    assert_eq!(package["version"], xtask::release::version::VERSION);
    assert_eq!(package.get("dependencies"), None);
    assert_eq!(package.get("scripts"), None);
    let [main, types] = ["main", "types"].map(|key| package[key].as_str().unwrap());
    let types = [types, "index.d.ts", "react.d.ts", "jsx.d.ts"];
    let licences = ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"];
    let others = [
        main,
        "README.md",
        "NOTICES.md",
        "models/default/manifest.json",
    ];
    for name in types.into_iter().chain(licences).chain(others) {
        assert!(folder.path().join(name).is_file(), "{name} is missing");
    }
    assert!(read("THIRD-PARTY.txt").contains("wasm-bindgen "));
    let engines: Value = serde_json::from_str(&read("engines.json")).unwrap();
    let engines = folder.path().join(engines["folder"].as_str().unwrap());
    for name in ["worker.js", "worker_cpu_bg.wasm", "worker_gpu_bg.wasm"] {
        assert!(engines.join(name).is_file(), "{name} is missing");
    }
}

#[test]
#[ignore = "needs npm and the built page: cargo xtask test --all"]
fn the_module_can_be_imported_on_a_server() {
    let folder = tempfile::tempdir().unwrap();
    package::unpack(folder.path());
    let script =
        "import('./widget/espalier-ladder.js').then((all) => console.log(Object.keys(all).length))";
    let output = Command::new("node")
        .args(["--eval", script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0");
}

/// Returns TypeScript's `node_modules`, named by `ESPALIER_TYPESCRIPT` or fetched.
fn modules() -> PathBuf {
    let named = std::env::var_os("ESPALIER_TYPESCRIPT").map(PathBuf::from);
    named.unwrap_or_else(|| xtask::setup::typescript::ensure().unwrap())
}

/// Checks the types of sample files in a project that has the package and, with `react`, React's types.
fn compile(samples: &[&str], jsx: &str, react: bool) {
    let project = tempfile::tempdir().unwrap();
    let installed = project.path().join("node_modules");
    package::unpack(&project.path().join(INSTALLED));
    let package = project.path().join("package.json");
    fs::write(package, "{\"type\": \"module\"}").unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/npm");
    for name in samples {
        fs::copy(data.join(name), project.path().join(name)).unwrap();
    }
    if react {
        for name in ["@types", "csstype"] {
            xtask::files::copy_folder(&modules().join(name), &installed.join(name)).unwrap();
        }
    }
    let output = Command::new("node")
        .arg(modules().join("typescript/bin/tsc"))
        .args(["--noEmit", "--strict", "--module", "nodenext"])
        .args(["--target", "es2022", "--lib", "es2022,dom", "--jsx", jsx])
        .args(samples)
        .current_dir(project.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{samples:?}: {said}");
}

#[test]
#[ignore = "needs TypeScript and the built page: cargo xtask test --all"]
fn its_types_accept_correct_use_and_refuse_mistakes() {
    compile(&["page.ts", "react.tsx"], "react-jsx", true);
    compile(&["jsx.tsx"], "preserve", false);
}

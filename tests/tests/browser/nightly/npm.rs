//! The widget from its npm package: what is in it, a page that installs it, and its types.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use espalier_tests::browser::package;
use espalier_tests::browser::paper::{STRICT, agree, heard, settled};
use espalier_tests::browser::{Browser, Gpu, Host, natively_by};
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
    host.page(
        "index.html",
        STRICT,
        &format!("<script type=\"module\" src=\"{INSTALLED}/widget/espalier-ladder.js\"></script>"),
        "<espalier-ladder id=\"a\" src=\"photo.jpg\" alt=\"A view\"></espalier-ladder>",
    );
    let browser = Browser::start(Gpu::None);
    browser.visit(&host.url("index.html"));
    browser.wait_for("the element", "return a.shadowRoot !== null");
    browser.press_poster("#a");
    let model = host.path(&format!("{INSTALLED}/models/default"));
    let native = natively_by(&model, &host.path("photo.jpg"), &[]);
    agree(&settled(&browser, "a", &native), &native);
    assert_eq!(heard(&browser, "ready").len(), 1);
    assert_eq!(heard(&browser, "fallback"), Vec::<Value>::new());
    assert_eq!(browser.evaluate("return refused"), json!([]));
    assert_eq!(browser.evaluate("return thrown"), json!([]));
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
    let mut named = vec!["index.d.ts", "react.d.ts", "jsx.d.ts", "README.md"];
    named.extend([
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "NOTICES.md",
        "THIRD-PARTY.txt",
    ]);
    named.push(package["main"].as_str().unwrap());
    named.push(package["types"].as_str().unwrap());
    named.push("models/default/manifest.json");
    for name in named {
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
    fs::write(
        project.path().join("package.json"),
        "{\"type\": \"module\"}",
    )
    .unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/npm");
    for name in samples {
        fs::copy(data.join(name), project.path().join(name)).unwrap();
    }
    if react {
        for name in ["@types", "csstype"] {
            let copied = Command::new("cp")
                .arg("-r")
                .arg(modules().join(name))
                .arg(&installed)
                .status();
            assert!(copied.unwrap().success());
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

//! Structure of the codebase: which package, folder and file may use which, what core must never
//! depend on, and whether the files that documents name exist.

#![allow(clippy::unwrap_used)]

mod adding;
mod citations;
mod imports;
mod packages;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Dependency, DependencyKind, Metadata, MetadataCommand};

use imports::Imports;
use xtask::docs::markdown::links;

/// Packages that must stay independent, and those of the workspace that they may depend on, in tests too.
/// Cargo holds the direction of all other arrows: it refuses circles.
const INDEPENDENT: [(&str, &[&str]); 5] = [
    ("espalier-kernels", &[]),
    ("espalier-core", &["espalier-kernels"]),
    ("espalier-web", &["espalier-core"]),
    ("xtask", &[]),
    ("espalier-lab", &["xtask"]),
];

/// Folders of the packages whose files import one another in one direction.
const PACKAGES: [&str; 13] = [
    "core",
    "core/kernels",
    "lab",
    "python",
    "trainer",
    "trainer/checkpoints",
    "trainer/data",
    "trainer/eval",
    "trainer/figures",
    "trainer/io",
    "web",
    "tests/fuzz",
    "xtask",
];

/// Prefixes of the names of packages on which core must not depend: backends, and packages for the
/// command line, the page or a runtime.
const KEPT_OUT: [&str; 22] = [
    "burn-autodiff",
    "burn-candle",
    "burn-cpu",
    "burn-cubecl",
    "burn-cuda",
    "burn-flex",
    "burn-fusion",
    "burn-ndarray",
    "burn-remote",
    "burn-rocm",
    "burn-router",
    "burn-tch",
    "burn-train",
    "burn-vision",
    "burn-wgpu",
    "clap",
    "cudarc",
    "leptos",
    "reqwest",
    "tokio",
    "web-sys",
    "wgpu",
];

fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap().to_path_buf()
}

fn workspace() -> Metadata {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml")).no_deps();
    command.exec().unwrap()
}

/// Returns every package on which a selected one depends on `target`, tests and examples excluded, without
/// features that only other packages of the workspace enable. The selection is that of `cargo tree`, as
/// `-p NAME`; `None` is the machine that runs the tests.
fn reached(selection: &str, target: Option<&str>) -> BTreeSet<String> {
    let mut tree = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    tree.current_dir(root())
        .arg("tree")
        .args(selection.split(' '))
        .args(["--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}"]);
    if let Some(target) = target {
        tree.args(["--target", target]);
    }
    let lines = xtask::process::capture(&mut tree).unwrap();
    let names = lines
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

fn kept_out(packages: &BTreeSet<String>) -> Vec<&str> {
    let names = packages.iter().map(String::as_str);
    let is_kept_out = |name: &&str| KEPT_OUT.iter().any(|start| name.starts_with(start));
    names.filter(is_kept_out).collect()
}

/// The tests of every package may use the fixtures, also those of core, on which the fixtures depend.
fn is_fixture(dependency: &Dependency) -> bool {
    dependency.kind == DependencyKind::Development && dependency.name == "espalier-fixtures"
}

#[test]
fn independent_packages_depend_on_no_other_one() {
    let workspace = workspace();
    let names: BTreeSet<&str> = workspace.packages.iter().map(|p| p.name.as_str()).collect();
    for (name, allowed) in INDEPENDENT {
        let mut packages = workspace.packages.iter();
        let package = packages.find(|p| p.name.as_str() == name).unwrap();
        let used = package.dependencies.iter().filter(|d| !is_fixture(d));
        for dependency in used.map(|d| d.name.as_str()) {
            assert!(
                !names.contains(dependency) || allowed.contains(&dependency),
                "expected {name} to depend on {allowed:?} only, found {dependency}"
            );
        }
    }
}

#[test]
fn core_reaches_no_backend_command_line_page_or_runtime() {
    for target in [None, Some("wasm32-unknown-unknown")] {
        let packages = reached("-p espalier-core", target);
        let is_read = packages.contains("burn-tensor");
        assert!(is_read, "the tree was not read: {packages:?}");
        let found = kept_out(&packages);
        assert!(found.is_empty(), "target {target:?}: {found:?}");
    }
}

#[test]
fn the_cpu_engine_of_the_page_needs_no_burn() {
    let wasm = Some("wasm32-unknown-unknown");
    let burn = |packages: &BTreeSet<String>| packages.iter().any(|p| p.starts_with("burn"));
    let engine = |name| reached(&format!("-p espalier-web --features {name}"), wasm);
    assert!(!burn(&engine("cpu")));
    assert!(burn(&engine("webgpu")));
}

/// Shows that the check above detects a forbidden package.
#[test]
fn a_package_with_a_backend_is_recognised_as_such() {
    let packages = reached("-p espalier-tests", None);
    assert!(kept_out(&packages).contains(&"burn-flex"), "{packages:?}");
}

#[test]
fn files_and_folders_import_one_another_in_one_direction() {
    for package in PACKAGES {
        let imports = Imports::of(&root().join(package));
        let folders = imports.folders().into_iter();
        let folders = folders.flat_map(|folder| imports.side_by_side(&folder).circles());
        for (what, circles) in [("files", imports.circles()), ("folders", folders.collect())] {
            assert!(
                circles.is_empty(),
                "{package}: {what} import each other in cycles: {circles:?}"
            );
        }
    }
}

/// ARCHITECTURE.md lists the same dependencies between the folders of the page as the sources.
#[test]
fn the_arrows_between_folders_are_written_down() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let folders = Imports::of(&root().join("web")).side_by_side(&[]);
    for (from, targets) in &folders.uses {
        let named = |module: &Vec<String>| module.first().cloned().unwrap_or_default();
        // The roots of the programs may import everything.
        if from.is_empty() || targets.is_empty() {
            continue;
        }
        let to = targets.iter().map(named).filter(|to| !to.is_empty());
        let to: Vec<String> = to.collect();
        let line = format!("web/{} -> {}", named(from), to.join(" "));
        let is_there = text.lines().any(|other| other == line);
        assert!(is_there, "ARCHITECTURE.md lacks `{line}`");
    }
}

#[test]
fn what_comments_cite_of_the_notation_is_there() {
    let root = root();
    let notation = std::fs::read_to_string(root.join("docs/notation.md")).unwrap();
    let available = citations::available(&notation);
    let mut missing = BTreeSet::new();
    let mut citations = 0;
    for package in ["core", "lab", "python", "trainer", "web", "xtask", "tests"] {
        for file in imports::rust_files(&root.join(package)) {
            // Its citations are examples for this test.
            if file.ends_with("layering/citations.rs") {
                continue;
            }
            let cited = citations::cited(&std::fs::read_to_string(&file).unwrap());
            citations += cited.len();
            let unknown = cited.difference(&available);
            missing.extend(unknown.map(|section| format!("{}: {section}", file.display())));
        }
    }
    assert!(citations > 100, "only {citations} citations were read");
    assert!(missing.is_empty(), "docs/notation.md lacks: {missing:#?}");
}

#[test]
fn documents_name_files_that_exist() {
    let root = root();
    let documents = documents(&root);
    let has_readme = documents.iter().any(|d| d.ends_with("README.md"));
    assert!(has_readme, "{documents:?}");
    let mut missing = Vec::new();
    for document in &documents {
        let text = std::fs::read_to_string(document).unwrap();
        // The notes become part of the model card, whose links start in the folder of the weights.
        let mut models = ["default", "tiny"].into_iter();
        let notes =
            models.find(|model| document.ends_with(format!("trainer/configs/{model}-notes.md")));
        let folder = match notes {
            Some(model) => root.join("static/models").join(model),
            None => document.parent().unwrap().to_path_buf(),
        };
        let mut names = named_files(&text, &root);
        names.retain(|name| !exists(&folder, name) && !exists(&root, name));
        missing.extend(names.into_iter().map(|name| (document, name)));
    }
    assert!(missing.is_empty(), "these files do not exist: {missing:#?}");
}

#[test]
fn a_name_is_taken_for_a_file_of_the_repository_only_where_it_is_one() {
    let text = "Run `cargo ci`; see `core/src/math.rs`, `core/tests/all/prep*.rs`, `xtask/src/gone.rs`,\n\
                `NOTICES.md`, `image/text`, `a.rs`, `config.toml`, `dist/index.html`, [adr](docs/adr/x.md#top) and\n\
                [site](https://example.org/core/x).\n```sh\nls `core/none.rs`\n```\n";
    let root = root();
    let named = named_files(text, &root);
    let expected = [
        "NOTICES.md",
        "core/src/math.rs",
        "core/tests/all/prep*.rs",
        "docs/adr/x.md",
        "xtask/src/gone.rs",
    ];
    assert!(named.iter().eq(&expected), "{named:?}");
    assert!(exists(&root, "core/tests/all/prep*.rs") && exists(&root, "Cargo.toml"));
    assert!(!exists(&root, "xtask/src/gone.rs") && !exists(&root, "tests/tests/none*.rs"));
}

/// Returns all `.md` files except built, downloaded and generated ones. The change log is left out
/// too: it may name files that no longer exist.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let left_out = ["dist", "logs", "node_modules", "target"].contains(&name.as_str());
            if !left_out && (!name.starts_with('.') || name == ".github") {
                found.extend(documents(&path));
            }
        } else if name.ends_with(".md") && name != "CHANGELOG.md" {
            found.push(path);
        }
    }
    found
}

/// Returns relative link targets, and names in backticks that begin with a folder of the repository
/// or are those of documents at its top level; fenced code is skipped.
fn named_files(text: &str, root: &Path) -> BTreeSet<String> {
    let prose = without_fences(text);
    let quoted = prose.split('`').skip(1).step_by(2);
    let paths = quoted.filter(|word| is_repository_path(word, root));
    let links = links(text).into_iter().filter(|link| !link.is_external());
    let targets = links.filter_map(|link| link.target.split('#').next().map(str::to_owned));
    let targets = targets.filter(|target| !target.is_empty());
    paths.map(str::to_owned).chain(targets).collect()
}

fn without_fences(text: &str) -> String {
    let mut inside = false;
    let prose = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    prose.flat_map(|line| [line, "\n"]).collect()
}

fn is_repository_path(word: &str, root: &Path) -> bool {
    let plain = word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "._-/*".contains(c));
    match word.split_once('/') {
        Some((first, rest)) => plain && !rest.is_empty() && is_source_folder(first, root),
        None => plain && word.ends_with(".md") && word.starts_with(char::is_uppercase),
    }
}

fn is_source_folder(name: &str, root: &Path) -> bool {
    let built = ["dist", "logs", "node_modules", "target"];
    !name.is_empty() && !name.contains('*') && !built.contains(&name) && root.join(name).is_dir()
}

/// Returns whether a path exists below `base`; `*` stands for any part of one name.
fn exists(base: &Path, path: &str) -> bool {
    let mut found = vec![base.to_path_buf()];
    let names = path.split('/').filter(|name| !["", "."].contains(name));
    for name in names {
        let deeper = found.iter().flat_map(|folder| matching(folder, name));
        found = deeper.collect();
    }
    !found.is_empty()
}

fn matching(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Some((start, end)) = name.split_once('*') else {
        let mut found = vec![folder.join(name)];
        found.retain(|path| path.exists());
        return found;
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| rest.ends_with(end))
    });
    found
}

#[test]
fn the_worked_examples_name_every_file_to_touch() {
    let guide = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    for example in &adding::EXAMPLES {
        let heading = example.heading;
        let section = adding::section(&guide, heading);
        let (places, named) = (adding::places(section), adding::named(section));
        let (most, words) = (example.most, example.words);
        assert!(
            (1..=most).contains(&places),
            "{heading}: expected at most {most} places, found {places}"
        );
        let mut used = 0;
        for file in adding::scanned(&root()) {
            let text = std::fs::read_to_string(&file).unwrap();
            let path = file.strip_prefix(root()).unwrap();
            if adding::uses(path, &text, words) {
                used += 1;
                assert!(
                    adding::is_named(path, &named),
                    "{heading}: the section lacks {}, which uses one of {words:?}",
                    path.display()
                );
            }
        }
        assert!(used > 1, "{heading}: found no use of {}", words[0]);
    }
}

#[test]
fn the_check_of_worked_examples_finds_a_missing_file() {
    let text = "\n## A\n\n1. `core/src/a.rs`\n2. `web/src/b/` and `x y`\n\n## B\n3. `c/d`\n";
    let section = adding::section(text, "A");
    assert_eq!(adding::places(section), 2);
    let named = adding::named(section);
    assert!(adding::is_named(Path::new("web/src/b/c.rs"), &named));
    assert!(!adding::is_named(Path::new("c/d"), &named));
    let uses = |file: &str, text: &str| adding::uses(Path::new(file), text, &["atmg"]);
    assert!(uses("a.rs", "let a = atmg::of();"));
    assert!(!uses("a.rs", "// atmg\n#[cfg(test)]\nmod atmg;"));
    assert!(uses("a.py", "x = losses.atmg(1)") && uses("a.toml", "method = \"atmg\""));
    assert!(!uses("a.py", "  # atmg\n") && !uses("a.toml", "# atmg\n"));
    assert_eq!(adding::section(text, "C"), "");
}

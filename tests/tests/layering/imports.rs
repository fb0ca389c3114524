//! Which file of a package imports which, from the `use` declarations and paths in its sources.
//!
//! Sources are read as text: comments and test modules are skipped, groups of imports are split,
//! and a name that a module re-exports with `pub use` counts for the file that defines it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Path of a module below the crate's root; empty for the root.
pub type Module = Vec<String>;

/// The files of a package and their imports.
pub struct Imports {
    /// For each module the modules that it uses, itself excluded.
    pub uses: BTreeMap<Module, BTreeSet<Module>>,
}

/// One imported path, and whether it is re-exported.
struct Import {
    path: Module,
    passed_on: bool,
}

impl Imports {
    /// Reads all sources below `package/src`.
    pub fn of(package: &Path) -> Self {
        let source = package.join("src");
        let mut code = BTreeMap::new();
        for file in rust_files(&source) {
            let module = module_of(file.strip_prefix(&source).unwrap());
            let text = bare(&std::fs::read_to_string(&file).unwrap());
            code.insert(module, text);
        }
        let modules: BTreeSet<Module> = code.keys().cloned().collect();
        let imports: BTreeMap<&Module, Vec<Import>> = code
            .iter()
            .map(|(module, text)| (module, imports(module, text, &modules)))
            .collect();
        let mut passed_on: BTreeMap<(Module, String), Module> = BTreeMap::new();
        for (module, all) in &imports {
            for import in all.iter().filter(|import| import.passed_on) {
                if let Some(name) = import.path.last() {
                    passed_on.insert(((*module).clone(), name.clone()), import.path.clone());
                }
            }
        }
        let uses = imports.iter().map(|(module, all)| {
            let paths = all.iter().map(|import| &import.path);
            let targets = paths.map(|path| definer(path, &modules, &passed_on));
            let others = targets.filter(|target| target != *module).collect();
            ((*module).clone(), others)
        });
        Self {
            uses: uses.collect(),
        }
    }

    /// Returns the imports between the siblings in a folder, given as a path below `src`: its
    /// folders, each with all of its contents, and its files.
    pub fn side_by_side(&self, folder: &[String]) -> Self {
        let child = |module: &Module| -> Option<Module> {
            let inside = module.starts_with(folder) && module.len() > folder.len();
            inside.then(|| module[..=folder.len()].to_vec())
        };
        let mut uses: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (from, targets) in &self.uses {
            let Some(from) = child(from) else { continue };
            let others = targets.iter().filter_map(child).filter(|to| *to != from);
            uses.entry(from.clone()).or_default().extend(others);
        }
        Self { uses }
    }

    /// Returns all folders, as paths below `src`; `src` itself is the first.
    pub fn folders(&self) -> BTreeSet<Module> {
        let above = |module: &Module| module[..module.len().saturating_sub(1)].to_vec();
        self.uses.keys().map(above).collect()
    }

    /// Returns the import cycles: groups of modules that reach each other, each sorted, without
    /// single modules.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = (self.uses.keys())
            .map(|module| (module, self.reached(module)))
            .collect();
        let mut found = BTreeSet::new();
        for (module, all) in &reached {
            let leads_back = |other: &&&Module| {
                let back = reached.get(*other);
                back.is_some_and(|back| back.contains(module))
            };
            let circle = all.iter().filter(leads_back);
            let circle: Vec<String> = circle.map(|other| other.join("/")).collect();
            if circle.len() > 1 {
                found.insert(circle);
            }
        }
        found.into_iter().collect()
    }

    /// Returns all modules that a module reaches in one step or more.
    fn reached<'a>(&'a self, from: &Module) -> BTreeSet<&'a Module> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&Module> = self.uses.get(from).into_iter().flatten().collect();
        while let Some(module) = open.pop() {
            if found.insert(module) {
                open.extend(self.uses.get(module).into_iter().flatten());
            }
        }
        found
    }
}

/// Returns all Rust sources below a folder.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    files(folder, &["rs"])
}

/// Returns all files below a folder whose names have one of these extensions.
pub fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = xtask::files::below(folder).unwrap();
    found.retain(|path| {
        let extension = path.extension().unwrap_or_default();
        extensions.iter().any(|wanted| extension == *wanted)
    });
    found
}

fn module_of(file: &Path) -> Module {
    let mut parts: Module = file
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    parts.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    parts
}

/// Returns the code without comments and without its test module.
fn bare(text: &str) -> String {
    let code = text.split("#[cfg(test)]\n").next().unwrap_or_default();
    let lines = code.lines().map(|line| match line.find("//") {
        Some(at) => &line[..at],
        None => line,
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn imports(module: &Module, code: &str, modules: &BTreeSet<Module>) -> Vec<Import> {
    let mut found = Vec::new();
    let mut rest = String::with_capacity(code.len());
    let mut statements = code.split_inclusive(';');
    for statement in &mut statements {
        let start = statement.rfind("use ").filter(|at| {
            let before = statement[..*at].chars().next_back();
            before.is_none_or(char::is_whitespace)
        });
        let Some(start) = start.filter(|at| !statement[*at..].contains('(')) else {
            rest.push_str(statement);
            continue;
        };
        rest.push_str(&statement[..start]);
        let line = statement[..start].rfind('\n').map_or(0, |at| at + 1);
        let passed_on = statement[line..start].trim_start().starts_with("pub");
        let tree = statement[start + 4..].trim_end_matches(';');
        for path in taken_apart(tree) {
            if let Some(path) = absolute(module, &path, modules) {
                found.push(Import { path, passed_on });
            }
        }
    }
    // Full paths in the code, without a `use` declaration.
    for word in rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
        let path: Module = word.split("::").map(str::to_owned).collect();
        if path.len() > 1
            && let Some(path) = absolute(module, &path, modules)
        {
            let passed_on = false;
            found.push(Import { path, passed_on });
        }
    }
    found
}

/// Splits a tree of imports into paths: `a::{b, c::d as e}` is `a::b` and `a::c::d`.
fn taken_apart(tree: &str) -> Vec<Module> {
    let tree = tree.trim();
    let (path, group) = match tree.split_once('{') {
        Some((path, rest)) => (path, Some(rest.rsplit_once('}').map_or(rest, |(g, _)| g))),
        None => (tree, None),
    };
    let path = path.split(" as ").next().unwrap_or_default();
    let parts = path.split("::").map(|part| part.trim().to_owned());
    let parts: Module = parts.filter(|part| !part.is_empty()).collect();
    let Some(group) = group else {
        return vec![parts];
    };
    let tails = split_group(group).into_iter().flat_map(taken_apart);
    tails.map(|tail| [parts.clone(), tail].concat()).collect()
}

/// Returns the members of a group; nested groups are not split.
fn split_group(group: &str) -> Vec<&str> {
    let (mut depth, mut from, mut found) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&group[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&group[from..]);
    found.retain(|member| !member.trim().is_empty());
    found
}

/// Returns a path from the root of the crate; `None` for one that leads out of the crate.
fn absolute(module: &Module, path: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut base = module.clone();
    let mut rest = path.as_slice();
    match rest.first()?.as_str() {
        "crate" => return Some(rest[1..].to_vec()),
        "self" => rest = &rest[1..],
        "super" => {}
        child => {
            base.push(child.to_owned());
            return modules.contains(&base).then(|| {
                base.pop();
                base.extend(rest.iter().cloned());
                base
            });
        }
    }
    while rest.first().is_some_and(|part| part == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// Returns the module that defines the item of a path.
fn definer(
    path: &Module,
    modules: &BTreeSet<Module>,
    passed_on: &BTreeMap<(Module, String), Module>,
) -> Module {
    let mut path = path.clone();
    // Names are re-exported through a few files at most.
    for _ in 0..8 {
        let mut lengths = (0..=path.len()).rev();
        let known = lengths.find(|len| modules.contains(&path[..*len]));
        let len = known.unwrap_or(0);
        let (module, rest) = (path[..len].to_vec(), &path[len..]);
        let of_name = |name: &String| passed_on.get(&(module.clone(), name.clone()));
        match rest.first().and_then(of_name) {
            Some(origin) if *origin != path => {
                path = origin.iter().chain(&rest[1..]).cloned().collect();
            }
            _ => return module,
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(files: &[(&str, &str)]) -> Imports {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join("src").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Imports::of(folder.path())
    }

    #[test]
    fn a_circle_is_found_through_groups_paths_and_names_passed_on() {
        let files = [
            ("lib.rs", "pub mod a;\npub mod b;\n"),
            ("a/mod.rs", "mod inner;\npub use inner::Thing;\n"),
            (
                "a/inner.rs",
                "use crate::b::{self, other::{Left, Right as R}};\npub struct Thing;\n",
            ),
            ("b/mod.rs", "pub mod other;\n"),
            (
                "b/other.rs",
                "// use crate::c;\nfn f(x: crate::a::Thing) {}\n",
            ),
        ];
        let imports = package(&files);
        assert_eq!(imports.circles(), [["a/inner", "b/other"]]);
        assert_eq!(imports.side_by_side(&[]).circles(), [["a", "b"]]);
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        let files = [
            ("lib.rs", "pub mod a;\npub mod b;\n"),
            ("a.rs", "use super::b::B;\n"),
            (
                "b.rs",
                "//! See crate::a.\npub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::f;\n}\n",
            ),
        ];
        assert!(package(&files).circles().is_empty());
    }
}

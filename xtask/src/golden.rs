//! Reference values: runs the generators under `tests/golden/` and compares the results with the
//! stored files.
//!
//! A generator is a Python script `gen_*.py` with its dependencies in a PEP 723 header, which
//! writes its results next to itself. A copy of it runs in an empty folder, with `uv` if that is
//! installed, otherwise in a virtual environment below the cache folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::files;
use crate::process::{command, on_path, run};
use crate::setup::venv;

/// Largest allowed difference, relative to the larger of 1 and the magnitude: other library
/// versions round the last digits differently.
const TOLERANCE: f64 = 1e-9;

/// Runs every generator; with `check`, compares with the stored files instead of replacing them.
///
/// # Errors
/// Names the generator that failed or, for each file, the first value that differs.
pub fn run_all(root: &Path, check: bool) -> Result<()> {
    let folder = root.join("tests/golden");
    let scripts = generators(&folder)?;
    let mut differences = Vec::new();
    for script in &scripts {
        let output = tempfile::tempdir().context("cannot make a temporary folder")?;
        for file in generate(script, output.path())? {
            let stored = folder.join(file.strip_prefix(output.path())?);
            if check {
                differences.extend(compare_files(&file, &stored)?);
            } else {
                store(&file, &stored)?;
            }
        }
    }
    if !differences.is_empty() {
        bail!(
            "generated and stored values differ:\n  {}",
            differences.join("\n  ")
        );
    }
    println!(
        "{} generators: {}",
        scripts.len(),
        if check { "no difference" } else { "written" }
    );
    Ok(())
}

fn store(new: &Path, stored: &Path) -> Result<()> {
    if let Some(folder) = stored.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::copy(new, stored).with_context(|| format!("cannot write {}", stored.display()))?;
    println!("wrote {}", stored.display());
    Ok(())
}

fn generators(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut scripts = files::below(folder)?;
    scripts.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("gen_") && name.ends_with(".py")
    });
    if scripts.is_empty() {
        bail!("there is no generator gen_*.py in {}", folder.display());
    }
    Ok(scripts)
}

/// Runs a copy of the script in `folder` and returns the files that it wrote there.
fn generate(script: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let copy = folder.join(script.file_name().unwrap_or_default());
    std::fs::copy(script, &copy).with_context(|| format!("cannot read {}", script.display()))?;
    let mut python = python_for(script)?;
    run(python.arg(&copy).current_dir(folder))
        .with_context(|| format!("{} failed", script.display()))?;
    std::fs::remove_file(&copy)?;
    let mut files = files::below(folder)?;
    // Python's own.
    files.retain(|file| !file.iter().any(|part| part == "__pycache__"));
    if files.is_empty() {
        bail!("{} wrote no file next to itself", script.display());
    }
    Ok(files)
}

/// Returns a command that runs a script like `script`; the caller adds the path of the script.
///
/// # Errors
/// Fails if the script has no header, or its dependencies cannot be installed.
pub fn python_for(script: &Path) -> Result<Command> {
    if on_path("uv").is_some() {
        let mut uv = command("uv");
        uv.args(["run", "--quiet", "--script"]);
        return Ok(uv);
    }
    let dependencies = dependencies(&std::fs::read_to_string(script)?)
        .with_context(|| format!("{} has no valid PEP 723 header", script.display()))?;
    Ok(command(environment(&dependencies)?))
}

/// Returns the dependencies in a script's header: a TOML document in comments between two marks.
fn dependencies(script: &str) -> Result<Vec<String>> {
    let mut lines = script
        .lines()
        .skip_while(|line| line.trim_end() != "# /// script")
        .skip(1);
    let mut header = String::new();
    loop {
        let line = lines
            .next()
            .context("no block from `# /// script` to `# ///`")?;
        if line.trim_end() == "# ///" {
            break;
        }
        let line = line
            .strip_prefix('#')
            .context("a line of the block is no comment")?;
        header.push_str(line.strip_prefix(' ').unwrap_or(line));
        header.push('\n');
    }
    let table: toml::Table = header.parse().context("the block is not valid TOML")?;
    let list = table.get("dependencies").and_then(toml::Value::as_array);
    Ok(list
        .into_iter()
        .flatten()
        .filter_map(|d| d.as_str().map(str::to_owned))
        .collect())
}

/// Returns a Python with these packages: the system's if no package is needed, otherwise that of a
/// virtual environment, which is created if missing.
fn environment(dependencies: &[String]) -> Result<PathBuf> {
    if dependencies.is_empty() {
        return on_path("python3").context("the generators need `uv` or python3");
    }
    venv::ensure("golden", dependencies)
        .context("the generators need `uv`, or python3 with its venv module")
}

/// Returns the first difference between a generated and a stored file; `None` if they agree.
fn compare_files(new: &Path, stored: &Path) -> Result<Option<String>> {
    let Ok(old) = std::fs::read(stored) else {
        return Ok(Some(format!("{} is not stored", stored.display())));
    };
    let new = std::fs::read(new)?;
    let difference = match stored.extension().and_then(|e| e.to_str()) {
        Some("json") => {
            let json = |bytes: &[u8]| -> Result<Value> {
                serde_json::from_slice(bytes)
                    .with_context(|| format!("{} is not valid JSON", stored.display()))
            };
            difference(&json(&new)?, &json(&old)?, "")
        }
        Some("tsv" | "csv" | "txt") => line_difference(
            &String::from_utf8_lossy(&new),
            &String::from_utf8_lossy(&old),
        ),
        _ => (new != old).then(|| ": the bytes differ".to_owned()),
    };
    Ok(difference.map(|text| format!("{}{text}", stored.display())))
}

/// Returns the first line that differs. Comments are ignored, because they name library versions.
fn line_difference(new: &str, stored: &str) -> Option<String> {
    fn lines(text: &str) -> Vec<(usize, &str)> {
        let numbered = (1..).zip(text.lines());
        numbered
            .filter(|(_, line)| !line.starts_with('#'))
            .collect()
    }
    let (new, stored) = (lines(new), lines(stored));
    if new.len() != stored.len() {
        return Some(format!(
            ": generated {} lines, stored {}",
            new.len(),
            stored.len()
        ));
    }
    let differing = new.iter().zip(&stored).find(|((_, a), (_, b))| a != b)?;
    Some(format!(":{}: the line differs", differing.1.0))
}

/// Returns the first place where two documents differ by more than [`TOLERANCE`].
fn difference(new: &Value, stored: &Value, path: &str) -> Option<String> {
    match (new, stored) {
        (Value::Object(a), Value::Object(b)) => {
            let missing = a.keys().find(|k| !b.contains_key(*k));
            if let Some(key) = missing.or_else(|| b.keys().find(|k| !a.contains_key(*k))) {
                return Some(format!("{path}.{key} is only in one of the two"));
            }
            a.iter()
                .find_map(|(k, v)| difference(v, b.get(k)?, &format!("{path}.{k}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(i, (x, y))| difference(x, y, &format!("{path}[{i}]"))),
        (Value::Number(a), Value::Number(b)) => {
            let (x, y) = (a.as_f64()?, b.as_f64()?);
            let close = (x - y).abs() <= TOLERANCE * x.abs().max(y.abs()).max(1.0);
            (!close).then(|| format!("{path}: generated {a}, stored {b}"))
        }
        _ if new == stored => None,
        _ => Some(format!("{path}: generated {new}, stored {stored}")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::paths;
    use crate::process::capture;

    #[test]
    fn the_header_of_a_script_lists_its_dependencies() {
        let script = "#!/usr/bin/env python3\n# /// script\n# requires-python = \">=3.10\"\n\
                      # dependencies = [\n#   \"numpy>=2\",\n# ]\n# ///\nimport numpy\n";
        assert_eq!(dependencies(script).unwrap(), ["numpy>=2"]);
        assert!(dependencies("import numpy\n").is_err());
        assert!(dependencies("# /// script\nimport numpy\n# ///\n").is_err());
    }

    /// Returns the modules that a script, and the scripts beside it that it imports, import from
    /// elsewhere when they start.
    fn imported(script: &Path) -> BTreeSet<String> {
        let mut modules = BTreeSet::new();
        let text = std::fs::read_to_string(script).unwrap();
        let words = text.lines().map(|line| line.split([' ', '.', ',']));
        for name in words.filter_map(|mut words| match words.next() {
            Some("import" | "from") => words.next(),
            _ => None,
        }) {
            let beside = script.with_file_name(format!("{name}.py"));
            if beside.is_file() {
                modules.extend(imported(&beside));
            } else {
                modules.insert(name.to_owned());
            }
        }
        modules
    }

    #[test]
    fn the_header_of_every_script_lists_the_packages_that_it_imports() {
        let Some(python) = on_path("python3") else {
            eprintln!("skipped: python3 is not installed");
            return;
        };
        let mut list = command(python);
        list.args(["-c", "import sys; print(*sys.stdlib_module_names)"]);
        let standard = capture(&mut list).unwrap();
        let standard: BTreeSet<&str> = standard.split_whitespace().collect();
        let root = paths::root().unwrap();
        let mut checked = 0;
        for folder in ["tests/golden", "benches/peers"] {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let script = entry.unwrap().path();
                let Ok(text) = std::fs::read_to_string(&script) else {
                    continue;
                };
                let Ok(listed) = dependencies(&text) else {
                    continue;
                };
                for module in imported(&script) {
                    let package = if module == "PIL" { "pillow" } else { &module };
                    let is_listed = listed.iter().any(|entry| entry.starts_with(package));
                    assert!(
                        standard.contains(&*module) || is_listed,
                        "{}: {package} is not in the header",
                        script.display()
                    );
                }
                checked += 1;
            }
        }
        assert!(checked >= 9, "{checked} scripts");
    }

    #[test]
    fn rounding_is_tolerated_and_a_wrong_value_is_named_by_its_path() {
        let stored = json!({"a": [1.0, {"d": 0.781531376175}], "name": "x"});
        let rounded = json!({"a": [1.0, {"d": 0.781531376175 + 1e-12}], "name": "x"});
        assert_eq!(difference(&rounded, &stored, ""), None);
        let wrong = json!({"a": [1.0, {"d": 0.7815}], "name": "x"});
        let message = difference(&wrong, &stored, "").unwrap();
        assert!(
            message.starts_with(".a[1].d: generated 0.7815, stored"),
            "{message}"
        );
    }

    #[test]
    fn a_missing_key_a_short_list_and_another_text_differ() {
        for (new, stored) in [
            (json!({"a": 1}), json!({"a": 1, "b": 2})),
            (json!([1, 2]), json!([1])),
            (json!("x"), json!("y")),
            (json!(1), json!("1")),
        ] {
            assert!(difference(&new, &stored, "").is_some(), "{new} {stored}");
        }
    }

    #[test]
    fn tables_are_compared_by_line_without_their_comments() {
        let stored = "# written with 1.0\na\tb\n1\t2\n";
        assert_eq!(
            line_difference("# written with 2.0\na\tb\n1\t2\n", stored),
            None
        );
        assert_eq!(
            line_difference("a\tb\n1\t3\n", stored).unwrap(),
            ":3: the line differs"
        );
        assert!(
            line_difference("a\tb\n", stored)
                .unwrap()
                .contains("generated 1 lines, stored 2")
        );
    }

    #[test]
    fn a_script_writes_next_to_its_copy_and_leaves_nothing_else() {
        if on_path("uv").or_else(|| on_path("python3")).is_none() {
            eprintln!("skipped: neither uv nor python3 is installed");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("gen_x.py");
        let header = "# /// script\n# dependencies = []\n# ///\n";
        let body = "from pathlib import Path\nd = Path(__file__).with_name('sub')\nd.mkdir()\n\
                    (d / 'x.json').write_text('[1]')\n";
        std::fs::write(&script, format!("{header}{body}")).unwrap();
        let output = tempfile::tempdir().unwrap();
        let files = generate(&script, output.path()).unwrap();
        assert_eq!(files, [output.path().join("sub/x.json")]);
        assert!(!dir.path().join("sub").exists());
    }

    #[test]
    fn a_file_that_is_not_stored_is_a_difference() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("new.json");
        std::fs::write(&new, "[1]").unwrap();
        let message = compare_files(&new, &dir.path().join("kept.json"))
            .unwrap()
            .unwrap();
        assert!(message.ends_with("kept.json is not stored"), "{message}");
        assert_eq!(compare_files(&new, &new).unwrap(), None);
    }
}

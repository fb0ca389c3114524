//! `cargo xtask mutants`: changes the code in small ways and counts the changes that no test notices.
//!
//! `cargo-mutants` replaces one function or operator at a time and runs the tests of the package.
//! A change that all tests survive is a gap in the tests, or makes no difference.

mod outcomes;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Deserialize;
use xtask::paths;
use xtask::process::{self, command};
use xtask::setup::cargo_tool::CargoTool;

use outcomes::{Outcomes, table};

/// What is changed if no file is named, and the accepted survivors.
const SETTINGS: &str = "tests/mutants.toml";

/// Smallest share of the mutants that tests must catch.
const MIN_CAUGHT: f64 = 0.9;

/// Arguments of `cargo-mutants` after a baseline run of our own. Without its baseline it cannot derive
/// the time limits, which end a change that makes a test run forever; they are in seconds.
const SKIP_BASELINE: &[&str] = &[
    "--baseline",
    "skip",
    "--timeout",
    "300",
    "--build-timeout",
    "1800",
];

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Change only files that match (a glob; may be given several times) [default: all of
    /// tests/mutants.toml]
    #[arg(long, value_name = "GLOB")]
    pub file: Vec<String>,
    /// Try only one of N changes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub one_in: u32,
    /// Which of the N to try: the remainder of its division by N
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u32,
}

/// The content of `tests/mutants.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// By package.
    packages: BTreeMap<String, Package>,
    /// Changes that no test can notice, by their description, each with its reason.
    accepted: BTreeMap<String, String>,
}

/// What is changed in a package, and what looks for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Package {
    /// Arguments of `cargo test` that choose the programs with tests. Only these are built.
    programs: Vec<String>,
    /// Arguments of these programs.
    #[serde(default)]
    tests: Vec<String>,
    /// Other packages whose tests run too. What they need is linked again for every change.
    #[serde(default)]
    with_tests_of: Vec<String>,
    /// Files (globs).
    files: Vec<String>,
}

impl Package {
    /// Returns the arguments that choose the packages whose tests run, for the package `name`.
    fn test_packages<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        self.tested(name)
            .flat_map(|package| ["--test-package", package])
            .collect()
    }

    /// Returns the packages whose tests run, for the package `name`.
    fn tested<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        std::iter::once(name).chain(self.with_tests_of.iter().map(String::as_str))
    }

    /// Runs the baseline, the tests of unchanged code, if tests of other packages take part:
    /// `cargo-mutants` omits those from its own baseline. Returns arguments that make it skip its own.
    ///
    /// # Errors
    /// If a test fails.
    fn run_baseline(
        &self,
        name: &str,
        folder: &Path,
        root: &Path,
    ) -> Result<&'static [&'static str]> {
        if self.with_tests_of.is_empty() {
            return Ok(&[]);
        }
        let mut cargo = command("cargo");
        cargo
            .arg("test")
            .args(self.tested(name).flat_map(|package| ["--package", package]))
            .args(&self.programs)
            .arg("--")
            .args(&self.tests)
            .envs(environment(folder))
            .current_dir(root);
        process::run(&mut cargo).context("the tests of unchanged code")?;
        Ok(SKIP_BASELINE)
    }
}

/// Returns the variables of every build of changed code, in this folder.
fn environment(folder: &Path) -> [(&'static str, PathBuf); 3] {
    [
        // A change compiles in seconds this way, in minutes otherwise.
        ("CARGO_INCREMENTAL", "1".into()),
        // Debug information slows builds, and no failure is debugged here.
        ("CARGO_PROFILE_DEV_DEBUG", "none".into()),
        // Dependencies are compiled once.
        ("CARGO_TARGET_DIR", folder.to_owned()),
    ]
}

/// Runs the changes, prints a table by file, and lists the survivors.
///
/// # Errors
/// Fails if the tests fail without any change, and if `cargo-mutants` does not run to its end.
/// Survivors are not an error; the exit code tells of them.
pub fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    let settings = settings(root)?;
    CargoTool::mutants().ensure(root)?;
    let mut all = Outcomes::default();
    for (name, package) in &settings.packages {
        let files = chosen(&package.files, &options.file);
        if !files.is_empty() {
            let package = Package {
                files,
                ..package.clone()
            };
            all.append(package_outcomes(root, name, &package, options)?);
        }
    }
    if all.is_empty() {
        bail!(
            "--file: expected a file of {} with something to change, found none",
            settings
                .packages
                .keys()
                .cloned()
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    print!("{}", table(&all));
    let is_accepted = |name: &&str| settings.accepted.contains_key(*name);
    let (accepted, missed): (Vec<&str>, Vec<&str>) =
        all.survivors().into_iter().partition(is_accepted);
    for name in &accepted {
        println!("accepted: {name}: {}", settings.accepted[*name]);
    }
    for name in &missed {
        println!("missed: {name}");
    }
    let share = all.caught_share();
    let is_good = share >= MIN_CAUGHT && missed.is_empty();
    if !is_good {
        eprintln!(
            "error: expected at least {MIN_CAUGHT:.2} of the changes to be caught and each other one to be \
             listed in {SETTINGS}, found {share:.3} and {} that are not listed",
            missed.len()
        );
    }
    Ok(match is_good {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn settings(root: &Path) -> Result<Settings> {
    let text = fs::read_to_string(root.join(SETTINGS)).context(SETTINGS)?;
    toml::from_str(&text).context(SETTINGS)
}

/// Returns the files of a package to change: those that are asked for, else all.
fn chosen(files: &[String], asked: &[String]) -> Vec<String> {
    if asked.is_empty() {
        return files.to_vec();
    }
    let folder = |file: &str| file.split('/').next().map(str::to_owned);
    let is_ours = |file: &String| files.iter().any(|ours| folder(ours) == folder(file));
    asked.iter().filter(|file| is_ours(file)).cloned().collect()
}

/// Runs `cargo-mutants` for a package.
fn package_outcomes(
    root: &Path,
    name: &str,
    package: &Package,
    options: &Options,
) -> Result<Outcomes> {
    let folder = paths::target(root).join("mutants").join(name);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let built = paths::target(root).join("mutants/target");
    let skip_baseline = package.run_baseline(name, &built, root)?;
    let shard = format!("{}/{}", options.seed % options.one_in, options.one_in);
    let mut cargo = command("cargo");
    cargo
        .args(["mutants", "--package", name, "--no-config", "--no-shuffle"])
        .args(["--sharding", "round-robin", "--shard", &shard])
        .args(package.files.iter().flat_map(|file| ["--file", file]))
        .args(package.test_packages(name))
        // After `--` they would select what runs, but every program would still be built.
        .args(
            package
                .programs
                .iter()
                .map(|arg| format!("--cargo-arg={arg}")),
        )
        .args(skip_baseline)
        .arg("--output")
        .arg(&folder)
        .args(["--", "--"])
        .args(&package.tests)
        .envs(environment(&built))
        .current_dir(root);
    let status = cargo.status().context("cargo mutants")?;
    let outcomes = folder.join("mutants.out/outcomes.json");
    match status.code() {
        // 0: all caught; 2: some missed; 3: some ran too long.
        Some(0 | 2 | 3) => Outcomes::read(&outcomes),
        code => bail!(
            "cargo mutants of {name} ended with {code:?}; see {}",
            folder.join("mutants.out/log").display()
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_asked_for_are_changed_in_their_own_package() {
        let core = ["core/src/weights/**".to_owned()];
        let asked = [
            "core/src/loss/clip.rs".to_owned(),
            "trainer/src/a.rs".into(),
        ];
        assert_eq!(chosen(&core, &asked), ["core/src/loss/clip.rs"]);
        assert_eq!(chosen(&core, &[]), core);
        assert!(chosen(&core, &asked[1..]).is_empty());
    }

    #[test]
    fn tests_of_other_packages_run_beside_those_of_the_changed_one() {
        let package = Package {
            programs: Vec::new(),
            tests: Vec::new(),
            with_tests_of: vec!["b".to_owned()],
            files: Vec::new(),
        };
        let expected = ["--test-package", "a", "--test-package", "b"];
        assert_eq!(package.test_packages("a"), expected);
    }

    #[test]
    fn the_files_to_change_exist_and_accepted_survivors_have_a_reason_and_a_file() {
        let root = paths::root().unwrap();
        let settings = settings(&root).unwrap();
        for package in settings.packages.values() {
            for file in &package.files {
                let folder = file.trim_end_matches("/**");
                assert!(root.join(folder).exists(), "{file}");
            }
        }
        for (name, reason) in &settings.accepted {
            assert!(reason.len() > 10, "{name}: {reason}");
            let file = name.split(": ").next().unwrap();
            assert!(root.join(file).is_file(), "{name}");
        }
    }
}

//! `cargo xtask mutants`: changes the code in small ways and counts the changes that no test notices.
//!
//! `cargo-mutants` replaces one function or operator at a time and runs the tests of the package. Its
//! settings for each package, with the accepted changes, are in `tests/mutants/`; here they meet the files
//! that were asked for, and all packages make one result.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Deserialize;
use toml::Table;
use xtask::process::{self, capture, command};
use xtask::setup::cargo_tool::CargoTool;
use xtask::{files, paths};

/// Folder of the settings, a file for each package, named after it.
const SETTINGS: &str = "tests/mutants";

/// Smallest share of the changes that tests must catch.
const MIN_CAUGHT: f64 = 0.9;

/// Arguments of `cargo-mutants` after a baseline run of our own. Without its baseline it cannot derive
/// the time limits, which end a change that makes a test run forever; they are in seconds.
const SKIP_BASELINE: &str = "--baseline skip --timeout 300 --build-timeout 1800";

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Change only files that match (a glob; may be given several times) [default: all of
    /// tests/mutants]
    #[arg(long, value_name = "GLOB")]
    pub file: Vec<String>,
    /// Try only one of N changes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub one_in: u32,
    /// Which of the N to try: the remainder of its division by N
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u32,
}

/// How the changes ended, as in `outcomes.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
struct Counts {
    caught: u32,
    missed: u32,
    /// The tests never end after the change, which is noticed, too.
    timeout: u32,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.caught += other.caught;
        self.missed += other.missed;
        self.timeout += other.timeout;
    }

    /// Returns the share of the changes that compile and were caught.
    fn caught_share(self) -> f64 {
        let caught = self.caught + self.timeout;
        f64::from(caught) / f64::from((caught + self.missed).max(1))
    }
}

/// Runs the changes; `cargo-mutants` names the survivors. Prints the share that was caught; the exit code
/// tells whether it is large enough.
///
/// # Errors
/// Fails if the tests fail without any change, and if `cargo-mutants` does not run to its end.
/// Survivors are not an error; the exit code tells of them.
pub fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    CargoTool::mutants().ensure(root)?;
    let mut all = Counts::default();
    let mut is_any = false;
    let names = packages(root)?;
    for name in &names {
        let package = Package::chosen(root, name.clone(), options)?;
        if package.has_changes()? {
            is_any = true;
            remove_built(root, &names)?;
            all.add(package.run()?);
        }
    }
    if !is_any {
        bail!(
            "--file: expected a file of a package in {SETTINGS} with something to change, found none"
        );
    }
    println!("caught: {:.3} of those that build", all.caught_share());
    if all.caught_share() < MIN_CAUGHT {
        eprintln!(
            "error: expected a share of at least {MIN_CAUGHT}; {} changes are neither caught nor accepted in \
             {SETTINGS}",
            all.missed
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the names of the packages that have settings.
fn packages(root: &Path) -> Result<Vec<String>> {
    let files = files::below(&root.join(SETTINGS))?;
    let names = files.iter().filter_map(|file| file.file_stem());
    Ok(names
        .map(|name| name.to_string_lossy().into_owned())
        .collect())
}

/// A package to change.
struct Package<'a> {
    root: &'a Path,
    name: String,
    settings: Table,
    /// Which changes to try, as arguments.
    choice: Vec<String>,
    /// Folder of the settings as passed on, and of the results.
    folder: PathBuf,
}

impl<'a> Package<'a> {
    /// Reads the settings: without their files if some were asked for, since `cargo-mutants` would take both.
    fn chosen(root: &'a Path, name: String, options: &Options) -> Result<Self> {
        let path = root.join(SETTINGS).join(format!("{name}.toml"));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut settings: Table =
            toml::from_str(&text).with_context(|| path.display().to_string())?;
        if !options.file.is_empty() {
            settings.remove("examine_globs");
        }
        let folder = paths::target(root).join("mutants").join(&name);
        let shard = format!(
            "--shard={}/{}",
            options.seed % options.one_in,
            options.one_in
        );
        let files = options.file.iter().map(|file| format!("--file={file}"));
        let choice = files
            .chain([shard, "--sharding=round-robin".to_owned()])
            .collect();
        Ok(Self {
            root,
            name,
            settings,
            choice,
            folder,
        })
    }

    fn settings_file(&self) -> PathBuf {
        self.folder.join("settings.toml")
    }

    /// Returns `cargo mutants` with what it has to change.
    fn mutants(&self) -> Command {
        let mut cargo = command("cargo");
        cargo
            .args(["mutants", "--no-shuffle", "--package", &self.name])
            .arg("--config")
            .arg(self.settings_file())
            .args(&self.choice)
            .current_dir(self.root);
        cargo
    }

    /// Writes the settings for `cargo-mutants`, and returns whether it finds something to change.
    fn has_changes(&self) -> Result<bool> {
        fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        fs::write(self.settings_file(), toml::to_string(&self.settings)?)?;
        capture(self.mutants().arg("--list")).map(|list| !list.is_empty())
    }

    fn run(&self) -> Result<Counts> {
        let mut cargo = self.mutants();
        if self.run_baseline()? {
            cargo.args(SKIP_BASELINE.split(' '));
        }
        cargo.arg("--output").arg(&self.folder);
        let status = cargo.envs(environment(self.root)).status();
        let results = self.folder.join("mutants.out");
        match status.context("cargo mutants")?.code() {
            // 0: all caught; 2: some missed; 3: some ran too long.
            Some(0 | 2 | 3) => {
                let path = results.join("outcomes.json");
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                serde_json::from_str(&text).with_context(|| path.display().to_string())
            }
            code => bail!(
                "cargo mutants of {} ended with {code:?}; see {}",
                self.name,
                results.join("log").display()
            ),
        }
    }

    /// Runs the tests of unchanged code if tests of other packages take part, which `cargo-mutants` omits
    /// from its own baseline. Returns whether it did.
    fn run_baseline(&self) -> Result<bool> {
        let packages = self.words("test_package");
        if packages.is_empty() {
            return Ok(false);
        }
        let mut cargo = command("cargo");
        cargo
            .arg("test")
            .args(packages.iter().flat_map(|package| ["--package", package]))
            .args(self.words("additional_cargo_args"))
            .args(self.words("additional_cargo_test_args"))
            .envs(environment(self.root))
            .current_dir(self.root);
        process::run(&mut cargo).context("the tests of unchanged code")?;
        Ok(true)
    }

    /// Returns the texts in a list of the settings.
    fn words(&self, key: &str) -> Vec<&str> {
        let list = self.settings.get(key).and_then(|value| value.as_array());
        list.into_iter()
            .flatten()
            .filter_map(|word| word.as_str())
            .collect()
    }
}

/// Removes what was built of the packages. The last change of a run is compiled into it, and cargo would take it
/// for the unchanged code, whose files are older: it identifies a package by its folder in the repository, which
/// is the same one in each copy.
fn remove_built(root: &Path, names: &[String]) -> Result<()> {
    let mut cargo = command("cargo");
    cargo
        .args(["clean", "--quiet"])
        .args(names.iter().flat_map(|name| ["--package", name]))
        .envs(environment(root))
        .current_dir(root);
    process::run(&mut cargo)
}

/// Returns the variables of every build of changed code.
fn environment(root: &Path) -> [(&'static str, PathBuf); 3] {
    [
        // A change compiles in seconds this way, in minutes otherwise.
        ("CARGO_INCREMENTAL", "1".into()),
        // Debug information slows builds, and no failure is debugged here.
        ("CARGO_PROFILE_DEV_DEBUG", "none".into()),
        // Dependencies are compiled once.
        (
            "CARGO_TARGET_DIR",
            paths::target(root).join("mutants/target"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_asked_for_replace_those_of_the_settings() {
        let root = paths::root().unwrap();
        let name = packages(&root).unwrap().remove(0);
        let mut options = Options {
            file: Vec::new(),
            one_in: 14,
            seed: 16,
        };
        let all = Package::chosen(&root, name.clone(), &options).unwrap();
        assert!(!all.words("examine_globs").is_empty());
        assert_eq!(all.choice, ["--shard=2/14", "--sharding=round-robin"]);
        options.file.push("core/src/a.rs".to_owned());
        let one = Package::chosen(&root, name, &options).unwrap();
        assert!(one.words("examine_globs").is_empty());
        assert_eq!(one.choice[0], "--file=core/src/a.rs");
    }

    #[test]
    fn what_does_not_build_counts_neither_way() {
        let outcomes = r#"{"outcomes": [], "total_mutants": 4, "missed": 1, "caught": 1, "timeout": 1, "unviable": 1}"#;
        let mut counts = Counts::default();
        assert_eq!(counts.caught_share(), 0.0);
        counts.add(serde_json::from_str(outcomes).unwrap());
        assert!((counts.caught_share() - 2.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_files_to_change_exist_and_accepted_changes_have_a_reason_and_a_file() {
        let root = paths::root().unwrap();
        for name in packages(&root).unwrap() {
            let text =
                fs::read_to_string(root.join(SETTINGS).join(format!("{name}.toml"))).unwrap();
            let settings: Table = toml::from_str(&text).unwrap();
            for glob in settings["examine_globs"].as_array().unwrap() {
                let folder = glob.as_str().unwrap().trim_end_matches("/**");
                assert!(root.join(folder).exists(), "{folder}");
            }
            for accepted in settings["exclude_re"].as_array().unwrap() {
                let accepted = accepted.as_str().unwrap();
                let line = format!("'{accepted}',");
                let above = text.lines().map(str::trim).take_while(|l| *l != line);
                let reason = above.last().unwrap();
                assert!(
                    reason.starts_with("# ") && reason.len() > 12,
                    "{accepted}: {reason}"
                );
                let file = accepted.trim_start_matches('^').split(':').next().unwrap();
                let file = file.replace('\\', "");
                assert!(root.join(&file).is_file(), "{file}");
            }
        }
    }
}

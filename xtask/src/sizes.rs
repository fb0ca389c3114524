//! Size budgets of the built programs, so that a larger download fails the checks.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::transfer::compressed_size;
use crate::{engines, files};

/// Prefix of a program's file name, and its budget in kilobytes (1000 bytes) after gzip.
///
/// The page itself must start at once; every visit fetches the CPU engine, and visits with a
/// suitable graphics card also the WebGPU engine.
const BUDGETS: [(&str, u64); 3] = [(PAGE, 590), (engines::CPU, 650), (engines::GPU, 4200)];

/// Prefix of the page's own program.
const PAGE: &str = "espalier-web";

/// One built program.
#[derive(Debug, PartialEq)]
struct Program {
    name: String,
    raw: u64,
    compressed: u64,
}

/// Prints the size of every `.wasm` file below `dist` and, with `enforce`, compares it with its
/// budget. The page must have these engines.
///
/// # Errors
/// Fails if there is no built page; with `enforce` also if a program exceeds its budget, has none,
/// or is missing, and names every such program.
pub fn check(dist: &Path, engines: &[&str], enforce: bool) -> Result<()> {
    let programs = measure(dist)?;
    println!(
        "{:<36} {:>10} {:>10} {:>10}",
        "program", "raw kB", "gzip kB", "budget kB"
    );
    for p in &programs {
        let budget = budget(&p.name).map_or_else(|| "none".to_owned(), |kb| kb.to_string());
        println!(
            "{:<36} {:>10} {:>10} {budget:>10}",
            p.name,
            p.raw / 1000,
            p.compressed / 1000
        );
    }
    match violations(&programs, engines) {
        text if enforce && !text.is_empty() => bail!("size budgets:{text}"),
        _ => Ok(()),
    }
}

fn measure(dist: &Path) -> Result<Vec<Program>> {
    let mut files = files::below(dist).with_context(|| {
        format!(
            "there is no built page in {}: run `cargo xtask build-web --release`",
            dist.display()
        )
    })?;
    files.retain(|file| file.extension().is_some_and(|e| e == "wasm"));
    files
        .iter()
        .map(|file| {
            let name = file.file_name().unwrap_or_default();
            Ok(Program {
                name: name.to_string_lossy().into_owned(),
                raw: std::fs::metadata(file)?.len(),
                compressed: compressed_size(file)?,
            })
        })
        .collect()
}

fn budget(name: &str) -> Option<u64> {
    BUDGETS
        .iter()
        .find(|(start, _)| name.starts_with(start))
        .map(|&(_, kb)| kb)
}

fn violations(programs: &[Program], engines: &[&str]) -> String {
    let mut text = String::new();
    for Program {
        name, compressed, ..
    } in programs
    {
        match budget(name) {
            None => write!(text, "\n  {name} has no budget; give it one in BUDGETS"),
            Some(kb) if *compressed > kb * 1000 => {
                write!(
                    text,
                    "\n  {name} is {} kB after gzip, its budget is {kb} kB",
                    compressed / 1000
                )
            }
            Some(_) => Ok(()),
        }
        .ok();
    }
    for start in [PAGE].iter().chain(engines) {
        if !programs.iter().any(|p| p.name.starts_with(start)) {
            write!(text, "\n  no program {start}*.wasm was built").ok();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str, compressed: u64) -> Program {
        Program {
            name: name.to_owned(),
            raw: 2 * compressed,
            compressed,
        }
    }

    /// Returns all programs, each `over` bytes above its budget.
    fn all(over: u64) -> Vec<Program> {
        let file =
            |(start, kb): (&str, u64)| program(&format!("{start}-0123_bg.wasm"), kb * 1000 + over);
        BUDGETS.map(file).into()
    }

    #[test]
    fn a_program_over_its_budget_is_named_with_both_numbers() {
        assert_eq!(violations(&all(0), engines::ALL), "");
        let text = violations(&all(1000), engines::ALL);
        for (start, kb) in BUDGETS {
            let over = format!("{start}-0123_bg.wasm is {} kB", kb + 1);
            assert!(text.contains(&over), "{text}");
            assert!(text.contains(&format!("budget is {kb} kB")), "{text}");
        }
    }

    #[test]
    fn an_unknown_or_missing_program_is_a_violation_but_not_an_engine_left_out_on_purpose() {
        let text = violations(&[program("other.wasm", 1)], engines::ALL);
        assert!(text.contains("other.wasm has no budget"), "{text}");
        assert!(text.contains("no program worker_gpu*.wasm"), "{text}");
        assert_eq!(violations(&all(0)[..2], &[engines::CPU]), "");
    }

    #[test]
    fn sizes_are_measured_raw_and_compressed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/worker_cpu_bg.wasm"), [7; 100_000]).unwrap();
        std::fs::write(dir.path().join("note.txt"), "x").unwrap();
        let programs = measure(dir.path()).unwrap();
        assert_eq!((programs.len(), programs[0].raw), (1, 100_000));
        assert!(programs[0].compressed < 1000 && programs[0].compressed > 20);
    }

    #[test]
    fn without_a_built_page_the_command_to_build_it_is_named() {
        let message = check(Path::new("no/dist"), engines::ALL, true)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("cargo xtask build-web --release"),
            "{message}"
        );
    }
}

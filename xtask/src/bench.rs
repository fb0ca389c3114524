//! `cargo xtask bench`: compares training and inference on the CPU with PyTorch, and retrieval with
//! NumPy and FAISS.
//!
//! Both programs do the same work on the same shapes and print the same keys. Only ratios within
//! one run are meaningful: absolute numbers depend on the machine and its load.

mod measure;
mod retrieval;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub use self::measure::Options;
use self::measure::{DOCUMENT, Work, json_output, median};
use crate::document;
use crate::golden::python_for;
use crate::process::{command, run as execute};

const PEER: &str = "benches/peers/torch_peer.py";

/// What is compared: label, our key, the peer's key, the peer's name.
const WORK: [(&str, &str, &str, &str); 3] = [
    ("training", "train", "train", "PyTorch"),
    ("inference, image encoder", "infer", "infer", "PyTorch"),
    (
        "inference, image encoder",
        "infer",
        "infer_onnx",
        "ONNX Runtime",
    ),
];

/// Results of both programs in each round, and the load average before it.
#[derive(Clone, Debug, Default)]
struct Rounds {
    ours: Vec<Value>,
    theirs: Vec<Value>,
    load: Vec<f64>,
}

/// Measures, prints the figures and, with `--write`, stores them in the document.
///
/// # Errors
/// Fails if a program cannot be built or run, or if our result differs from a peer's.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if options.rounds == 0 {
        bail!("--rounds must be at least 1");
    }
    let is_selected = |work: Work| options.only.is_none_or(|only| only == work);
    let report = |name: &str, text: String| {
        println!("{text}");
        if options.write {
            document::insert(root, DOCUMENT, name, &text)?;
        }
        Ok::<_, anyhow::Error>(())
    };
    if is_selected(Work::Encoders) {
        report("bench", encoders(root, options)?)?;
    }
    if is_selected(Work::Retrieval) {
        report("bench --only retrieval", retrieval::run(root, options)?)?;
    }
    Ok(())
}

/// Runs our program and PyTorch in turn; returns the text for the document.
fn encoders(root: &Path, options: &Options) -> Result<String> {
    execute(
        throughput(root)
            .args(["--", "--help"])
            .stdout(std::process::Stdio::null()),
    )
    .context("the throughput example could not be built")?;
    execute(peer(root, options)?.arg("--check")).context("the peer does not compute our loss")?;
    let mut rounds = Rounds::default();
    for round in 0..options.rounds {
        rounds.load.extend(load_average());
        let ours = || measure(throughput(root).arg("--"), options);
        let theirs = || measure(&mut peer(root, options)?, options);
        // Alternates the order, so that neither program always runs on the warmer machine.
        let (a, b) = if round % 2 == 0 {
            let ours = ours()?;
            (ours, theirs()?)
        } else {
            let theirs = theirs()?;
            (ours()?, theirs)
        };
        if a["parameters"] != b["parameters"] {
            bail!(
                "not the same model: {} and {} parameters",
                a["parameters"],
                b["parameters"]
            );
        }
        eprintln!("round {}: {a}\n         {b}", round + 1);
        rounds.ours.push(a);
        rounds.theirs.push(b);
    }
    let sections = measure(throughput(root).args(["--", "--sections"]), options)?;
    Ok(format!(
        "{}\n{}\n{}",
        settings(root, options, &rounds),
        comparison(&rounds),
        parts(&sections["sections"])
    ))
}

/// The command for our program, without its arguments.
fn throughput(root: &Path) -> Command {
    let mut cargo = command("cargo");
    cargo
        .args([
            "run",
            "--quiet",
            "--release",
            "-p",
            "espalier-trainer",
            "--example",
            "throughput",
        ])
        .current_dir(root);
    cargo
}

/// The command for the peer, without its arguments.
fn peer(root: &Path, options: &Options) -> Result<Command> {
    let script = root.join(PEER);
    let mut python = match &options.python {
        Some(python) => command(python),
        None => python_for(&script)?,
    };
    python.arg(script);
    Ok(python)
}

/// Runs a program and reads the JSON object of its last line.
fn measure(program: &mut Command, options: &Options) -> Result<Value> {
    let count = |n: usize| n.to_string();
    program.args(["--train-steps", &count(options.train_steps)]);
    program.args(["--infer-batches", &count(options.infer_batches)]);
    program.args(["--threads", &count(options.threads)]);
    json_output(program)
}

/// The figures side by side, as a Markdown table.
fn comparison(rounds: &Rounds) -> String {
    let mut table = String::from(
        "| work | Espalier | peer | ratio (rounds) | ratio per processor second |\n\
         |---|--:|--:|--:|--:|\n",
    );
    for (work, ours, theirs, name) in WORK {
        let (a, b) = (figures(&rounds.ours, ours), figures(&rounds.theirs, theirs));
        let peer = rounds
            .theirs
            .first()
            .map_or(&Value::Null, |round| &round[theirs]);
        if let Some(why) = peer["skipped"].as_str() {
            let why = why.lines().next().unwrap_or_default();
            let _ = writeln!(
                table,
                "| {work} | {} | {name}: {why} | – | – |",
                median_rate(&a.rate)
            );
            continue;
        }
        let ratios: Vec<f64> = a.rate.iter().zip(&b.rate).map(|(a, b)| a / b).collect();
        let per_round: Vec<String> = ratios.iter().map(|r| format!("{r:.2}")).collect();
        let cpu: Vec<f64> = a.cpu.iter().zip(&b.cpu).map(|(a, b)| b / a).collect();
        let _ = writeln!(
            table,
            "| {work} | {} | {name}: {} | **{:.2}** ({}) | {} |",
            median_rate(&a.rate),
            median_rate(&b.rate),
            median(&ratios),
            per_round.join(", "),
            if cpu.is_empty() {
                "–".to_owned()
            } else {
                format!("{:.2}", median(&cpu))
            },
        );
    }
    table
}

/// Images per second and processor seconds per image of each round.
struct Figures {
    rate: Vec<f64>,
    cpu: Vec<f64>,
}

fn figures(rounds: &[Value], key: &str) -> Figures {
    let number = |round: &Value, name: &str| round[key][name].as_f64();
    Figures {
        rate: rounds
            .iter()
            .filter_map(|r| number(r, "images_per_s"))
            .collect(),
        cpu: rounds
            .iter()
            .filter_map(|r| Some(number(r, "cpu_seconds")? / number(r, "pictures")?))
            .collect(),
    }
}

fn median_rate(rates: &[f64]) -> String {
    format!("{:.1} pictures/s", median(rates))
}

/// Where the time of a step goes, as a Markdown table.
fn parts(sections: &Value) -> String {
    let rows: Vec<(&str, f64)> = sections
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| Some((row["part"].as_str()?, row["milliseconds"].as_f64()?)))
        .collect();
    let total: f64 = rows.iter().map(|(_, ms)| ms).sum();
    let mut table =
        String::from("| part of a training step | milliseconds | share |\n|---|--:|--:|\n");
    for (part, ms) in rows.iter().copied().chain([("all", total)]) {
        let _ = writeln!(table, "| {part} | {ms:.1} | {:.1} % |", 100.0 * ms / total);
    }
    table
}

/// Machine, source and command of the measurement.
fn settings(root: &Path, options: &Options, rounds: &Rounds) -> String {
    let loads: Vec<String> = rounds
        .load
        .iter()
        .map(|load| format!("{load:.1}"))
        .collect();
    let versions =
        |value: &Value| format!("{} {}", text(&value["engine"]), text(&value["version"]));
    let first = |all: &[Value]| all.first().map(versions).unwrap_or_default();
    format!(
        "- Machine: {}; load average before the rounds: {}\n\
         - Source: {}\n\
         - Programs: {}, {}\n\
         - Command: `cargo xtask bench --rounds {} --threads {} --train-steps {} \
         --infer-batches {}`\n",
        document::machine(),
        if loads.is_empty() {
            "unknown".to_owned()
        } else {
            loads.join(", ")
        },
        document::source(root, DOCUMENT),
        first(&rounds.ours),
        first(&rounds.theirs),
        options.rounds,
        options.threads,
        options.train_steps,
        options.infer_batches,
    )
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("of unknown version")
}

/// Load average of the last minute.
fn load_average() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg")
        .ok()?
        .split(' ')
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn round(rate: f64, cpu: f64) -> Value {
        let figures = json!({ "images_per_s": rate, "cpu_seconds": cpu, "pictures": 64 });
        json!({ "train": figures, "infer": figures, "infer_onnx": { "skipped": "not there" } })
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_and_not_of_the_rates() {
        let rounds = Rounds {
            ours: vec![round(10.0, 2.0), round(20.0, 2.0), round(60.0, 2.0)],
            theirs: vec![round(10.0, 3.0), round(40.0, 3.0), round(20.0, 3.0)],
            load: vec![],
        };
        let table = comparison(&rounds);
        let training = table.lines().nth(2).unwrap();
        assert_eq!(
            training,
            "| training | 20.0 pictures/s | PyTorch: 20.0 pictures/s | **1.00** (1.00, 0.50, 3.00) \
             | 1.50 |"
        );
        assert!(
            table
                .lines()
                .nth(4)
                .unwrap()
                .contains("ONNX Runtime: not there | – |"),
            "{table}"
        );
    }

    #[test]
    fn the_parts_of_a_step_have_shares_and_a_sum() {
        let table = parts(&json!([
            { "part": "forward", "milliseconds": 30.0 },
            { "part": "backward", "milliseconds": 90.0 },
        ]));
        assert!(table.contains("| backward | 90.0 | 75.0 % |"), "{table}");
        assert!(table.ends_with("| all | 120.0 | 100.0 % |\n"), "{table}");
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), 3.0);
        assert_eq!(median(&[5.0]), 5.0);
        assert!(median(&[]).is_nan());
    }
}

//! Alternating rounds of several programs on the same work, and their table.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::Value;

use super::measure::median;

/// What one program measured in all rounds.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// Name of the program.
    pub(crate) name: &'static str,
    /// Seconds per image, by round.
    pub(crate) seconds: Vec<f64>,
    /// Seconds per image of the fastest repeat of all rounds.
    pub(crate) best: f64,
}

/// Some work and what each program needed for it; Espalier is the first program.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) work: String,
    pub(crate) programs: Vec<Figures>,
}

impl Comparison {
    /// Measures the programs in turn. Each round begins with the next program, so that none always
    /// runs on the warmer machine. `measure` gets the name of a program.
    pub(crate) fn measure(
        work: String,
        names: &[&'static str],
        rounds: usize,
        mut measure: impl FnMut(&'static str) -> Result<Value>,
    ) -> Result<Self> {
        let named = |name: &&'static str| Figures {
            name,
            seconds: Vec::new(),
            best: f64::INFINITY,
        };
        let mut programs: Vec<Figures> = names.iter().map(named).collect();
        for round in 0..rounds {
            for turn in 0..programs.len() {
                let at = (round + turn) % programs.len();
                let name = programs[at].name;
                let found = measure(name).with_context(|| format!("{work}: {name}"))?;
                let number = |key: &str| {
                    let number = found[key].as_f64();
                    number.with_context(|| format!("{work}: {name}: expected {key}, found {found}"))
                };
                let seconds = number("seconds_per_image")?;
                eprintln!("{work}: {name}: {:.3} ms an image", 1e3 * seconds);
                programs[at].seconds.push(seconds);
                programs[at].best = programs[at].best.min(number("best_seconds_per_image")?);
            }
        }
        Ok(Self { work, programs })
    }

    /// Returns the steps a second of each program, in words; a step computes `images`.
    pub(crate) fn speeds(&self, images: usize) -> String {
        let speed = |figures: &Figures| {
            let steps = 1.0 / (median(&figures.seconds) * images as f64);
            format!("{} {steps:.1} steps a second", figures.name)
        };
        let speeds: Vec<String> = self.programs.iter().map(speed).collect();
        format!("{}: {}", self.work, speeds.join(", "))
    }
}

/// Returns the comparisons as a Markdown table: a line for each peer. A ratio above 1 means that
/// Espalier is faster.
pub(crate) fn table(comparisons: &[Comparison]) -> String {
    let mut table = String::from(
        "| work | Espalier, ms an image | peer, ms an image | times as fast (rounds) | \
         fastest repeats |\n|---|--:|--:|--:|--:|\n",
    );
    for Comparison { work, programs } in comparisons {
        let Some((ours, peers)) = programs.split_first() else {
            continue;
        };
        for peer in peers {
            let (ratio, rounds) = ratios(&peer.seconds, &ours.seconds);
            let _ = writeln!(
                table,
                "| {work} | {} | {}: {} | **{ratio:.2}** ({rounds}) | {:.2} |",
                milliseconds(&ours.seconds),
                peer.name,
                milliseconds(&peer.seconds),
                peer.best / ours.best,
            );
        }
    }
    table
}

/// Returns the median of the ratios of a peer to ours, and the ratio of each round in words.
pub(super) fn ratios(peer: &[f64], ours: &[f64]) -> (f64, String) {
    let ratios: Vec<f64> = peer.iter().zip(ours).map(|(b, a)| b / a).collect();
    let rounds: Vec<String> = ratios.iter().map(|r| format!("{r:.2}")).collect();
    (median(&ratios), rounds.join(", "))
}

fn milliseconds(seconds: &[f64]) -> String {
    format!("{:.2}", 1e3 * median(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_and_not_of_the_times() {
        let figures = |name, seconds: [f64; 3], best| Figures {
            name,
            seconds: seconds.to_vec(),
            best,
        };
        let work = Comparison {
            work: "inference".to_owned(),
            programs: vec![
                figures("Espalier", [0.01, 0.02, 0.06], 0.01),
                figures("PyTorch", [0.01, 0.01, 0.18], 0.015),
                figures("ONNX Runtime", [0.02, 0.02, 0.03], 0.02),
            ],
        };
        let table = table(&[work]);
        let line = |at: usize| table.lines().nth(at).unwrap();
        assert_eq!(
            line(2),
            "| inference | 20.00 | PyTorch: 10.00 | **1.00** (1.00, 0.50, 3.00) | 1.50 |"
        );
        assert!(
            line(3).ends_with("**1.00** (2.00, 1.00, 0.50) | 2.00 |"),
            "{table}"
        );
    }

    #[test]
    fn every_program_begins_a_round() {
        let mut order = Vec::new();
        let found = Comparison::measure("x".to_owned(), &["a", "b"], 2, |name| {
            order.push(name);
            Ok(json!({ "seconds_per_image": 1.0, "best_seconds_per_image": 0.5 }))
        });
        assert_eq!(order, ["a", "b", "b", "a"]);
        assert_eq!(found.unwrap().programs[1].seconds, [1.0, 1.0]);
        let nothing = Comparison::measure("x".to_owned(), &["a"], 1, |_| Ok(json!({})));
        assert!(
            nothing
                .unwrap_err()
                .to_string()
                .contains("seconds_per_image")
        );
    }
}

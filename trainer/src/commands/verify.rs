//! `trainer verify`.

use std::path::Path;

use anyhow::anyhow;
use espalier_checkpoints::device::engine;
use espalier_checkpoints::model_file::{is_bundle, read_bundle};
use espalier_core::bundle::{Manifest, Part, sha256_hex};
use espalier_core::caption::{CaptionResult, Captioner, Receipt, Request};
use espalier_io::disk::read;
use espalier_io::exit::usage;
use espalier_io::output::line;
use serde::Serialize;

use super::caption;
use crate::cli::VerifyArgs;

/// One compared value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Name of the value.
    pub what: String,
    /// Value in the receipt.
    pub receipt: String,
    /// Value computed here.
    pub here: String,
    /// Absolute difference of two numbers; `None` for texts.
    pub gap: Option<f64>,
    /// Whether the two values count as the same.
    pub same: bool,
}

fn compare_texts(what: impl Into<String>, receipt: impl ToString, here: impl ToString) -> Compared {
    let (receipt, here) = (receipt.to_string(), here.to_string());
    Compared {
        what: what.into(),
        same: receipt == here,
        receipt,
        here,
        gap: None,
    }
}

fn compare_numbers(what: String, receipt: f64, here: f64, tolerance: f64) -> Compared {
    let gap = (receipt - here).abs();
    Compared {
        what,
        receipt: format!("{receipt:.4}"),
        here: format!("{here:.4}"),
        gap: Some(gap),
        // In this form, NaN does not count as the same.
        same: gap <= tolerance,
    }
}

/// Compares all values of a receipt and a new result, except timings and backends.
pub fn compare(
    receipt: &Receipt,
    here: &CaptionResult,
    manifest: &Manifest,
    tolerance: f64,
) -> Vec<Compared> {
    let (stated, recomputed) = (&receipt.result, Receipt::new(here.clone(), manifest));
    let values = |receipt: &Receipt| {
        let result = &receipt.result;
        [
            ("preprocessing", format!("{:?}", receipt.preprocessing)),
            ("prompts", receipt.prompts.clone().unwrap_or("-".to_owned())),
            ("dtype", receipt.dtype.clone()),
            ("width", result.image.width.to_string()),
            ("height", result.image.height.to_string()),
            ("rungs", result.ladder.len().to_string()),
            ("steps", result.taxonomy.path.len().to_string()),
            ("stop", result.taxonomy.stop.clone()),
        ]
    };
    let pairs = values(receipt).into_iter().zip(values(&recomputed));
    let mut rows: Vec<Compared> = pairs
        .map(|((what, stated), (_, here))| compare_texts(what, stated, here))
        .collect();
    let numbers = |what: String, a, b| compare_numbers(what, a, b, tolerance);
    // A rung that one of the two lacks does not make all later ones differ.
    let mut next = 0;
    for (i, a) in stated.ladder.iter().enumerate() {
        let rung = i + 1;
        let found = here.ladder.iter().skip(next).position(|b| b.text == a.text);
        let Some(at) = found.map(|skipped| next + skipped) else {
            let other = here.ladder.get(i).filter(|b| b.text != a.text);
            let other = other.map_or("-", |b| &b.text);
            rows.push(compare_texts(format!("rung {rung}"), &a.text, other));
            continue;
        };
        next = at + 1;
        let b = &here.ladder[at];
        let number = |what: &str, a, b| numbers(format!("rung {rung}, {what}"), a, b);
        rows.push(number("radius", a.radius, b.radius));
        rows.push(number("similarity", a.similarity, b.similarity));
        if let (Some(a), Some(b)) = (a.p, b.p) {
            rows.push(number("p", a, b));
        }
    }
    // Results of earlier versions lack these.
    if let (Some(stated), Some(here)) = (stated.said, here.said) {
        rows.push(compare_texts("said", stated, here));
    }
    let shown = |result: &CaptionResult| {
        let texts = result.shows.iter().map(|shown| shown.text.as_str());
        texts.collect::<Vec<_>>().join(", ")
    };
    if stated.said.is_some() {
        rows.push(compare_texts("shows", shown(stated), shown(here)));
    }
    let steps = stated.taxonomy.path.iter().zip(&here.taxonomy.path);
    for (i, (a, b)) in steps.enumerate() {
        rows.push(compare_texts(format!("step {}", i + 1), &a.id, &b.id));
        rows.push(numbers(format!("step {}, p", i + 1), a.p, b.p));
    }
    rows
}

fn check_same_file(what: &str, path: &Path, receipt: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let found = sha256_hex(bytes);
    if receipt == found {
        return Ok(());
    }
    Err(usage(format!(
        "{what} {}: expected SHA-256 {receipt}, as in the receipt, found {found}; give the file \
         that the receipt was made with",
        path.display()
    )))
}

/// Recomputes the result of a receipt and compares the two.
///
/// # Errors
/// Bad usage (exit code 2) for files that are not those of the receipt; another error (1) if the
/// result differs by more than the tolerance.
pub fn run(args: &VerifyArgs) -> anyhow::Result<()> {
    if !is_bundle(&args.model) {
        return Err(usage(format!(
            "--model {}: expected the bundle of the receipt, a folder with a manifest.json",
            args.model.display()
        )));
    }
    let (bytes, manifest, files) = read_bundle(&args.model, &Part::OF_AN_ANSWER)?;
    let at = |path: &Path, e| usage(format!("{}: {e}", path.display()));
    let text = read::text(&args.receipt).map_err(|e| at(&args.receipt, e))?;
    let receipt = Receipt::parse(&text, &manifest)?;
    let photo = read::bytes(&args.photo).map_err(|e| at(&args.photo, e))?;
    let stated = &receipt.result;
    check_same_file("--model", &args.model, &stated.model.sha256, &bytes)?;
    check_same_file("--photo", &args.photo, &stated.image.sha256, &photo)?;

    let device = args.common.backend.device()?;
    let captioner = Captioner::open(&bytes, &files, &engine(&device))?;
    let request = Request {
        region: receipt.region,
        below: receipt.below.as_deref(),
    };
    let backend = args.common.backend.resolve().name();
    let here = caption::read(&captioner, &args.photo, &photo, request, backend)?;
    let rows = compare(&receipt, &here, &manifest, args.tolerance);
    report(args, &receipt, &here, &rows)?;
    let different = rows.iter().filter(|row| !row.same).count();
    if different == 0 {
        return Ok(());
    }
    // Results of earlier programs lack this value.
    let cause = match stated.said {
        Some(_) => "",
        None => "; an earlier program made the receipt and may have chosen other rungs",
    };
    Err(anyhow!(
        "{different} of {} values differ from the receipt by more than {}{cause}",
        rows.len(),
        args.tolerance
    ))
}

fn report(
    args: &VerifyArgs,
    receipt: &Receipt,
    here: &CaptionResult,
    rows: &[Compared],
) -> anyhow::Result<()> {
    let largest = rows.iter().filter_map(|row| row.gap).fold(0.0, f64::max);
    let different: Vec<&Compared> = rows.iter().filter(|row| !row.same).collect();
    if args.common.json {
        let told = serde_json::json!({
            "same": different.is_empty(),
            "compared": rows.len(),
            "largest_gap": largest,
            "tolerance": args.tolerance,
            "differences": different,
            "backends": [receipt.result.backend, here.backend],
        });
        return line(told);
    }
    for row in &different {
        line(format_args!(
            "{:<22} receipt {:<28} here {}",
            row.what, row.receipt, row.here
        ))?;
    }
    line(format_args!(
        "{} rungs, {} steps; {} on {} in the receipt, {} here; largest gap {largest:.5}, tolerance {}",
        here.ladder.len(),
        here.taxonomy.path.len(),
        here.model.name,
        receipt.result.backend,
        here.backend,
        args.tolerance
    ))
}

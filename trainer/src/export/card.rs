//! The model card of a bundle.

use std::collections::BTreeMap;

use espalier_checkpoints::published::card::{front_matter, image};
use espalier_core::bundle::{Manifest, Part};
use espalier_core::model::VitConfig;
use espalier_core::nn::StageConfig;

use super::gate::Gate;

/// Content of a card besides the manifest.
pub struct Facts<'a> {
    /// Measurements on the probe.
    pub gate: &'a Gate,
    /// Description of the probe.
    pub probe: &'a str,
    /// Markdown by the exporter: data, use, failures.
    pub notes: &'a str,
    /// File of the image of the model beside the card, if there is one.
    pub preview: Option<&'a str>,
}

fn provenance<'a>(manifest: &'a Manifest, key: &str) -> Option<&'a str> {
    manifest.provenance.get(key)?.as_str()
}

/// Writes a card in the convention of model cards: front matter, then the text.
pub fn write(manifest: &Manifest, facts: &Facts<'_>) -> String {
    let m = manifest;
    let all = Part::OF_AN_ANSWER;
    let vision = &m.model.vision;
    let terms = m.licence.strip_prefix("Weights: ").unwrap_or_default();
    let terms = terms.split(" (").next().unwrap_or_default().to_lowercase();
    let tags = format!("hyperbolic, image-text, hierarchy, {}", m.method);
    let base = provenance(m, "base_model");
    let mut out = front_matter("espalier", Some(&terms), base, &tags);
    let preview = image(facts.preview);
    out.push_str(&format!(
        "# {name} {version}\n\n{preview}\
         An Espalier bundle (`{format}`), trained with `{method}`.\n\n\
         | | |\n|---|---|\n\
         | image encoder | {encoder} |\n\
         | embedding | {embed} numbers |\n\
         | download before the first answer | {bytes} bytes |\n\
         | text encoder, downloaded when a visitor types | {text} bytes |\n\
         | training steps | {steps} |\n\n\
         ## Quality\n\n",
        method = m.method,
        name = m.name,
        version = m.version,
        format = m.format,
        encoder = describe_encoder(vision),
        embed = m.model.d_embed,
        bytes = m.bytes_of(&all),
        text = m.bytes_of(&[Part::Text]),
        steps = m
            .provenance
            .get("steps")
            .map_or_else(String::new, ToString::to_string),
    ));
    out.push_str(&quality(&m.metrics, facts));
    if !facts.notes.trim().is_empty() {
        out.push_str(&format!("{}\n\n", facts.notes.trim()));
    }
    let run = provenance(m, "run").unwrap_or_default().trim();
    out.push_str(&format!(
        "## Configuration of the run\n\n```toml\n{run}\n```\n\n## Terms\n\n{}\n",
        m.licence
    ));
    out
}

/// Returns the measurements on the probe.
fn quality(metrics: &BTreeMap<String, f64>, facts: &Facts<'_>) -> String {
    let gate = facts.gate;
    format!(
        "Measured on {} labelled images ({}), chance {:.4}. Values are fractions, except `tie`, a number \
         of edges in the taxonomy.\n\n{}\n{}",
        gate.images,
        facts.probe,
        metrics.get("chance").copied().unwrap_or(0.0),
        gate.table(),
        stops(metrics)
    )
}

/// Describes an image encoder.
fn describe_encoder(vision: &VitConfig) -> String {
    let size = vision.image_size;
    let layers = format!("{} layers of width {}", vision.n_layers, vision.d_model);
    if let Some(inverted) = &vision.inverted {
        let widths = inverted.stages.iter().map(|s| s.width.to_string());
        let widths: Vec<String> = widths.collect();
        return format!(
            "inverted residuals, {size} px, {} blocks of widths {}, feature of width {}",
            inverted.blocks().len(),
            widths.join(", "),
            vision.d_model
        );
    }
    match &vision.stem {
        None => format!("ViT, {size} px, patch {}, {layers}", vision.patch),
        Some(stages) => {
            let stage = |s: &StageConfig| format!("{} (+ {} blocks)", s.width, s.blocks);
            let stages: Vec<String> = stages.iter().map(stage).collect();
            let after = match vision.n_layers {
                0 => String::new(),
                _ => format!(", then {layers}"),
            };
            format!(
                "convolutions, {size} px, stages of {}{after}",
                stages.join(", ")
            )
        }
    }
}

/// Returns the accuracy of paths at their stops, and the risk of labels by coverage.
fn stops(metrics: &BTreeMap<String, f64>) -> String {
    let get = |name: &str| metrics.get(name).copied();
    let (Some(right), Some(reported), Some(depth)) =
        (get("stop_right"), get("stop_said"), get("stop_depth"))
    else {
        return String::new();
    };
    let mut out = format!(
        "Paths in the taxonomy stop at depth {depth:.1} on average; the node is right in {:.1} % of \
         the images; the mean reported probability is {:.1} %. Each half of the images is evaluated with \
         the calibration of the other half.\n\n| most certain images | wrong labels |\n|---|---|\n",
        100.0 * right,
        100.0 * reported
    );
    for tenth in 1..=10 {
        if let Some(risk) = get(&format!("risk_at_{:03}", 10 * tenth)) {
            out.push_str(&format!("| {} % | {:.1} % |\n", 10 * tenth, 100.0 * risk));
        }
    }
    out.push('\n');
    out.push_str(&corrupted(metrics));
    out
}

/// Returns the same for corrupted copies of the images, if the metrics have them.
fn corrupted(metrics: &BTreeMap<String, f64>) -> String {
    let mut rows = String::new();
    for (name, right) in metrics {
        let Some(kind) = name.strip_prefix("stop_right_") else {
            continue;
        };
        let reported = metrics.get(&format!("stop_said_{kind}")).copied();
        rows.push_str(&format!(
            "| {kind} | {:.1} % | {:.1} % |\n",
            100.0 * right,
            100.0 * reported.unwrap_or_default()
        ));
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "Corrupted copies of the same images (`trainer eval --change`), evaluated in the same way:\n\n\
         | corruption | node is right | reported probability |\n|---|---|---|\n{rows}\n"
    )
}

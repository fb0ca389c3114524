//! Measures the accuracy lost by quantising, and refuses a bundle that loses too much.

use std::collections::BTreeMap;

use burn::tensor::Device;
use espalier_checkpoints::model_file::Model;
use espalier_core::caption::Captioner;
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_eval::embed::{self, Labelled};
use espalier_eval::hierarchy::{self, TiePath};
use espalier_eval::zero_shot;
use espalier_io::exit::Refused;

/// Number of images whose ladders are compared.
const LADDERS: usize = 300;

/// Metric: share of images whose ladder is the same before and after quantisation.
const SAME_LADDER: &str = "same_ladder";

/// Share of ladders that stay the same, below which the metric is explained.
const MOST_LADDERS: f64 = 0.75;

/// A model with the embeddings of the probe.
pub struct EmbeddedProbe<'a> {
    /// The model.
    pub model: &'a Model,
    /// The probe's images in its space.
    pub images: Labelled,
    /// The classes of the probe in its space.
    pub classes: Vec<Vec<f32>>,
}

/// One row of the table: value before, value after.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the metric.
    pub name: String,
    /// Value in `f32`; `None` for an agreement between the two.
    pub full: Option<f64>,
    /// Value of the quantised model, or the agreement.
    pub quantised: f64,
}

/// The comparison of a bundle with the model it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Its rows.
    pub rows: Vec<Row>,
    /// Loss of top-1 accuracy in percentage points; negative for a gain.
    pub drop: f64,
    /// Number of images in the probe.
    pub images: usize,
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |x: &[f32], y: &[f32]| {
        x.iter()
            .zip(y)
            .map(|(p, q)| f64::from(*p) * f64::from(*q))
            .sum::<f64>()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(1e-20)
}

impl EmbeddedProbe<'_> {
    fn answers(
        &self,
        taxonomy: &Taxonomy,
        nodes: &[NodeIx],
        device: &Device,
    ) -> anyhow::Result<BTreeMap<String, f64>> {
        let space = embed::space(self.model, device)?;
        let ranked = zero_shot::rank(&space, &self.images.points, &self.classes);
        let labels = self.images.labels.iter();
        let truth: Vec<usize> = labels.filter_map(|l| nodes.binary_search(l).ok()).collect();
        let predicted: Vec<NodeIx> = ranked.iter().map(|r| nodes[r[0]]).collect();
        let mut all = zero_shot::metrics(&ranked, &truth, nodes.len());
        let pairs = (predicted.as_slice(), self.images.labels.as_slice());
        all.extend(hierarchy::scores(taxonomy, pairs, TiePath::default()));
        Ok(all)
    }
}

impl Gate {
    /// Compares a bundle with the model in `f32` on the same images and classes.
    ///
    /// # Errors
    /// When the device fails.
    pub fn compare(
        full: &EmbeddedProbe<'_>,
        stored: &EmbeddedProbe<'_>,
        captioners: (&Captioner, &Captioner),
        taxonomy: &Taxonomy,
        device: &Device,
    ) -> anyhow::Result<Self> {
        let nodes = zero_shot::classes_of(&full.images);
        let before = full.answers(taxonomy, &nodes, device)?;
        let after = stored.answers(taxonomy, &nodes, device)?;
        let row = |name: &str, full: Option<f64>, quantised: f64| Row {
            name: name.to_owned(),
            full,
            quantised,
        };
        let compared = [
            "acc1",
            "acc5",
            "mean_per_class_recall",
            "tie",
            "hierarchical_precision",
        ];
        let mut rows = compared
            .map(|name| row(name, Some(before[name]), after[name]))
            .to_vec();
        let points = || full.images.points.iter().zip(&stored.images.points);
        let n = full.images.points.len().max(1) as f64;
        let cosines: Vec<f64> = points().map(|(a, b)| cosine(a, b)).collect();
        let least = cosines.iter().copied().fold(1.0, f64::min);
        rows.push(row("cosine_mean", None, cosines.iter().sum::<f64>() / n));
        rows.push(row("cosine_min", None, least));
        let same = |(a, b): (&Vec<f32>, &Vec<f32>)| {
            let texts = |c: &Captioner, e: &[f32]| -> Vec<String> {
                c.rank(e).ladder.into_iter().map(|r| r.text).collect()
            };
            texts(captioners.0, a) == texts(captioners.1, b)
        };
        let compared = points().take(LADDERS).count().max(1) as f64;
        let agree = points().take(LADDERS).filter(|pair| same(*pair)).count() as f64;
        rows.push(row(SAME_LADDER, None, agree / compared));
        let drop = 100.0 * (before["acc1"] - after["acc1"]);
        Ok(Self {
            rows,
            drop,
            images: full.images.points.len(),
        })
    }

    /// Returns the table as Markdown.
    pub fn table(&self) -> String {
        let mut out = String::from("| on the probe | f32 | bundle |\n|---|---|---|\n");
        for row in &self.rows {
            let full = row.full.map_or_else(String::new, |v| format!("{v:.4}"));
            out.push_str(&format!(
                "| {} | {full} | {:.4} |\n",
                row.name, row.quantised
            ));
        }
        out
    }

    /// Explains a low `same_ladder`, which refuses no bundle; `None` if most ladders stay the same.
    pub fn remark(&self) -> Option<String> {
        let row = self.rows.iter().find(|row| row.name == SAME_LADDER)?;
        (row.quantised < MOST_LADDERS).then(|| {
            format!(
                "{SAME_LADDER}: for {:.0} % of the images the ladder has other captions after rounding. This happens \
                 where many captions lie nearly at the same distance, as in a model that was trained for a short time; \
                 it costs no accuracy (acc1, tie) and refuses no bundle",
                100.0 * (1.0 - row.quantised)
            )
        })
    }

    /// Refuses a bundle that loses more than `max_drop` percentage points of top-1.
    ///
    /// # Errors
    /// [`Refused`], exit code 3.
    pub fn check(&self, max_drop: f64) -> anyhow::Result<()> {
        if self.drop > max_drop {
            return Err(Refused(format!(
                "quantisation loses {:.2} points of top-1 accuracy on {} images, more than --max-drop \
                 {max_drop}; export with more bits (--dtype q8 or fp32), or train further",
                self.drop, self.images
            ))
            .into());
        }
        Ok(())
    }
}

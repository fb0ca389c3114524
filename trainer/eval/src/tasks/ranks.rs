//! Images whose label is a lineage: one name per rank (notation 6.7).

use std::collections::BTreeMap;
use std::rc::Rc;

use espalier_core::geometry::Space;
use espalier_core::input::ResizeMode;
use espalier_core::taxonomy::RANKS;
use espalier_data::formats::registry::{self, Need};
use espalier_data::{Coverage, RankText};
use espalier_io::exit::usage;

use crate::embedded::Embedded;
use crate::metrics::summary::mean;
use crate::task::{BenchmarkData, Context};

/// Requirements for the data of these tasks.
pub const NEEDS: &str = "images that each have a lineage: iNaturalist's val.json with its images, BioCLIP's \
    or RCME's metadata CSV (filepath, kingdom .. species; or img_fn, captions joined by =>), or folders \
    named NNNNN_Kingdom_Phylum_Class_Order_Family_Genus_species";

/// Benchmarks of the suite.
pub const BENCHMARKS: &[BenchmarkData] = &[
    BenchmarkData {
        dataset: "inat2021",
        path: "inat2021",
        get: "inat2021/val.json and inat2021/val/ from the iNaturalist 2021 competition",
    },
    BenchmarkData {
        dataset: "bioclip-rare",
        path: "bioclip-rare",
        get: "the rare species set of BioCLIP: bioclip-rare/metadata.csv with its images, or one folder \
              per species named NNNNN_Kingdom_Phylum_Class_Order_Family_Genus_species",
    },
];

/// Text of the root of all life (notation 6.7).
pub const ROOT: &str = "Eukarya";

/// Images with their lineages.
pub struct Lineages {
    /// All images.
    pub images: Rc<Embedded>,
    /// Indices of the images that have a lineage.
    pub rows: Vec<usize>,
    /// Their names, general to specific; all lineages have the same length.
    pub names: Vec<Vec<String>>,
    /// What is available.
    pub coverage: Coverage,
}

impl Lineages {
    /// Embeds the images of the data.
    ///
    /// # Errors
    /// Bad data, also if no label is a lineage; a failing device.
    pub fn open(cx: &Context<'_, '_>) -> anyhow::Result<Self> {
        let data = registry::open(cx.data, Need::Labels)?;
        let expected = data.records();
        let resize = cx.resize(ResizeMode::CentreCrop);
        let images = cx.model()?.dataset(data, cx.data, resize)?;
        let mut coverage = images.about.coverage(expected, images.points.len());
        let (mut rows, mut names): (Vec<usize>, Vec<Vec<String>>) = (Vec::new(), Vec::new());
        for (row, label) in images.about.labels.iter().enumerate() {
            let label = label.as_deref().unwrap_or_default();
            let lineage: Vec<String> = label.split('/').map(str::to_owned).collect();
            let ranks = names.first().map_or(lineage.len(), Vec::len);
            if lineage.len() < 2 || lineage.len() != ranks {
                let cause = "label is no lineage, or of other ranks than the first";
                coverage.lose(cause, 1, label);
                continue;
            }
            if lineage.iter().any(|name| name.trim().is_empty()) {
                coverage.note("lineage with an empty rank", 1, label);
            }
            rows.push(row);
            names.push(lineage);
        }
        if rows.is_empty() {
            return Err(usage(format!(
                "--data: expected {NEEDS}; found {} images, none with a lineage",
                images.points.len()
            )));
        }
        Ok(Self {
            images,
            rows,
            names,
            coverage,
        })
    }

    /// Returns the names of the ranks.
    pub fn ranks(&self) -> Vec<String> {
        match self.names.first().map_or(0, Vec::len) {
            7 => RANKS.iter().map(|r| (*r).to_owned()).collect(),
            n => (1..=n).map(|r| format!("rank{r}")).collect(),
        }
    }
}

/// Returns the text of a rank of a lineage.
pub fn text(names: &[String], rank: usize, how: RankText) -> String {
    match how {
        RankText::Joined => names[..=rank].join(" "),
        RankText::Name => names[rank].clone(),
    }
}

/// Returns the space with the root of all life as its root; a hyperbolic space keeps the origin.
///
/// # Errors
/// When the device fails.
pub fn space(cx: &Context<'_, '_>) -> anyhow::Result<Space> {
    let model = cx.model()?;
    Ok(match model.space()? {
        Space::Sphere { .. } => Space::Sphere {
            root: model.texts(&[ROOT.to_owned()])?.row(0).to_vec(),
        },
        other => other.clone(),
    })
}

/// `NAME_kingdom` .. `NAME_species`, each the share of `n` items that are right at a rank, and
/// their mean as `NAME_mean`.
///
/// # Errors
/// Those of `right`.
pub fn shares(
    name: &str,
    ranks: &[String],
    n: usize,
    mut right: impl FnMut(usize, &str) -> anyhow::Result<usize>,
) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut metrics = BTreeMap::new();
    for (rank, word) in ranks.iter().enumerate() {
        let share = right(rank, word)? as f64 / n.max(1) as f64;
        metrics.insert(format!("{name}_{word}"), share);
    }
    let mean = mean(metrics.values().copied());
    metrics.insert(format!("{name}_mean"), mean);
    Ok(metrics)
}

//! The texts of all labels, and the target labels of each image of a batch.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use anyhow::bail;
use espalier_core::caption::prompts::prompt;
use espalier_core::input::Tokenizer;
use espalier_core::taxonomy::{NodeIx, Taxonomy, metrics};
use espalier_data::batches::distill::{Distill, TeacherOutputs};
use espalier_data::batches::feature_rows::FeatureRows;
use espalier_data::batches::text_batch::{LabelBatch, OutlierBatch};
use espalier_data::records::random::{Purpose, Random};
use espalier_data::sampling::outliers::{draw_outliers, draw_pool_features, tree_prior};
use espalier_data::{Batch, ImageBatch};
use espalier_eval::prompts;

use crate::config::TrainConfig;

/// Largest number of labels of a step; with distillation, `loss.distill_labels` applies instead. All
/// labels of the batch are kept, even if they are more.
const MAX_LABELS: usize = 512;
/// Distance in taxonomy edges over which the target share of a near label falls by the factor e.
const DECAY_EDGES: f64 = 2.0;

/// Draws texts of labels.
pub struct LabelTexts {
    taxonomy: Taxonomy,
    tokenizer: Arc<Tokenizer>,
    context: usize,
    prompts: Vec<String>,
    smoothing: f64,
    /// Target share of every label for outlier images, if the loss uses them.
    outlier_shares: Option<Vec<f64>>,
    /// Features of a pool of outlier images, where features are cached.
    outliers: Option<Arc<FeatureRows>>,
    distill: Option<Distill>,
    /// Whether images have label targets besides those of a classifier.
    has_label_loss: bool,
    seed: u64,
    /// Index of each label among the labels.
    label_index: HashMap<NodeIx, usize>,
    /// Target shares of all labels for each label, computed on first use.
    shares: Vec<OnceLock<Vec<f32>>>,
}

impl LabelTexts {
    /// Creates the texts for `loss.labels` and `loss.distill` of a configuration; none where both
    /// are 0. `outliers` are features of outlier images, where features are cached.
    ///
    /// # Errors
    /// An unknown set of prompts, which cannot happen with the fixed name used here.
    pub fn new(
        taxonomy: Taxonomy,
        tokenizer: &Arc<Tokenizer>,
        config: &TrainConfig,
        outliers: Option<Arc<FeatureRows>>,
        distill: Option<Distill>,
    ) -> anyhow::Result<Option<Self>> {
        if config.loss.labels == 0.0 && distill.is_none() {
            return Ok(None);
        }
        let labels = taxonomy.labelled();
        Ok(Some(Self {
            label_index: labels.iter().enumerate().map(|(i, ix)| (*ix, i)).collect(),
            shares: labels.iter().map(|_| OnceLock::new()).collect(),
            tokenizer: Arc::clone(tokenizer),
            context: config.model.architecture().text.context,
            prompts: prompts::templates(prompts::SIMPLE)?,
            smoothing: config.loss.label_smoothing,
            outlier_shares: (config.loss.outliers > 0.0).then(|| tree_prior(&taxonomy)),
            outliers,
            distill,
            has_label_loss: config.loss.labels > 0.0,
            seed: config.train.seed,
            taxonomy,
        }))
    }

    /// Returns the labels of a batch; the choice depends only on the seed and the step.
    /// `teacher_outputs` are those for this batch.
    ///
    /// # Errors
    /// If the images of the batch are cached features, but there are none of outlier images.
    pub fn of_step(
        &self,
        batch: &Batch,
        step: u64,
        teacher_outputs: Option<TeacherOutputs>,
    ) -> anyhow::Result<LabelBatch> {
        let random = &mut Random::new(self.seed, Purpose::Labels, step, 0);
        let label = |id: &Option<String>| {
            let ix = self.taxonomy.find(id.as_deref()?)?;
            let index = self.label_index.get(&ix).copied();
            index.filter(|_| self.has_label_loss)
        };
        let true_labels: Vec<Option<usize>> = batch.synsets.iter().map(label).collect();
        let chosen = self.choose(&true_labels, teacher_outputs.as_ref(), random);
        let texts: Vec<String> = chosen.iter().map(|at| self.text(*at, random)).collect();
        let mut targets = Vec::with_capacity(true_labels.len() * chosen.len());
        for truth in &true_labels {
            let first = targets.len();
            match truth {
                Some(truth) => {
                    let shares = self.shares(*truth);
                    targets.extend(chosen.iter().map(|at| shares[*at]));
                    // Over a subset of the labels the shares sum to less than 1.
                    let sum: f32 = targets[first..].iter().sum();
                    targets[first..].iter_mut().for_each(|t| *t /= sum);
                }
                None => targets.resize(first + chosen.len(), 0.0),
            }
        }
        let outliers = match &self.outlier_shares {
            Some(shares) => {
                let sum: f64 = chosen.iter().map(|at| shares[*at]).sum();
                let share = |at: &usize| (shares[*at] / sum) as f32;
                Some(OutlierBatch {
                    images: self.outlier_images(batch, step)?,
                    target: chosen.iter().map(share).collect(),
                })
            }
            None => None,
        };
        let labels = self.taxonomy.labelled();
        let distilled = teacher_outputs.zip(self.distill.as_ref());
        Ok(LabelBatch {
            texts: self.tokenizer.encode_batch(&texts, self.context),
            nodes: chosen.iter().map(|at| labels[*at]).collect(),
            targets,
            outliers,
            distill: distilled.map(|(outputs, distill)| distill.targets(outputs, &chosen)),
        })
    }

    /// Draws as many outlier images as the batch has samples.
    fn outlier_images(&self, batch: &Batch, step: u64) -> anyhow::Result<ImageBatch> {
        let random = &mut Random::new(self.seed, Purpose::Outliers, step, 0);
        let count = batch.keys.len();
        match (&self.outliers, &batch.images) {
            (Some(pool), _) => Ok(ImageBatch::Features(draw_pool_features(
                pool, count, random,
            ))),
            (None, ImageBatch::Pixels(others)) => {
                let side = others.size as u32;
                Ok(ImageBatch::Pixels(draw_outliers(count, side, random)))
            }
            (None, ImageBatch::Features(_)) => {
                bail!("loss.outliers: expected cached features of outlier images, found none")
            }
        }
    }

    /// Chooses the indices of the labels of a step.
    fn choose(
        &self,
        true_labels: &[Option<usize>],
        teacher_outputs: Option<&TeacherOutputs>,
        random: &mut Random,
    ) -> Vec<usize> {
        let count = self.shares.len();
        let distill = self.distill.as_ref();
        let limit = distill.map_or(MAX_LABELS, |distill| distill.max_labels(count));
        let mut all: Vec<usize> = (0..count).collect();
        if count > limit {
            random.shuffle(&mut all);
            // Labels in the batch come first, then the teacher's likely labels, then the others in
            // shuffled order.
            let mut rank = vec![2; count];
            if let (Some(distill), Some(teacher_outputs)) = (distill, teacher_outputs) {
                let likely = distill.likely(teacher_outputs, limit);
                likely.into_iter().for_each(|at| rank[at] = 1);
            }
            true_labels.iter().flatten().for_each(|at| rank[*at] = 0);
            all.sort_by_key(|at| rank[*at]);
            let shown = rank.iter().filter(|rank| **rank == 0).count();
            all.truncate(limit.max(shown));
        }
        if let Some(distill) = distill {
            all.sort_by_key(|at| !distill.knows(*at));
        }
        all
    }

    /// Returns a text of a label: one of its names in one of the prompts.
    fn text(&self, at: usize, random: &mut Random) -> String {
        let names = &self.taxonomy.node(self.taxonomy.labelled()[at]).names;
        let mut draw_below = |n: usize| random.below(n as u32) as usize;
        // The first name is the one that ladders and benchmarks use.
        let name = match draw_below(2) {
            0 => 0,
            _ => draw_below(names.len()),
        };
        prompt(&self.prompts[draw_below(self.prompts.len())], &names[name])
    }

    /// Returns the target shares for a label: 1 less the smoothing, which is spread over near
    /// labels.
    fn shares(&self, truth: usize) -> &[f32] {
        self.shares[truth].get_or_init(|| {
            let labels = self.taxonomy.labelled();
            let weight = |(at, ix): (usize, &NodeIx)| {
                if at == truth {
                    return 0.0;
                }
                let edges = metrics::score(&self.taxonomy, *ix, labels[truth]).tie_ancestor;
                (-edges / DECAY_EDGES).exp()
            };
            let near: Vec<f64> = labels.iter().enumerate().map(weight).collect();
            let sum = near.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            let share = |near: &f64| (self.smoothing * near / sum) as f32;
            let mut shares: Vec<f32> = near.iter().map(share).collect();
            shares[truth] = (1.0 - self.smoothing) as f32;
            shares
        })
    }
}

#[cfg(test)]
mod tests {
    use espalier_checkpoints::model_file::MERGES;
    use espalier_data::{BatchSpec, BatchStream, Position, Synthetic};

    use super::*;

    /// Returns a tree of `count` labels, with a parent for every pair.
    fn taxonomy(count: usize) -> Taxonomy {
        let pair = |i: usize| {
            let parent = i / 2;
            let mut rows = format!("l{i}\tlabel {i}\tp{parent}\t1\n");
            if i.is_multiple_of(2) {
                rows.push_str(&format!("p{parent}\tparent {parent}\tr\t0\n"));
            }
            rows
        };
        let rows: String = (0..count).map(pair).collect();
        let text = format!("synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\n{rows}");
        Taxonomy::from_tsv(&text).unwrap()
    }

    fn applied(count: usize, step: u64, synsets: [Option<&str>; 4]) -> LabelBatch {
        let config = TrainConfig::of_pairs(&["loss.labels=1", "loss.outliers=1"]).unwrap();
        let tokenizer = Arc::new(Tokenizer::from_merges(MERGES, 8192).unwrap());
        let texts = LabelTexts::new(taxonomy(count), &tokenizer, &config, None, None);
        let data = Arc::new(Synthetic::new(8, 16, 0));
        let spec = BatchSpec::new(4, 16, 32);
        let mut stream = BatchStream::start(data, tokenizer, spec, Position::default()).unwrap();
        let mut batch = stream.next().unwrap().unwrap();
        batch.synsets = synsets.map(|s| s.map(str::to_owned)).to_vec();
        let texts = texts.unwrap().unwrap();
        texts.of_step(&batch, step, None).unwrap()
    }

    #[test]
    fn smoothing_is_spread_over_near_labels() {
        let labels = applied(6, 0, [Some("l2"), None, Some("elsewhere"), Some("p0")]);
        assert_eq!((labels.texts.rows, labels.targets.len()), (6, 24));
        let row = &labels.targets[..6];
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((row[2] - 0.9).abs() < 1e-6);
        // The sibling is 2 edges away, the four others 4: e^-1 to e^-2 each.
        assert!((row[3] / row[0] - 1.0_f32.exp()).abs() < 1e-4, "{row:?}");
        assert!(labels.targets[6..].iter().all(|t| *t == 0.0));
    }

    #[test]
    fn labels_of_the_batch_are_always_chosen() {
        let labels = applied(2000, 3, [Some("l7"), Some("l1999"), None, None]);
        assert_eq!(labels.texts.rows, MAX_LABELS);
        for row in labels.targets.chunks(MAX_LABELS).take(2) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            assert!(row.iter().any(|t| *t > 0.85));
        }
    }

    #[test]
    fn outlier_images_have_the_size_of_the_other_images() {
        let outliers = applied(6, 0, [None; 4]).outliers.unwrap();
        let images = outliers.images.pixels().unwrap();
        assert_eq!((images.count, images.size), (1, 16));
        assert_eq!(outliers.target.len(), 6);
        // Of many labels a part is chosen.
        let target = applied(2000, 0, [None; 4]).outliers.unwrap().target;
        assert!((target.iter().sum::<f32>() - 1.0).abs() < 1e-4);
    }

    #[test]
    fn the_same_step_draws_the_same_texts() {
        let labels = |step| applied(20, step, [Some("l7"), None, None, None]);
        assert_eq!(labels(5), labels(5));
        assert_ne!(labels(5), labels(6));
    }
}

//! Constraints on the values of a configuration.

use std::fmt::Display;

use espalier_data::Needs;
use espalier_io::exit::usage;

use super::TrainConfig;

/// Most samples of a micro-batch, and most micro-batches of a step; larger ones fit no memory, and
/// their product would overflow.
const MAX_BATCH: usize = 1 << 20;

/// A constraint on one or more values: their key, whether they satisfy it, what is expected, and
/// what was found.
struct Rule(&'static str, bool, &'static str, String);

/// A number of either float type.
trait Number: Copy + Display + Into<f64> {}

impl<T: Copy + Display + Into<f64>> Number for T {}

fn non_negative(key: &'static str, v: impl Number) -> Rule {
    let fits = (0.0..f64::INFINITY).contains(&v.into());
    Rule(key, fits, "a finite number, 0 or more", v.to_string())
}

fn positive(key: &'static str, v: impl Number) -> Rule {
    let fits = v.into() > 0.0 && v.into().is_finite();
    Rule(key, fits, "a finite number above 0", v.to_string())
}

fn fraction(key: &'static str, v: impl Number) -> Rule {
    let fits = (0.0..=1.0).contains(&v.into());
    Rule(key, fits, "in [0, 1]", v.to_string())
}

fn below_one(key: &'static str, v: impl Number) -> Rule {
    let fits = (0.0..1.0).contains(&v.into());
    Rule(key, fits, "in [0, 1)", v.to_string())
}

fn at_least_one(key: &'static str, n: u64) -> Rule {
    Rule(key, n >= 1, "at least 1", n.to_string())
}

impl TrainConfig {
    /// Returns whether the features of images are computed once and cached.
    pub fn caches_features(&self) -> bool {
        self.train.lock_image && self.train.keep_features && self.cache_obstacle().is_none()
    }

    /// Returns why a locked image encoder must process images at every step; `None` if cached
    /// features suffice.
    pub fn cache_obstacle(&self) -> Option<&'static str> {
        let method = self.train.method;
        if method.needs(&self.loss) == Needs::Parts {
            Some("the method uses the positions of boxes in images")
        } else if !method.trainable().image {
            Some("the method uses no images")
        } else if self.train.patch_keep < 1.0 {
            Some("train.patch_keep selects different patches at every step")
        } else if self.train.half_size > 0.0 {
            Some("train.half_size changes the size of the images")
        } else {
            None
        }
    }

    /// Checks the ranges of the values and their dependencies, and reports the first broken rule.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        // The rules below and the size of a checkpoint rely on it.
        self.model.architecture().validate()?;
        let sections = [
            self.loss_rules(),
            self.texts_rules(),
            self.training_rules(),
            self.image_encoder_rules(),
            self.label_rules(),
            self.optimisation_rules(),
            self.data_rules(),
        ];
        for Rule(key, fits, expected, found) in sections.into_iter().flatten() {
            if !fits {
                return Err(usage(format!("{key} must be {expected}, found {found}")));
            }
        }
        Ok(())
    }

    /// Returns the rules that every weight and factor of a loss has, whichever method reads it.
    fn loss_rules(&self) -> Vec<Rule> {
        let l = &self.loss;
        let weights = l.weights().map(|(key, v)| non_negative(key, v));
        let widths = l.widths().map(|(key, v)| positive(key, v));
        let margins = l.margins().map(|(key, v)| {
            let fits = v.abs() <= std::f64::consts::PI;
            Rule(key, fits, "an angle in radians, at most pi", v.to_string())
        });
        weights.into_iter().chain(widths).chain(margins).collect()
    }

    /// Returns the rules of the losses and the data of nouns and chains.
    fn texts_rules(&self) -> Vec<Rule> {
        let (d, l) = (&self.dataset, &self.loss);
        vec![
            Rule(
                "loss.generality",
                l.generality == 0.0 || l.generality > 0.0 && l.nouns > 0.0,
                "0, or above 0 with loss.nouns above 0",
                l.generality.to_string(),
            ),
            Rule(
                "dataset.nouns and dataset.nouns_per_step",
                l.nouns == 0.0 || l.nouns > 0.0 && d.nouns.is_some() && d.nouns_per_step > 0,
                "a table of nouns and a number above 0 when loss.nouns is above 0",
                format!("{:?} and {}", d.nouns, d.nouns_per_step),
            ),
            Rule(
                "dataset.order_pairs",
                (1..=MAX_BATCH).contains(&d.order_pairs),
                "between 1 and 1048576",
                d.order_pairs.to_string(),
            ),
            Rule(
                "dataset.chains",
                d.chains.is_empty() || l.order > 0.0,
                "empty when loss.order is 0, the only term that reads it",
                format!("{:?}", d.chains),
            ),
        ]
    }

    /// Returns the rules of the trained parts, the steps and their batches.
    fn training_rules(&self) -> Vec<Rule> {
        let (t, d) = (&self.train, &self.dataset);
        let trainable = t.method.trainable();
        let trains_image_part = trainable.image && !(t.lock_image && t.lock_projection);
        vec![
            Rule(
                "train.lock_image, train.lock_projection and train.lock_text",
                trains_image_part || trainable.text && !t.lock_text,
                "set so that at least one part that the method trains is not locked",
                format!(
                    "{}, {} and {}",
                    t.lock_image, t.lock_projection, t.lock_text
                ),
            ),
            Rule(
                "train.lock_text_layers",
                !t.lock_text_layers || trainable.text && !t.lock_text,
                "false where the text encoder is not trained at all",
                t.lock_text_layers.to_string(),
            ),
            Rule(
                "loss.text_teacher and model.text_teacher",
                (self.loss.text_teacher > 0.0) == self.model.text_teacher.is_some()
                    && (self.loss.text_teacher == 0.0 || trainable.text && !t.lock_text),
                "given together, and only where the text encoder is trained",
                format!(
                    "{} and {:?}",
                    self.loss.text_teacher, self.model.text_teacher
                ),
            ),
            Rule(
                "train.batch_size",
                (2..=MAX_BATCH).contains(&t.batch_size),
                "between 2 and 1048576",
                t.batch_size.to_string(),
            ),
            Rule(
                "train.accum_freq",
                (1..=MAX_BATCH).contains(&t.accum_freq),
                "between 1 and 1048576",
                t.accum_freq.to_string(),
            ),
            Rule(
                "dataset.weights",
                d.weights.is_empty()
                    || d.weights.len() == d.data.len()
                        && d.weights.iter().all(|w| w.is_finite() && *w > 0.0),
                "one number above 0 for each of dataset.data, or none",
                format!("{:?} for {} paths", d.weights, d.data.len()),
            ),
            Rule(
                "train.steps and train.epochs",
                (t.steps > 0) != (t.epochs > 0),
                "one of them above 0",
                format!("{} and {}", t.steps, t.epochs),
            ),
            Rule(
                "train.num_samples (--train-num-samples)",
                t.num_samples == 0 || t.epochs > 0,
                "0 with train.steps, which give the length of the run; use --epochs with it",
                t.num_samples.to_string(),
            ),
            Rule(
                "train.num_samples (--train-num-samples)",
                t.num_samples == 0 || t.num_samples >= self.samples_of_step() as u64,
                "0, or at least the samples of one step (train.batch_size times train.accum_freq)",
                format!(
                    "{}, and {} in a step",
                    t.num_samples,
                    self.samples_of_step()
                ),
            ),
        ]
    }

    /// Returns the rules of the settings that need a certain image encoder.
    fn image_encoder_rules(&self) -> Vec<Rule> {
        let t = &self.train;
        let vision = self.model.architecture().vision;
        let convolutions_only = vision.n_layers == 0;
        // Inverted residuals accept images of any size.
        let divisible_by_two = vision.inverted.is_some()
            || (vision.image_size / vision.patch.max(1)).is_multiple_of(2);
        vec![
            Rule(
                "train.patch_keep",
                t.patch_keep > 0.0 && t.patch_keep <= 1.0,
                "in (0, 1]",
                t.patch_keep.to_string(),
            ),
            Rule(
                "train.patch_keep",
                (vision.stem.is_none() && vision.inverted.is_none()) || t.patch_keep == 1.0,
                "1 for an image encoder with convolutions, which needs all patches",
                t.patch_keep.to_string(),
            ),
            Rule(
                "train.half_size",
                (0.0..=1.0).contains(&t.half_size)
                    && (t.half_size == 0.0 || convolutions_only && divisible_by_two),
                "in [0, 1], and 0 unless the image encoder consists of convolutions only",
                t.half_size.to_string(),
            ),
        ]
    }

    /// Returns the rules of the losses of labels, of distillation, and of cached and synthetic features.
    fn label_rules(&self) -> Vec<Rule> {
        let (d, l) = (&self.dataset, &self.loss);
        vec![
            non_negative("loss.labels", l.labels),
            below_one("loss.label_smoothing", l.label_smoothing),
            Rule(
                "loss.outliers",
                l.outliers.is_finite()
                    && l.outliers >= 0.0
                    && (l.outliers == 0.0 || l.labels > 0.0),
                "0 or more, and 0 if loss.labels is 0",
                l.outliers.to_string(),
            ),
            non_negative("loss.distill", l.distill),
            Rule(
                "loss.distill",
                l.distill == 0.0 || self.caches_features(),
                "0 unless image features are cached, which needs train.lock_image and \
                 train.keep_features true, train.patch_keep 1, train.half_size 0, and a method \
                 with images and texts",
                l.distill.to_string(),
            ),
            positive("loss.distill_temperature", l.distill_temperature),
            Rule(
                "dataset.synthetic_features",
                d.synthetic_features == 0 || l.distill > 0.0,
                "0 unless loss.distill is above 0",
                d.synthetic_features.to_string(),
            ),
            fraction("dataset.synthetic_shrinkage", d.synthetic_shrinkage),
            non_negative("dataset.synthetic_spread", d.synthetic_spread),
            non_negative("dataset.synthetic_noise", d.synthetic_noise),
            Rule(
                "dataset.feature_views",
                (1..=64).contains(&d.feature_views),
                "in 1 to 64",
                d.feature_views.to_string(),
            ),
        ]
    }

    /// Returns the rules of the log and the optimiser.
    fn optimisation_rules(&self) -> Vec<Rule> {
        let (t, o) = (&self.train, &self.optim);
        vec![
            at_least_one("train.rank_timeout", t.rank_timeout),
            Rule(
                "train.report_to (--report-to)",
                (1..t.report_to.len()).all(|at| !t.report_to[..at].contains(&t.report_to[at])),
                "each of jsonl and tensorboard at most once",
                format!("{:?}", t.report_to),
            ),
            Rule(
                "train.log_frequency",
                t.log_frequency > 0 && t.keep > 0,
                "above 0, like train.keep",
                t.log_frequency.to_string(),
            ),
            positive("optim.lr", o.lr),
            non_negative("optim.wd", o.wd),
            below_one("optim.beta1", o.beta1),
            below_one("optim.beta2", o.beta2),
            positive("optim.eps", o.eps),
            non_negative("optim.grad_clip_norm", o.grad_clip_norm),
            below_one("optim.ema (--ema)", o.ema),
        ]
    }

    /// Returns the rules of the data and its augmentation.
    fn data_rules(&self) -> Vec<Rule> {
        let d = &self.dataset;
        vec![
            fraction("dataset.corrupt_prob", d.corrupt_prob),
            at_least_one("dataset.data_cache_gib", d.data_cache_gib),
            Rule(
                "dataset.lanes",
                d.lanes >= 1 && d.lanes <= self.samples_of_step(),
                "at least 1 and at most the samples of a step",
                d.lanes.to_string(),
            ),
            fraction("dataset.max_broken", d.max_broken),
            Rule(
                "dataset.min_box_px",
                d.min_box_px.is_none_or(|px| px.is_finite() && px >= 0.0),
                "a finite number of pixels, 0 or more",
                format!("{:?}", d.min_box_px.unwrap_or_default()),
            ),
            fraction("dataset.hypernym_prob", d.hypernym_prob),
            Rule(
                "dataset.crop_scale",
                0.0 < d.crop_scale[0]
                    && d.crop_scale[0] <= d.crop_scale[1]
                    && d.crop_scale[1] <= 1.0,
                "two fractions in (0, 1], the smaller one first",
                format!("{:?}", d.crop_scale),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_of_some_samples_needs_a_length_in_epochs_and_holds_a_step() {
        let resolve = |pairs: &[&str]| TrainConfig::of_pairs(pairs).map_err(|e| e.to_string());
        let epochs = ["train.steps=0", "train.epochs=2", "train.batch_size=8"];
        let with = |samples: &'static str| [&epochs[..], &[samples]].concat();
        assert!(resolve(&with("train.num_samples=8")).is_ok());
        let error = resolve(&with("train.num_samples=7")).unwrap_err();
        assert!(error.contains("found 7, and 8 in a step"), "{error}");
        let error = resolve(&["train.steps=5", "train.num_samples=100"]).unwrap_err();
        assert!(
            error.contains("--train-num-samples") && error.contains("use --epochs"),
            "{error}"
        );
    }

    #[test]
    fn numbers_that_no_run_can_use_are_refused_by_key_and_value() {
        for pair in [
            "loss.rcme.global=nan",
            "loss.meru.entail=inf",
            "loss.hycoclip.eta_inter=0",
            "loss.ec.margin=nan",
            "optim.eps=-0.5",
            "optim.eps=0.0",
            "optim.beta2=4294967300",
            "optim.beta1=-0.1",
            "optim.wd=nan",
            "optim.lr=-1",
            "dataset.max_broken=2",
            "dataset.data_cache_gib=0",
            "dataset.min_box_px=nan",
        ] {
            let error = TrainConfig::of_pairs(&[pair]).err();
            let error = error.unwrap_or_else(|| usage("accepted")).to_string();
            let (key, value) = pair.split_once('=').unwrap_or_default();
            let value = value.trim_end_matches(".0").to_ascii_lowercase();
            assert!(error.contains(key), "{pair}: {error}");
            assert!(
                error.to_ascii_lowercase().contains(&value),
                "{pair}: {error}"
            );
        }
    }
}

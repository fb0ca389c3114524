//! Constraints on the values of a configuration.

use std::fmt::Display;

use espalier_data::Needs;
use espalier_io::exit::usage;

use super::TrainConfig;

/// Most samples of a micro-batch, and most micro-batches of a step; larger ones fit no memory, and
/// their product would overflow.
const MAX_BATCH: usize = 1 << 20;

/// One or more keys of a configuration, and their values.
struct Value(&'static str, String);

fn value(key: &'static str, found: impl Display) -> Value {
    Value(key, found.to_string())
}

impl Value {
    /// Refuses a value that does not fit.
    fn must_be(self, expected: &str, fits: bool) -> anyhow::Result<()> {
        let Self(key, found) = self;
        match fits {
            true => Ok(()),
            false => Err(usage(format!("{key} must be {expected}, found {found}"))),
        }
    }
}

/// A number of either float type.
trait Number: Copy + Display + Into<f64> {}

impl<T: Copy + Display + Into<f64>> Number for T {}

fn non_negative(key: &'static str, v: impl Number) -> anyhow::Result<()> {
    let fits = (0.0..f64::INFINITY).contains(&v.into());
    value(key, v).must_be("a finite number, 0 or more", fits)
}

fn positive(key: &'static str, v: impl Number) -> anyhow::Result<()> {
    let fits = v.into() > 0.0 && v.into().is_finite();
    value(key, v).must_be("a finite number above 0", fits)
}

fn fraction(key: &'static str, v: impl Number) -> anyhow::Result<()> {
    value(key, v).must_be("in [0, 1]", (0.0..=1.0).contains(&v.into()))
}

fn below_one(key: &'static str, v: impl Number) -> anyhow::Result<()> {
    value(key, v).must_be("in [0, 1)", (0.0..1.0).contains(&v.into()))
}

fn at_least_one(key: &'static str, n: u64) -> anyhow::Result<()> {
    value(key, n).must_be("at least 1", n >= 1)
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
        self.check_losses()?;
        self.check_texts()?;
        self.check_training()?;
        self.check_image_encoder()?;
        self.check_labels()?;
        self.check_optimisation()?;
        self.check_data()
    }

    /// Checks every weight and factor of a loss, whichever method reads it.
    fn check_losses(&self) -> anyhow::Result<()> {
        let l = &self.loss;
        for (key, v) in l.weights() {
            non_negative(key, v)?;
        }
        for (key, v) in l.widths() {
            positive(key, v)?;
        }
        for (key, v) in l.margins() {
            let fits = v.abs() <= std::f64::consts::PI;
            value(key, v).must_be("an angle in radians, at most pi", fits)?;
        }
        Ok(())
    }

    /// Checks the losses and the data of nouns and chains.
    fn check_texts(&self) -> anyhow::Result<()> {
        let (d, l) = (&self.dataset, &self.loss);
        value("loss.generality", l.generality).must_be(
            "0, or above 0 with loss.nouns above 0",
            l.generality == 0.0 || l.generality > 0.0 && l.nouns > 0.0,
        )?;
        value(
            "dataset.nouns and dataset.nouns_per_step",
            format!("{:?} and {}", d.nouns, d.nouns_per_step),
        )
        .must_be(
            "a table of nouns and a number above 0 when loss.nouns is above 0",
            l.nouns == 0.0 || l.nouns > 0.0 && d.nouns.is_some() && d.nouns_per_step > 0,
        )?;
        value("dataset.order_pairs", d.order_pairs).must_be(
            "between 1 and 1048576",
            (1..=MAX_BATCH).contains(&d.order_pairs),
        )?;
        value("dataset.chains", format!("{:?}", d.chains)).must_be(
            "empty when loss.order is 0, the only term that reads it",
            d.chains.is_empty() || l.order > 0.0,
        )
    }

    /// Checks the trained parts, the steps and their batches.
    fn check_training(&self) -> anyhow::Result<()> {
        let (t, d) = (&self.train, &self.dataset);
        let trainable = t.method.trainable();
        let trains_image_part = trainable.image && !(t.lock_image && t.lock_projection);
        value(
            "train.lock_image, train.lock_projection and train.lock_text",
            format!(
                "{}, {} and {}",
                t.lock_image, t.lock_projection, t.lock_text
            ),
        )
        .must_be(
            "set so that at least one part that the method trains is not locked",
            trains_image_part || trainable.text && !t.lock_text,
        )?;
        value("train.lock_text_layers", t.lock_text_layers).must_be(
            "false where the text encoder is not trained at all",
            !t.lock_text_layers || trainable.text && !t.lock_text,
        )?;
        value(
            "loss.text_teacher and model.text_teacher",
            format!(
                "{} and {:?}",
                self.loss.text_teacher, self.model.text_teacher
            ),
        )
        .must_be(
            "given together, and only where the text encoder is trained",
            (self.loss.text_teacher > 0.0) == self.model.text_teacher.is_some()
                && (self.loss.text_teacher == 0.0 || trainable.text && !t.lock_text),
        )?;
        value("train.batch_size", t.batch_size).must_be(
            "between 2 and 1048576",
            (2..=MAX_BATCH).contains(&t.batch_size),
        )?;
        value("train.accum_freq", t.accum_freq).must_be(
            "between 1 and 1048576",
            (1..=MAX_BATCH).contains(&t.accum_freq),
        )?;
        value(
            "dataset.weights",
            format!("{:?} for {} paths", d.weights, d.data.len()),
        )
        .must_be(
            "one number above 0 for each of dataset.data, or none",
            d.weights.is_empty()
                || d.weights.len() == d.data.len()
                    && d.weights.iter().all(|w| w.is_finite() && *w > 0.0),
        )?;
        value(
            "train.steps and train.epochs",
            format!("{} and {}", t.steps, t.epochs),
        )
        .must_be("one of them above 0", (t.steps > 0) != (t.epochs > 0))?;
        value("train.num_samples (--train-num-samples)", t.num_samples).must_be(
            "0 with train.steps, which give the length of the run; use --epochs with it",
            t.num_samples == 0 || t.epochs > 0,
        )?;
        value(
            "train.num_samples (--train-num-samples)",
            format!(
                "{}, and {} in a step",
                t.num_samples,
                self.samples_of_step()
            ),
        )
        .must_be(
            "0, or at least the samples of one step (train.batch_size times train.accum_freq)",
            t.num_samples == 0 || t.num_samples >= self.samples_of_step() as u64,
        )
    }

    /// Checks the settings that need a certain image encoder.
    fn check_image_encoder(&self) -> anyhow::Result<()> {
        let t = &self.train;
        let vision = self.model.architecture().vision;
        let convolutions_only = vision.n_layers == 0;
        // Inverted residuals accept images of any size.
        let divisible_by_two = vision.inverted.is_some()
            || (vision.image_size / vision.patch.max(1)).is_multiple_of(2);
        value("train.patch_keep", t.patch_keep)
            .must_be("in (0, 1]", t.patch_keep > 0.0 && t.patch_keep <= 1.0)?;
        value("train.patch_keep", t.patch_keep).must_be(
            "1 for an image encoder with convolutions, which needs all patches",
            (vision.stem.is_none() && vision.inverted.is_none()) || t.patch_keep == 1.0,
        )?;
        value("train.half_size", t.half_size).must_be(
            "in [0, 1], and 0 unless the image encoder consists of convolutions only",
            (0.0..=1.0).contains(&t.half_size)
                && (t.half_size == 0.0 || convolutions_only && divisible_by_two),
        )
    }

    /// Checks the losses of labels, of distillation, and of cached and synthetic features.
    fn check_labels(&self) -> anyhow::Result<()> {
        let (d, l) = (&self.dataset, &self.loss);
        non_negative("loss.labels", l.labels)?;
        below_one("loss.label_smoothing", l.label_smoothing)?;
        value("loss.outliers", l.outliers).must_be(
            "0 or more, and 0 if loss.labels is 0",
            l.outliers.is_finite() && l.outliers >= 0.0 && (l.outliers == 0.0 || l.labels > 0.0),
        )?;
        non_negative("loss.distill", l.distill)?;
        value("loss.distill", l.distill).must_be(
            "0 unless image features are cached, which needs train.lock_image and \
             train.keep_features true, train.patch_keep 1, train.half_size 0, and a method with \
             images and texts",
            l.distill == 0.0 || self.caches_features(),
        )?;
        positive("loss.distill_temperature", l.distill_temperature)?;
        value("dataset.synthetic_features", d.synthetic_features).must_be(
            "0 unless loss.distill is above 0",
            d.synthetic_features == 0 || l.distill > 0.0,
        )?;
        fraction("dataset.synthetic_shrinkage", d.synthetic_shrinkage)?;
        non_negative("dataset.synthetic_spread", d.synthetic_spread)?;
        non_negative("dataset.synthetic_noise", d.synthetic_noise)?;
        value("dataset.feature_views", d.feature_views)
            .must_be("in 1 to 64", (1..=64).contains(&d.feature_views))
    }

    /// Checks the log and the optimiser.
    fn check_optimisation(&self) -> anyhow::Result<()> {
        let (t, o) = (&self.train, &self.optim);
        at_least_one("train.rank_timeout", t.rank_timeout)?;
        value(
            "train.report_to (--report-to)",
            format!("{:?}", t.report_to),
        )
        .must_be(
            "each of jsonl and tensorboard at most once",
            (1..t.report_to.len()).all(|at| !t.report_to[..at].contains(&t.report_to[at])),
        )?;
        value("train.log_frequency", t.log_frequency).must_be(
            "above 0, like train.keep",
            t.log_frequency > 0 && t.keep > 0,
        )?;
        positive("optim.lr", o.lr)?;
        non_negative("optim.wd", o.wd)?;
        below_one("optim.beta1", o.beta1)?;
        below_one("optim.beta2", o.beta2)?;
        positive("optim.eps", o.eps)?;
        non_negative("optim.grad_clip_norm", o.grad_clip_norm)?;
        below_one("optim.ema (--ema)", o.ema)
    }

    /// Checks the data and its augmentation.
    fn check_data(&self) -> anyhow::Result<()> {
        let d = &self.dataset;
        fraction("dataset.corrupt_prob", d.corrupt_prob)?;
        at_least_one("dataset.data_cache_gib", d.data_cache_gib)?;
        value("dataset.lanes", d.lanes).must_be(
            "at least 1 and at most the samples of a step",
            d.lanes >= 1 && d.lanes <= self.samples_of_step(),
        )?;
        fraction("dataset.max_broken", d.max_broken)?;
        value(
            "dataset.min_box_px",
            format!("{:?}", d.min_box_px.unwrap_or_default()),
        )
        .must_be(
            "a finite number of pixels, 0 or more",
            d.min_box_px.is_none_or(|px| px.is_finite() && px >= 0.0),
        )?;
        fraction("dataset.hypernym_prob", d.hypernym_prob)?;
        value("dataset.crop_scale", format!("{:?}", d.crop_scale)).must_be(
            "two fractions in (0, 1], the smaller one first",
            0.0 < d.crop_scale[0] && d.crop_scale[0] <= d.crop_scale[1] && d.crop_scale[1] <= 1.0,
        )
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
        assert!(error.contains("--train-num-samples"), "{error}");
        assert!(error.contains("use --epochs"), "{error}");
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
            let error = TrainConfig::of_pairs(&[pair]).unwrap_err().to_string();
            let (key, value) = pair.split_once('=').unwrap();
            assert!(error.contains(key), "{pair}: {error}");
            let (error, value) = (error.to_lowercase(), value.trim_end_matches(".0"));
            assert!(error.contains(value), "{pair}: {error}");
        }
    }
}

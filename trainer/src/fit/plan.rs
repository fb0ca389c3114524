//! A requested run and the values derived from its configuration.

use std::path::PathBuf;
use std::rc::Rc;

use burn::module::Module;
use burn::optim::ModuleOptimizer;
use burn::tensor::Device;
use espalier_core::input::{RandomCrop, TokenBatch, Tokenizer};
use espalier_core::model::{DualConfig, DualEncoder, TextEncoder};
use espalier_data::BatchSpec;
use espalier_data::features::TextStore;
use espalier_data::records::boxes::default_min_box_px;
use espalier_eval::encoder_identity;
use espalier_io::ranks::Collective;

use super::method::Method;
use super::micro_batch::MicroBatching;
use super::source::Source;
use super::step::{Learner, StepReport};
use super::text_features::{FrozenTexts, TextFeatures, TextTeacher};
use crate::config::{DatasetKind, TrainConfig, Trainable};

/// Number of threads of a deterministic run, over all its processes. It is fixed, so that the result
/// does not depend on the number of cores; one process gives the same bits as two.
const DETERMINISTIC_THREADS: usize = 2;

/// A run that is ready to start.
pub struct Run {
    /// Its configuration, all keys resolved.
    pub config: TrainConfig,
    /// Training data.
    pub source: Source,
    /// Validation data, measured at every checkpoint.
    pub validation: Option<Source>,
    /// `logs/<name>`.
    pub folder: PathBuf,
    /// Device, without autodiff.
    pub device: Device,
    /// Best number of threads for the encoders, used where the configuration gives none.
    pub encoder_threads: usize,
    /// Cores of this process, used for reading data where the configuration gives no number.
    pub cores: usize,
    /// The processes that train together.
    pub ranks: Rc<dyn Collective>,
    /// Checkpoint to continue from.
    pub resume: Option<PathBuf>,
    /// Whether only the progress is printed, and messages and values are left to the log.
    pub is_brief: bool,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct FitOutcome {
    /// Last checkpoint.
    pub checkpoint: PathBuf,
    /// Number of completed steps.
    pub step: u64,
    /// Whether it was interrupted before its last step.
    pub interrupted: bool,
    /// Report of the last step.
    pub last: Option<StepReport>,
}

impl Run {
    /// Returns the architecture: the preset with the embedding space of the method.
    pub(super) fn architecture(&self) -> DualConfig {
        let preset = self.config.model.architecture();
        let lift = self.method().lift(preset.d_embed);
        preset.with_lift(lift)
    }

    pub(super) fn method(&self) -> Box<dyn Method> {
        self.config.train.method.build(&self.config.loss)
    }

    /// Returns the trained parts: what the method trains, except locked encoders.
    pub(super) fn trainable(&self) -> Trainable {
        let (t, method) = (&self.config.train, self.config.train.method.trainable());
        Trainable {
            image: method.image && !t.lock_image,
            projection: method.projection && !t.lock_projection,
            text: method.text && !t.lock_text,
            text_layers: method.text && !t.lock_text && !t.lock_text_layers,
            ..method
        }
    }

    /// Returns how batches are made.
    pub(super) fn spec(&self, architecture: &DualConfig) -> BatchSpec {
        let (d, t) = (&self.config.dataset, &self.config.train);
        let size = architecture.vision.image_size as u32;
        BatchSpec {
            needs: self.config.train.method.needs(&self.config.loss),
            lineages: self.source.lineages.clone(),
            caption_chains: self.source.caption_chains.clone(),
            cross_image: d.cross_image,
            augment: Some(RandomCrop {
                scale: (d.crop_scale[0], d.crop_scale[1]),
                ..RandomCrop::default()
            }),
            mirror: d.hflip,
            corruption: d.corrupt_prob,
            white_pad: d.white_pad,
            min_box_px: d.min_box_px.unwrap_or_else(|| default_min_box_px(size)),
            phrases_as_boxes: d.kind == DatasetKind::Captions,
            seed: t.seed,
            workers: match d.workers {
                0 => self.cores,
                n => n,
            },
            lanes: d.lanes,
            share: (self.ranks.rank(), self.ranks.world()),
            max_broken: d.max_broken,
            ..BatchSpec::new(
                self.config.samples_of_step(),
                size,
                architecture.text.context,
            )
        }
    }

    pub(super) fn total_steps(&self, records: u64) -> u64 {
        let t = &self.config.train;
        if t.steps > 0 {
            return t.steps;
        }
        let samples = self.samples_of_epoch(records);
        let steps_of_epoch = (samples / self.config.samples_of_step() as u64).max(1);
        steps_of_epoch.saturating_mul(t.epochs)
    }

    /// Returns the number of samples that make one epoch: as configured, otherwise the records of a pass
    /// over the data.
    pub(super) fn samples_of_epoch(&self, records: u64) -> u64 {
        match self.config.train.num_samples {
            0 => records,
            n => n,
        }
    }

    /// Returns the tokens of the root's text.
    pub(super) fn root_tokens(
        &self,
        tokenizer: &Tokenizer,
        architecture: &DualConfig,
    ) -> TokenBatch {
        let method = self.method();
        let text = method.root_text().unwrap_or_default();
        tokenizer.encode_batch(&[text], architecture.text.context)
    }

    /// Returns the steps between checkpoints: as configured, otherwise a tenth of the run, clamped
    /// to 20..=500.
    pub(super) fn save_interval(&self, total: u64) -> u64 {
        match self.config.train.save_frequency {
            0 => (total / 10).clamp(20, 500),
            n => n,
        }
    }

    /// Steps until the entailment term has its full weight: as configured, at most half of the run.
    pub(super) fn entail_ramp(&self, total: u64) -> u64 {
        self.config.train.entail_ramp.min(total / 2)
    }

    /// Returns how a batch is split for the encoders.
    pub(super) fn micro_batching(&self) -> MicroBatching {
        let t = &self.config.train;
        MicroBatching {
            threads: match t.encoder_threads {
                _ if t.deterministic => (DETERMINISTIC_THREADS / self.ranks.world()).max(1),
                0 => self.encoder_threads.max(1),
                n => n,
            },
            passes: t.accum_freq,
            precision: t.precision,
            checkpointing: t.grad_checkpointing,
        }
    }

    /// Returns the file that keeps the features of texts. A run of several processes has none: the cache of one machine
    /// may differ from that of another, and all processes must compute with the same features.
    fn text_store(&self, model: &DualEncoder) -> anyhow::Result<Option<TextStore>> {
        if !self.config.train.keep_features || self.ranks.world() > 1 {
            return Ok(None);
        }
        let identity = encoder_identity::of_text_layers(&model.text.valid(), &self.architecture())?;
        Ok(Some(TextStore::new(&self.feature_folder(), &identity)))
    }

    /// Returns what the run takes from text encoders that it does not train.
    fn frozen_texts(
        &self,
        model: &DualEncoder,
        tokenizer: &Tokenizer,
    ) -> anyhow::Result<FrozenTexts> {
        let trainable = self.trainable();
        let on = (&self.device, self.micro_batching().threads);
        let is_locked = trainable.text && !trainable.text_layers;
        let layers = match is_locked {
            true => {
                let store = self.text_store(model)?;
                Some(TextFeatures::new(&model.text, false, on, store))
            }
            false => None,
        };
        let student = (tokenizer, self.architecture().d_embed);
        let teacher = self.config.model.text_teacher.as_ref();
        let teacher = teacher
            .map(|path| TextTeacher::read(path, student, self.config.loss.text_teacher, on))
            .transpose()?;
        Ok(FrozenTexts { layers, teacher })
    }

    /// Creates the learner that performs the training steps.
    pub(super) fn learner(
        &self,
        (model, frozen): (DualEncoder, Option<TextEncoder>),
        optimizer: ModuleOptimizer,
        tokenizer: &Tokenizer,
        total: u64,
    ) -> anyhow::Result<Learner> {
        Ok(Learner {
            texts: self.frozen_texts(&model, tokenizer)?,
            root: self.root_tokens(tokenizer, &self.architecture()),
            patches: self.architecture().vision.patches(),
            model,
            optimizer,
            method: self.method(),
            loss_config: self.config.loss.clone(),
            frozen,
            device: self.device.clone().autodiff(),
            grad_clip_norm: self.config.optim.grad_clip_norm,
            patch_keep: self.config.train.patch_keep,
            half_steps: (self.config.train.half_size * total as f64) as u64,
            trainable: self.trainable(),
            micro_batching: self.micro_batching(),
            contrast_rows: self.config.train.contrast_rows,
            entail_ramp: self.entail_ramp(total),
            seed: self.config.train.seed,
            ranks: Rc::clone(&self.ranks),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::time::Duration;

    use espalier_checkpoints::model_file::MERGES;
    use espalier_core::model::{TextConfig, VitConfig};
    use espalier_data::Needs;
    use espalier_io::ranks::Single;

    use super::*;
    use crate::fit::optimise::optimizer;

    /// The second of two processes, which it does not need for making a plan.
    struct SecondOfTwo;

    impl Collective for SecondOfTwo {
        fn rank(&self) -> usize {
            1
        }

        fn world(&self) -> usize {
            2
        }

        fn set_time_limit(&self, _limit: Duration) {}

        fn all_gather(&self, _own: &[f32], _counts: &[usize]) -> Vec<f32> {
            panic!("a plan needs no values of other processes")
        }

        fn all_gather_bytes(&self, _own: &[u8]) -> Vec<Vec<u8>> {
            panic!("a plan needs no bytes of other processes")
        }

        fn all_reduce_sum(&self, _values: &mut [f32]) {
            panic!("a plan needs no sums")
        }

        fn barrier(&self) {}

        fn abort(&self, code: u8) -> ! {
            panic!("ended with {code}")
        }
    }

    /// Returns a run on synthetic data with these settings.
    fn run(settings: &[&str]) -> Run {
        let settings = [settings, &["dataset.kind=\"synthetic\""]].concat();
        let config = TrainConfig::of_pairs(&settings).unwrap();
        Run {
            source: Source::open(&config).unwrap(),
            config,
            validation: None,
            folder: PathBuf::new(),
            device: Device::flex(),
            encoder_threads: 3,
            cores: 5,
            ranks: Rc::new(Single),
            resume: None,
            is_brief: false,
        }
    }

    #[test]
    fn steps_are_given_or_follow_from_epochs() {
        let given = run(&["train.steps=7", "train.batch_size=4"]);
        assert_eq!(given.total_steps(41), 7);
        let three_epochs = ["train.steps=0", "train.batch_size=4", "train.epochs=3"];
        let epochs = run(&three_epochs);
        // Ten whole batches of an epoch, but at least one.
        assert_eq!((epochs.total_steps(41), epochs.total_steps(3)), (30, 3));
        assert_eq!(epochs.samples_of_epoch(41), 41);
        let part = run(&[&three_epochs[..], &["train.num_samples=20"]].concat());
        assert_eq!((part.samples_of_epoch(41), part.total_steps(41)), (20, 15));
    }

    #[test]
    fn a_run_is_saved_ten_times_but_not_too_often() {
        let own = run(&["train.save_frequency=0"]);
        let intervals = [50, 1_000, 100_000].map(|total| own.save_interval(total));
        assert_eq!(intervals, [20, 100, 500]);
        assert_eq!(run(&["train.save_frequency=7"]).save_interval(1_000), 7);
    }

    #[test]
    fn the_entailment_ramp_takes_at_most_half_of_a_run() {
        let run = run(&["train.entail_ramp=100"]);
        assert_eq!((run.entail_ramp(50), run.entail_ramp(1_000)), (25, 100));
    }

    #[test]
    fn encoders_use_the_threads_that_are_asked_for() {
        let threads = |settings: &[&str]| run(settings).micro_batching().threads;
        assert_eq!(threads(&["train.encoder_threads=0"]), 3);
        assert_eq!(threads(&["train.encoder_threads=4"]), 4);
        let mut fixed = run(&["train.encoder_threads=4", "train.deterministic=true"]);
        assert_eq!(fixed.micro_batching().threads, DETERMINISTIC_THREADS);
        // The processes of a deterministic run share its threads.
        fixed.ranks = Rc::new(SecondOfTwo);
        assert_eq!(fixed.micro_batching().threads, 1);
    }

    #[test]
    fn a_locked_part_is_not_trained() {
        let trained = |settings: &[&str]| {
            let trained = run(settings).trainable();
            [trained.image, trained.projection, trained.text]
        };
        assert_eq!(trained(&[]), [true; 3]);
        assert_eq!(trained(&["train.lock_image=true"]), [false, true, true]);
        let locked = "train.lock_projection=true";
        assert_eq!(trained(&[locked]), [true, false, true]);
        assert_eq!(trained(&["train.lock_text=true"]), [true, true, false]);
    }

    #[test]
    fn the_settings_of_the_data_reach_its_batches() {
        let mut run = run(&[
            "train.method=\"clip\"",
            "train.seed=11",
            "train.batch_size=4",
            "dataset.cross_image=3",
            "dataset.crop_scale=[0.25, 0.75]",
            "dataset.hflip=true",
            "dataset.corrupt_prob=0.125",
            "dataset.white_pad=false",
            "dataset.min_box_px=9.5",
            "dataset.lanes=2",
            "dataset.max_broken=0.5",
        ]);
        run.ranks = Rc::new(SecondOfTwo);
        let architecture = run.architecture();
        let spec = run.spec(&architecture);
        assert_eq!((spec.needs, spec.seed), (Needs::Captions, 11));
        assert_eq!((spec.batch_size, spec.cross_image), (4, 3));
        assert!(spec.mirror && !spec.white_pad);
        assert_eq!(spec.augment.map(|crop| crop.scale), Some((0.25, 0.75)));
        assert_eq!((spec.corruption, spec.min_box_px), (0.125, 9.5));
        assert_eq!((spec.lanes, spec.share, spec.max_broken), (2, (1, 2), 0.5));
        assert_eq!(spec.image_size as usize, architecture.vision.image_size);
        assert_eq!(spec.context, architecture.text.context);
    }

    #[test]
    fn labels_get_their_chains_where_the_method_needs_them() {
        let has_lineages = |settings: &[&str]| {
            let run = run(settings);
            run.spec(&run.architecture()).lineages.is_some()
        };
        assert!(has_lineages(&["train.method=\"rcme\""]));
        assert!(!has_lineages(&["train.method=\"clip\""]));
    }

    #[test]
    fn a_learner_gets_the_settings_of_its_run() {
        let learner = |settings: &[&str]| {
            let run = run(settings);
            let text = TextConfig::new(16, 4, 8, 1, 1);
            let small = DualConfig::new(VitConfig::new(16, 8, 8, 1, 1), text, 8);
            let model = small.init(&run.device);
            let tokenizer = run.architecture().text.tokenizer(MERGES).unwrap();
            let optimizer = optimizer(&run.config.optim).unwrap();
            let learner = run.learner((model, None), optimizer, &tokenizer, 100);
            let learner = learner.unwrap();
            assert_eq!(learner.patches, run.architecture().vision.patches());
            learner
        };
        let some_patches = learner(&[
            "train.patch_keep=0.5",
            "train.contrast_rows=6",
            "train.entail_ramp=10",
            "train.seed=11",
            "optim.grad_clip_norm=2.5",
        ]);
        assert_eq!((some_patches.patch_keep, some_patches.half_steps), (0.5, 0));
        assert_eq!((some_patches.entail_ramp, some_patches.seed), (10, 11));
        assert_eq!(some_patches.contrast_rows, NonZeroUsize::new(6).unwrap());
        assert_eq!(some_patches.grad_clip_norm, 2.5);
        let half_images = learner(&[
            "model.preset=\"efficientnet_lite0\"",
            "train.half_size=0.25",
        ]);
        assert_eq!((half_images.half_steps, half_images.patch_keep), (25, 1.0));
    }

    #[test]
    fn data_is_read_by_all_cores_unless_a_number_is_given() {
        let workers = |settings: &[&str]| {
            let run = run(settings);
            run.spec(&run.architecture()).workers
        };
        assert_eq!(workers(&["dataset.workers=0"]), 5);
        assert_eq!(workers(&["dataset.workers=2"]), 2);
    }

    #[test]
    fn the_root_is_the_text_of_the_method() {
        // A method without a root gets the empty text.
        for (method, text) in [("rcme", "Eukarya"), ("clip", "")] {
            let run = run(&[&format!("train.method=\"{method}\"")]);
            let architecture = run.architecture();
            let tokenizer = architecture.text.tokenizer(MERGES).unwrap();
            let expected = tokenizer.encode_batch(&[text], architecture.text.context);
            assert_eq!(run.root_tokens(&tokenizer, &architecture), expected);
        }
    }
}

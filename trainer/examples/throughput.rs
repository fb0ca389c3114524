//! Pictures per second of training and of inference on this machine's CPU, as one JSON line.
//!
//! A training step is the one of `trainer fit` ([`Learner::step`]) on a batch that is held in memory;
//! inference is that of the image encoder. `benches/peers/torch_peer.py` does the same work in PyTorch and
//! prints the same keys; `cargo xtask bench` runs both in turn. With `--sections` the parts of a
//! step are timed one by one.
//!
//! ```text
//! cargo run --release -p espalier-trainer --example throughput -- --train-steps 10
//! ```

use std::time::Instant;

use anyhow::{Context, ensure};
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use clap::Parser;
use espalier_core::input::TokenBatch;
use espalier_core::loss::{self, HycoclipPoints, HycoclipWeights};
use espalier_core::model::{DualConfig, DualEncoder, Lift, LiftKind, Preset};
use espalier_trainer::config::Trainable;
use espalier_trainer::config::{MethodName, Precision, TrainConfig};
use espalier_trainer::data::records::random::{Purpose, Random};
use espalier_trainer::data::{Batch, BrokenCounts, ImageBatch, Pictures, Position};
use espalier_trainer::fit::inputs::{ImageTensor, ImageView, StepInputs};
use espalier_trainer::fit::optimise::{clip_norm, optimizer, with_stable_ids};
use espalier_trainer::fit::step::Learner;
use espalier_trainer::fit::step_encoders::MicroBatching;
use espalier_trainer::tensors::picture_tensor;
use serde_json::{Value, json};

/// Tokens of a caption and of a phrase, start and end included: what they have on average.
const TOKENS: [usize; 2] = [16, 6];

/// Learning rate; any that moves the weights does.
const RATE: f64 = 5e-4;

/// Measure the throughput of training and inference.
#[derive(Parser)]
struct Args {
    /// Architecture.
    #[arg(long, default_value = "vit_t8_64")]
    model: Preset,
    /// Samples of a step, each a picture and a box; pictures of a batch in inference.
    #[arg(long, default_value_t = 64)]
    batch: usize,
    /// Timed training steps.
    #[arg(long, default_value_t = 10)]
    train_steps: usize,
    /// Timed batches of inference.
    #[arg(long, default_value_t = 20)]
    infer_batches: usize,
    /// Repeats before the clock starts, of each kind.
    #[arg(long, default_value_t = 3)]
    warm_up: usize,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Pieces that a batch is cut into, each with a thread of its own; as many as threads where not
    /// given.
    #[arg(long)]
    pieces: Option<usize>,
    /// Let the allocator give freed blocks back to the system, as it does by default.
    #[arg(long)]
    give_back: bool,
    /// Time the parts of a training step instead.
    #[arg(long)]
    sections: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if !args.give_back {
        espalier_trainer::memory::keep_freed_blocks();
    }
    ensure!(
        args.train_steps > 0 && args.infer_batches > 0,
        "at least one timed repeat of each"
    );
    rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads)
        .build_global()?;
    let architecture = args.model.config().with_lift(LiftKind::Lorentz);
    let batch = random_batch(&architecture, args.batch);
    let pieces = args.pieces.unwrap_or(args.threads);
    let learner = new_learner(&architecture, pieces)?;
    let mut out = json!({
        "engine": "Espalier",
        "version": env!("CARGO_PKG_VERSION"),
        "threads": args.threads,
        "batch": args.batch,
        "parameters": learned(&learner.model),
    });
    if args.sections {
        out["sections"] = sections(learner, &batch, &args);
    } else {
        let (trained, figures) = train(learner, &batch, &args)?;
        out["train"] = figures;
        let pictures = batch
            .images
            .pictures()
            .context("the batch is one of pictures")?;
        out["infer"] = infer(&trained.model.valid(), pictures, &args)?;
    }
    println!("{out}");
    Ok(())
}

/// Random pictures, boxes and texts of the shapes that a real batch has.
fn random_batch(architecture: &DualConfig, samples: usize) -> Batch {
    let (size, vocabulary) = (
        architecture.vision.image_size,
        architecture.text.vocab_size as u32,
    );
    let mut random = Random::new(0, Purpose::Synthetic, 0, 0);
    let mut pictures = || {
        ImageBatch::Pictures(Pictures {
            count: samples,
            size,
            bytes: (0..samples * 3 * size * size)
                .map(|_| random.below(256) as u8)
                .collect(),
        })
    };
    let (images, boxes) = (pictures(), pictures());
    let mut texts = |len: usize| {
        let inner = |random: &mut Random| random.below(vocabulary - 2);
        let row = |random: &mut Random| {
            let mut ids = vec![vocabulary - 2];
            ids.extend((2..len).map(|_| inner(random)));
            ids.push(vocabulary - 1);
            ids
        };
        let ids = (0..samples).flat_map(|_| row(&mut random)).collect();
        TokenBatch {
            ids,
            rows: samples,
            len,
        }
    };
    Batch {
        images,
        box_images: Some(boxes),
        captions: texts(TOKENS[0]),
        phrases: Some(texts(TOKENS[1])),
        chains: None,
        scenes: None,
        labels: None,
        order: None,
        nouns: None,
        anchors: None,
        keys: (0..samples).map(|i| i.to_string()).collect(),
        synsets: vec![None; samples],
        position_after: Position::default(),
        skipped: BrokenCounts::default(),
    }
}

/// A learner as `trainer fit` creates it, with its default optimiser.
fn new_learner(architecture: &DualConfig, pieces: usize) -> anyhow::Result<Learner> {
    let defaults = TrainConfig::resolve(None, toml::Table::new(), &[])?;
    let device = Device::flex().autodiff();
    device.seed(0);
    Ok(Learner {
        model: with_stable_ids(architecture.init(&device)),
        optimizer: optimizer(&defaults.optim)?,
        method: MethodName::Hycoclip.build(&defaults.loss),
        frozen: None,
        root: TokenBatch::default(),
        device,
        grad_clip_norm: defaults.optim.grad_clip_norm,
        entail_ramp: 0,
        patch_keep: 1.0,
        patches: architecture.vision.patches(),
        half_steps: 0,
        trainable: Trainable::ALL,
        micro_batching: MicroBatching {
            threads: pieces,
            passes: 1,
            precision: Precision::Fp32,
            checkpointing: false,
        },
        seed: 0,
    })
}

/// Number of parameters that are learned.
fn learned(model: &DualEncoder) -> usize {
    struct Count(usize);
    impl ModuleVisitor for Count {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if param.val().is_require_grad() {
                self.0 += param.shape().num_elements();
            }
        }
    }
    let mut count = Count(0);
    model.visit(&mut count);
    count.0
}

fn train(mut learner: Learner, batch: &Batch, args: &Args) -> anyhow::Result<(Learner, Value)> {
    let (mut losses, mut step) = (Vec::new(), 0);
    let mut clock = Clock::default();
    for repeat in 0..args.warm_up + args.train_steps {
        clock.begin(repeat == args.warm_up);
        let (next, report) = learner.step(batch, step, RATE);
        clock.end();
        ensure!(
            report.not_finite().is_empty(),
            "not finite: {:?}",
            report.not_finite()
        );
        losses.push(report.get("loss").context("a step reports its loss")?);
        (learner, step) = (next, step + 1);
    }
    let mut figures = clock.figures(args.train_steps, 2 * args.batch);
    figures["loss"] = json!([losses.first(), losses.last()]);
    Ok((learner, figures))
}

fn infer(model: &DualEncoder, pictures: &Pictures, args: &Args) -> anyhow::Result<Value> {
    let images = picture_tensor(pictures, &Device::flex());
    let mut clock = Clock::default();
    for repeat in 0..args.warm_up + args.infer_batches {
        clock.begin(repeat == args.warm_up);
        let sum = model.embed_image(images.clone()).sum().into_scalar::<f32>();
        clock.end();
        ensure!(sum.is_finite(), "not finite: {sum}");
    }
    Ok(clock.figures(args.infer_batches, args.batch))
}

/// Median milliseconds of the parts of a step, in their order, as [`Learner::step`] and the HyCoCLIP
/// method put them together. This backend computes at once, so each part waits for its own work.
fn sections(mut learner: Learner, batch: &Batch, args: &Args) -> Value {
    let mut found: Vec<(&str, Vec<f64>)> = Vec::new();
    let mut since = Instant::now();
    for repeat in 0..args.warm_up + args.train_steps {
        let mut part = |name: &'static str| {
            let seconds = since.elapsed().as_secs_f64();
            if repeat >= args.warm_up {
                match found.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, all)) => all.push(seconds),
                    None => found.push((name, vec![seconds])),
                }
            }
            since = Instant::now();
        };
        learner.model = learner.model.clamped();
        part("clamp the scalars");
        let inputs = StepInputs::new(batch, ImageView::default(), &learner.root, &learner.device);
        part("batch to tensors");
        let model = &learner.model;
        let both = match (inputs.images.clone(), inputs.box_images.clone()) {
            (ImageTensor::Pictures(images), Some(ImageTensor::Pictures(boxes))) => {
                Tensor::cat(vec![images, boxes], 0)
            }
            _ => unreachable!("the batch is one of pictures with boxes"),
        };
        let points = model.embed_image(both);
        part("image encoder, forward");
        let text = model.embed_text(&inputs.captions);
        let box_text = inputs
            .phrases
            .as_ref()
            .map_or_else(|| text.clone(), |p| model.embed_text(p));
        part("text encoder, forward");
        let (image, box_image) = (
            points.clone().narrow(0, 0, args.batch),
            points.narrow(0, args.batch, args.batch),
        );
        let points = HycoclipPoints {
            image,
            text,
            box_image,
            box_text,
        };
        let Lift::Lorentz(lift) = &model.lift else {
            unreachable!("built with it above")
        };
        let c = lift.curv.row();
        let loss = loss::hycoclip(
            &points,
            c,
            model.logit_scale.value(),
            HycoclipWeights::default(),
        );
        let _ = loss.total.clone().inner().into_scalar::<f32>();
        part("loss, forward");
        let grads = loss.total.backward();
        part("backward");
        let grads = GradientsParams::from_grads(grads, model);
        let (grads, _) = clip_norm(model, grads, learner.grad_clip_norm);
        part("gradient norm and clipping");
        learner.model = learner.optimizer.step(RATE, learner.model, grads);
        part("AdamW");
    }
    let parts = found
        .into_iter()
        .map(|(name, seconds)| json!({ "part": name, "milliseconds": 1e3 * median(&seconds) }));
    Value::Array(parts.collect())
}

/// Wall-clock seconds of each repeat and processor seconds of all timed ones.
#[derive(Default)]
struct Clock {
    since: Option<Instant>,
    cpu_at_start: Option<f64>,
    seconds: Vec<f64>,
}

impl Clock {
    /// A repeat begins; what came before the `first` timed one is forgotten.
    fn begin(&mut self, first: bool) {
        if first {
            *self = Self {
                cpu_at_start: cpu_seconds(),
                ..Self::default()
            };
        }
        self.since = Some(Instant::now());
    }

    fn end(&mut self) {
        self.seconds
            .extend(self.since.take().map(|since| since.elapsed().as_secs_f64()));
    }

    /// The keys that `torch_peer.py` prints too; `count` pictures a repeat.
    fn figures(&self, repeats: usize, count: usize) -> Value {
        let seconds = median(&self.seconds);
        let best = self.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let cpu = cpu_seconds()
            .zip(self.cpu_at_start)
            .map(|(now, then)| now - then);
        json!({
            "repeats": repeats,
            "pictures": count,
            "images_per_s": count as f64 / seconds,
            "best_images_per_s": count as f64 / best,
            "seconds": seconds,
            "cpu_seconds": cpu.map(|cpu| cpu / repeats as f64),
        })
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(low), sorted.get(high)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}

/// Processor seconds of this process so far, where the system tells them in `/proc`.
fn cpu_seconds() -> Option<f64> {
    /// Linux counts in hundredths, whatever the kernel's own tick is.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in brackets and may hold blanks.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system) = (
        fields.next()?.parse::<f64>().ok()?,
        fields.next()?.parse::<f64>().ok()?,
    );
    Some((user + system) / TICKS)
}

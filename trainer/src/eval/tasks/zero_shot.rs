//! Classification through texts (METHODS 6.1).

use espalier_core::input::ResizeMode;

use super::labelled::{self, NEEDS};
use crate::eval::task::{Context, Outcome, Place, Task, settings};
use crate::eval::zero_shot;

/// Which class a picture shows, by the texts of all classes.
pub struct ZeroShot;

macro_rules! places {
    ($($name:literal),* $(,)?) => {
        &[$(Place {
            dataset: $name,
            path: $name,
            get: concat!(
                "one folder a class below ", $name, "/, named as the class (or with a file of names \
                 for --class-names), the test split; CIFAR's binary version lies in it as it is",
            ),
        }),*]
    };
}

impl Task for ZeroShot {
    fn name(&self) -> &'static str {
        "zero-shot"
    }

    fn about(&self) -> &'static str {
        "classification through texts: acc1, acc5 (micro) and mean_per_class_recall (macro)"
    }

    fn needs(&self) -> &'static str {
        NEEDS
    }

    fn places(&self) -> &'static [Place] {
        places!(
            "imagenet",
            "food101",
            "cifar10",
            "cifar100",
            "cub2011",
            "sun397",
            "cars",
            "aircraft",
            "dtd",
            "pets",
            "caltech101",
            "flowers102",
            "stl10",
            "eurosat",
            "resisc45",
            "country211",
            "mnist",
            "clevr",
            "pcam",
            "sst2",
        )
    }

    fn run(&self, cx: &Context<'_>) -> anyhow::Result<Outcome> {
        let (found, taxonomy) = labelled::answers(cx)?;
        let classes = found.classes.labels.len();
        Ok(Outcome {
            n: found.truth.len(),
            classes,
            metrics: zero_shot::metrics(&found.answers(), &found.truth, classes),
            confusions: found.confusions(&taxonomy, 30),
            settings: settings([("resize", cx.resize_word(ResizeMode::CentreCrop))]),
            prompts: found.prompts,
            left_out: found.left_out,
            ledger: Some(found.ledger),
            ..Outcome::default()
        })
    }
}

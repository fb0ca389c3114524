//! What the answers of a bundle tell about photos, compared with what people wrote about them.

use std::collections::{BTreeMap, BTreeSet};

use espalier_core::caption::{Caption, Captioner};
use espalier_core::statements::{PartIx, Role, Vocabulary};
use espalier_data::Splits;
use espalier_data::formats::captions;
use espalier_data::records::source::Record;
use espalier_io::exit::usage;
use rayon::prelude::*;

use crate::captioned::{captioner, records};
use crate::task::{Context, Task, TaskResult, named};

/// A part gets metrics of its own if the captions of at least this many photos mention it.
const ENOUGH: usize = 10;

/// Parts of statements that answers tell and captions name.
pub const TASK: Task = Task {
    name: "captions",
    about: "what answers tell of what captions name: facts a photo, precision and recall by part, the share of photos \
     about which nothing is said",
    needs: "images with captions, in any form that --dataset captions reads; a bundle",
    benchmarks: &[],
    run,
};

/// What is told and named of a photo.
struct Photo {
    /// Parts that the answer tells, with its probability of each.
    told: BTreeMap<PartIx, f64>,
    /// Parts that a caption names.
    named: BTreeSet<PartIx>,
}

/// Returns the parts that the answer tells: those that it shows, and those of the path down to the node where it
/// stops.
fn told(vocabulary: &Vocabulary, caption: &Caption) -> BTreeMap<PartIx, f64> {
    let mut told: BTreeMap<PartIx, f64> = BTreeMap::new();
    for shown in &caption.shows {
        for part in vocabulary.mentions(&shown.text).parts() {
            told.entry(part).or_insert(shown.p);
        }
    }
    for step in &caption.taxonomy.path {
        for part in vocabulary.mentions(&step.name).parts() {
            // The first step that tells a part is the most certain one.
            told.entry(part).or_insert(step.p);
        }
        if step.id == caption.taxonomy.stop {
            break;
        }
    }
    // "People" may be one or several.
    told.retain(|part, _| vocabulary.part(*part).is_sayable());
    told
}

/// Reads a photo as the page does; `None` if it cannot be read.
fn read(
    vocabulary: &Vocabulary,
    captioner: &Captioner,
    record: &Record,
) -> Option<anyhow::Result<Photo>> {
    let photo = record.image.decode().ok()?;
    let point = match pollster::block_on(captioner.embed(&[photo])) {
        Ok(points) => points.into_iter().next()?,
        Err(error) => return Some(Err(error.into())),
    };
    let mentioned = record.captions().map(|text| vocabulary.mentions(text));
    Some(Ok(Photo {
        told: told(vocabulary, &captioner.rank(&point)),
        named: mentioned.flat_map(|found| found.parts()).collect(),
    }))
}

/// Counts of photos.
#[derive(Clone, Copy, Default)]
struct Counts {
    told: usize,
    named: usize,
    both: usize,
    /// Sum of the probabilities of what is told.
    said: f64,
}

impl Counts {
    fn add(&mut self, told: Option<f64>, named: bool) {
        self.told += usize::from(told.is_some());
        self.named += usize::from(named);
        self.both += usize::from(told.is_some() && named);
        self.said += told.unwrap_or(0.0);
    }

    /// Writes precision and recall, each where it has a denominator, and the mean probability of what is told.
    fn write(&self, name: &str, metrics: &mut BTreeMap<String, f64>) {
        let mut put = |metric: &str, value: f64| metrics.insert(format!("{metric}_{name}"), value);
        if self.told > 0 {
            put("precision", self.both as f64 / self.told as f64);
            put("said", self.said / self.told as f64);
        }
        if self.named > 0 {
            put("recall", self.both as f64 / self.named as f64);
        }
    }
}

fn metrics(vocabulary: &Vocabulary, photos: &[Photo]) -> BTreeMap<String, f64> {
    let mut of_part: BTreeMap<PartIx, Counts> = BTreeMap::new();
    for photo in photos {
        let parts: BTreeSet<PartIx> = photo.told.keys().chain(&photo.named).copied().collect();
        for part in parts {
            let counts = of_part.entry(part).or_default();
            counts.add(photo.told.get(&part).copied(), photo.named.contains(&part));
        }
    }
    let mut of_role: BTreeMap<Role, Counts> = BTreeMap::new();
    let mut all = Counts::default();
    let mut metrics = BTreeMap::new();
    for (part, counts) in &of_part {
        let part = vocabulary.part(*part);
        for sum in [of_role.entry(part.role).or_default(), &mut all] {
            sum.told += counts.told;
            sum.named += counts.named;
            sum.both += counts.both;
            sum.said += counts.said;
        }
        if counts.named >= ENOUGH {
            counts.write(&part.id.replace(' ', "_"), &mut metrics);
        }
    }
    for (role, counts) in &of_role {
        counts.write(&format!("of_{}s", role.name()), &mut metrics);
    }
    let count = photos.len().max(1) as f64;
    let nothing = photos.iter().filter(|photo| photo.told.is_empty()).count();
    metrics.insert("nothing".to_owned(), nothing as f64 / count);
    metrics.insert("facts_told".to_owned(), all.told as f64 / count);
    metrics.insert("facts_right".to_owned(), all.both as f64 / count);
    metrics.insert("facts_named".to_owned(), all.named as f64 / count);
    metrics
}

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let captioner = captioner(cx, TASK.name)?;
    let vocabulary = Vocabulary::everyday()?;
    let data = captions::open(cx.data, Splits(&[&cx.options.split]))?;
    let (records, coverage) = records(data.as_ref(), cx.options.most);
    let photos = records.par_iter();
    let photos = photos.filter_map(|record| read(&vocabulary, &captioner, record));
    let photos = photos.collect::<anyhow::Result<Vec<Photo>>>()?;
    if photos.is_empty() {
        return Err(usage(
            "--data: expected images with captions, found none that can be read",
        ));
    }
    Ok(TaskResult {
        n: photos.len(),
        classes: vocabulary.parts().len(),
        metrics: metrics(&vocabulary, &photos),
        settings: named([("split", cx.options.split.clone())]),
        left_out: named([(
            "image that cannot be read",
            (records.len() - photos.len()) as u64,
        )]),
        coverage: Some(coverage),
        ..TaskResult::default()
    })
}

#[cfg(test)]
mod tests {
    use espalier_core::caption::{PathStep, TaxonomyResult};

    use super::*;

    fn photo(vocabulary: &Vocabulary, told: &[(&str, f64)], named: &[&str]) -> Photo {
        let part = |id: &str| vocabulary.find(id).unwrap();
        Photo {
            told: told.iter().map(|(id, p)| (part(id), *p)).collect(),
            named: named.iter().map(|id| part(id)).collect(),
        }
    }

    #[test]
    fn precision_is_of_what_is_told_and_recall_of_what_is_named() {
        let vocabulary = Vocabulary::everyday().unwrap();
        let mut photos: Vec<Photo> = (0..9)
            .map(|_| photo(&vocabulary, &[], &["dog", "beach"]))
            .collect();
        photos.push(photo(&vocabulary, &[("dog", 0.8)], &["dog"]));
        photos.push(photo(&vocabulary, &[("dog", 0.6)], &["cat"]));
        let found = metrics(&vocabulary, &photos);
        let expected = [
            ("precision_dog", 0.5),
            ("recall_dog", 0.1),
            ("said_dog", 0.7),
            ("precision_of_subjects", 0.5),
            ("recall_of_subjects", 1.0 / 11.0),
            ("recall_of_places", 0.0),
            ("nothing", 9.0 / 11.0),
            ("facts_told", 2.0 / 11.0),
            ("facts_right", 1.0 / 11.0),
            ("facts_named", 20.0 / 11.0),
        ];
        for (name, value) in expected {
            let found = found[name];
            assert!((found - value).abs() < 1e-9, "{name}: {found}");
        }
        // Nine photos are too few, and of one nothing is told.
        for name in ["recall_beach", "recall_cat", "precision_of_places"] {
            assert!(!found.contains_key(name), "{name}");
        }
    }

    #[test]
    fn only_what_lies_above_the_stop_is_told() {
        let vocabulary = Vocabulary::everyday().unwrap();
        let step = |name: &str, p| PathStep {
            id: name.to_owned(),
            name: name.to_owned(),
            p,
        };
        let caption = Caption {
            ladder: Vec::new(),
            said: 0,
            shows: Vec::new(),
            taxonomy: TaxonomyResult {
                path: vec![
                    step("whole", 1.0),
                    step("animal", 0.9),
                    step("dog", 0.8),
                    step("cat", 0.1),
                ],
                stop: "dog".to_owned(),
            },
        };
        let told = told(&vocabulary, &caption).into_iter();
        let told: Vec<_> = told
            .map(|(ix, p)| (vocabulary.part(ix).id.as_str(), p))
            .collect();
        assert_eq!(told, [("animal", 0.9), ("dog", 0.8)]);
    }
}

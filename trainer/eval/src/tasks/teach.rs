//! How well names taught by a few photos are recognised, and what they cost the others.

use std::collections::BTreeMap;

use anyhow::Context as _;
use espalier_core::caption::{Classifier, TaughtConcept};
use espalier_core::geometry::Space;
use espalier_core::input::ResizeMode;
use espalier_core::taxonomy::{NodeIx, Taxonomy};
use espalier_data::Coverage;
use espalier_data::formats::registry::{self, Need};
use espalier_data::records::random::{Purpose, Random};
use espalier_io::exit::usage;

use super::node_labels::node_labels;
use crate::embed::names;
use crate::prompts;
use crate::task::{Context, Task, TaskResult, named};

/// Names taught by photos of labels that are held out.
pub const TASK: Task = Task {
    name: "teach",
    about: "names taught by three photos each: how often they are recognised, and what they cost the other labels",
    needs: "images with labels of a taxonomy, at least ten labels with four images or more; a bundle",
    benchmarks: &[],
    run,
};

/// Number of labels held out and taught in a round.
const TAUGHT: usize = 10;

/// Number of images by which each is taught.
const PHOTOS: usize = 3;

/// Number of rounds, each with other labels and images.
const ROUNDS: u64 = 12;

/// An image and its label.
struct Labelled<'a> {
    point: &'a [f32],
    label: NodeIx,
}

/// Counts of all rounds.
#[derive(Default)]
struct Counts {
    taught: u64,
    taught_right: u64,
    others: u64,
    others_right_before: u64,
    others_right: u64,
    checked: u64,
    recognised: u64,
}

impl Counts {
    /// Shares of images whose path ends at the right node: `taught_right` for images of the taught
    /// labels, which did not teach; `others_right` for images of the other labels, and
    /// `others_right_before` without the taught names. `recognised` is the share of the teaching
    /// images that are recognised by the others of their name.
    fn metrics(&self) -> BTreeMap<String, f64> {
        let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
        let before = share(self.others_right_before, self.others);
        let after = share(self.others_right, self.others);
        named([
            ("taught_right", share(self.taught_right, self.taught)),
            ("others_right_before", before),
            ("others_right", after),
            ("others_lost", before - after),
            ("recognised", share(self.recognised, self.checked)),
        ])
    }
}

/// Holds out some labels, teaches each by some of its images, and counts where the paths of all
/// other images end.
fn round(
    (classifier, space): (&Classifier, &Space),
    images: &[Labelled<'_>],
    by_label: &BTreeMap<NodeIx, Vec<usize>>,
    number: u64,
    counts: &mut Counts,
) -> anyhow::Result<()> {
    let taxonomy = classifier.taxonomy();
    let mut random = Random::new(number, Purpose::Teach, 0, 0);
    let enough = by_label.iter().filter(|(_, images)| images.len() > PHOTOS);
    let mut labels: Vec<NodeIx> = enough.map(|(label, _)| *label).collect();
    random.shuffle(&mut labels);
    labels.truncate(TAUGHT);
    let known = classifier.without_labels(|ix| labels.contains(&ix))?;
    let mut teaching = vec![false; images.len()];
    let mut concepts = Vec::new();
    for label in &labels {
        let mut own = by_label[label].clone();
        random.shuffle(&mut own);
        own.truncate(PHOTOS);
        own.iter().for_each(|index| teaching[*index] = true);
        let node = taxonomy.node(*label);
        let parent = node.parents.first().copied().unwrap_or(taxonomy.root());
        let photos = own.iter().map(|index| images[*index].point.to_vec());
        let concept = TaughtConcept {
            name: node.id.clone(),
            below: taxonomy.node(parent).id.clone(),
            photos: photos.collect(),
        };
        let check = known.check_taught(space, &concept);
        counts.recognised += check.recognised as u64;
        counts.checked += check.photos as u64;
        concepts.push(concept);
    }
    let (taught, _) = known.teach(space, &concepts)?;
    let end = |classifier: &Classifier, point: &[f32]| {
        let path = classifier.path(space, point);
        let (last, _) = path.steps.last()?;
        Some(classifier.taxonomy().node(*last).id.clone())
    };
    for (index, image) in images.iter().enumerate() {
        let found = end(&taught, image.point);
        let label = &taxonomy.node(image.label).id;
        match labels.iter().position(|held| *held == image.label) {
            Some(_) if teaching[index] => {}
            Some(position) => {
                counts.taught += 1;
                counts.taught_right += u64::from(found == Some(concepts[position].id()));
            }
            None => {
                counts.others += 1;
                counts.others_right += u64::from(found.as_ref() == Some(label));
                let before = end(&known, image.point);
                counts.others_right_before += u64::from(before.as_ref() == Some(label));
            }
        }
    }
    Ok(())
}

/// Groups images by label.
fn by_label(images: &[Labelled<'_>]) -> BTreeMap<NodeIx, Vec<usize>> {
    let mut groups: BTreeMap<NodeIx, Vec<usize>> = BTreeMap::new();
    for (index, image) in images.iter().enumerate() {
        groups.entry(image.label).or_default().push(index);
    }
    groups
}

/// Returns the images that have a label of the taxonomy, and the number of the others.
fn labelled<'a>(
    taxonomy: &Taxonomy,
    labels: &[Option<String>],
    point: impl Fn(usize) -> &'a [f32],
) -> (Vec<Labelled<'a>>, u64) {
    let found = labels.iter().enumerate().filter_map(|(at, id)| {
        let label = taxonomy.find(id.as_deref()?)?;
        let point = point(at);
        let is_label = taxonomy.node(label).labelled;
        is_label.then_some(Labelled { point, label })
    });
    let images: Vec<_> = found.collect();
    let others = (labels.len() - images.len()) as u64;
    (images, others)
}

fn run(cx: &Context<'_, '_>) -> anyhow::Result<TaskResult> {
    let model = cx.model()?;
    let space = model.space()?;
    let calibration = model.model.calibration.clone();
    let calibration = calibration.with_context(|| {
        "--task teach: expected a bundle, which has a calibration, found a checkpoint; export it first"
    })?;
    let (taxonomy, source) = cx.taxonomy(cx.data)?;
    let data = registry::open(cx.data, Need::Labels)?;
    let records = data.records();
    let skipped = data.left_out();
    let embedded = model.dataset(data, cx.data, cx.resize(ResizeMode::CentreCrop))?;
    let labels = node_labels(&taxonomy, &embedded.about.labels);
    let (images, elsewhere) = labelled(&taxonomy, &labels, |at| embedded.points.row(at));
    let groups = by_label(&images);
    let enough = groups.values().filter(|group| group.len() > PHOTOS).count();
    if enough < TAUGHT {
        return Err(usage(format!(
            "--data: expected at least {TAUGHT} labels with more than {PHOTOS} images, found {enough}"
        )));
    }
    let set = prompts::resolve(&cx.options.prompts, cx.dataset);
    let labels = taxonomy.labelled();
    let points = model.classes(&names(&taxonomy, labels), set)?;
    let count = labels.len();
    let (data, width) = (points.data().to_vec(), points.width());
    let classifier = Classifier::new(taxonomy, data, width, calibration)?;
    let mut counts = Counts::default();
    for number in 0..ROUNDS {
        round((&classifier, space), &images, &groups, number, &mut counts)?;
    }
    Ok(TaskResult {
        n: images.len(),
        classes: count,
        metrics: counts.metrics(),
        settings: named([
            ("resize", cx.resize_name(ResizeMode::CentreCrop)),
            ("taxonomy", source.to_owned()),
            ("taught", TAUGHT.to_string()),
            ("photos", PHOTOS.to_string()),
            ("rounds", ROUNDS.to_string()),
        ]),
        prompts: set.to_owned(),
        left_out: named([("label not in the taxonomy", elsewhere)]),
        coverage: Some(Coverage {
            skipped,
            ..embedded.about.coverage(records, images.len())
        }),
        ..TaskResult::default()
    })
}

#[cfg(test)]
mod tests {
    use espalier_core::caption::Calibration;

    use super::*;

    /// A classifier of 24 labels in a Lorentz space, and five images around each.
    fn world() -> (Classifier, Vec<Vec<f32>>) {
        let rows: String = (0..24)
            .map(|i| format!("l{i}\tlabel {i}\tr\t1\n"))
            .collect();
        let text = format!("synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\n{rows}");
        let taxonomy = Taxonomy::from_tsv(&text).unwrap();
        let axis = |i: usize, length: f32, noise: usize| {
            let mut point = vec![0.0; 24];
            point[i] = length;
            point[(i + 1 + noise) % 24] += 0.2 * length;
            point
        };
        let labels: Vec<f32> = (0..24).flat_map(|i| axis(i, 0.6, 22)).collect();
        let classifier =
            Classifier::new(taxonomy, labels, 24, Calibration::of_scale(100.0)).unwrap();
        let images = (0..24 * 5).map(|at| axis(at / 5, 0.25, at % 5)).collect();
        (classifier, images)
    }

    #[test]
    fn held_out_labels_are_learned_from_three_images() {
        let (classifier, points) = world();
        let space = Space::Lorentz { curvature: 0.1 };
        let labels: Vec<Option<String>> = (0..points.len())
            .map(|at| Some(format!("l{}", at / 5)))
            .collect();
        let (images, others) = labelled(classifier.taxonomy(), &labels, |at| points[at].as_slice());
        assert_eq!((images.len(), others), (120, 0));
        let (mut counts, groups) = (Counts::default(), by_label(&images));
        round((&classifier, &space), &images, &groups, 0, &mut counts).unwrap();
        assert_eq!((counts.taught, counts.others, counts.checked), (20, 70, 30));
        let metrics = counts.metrics();
        assert!(metrics["taught_right"] > 0.9, "{metrics:?}");
        assert!(metrics["others_lost"].abs() < 1e-9, "{metrics:?}");
        assert!(metrics["recognised"] > 0.9, "{metrics:?}");
    }
}

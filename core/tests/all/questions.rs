//! Questions to a model after the first answer: phrases, walks, and positions in the disk.

use espalier_core::caption::{
    Captioner, Engine, PlacedBy, Question, Reading, Request, TextEmbedder, TextPlace, Verdict,
    shown_rungs,
};
use espalier_core::project::Disk;
use espalier_core::taxonomy::NodeIx;
use espalier_fixtures::photos::{jpeg, landscape, noise};

use super::answers::Model;

fn model() -> (Captioner, TextEmbedder) {
    let model = Model::open(&Engine::Kernels);
    (model.captioner, model.texts)
}

/// Returns the distance between two embeddings in the model's space.
fn apart(captioner: &Captioner, a: &[f32], b: &[f32]) -> f64 {
    -captioner.space().logit(a, b)
}

fn photo(captioner: &Captioner) -> Vec<f32> {
    let points = pollster::block_on(captioner.embed(&[landscape(200, 150)]));
    points.unwrap().remove(0)
}

#[test]
fn the_text_encoder_of_the_bundle_gives_the_points_that_its_index_holds() {
    let (captioner, texts) = model();
    let index = captioner.index();
    let some: Vec<usize> = (0..index.entries().len()).step_by(97).collect();
    let written = some.iter().map(|i| index.entries()[*i].text.as_str());
    let written: Vec<&str> = written.collect();
    let found = pollster::block_on(texts.embed(&written)).unwrap();
    for (place, point) in some.iter().zip(&found) {
        let far = apart(&captioner, point, index.point(*place));
        let text = &index.entries()[*place].text;
        // Both were rounded to eight bits, each in its own way.
        assert!(far < 0.1, "`{text}` is {far} away from its stored point");
    }
}

#[test]
fn names_of_concepts_give_the_points_of_the_labels() {
    let (captioner, texts) = model();
    let classifier = captioner.classifier();
    let taxonomy = classifier.taxonomy();
    for at in [0, 50, 150] {
        let name = taxonomy.name(taxonomy.labelled()[at]);
        let found = pollster::block_on(texts.embed_concepts(&[name]));
        let found = found.unwrap().remove(0);
        let known = classifier.labels().nth(at).unwrap();
        let far = apart(&captioner, &found, known);
        assert!(far < 0.1, "`{name}` is {far} away from its stored point");
        let logits = classifier.logits(captioner.space(), &found);
        assert!(logits.iter().all(|l| *l <= logits[at]), "{name}");
    }
}

#[test]
fn a_phrase_is_weighed_by_similarity_cone_and_common_ancestor() {
    let (captioner, texts) = model();
    let photo = photo(&captioner);
    let classifier = captioner.classifier();
    let taxonomy = classifier.taxonomy();
    let path = classifier.path(captioner.space(), &photo);
    let leaf = path.steps.last().unwrap().0;
    let points = pollster::block_on(texts.embed(&[taxonomy.name(leaf)]));
    let point = points.unwrap().remove(0);
    let explain = |node| explained(&captioner, &point, &photo, node);
    let own = explain(leaf);
    // The photo's own label: the two paths are the same.
    assert_eq!(own.common, own.concept);
    assert_eq!(own.by, PlacedBy::Name);
    assert!((own.p - f64::from(path.steps.last().unwrap().1)).abs() < 1e-6);
    let similarity = captioner.space().score(&point, &photo);
    assert!((own.similarity - similarity).abs() < 1e-9);
    let scores = captioner.index().scores(captioner.space(), &photo);
    let closer = scores.iter().filter(|score| **score > similarity).count();
    assert_eq!((own.closer, own.captions), (closer, scores.len()));
    let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let closest = captioner.index().point(best.unwrap());
    assert_eq!(explained(&captioner, closest, &photo, leaf).closer, 0);
    let cone = own.cone.expect("the model is hyperbolic");
    let entails = captioner.space().entails(&point, &photo);
    assert_eq!(cone.holds(), entails);

    let is_on_path = |ix: &NodeIx| path.steps.iter().any(|step| step.0 == *ix);
    let mut labels = taxonomy.labelled().iter();
    let other = *labels.find(|ix| !is_on_path(ix)).unwrap();
    let apart = explain(other);
    assert_eq!(apart.concept, taxonomy.node(other).id);
    assert_eq!(apart.common, taxonomy.node(taxonomy.common(leaf, other)).id);
    assert!(apart.common_p >= apart.p);
}

/// Compares a photo with a phrase that names a node.
fn explained(captioner: &Captioner, phrase: &[f32], photo: &[f32], node: NodeIx) -> Verdict {
    let by = PlacedBy::Name;
    let question = Question {
        phrase,
        photo,
        place: TextPlace { node, by },
        nodes: &[],
    };
    captioner.explain(captioner.classifier(), question)
}

fn reading(captioner: &Captioner, image: &image::RgbImage) -> Reading {
    let bytes = jpeg(image, 1);
    let reading = captioner.read(&bytes, Request::default(), || 0.0);
    pollster::block_on(reading).unwrap()
}

#[test]
fn a_walk_begins_where_the_ladder_ends_and_becomes_general() {
    let (captioner, _) = model();
    let read = reading(&captioner, &landscape(200, 160));
    let shown = shown_rungs(&read.caption.ladder, &read.caption.taxonomy);
    let walk = captioner.walk(&read, None, 41);
    assert_eq!(walk.len(), 41);
    let last = shown.last().map(|rung| rung.text.clone());
    assert_eq!(walk[0].text, last);
    assert!(walk.windows(2).all(|w| w[1].radius <= w[0].radius + 1e-6));
    assert!(walk[40].radius < 1e-3 && walk[40].text.is_none());
    let position = |text: &String| shown.iter().position(|rung| rung.text == *text).unwrap();
    let passed: Vec<usize> = walk
        .iter()
        .filter_map(|p| p.text.as_ref())
        .map(position)
        .collect();
    assert!(passed.windows(2).all(|w| w[1] <= w[0]), "{passed:?}");

    let other = reading(&captioner, &noise(90, 120));
    let walk = captioner.walk(&read, Some(&other), 41);
    let end = shown_rungs(&other.caption.ladder, &other.caption.taxonomy);
    let end = end.last().map(|rung| rung.text.clone());
    assert_eq!((walk[0].text.clone(), walk[40].text.clone()), (last, end));
}

#[test]
fn the_disk_of_the_labels_keeps_their_order_from_the_root() {
    let (captioner, _) = model();
    let space = captioner.space();
    let labels: Vec<&[f32]> = captioner.classifier().labels().collect();
    let disk = Disk::fit(space, &labels, 3.0);
    let norm = |x: &[f32]| {
        let [a, b] = disk.project(space, x);
        a.hypot(b)
    };
    assert!(labels.iter().all(|x| norm(x) < 1.0));
    let root = vec![0.0; labels[0].len()];
    assert!(norm(&root) < 1e-6);
    assert!(disk.explained > 0.0 && disk.explained <= 1.0);
}

#[test]
fn a_reading_tells_whether_another_choice_of_concepts_changes_it() {
    let (captioner, _) = model();
    let mut reading = reading(&captioner, &landscape(200, 150));
    let before = reading.caption.clone();
    assert!(!reading.rank_again(&captioner, None).unwrap());
    let tree = captioner.classifier().taxonomy();
    // A node that is not on the photo's path.
    let mut children = tree.children(tree.root()).iter();
    let is_on_path = |id: &str| before.taxonomy.path.iter().any(|step| step.id == id);
    let far = children.rfind(|ix| !is_on_path(&tree.node(**ix).id));
    let far = tree.node(*far.unwrap()).id.clone();
    assert!(reading.rank_again(&captioner, Some(far.clone())).unwrap());
    assert_eq!(reading.below.as_deref(), Some(far.as_str()));
    assert_ne!(reading.caption, before);
    let unknown = reading.rank_again(&captioner, Some("no such node".into()));
    assert!(unknown.is_err());
    assert_eq!(reading.below, Some(far), "unchanged after an error");
    assert!(reading.rank_again(&captioner, None).unwrap());
    assert_eq!(reading.caption, before);
}

//! Concepts that a user teaches by a few photos: a name, a place in the taxonomy and the embeddings
//! of the photos. They take part in every answer like the labels of the model.

use serde::{Deserialize, Serialize};

use super::classifier::Classifier;
use super::index::{CaptionEntry, PlacedCaptions};
use crate::error::{CoreError, Result};
use crate::geometry::{Space, prototype};
use crate::taxonomy::{NodeIx, Taxonomy};
use crate::words::one_of;

/// Prefix of the ids of taught nodes.
const ID_PREFIX: &str = "taught/";

/// Maximum length of a name in characters.
const MAX_NAME: usize = 80;

/// Maximum number of photos of a concept.
const MAX_PHOTOS: usize = 100;

/// How much farther from the root a taught concept lies than the median label. A point made of a few
/// photos lies nearer to photos of similar things than the point of a label does; the greater
/// distance makes up for that.
const FARTHER: f64 = 1.04;

/// On the sphere, photos lie nearer to each other than to any text. There, a taught concept is as
/// near to its own photos as the nearest label, and this much ahead of it in log-odds.
const LEAD_ON_SPHERE: f64 = 2.0;

/// A concept taught by photos.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaughtConcept {
    /// Its name, for example `my dog Bella`.
    pub name: String,
    /// Id of the node of the taxonomy below which it lies.
    pub below: String,
    /// Embeddings of its photos, at least one.
    pub photos: Vec<Vec<f32>>,
}

/// How well a taught concept can be told from what the model knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaughtCheck {
    /// Number of its photos that are recognised when only the others are taught.
    pub recognised: usize,
    /// Number of its photos.
    pub photos: usize,
    /// Name of the label that most of the other photos were taken for.
    pub rival: Option<String>,
}

pub(super) fn invalid(reason: String) -> CoreError {
    CoreError::bundle("taught concepts", reason)
}

/// Returns the name of a node as a sentence says it of one thing: `a bird`. The name of a taught node
/// stays as it is if it is a proper name or has a determiner: `Bella`, `my dog`.
#[must_use]
pub fn spoken_name(id: &str, name: &str) -> String {
    const DETERMINERS: [&str; 9] = ["a", "an", "her", "his", "my", "our", "the", "their", "your"];
    let first = name.split(' ').next().unwrap_or_default();
    let is_proper = first.chars().next().is_some_and(char::is_uppercase);
    let is_determined = DETERMINERS.contains(&first.to_lowercase().as_str());
    if id.starts_with(ID_PREFIX) && (is_proper || is_determined) {
        name.to_owned()
    } else {
        one_of(name)
    }
}

impl TaughtConcept {
    /// Returns the id of its node.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{ID_PREFIX}{}", self.name.trim().to_lowercase())
    }

    /// Returns whether a caption is that of a taught concept.
    pub(super) fn is_caption(entry: &CaptionEntry) -> bool {
        let id = entry.node.as_deref().unwrap_or_default();
        id.starts_with(ID_PREFIX)
    }

    /// Returns its caption.
    fn caption(&self) -> CaptionEntry {
        CaptionEntry {
            text: spoken_name(&self.id(), self.name.trim()),
            node: Some(self.id()),
            detail: 0,
        }
    }

    /// Checks name and photos; `width` is the length of an embedding.
    fn check(&self, width: usize) -> Result<()> {
        let Self { name, photos, .. } = self;
        let is_bad = |c: char| c.is_control() || c == '|';
        let length = name.chars().count();
        if name.trim().is_empty() || length > MAX_NAME || name.contains(is_bad) {
            return Err(invalid(format!(
                "expected a name of 1 to {MAX_NAME} characters without `|`, found `{name}`"
            )));
        }
        if photos.is_empty() || photos.len() > MAX_PHOTOS {
            return Err(invalid(format!(
                "`{name}`: expected 1 to {MAX_PHOTOS} photos, found {}",
                photos.len()
            )));
        }
        let is_sound = |photo: &&Vec<f32>| {
            photo.len() == width
                && photo.iter().all(|v| v.is_finite())
                && photo.iter().any(|v| *v != 0.0)
        };
        match photos.iter().position(|photo| !is_sound(&photo)) {
            None => Ok(()),
            Some(index) => Err(invalid(format!(
                "`{name}`: expected {width} finite numbers for photo {}, found something else",
                index + 1
            ))),
        }
    }
}

/// Returns the concepts whose place is a node of a taxonomy. Others belong to another tree.
#[must_use]
pub fn placed_in(taxonomy: &Taxonomy, concepts: &[TaughtConcept]) -> Vec<TaughtConcept> {
    let placed = concepts
        .iter()
        .filter(|c| taxonomy.find(&c.below).is_some());
    placed.cloned().collect()
}

/// The point of a taught concept, and what is added to its logits.
struct TaughtLabel {
    point: Vec<f32>,
    offset: f64,
}

impl Classifier {
    /// Returns a classifier that also knows some taught concepts, with their captions and points.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] for an invalid concept, [`CoreError::Taxonomy`] for one whose place is
    /// no node of the taxonomy.
    pub fn teach(
        &self,
        space: &Space,
        concepts: &[TaughtConcept],
    ) -> Result<(Self, PlacedCaptions)> {
        let mut tsv = self.taxonomy().to_tsv();
        let mut labels: Vec<f32> = self.labels().flatten().copied().collect();
        let mut offsets = vec![0.0; self.taxonomy().labelled().len()];
        let mut captions = Vec::new();
        for concept in concepts {
            concept.check(self.width())?;
            let below = &self.taxonomy().node(self.node(&concept.below)?).id;
            let TaughtConcept { name, .. } = concept;
            tsv.push_str(&format!("{}\t{name}\t{below}\t1\n", concept.id()));
            let photos: Vec<&[f32]> = concept.photos.iter().map(Vec::as_slice).collect();
            let TaughtLabel { point, offset } = self.taught_label(space, &photos);
            labels.extend(&point);
            offsets.push(offset);
            captions.push((concept.caption(), point));
        }
        let taxonomy = Taxonomy::from_tsv(&tsv)?;
        let calibration = self.calibration().clone();
        let taught = Self::new(taxonomy, labels, self.width(), calibration)?;
        Ok((taught.with_offsets(offsets), captions))
    }

    /// Makes a label of photos.
    fn taught_label(&self, space: &Space, photos: &[&[f32]]) -> TaughtLabel {
        let length = FARTHER * self.median_length(space);
        let point = prototype::toward(space, photos, length);
        let Space::Sphere { .. } = space else {
            let offset = 0.0;
            return TaughtLabel { point, offset };
        };
        let nearest = |photo: &[f32]| {
            let logits = self.logits(space, photo);
            logits.into_iter().fold(f64::NEG_INFINITY, f64::max)
        };
        let own = |index: usize| {
            let others = without(photos, index);
            space.logit(&prototype::toward(space, &others, length), photos[index])
        };
        let count = photos.len() as f64;
        let label: f64 = photos.iter().map(|photo| nearest(photo)).sum::<f64>() / count;
        let taught: f64 = (0..photos.len()).map(own).sum::<f64>() / count;
        TaughtLabel {
            point,
            offset: label - taught + LEAD_ON_SPHERE / self.calibration().scale,
        }
    }

    /// Returns the median distance of the labels to the root in the tangent space.
    fn median_length(&self, space: &Space) -> f64 {
        let mut lengths: Vec<f64> = self.labels().map(|x| prototype::length(space, x)).collect();
        lengths.sort_by(f64::total_cmp);
        lengths.get(lengths.len() / 2).copied().unwrap_or(1.0)
    }

    /// Tells how well a concept can be told from the labels of this classifier, which must not know
    /// it yet: each photo is compared with the others.
    #[must_use]
    pub fn check_taught(&self, space: &Space, concept: &TaughtConcept) -> TaughtCheck {
        let photos: Vec<&[f32]> = concept.photos.iter().map(Vec::as_slice).collect();
        let mut rivals: Vec<NodeIx> = Vec::new();
        for (index, photo) in photos.iter().enumerate() {
            let TaughtLabel { point, offset } = self.taught_label(space, &without(&photos, index));
            let logits = self.logits(space, photo);
            let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
            let Some(best) = best else { continue };
            if space.logit(&point, photo) + offset <= logits[best] {
                rivals.push(self.taxonomy().labelled()[best]);
            }
        }
        let count = |ix: &NodeIx| rivals.iter().filter(|other| *other == ix).count();
        let rival = rivals.iter().max_by_key(|ix| count(ix));
        TaughtCheck {
            recognised: photos.len() - rivals.len(),
            photos: photos.len(),
            rival: rival.map(|ix| self.taxonomy().name(*ix).to_owned()),
        }
    }
}

/// Returns all photos but one; the only photo if there are no others.
fn without<'a>(photos: &[&'a [f32]], index: usize) -> Vec<&'a [f32]> {
    let others = photos
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != index || photos.len() == 1);
    others.map(|(_, photo)| *photo).collect()
}

#[cfg(test)]
mod tests {
    use super::super::calibration::Calibration;
    use super::*;
    use crate::taxonomy::tree_of;

    const TREE: &str = "r = thing; a = animal < r; *c = cat < a; *d = dog < a; *t = table < r";

    fn lorentz() -> Space {
        Space::Lorentz { curvature: 0.1 }
    }

    /// The point with this direction and distance to the root.
    fn at(direction: [f32; 3], length: f64) -> Vec<f32> {
        prototype::toward(&lorentz(), &[&direction], length)
    }

    fn classifier() -> Classifier {
        let labels = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.7, 0.7, 0.0]].map(|l| at(l, 0.6));
        let calibration = Calibration::of_scale(100.0);
        Classifier::new(tree_of(TREE), labels.concat(), 3, calibration).unwrap()
    }

    fn bella(photos: &[[f32; 3]]) -> TaughtConcept {
        TaughtConcept {
            name: "my dog Bella".into(),
            below: "d".into(),
            photos: photos.iter().map(|photo| at(*photo, 0.25)).collect(),
        }
    }

    /// Returns the names of the nodes on a photo's path.
    fn path(classifier: &Classifier, space: &Space, photo: &[f32]) -> String {
        let steps = classifier.path(space, photo).steps.into_iter();
        let names = steps.map(|(ix, _)| classifier.taxonomy().name(ix));
        names.collect::<Vec<_>>().join(", ")
    }

    const APART: [[f32; 3]; 3] = [[0.1, 0.3, 0.9], [0.0, 0.25, 1.0], [0.15, 0.2, 0.9]];

    #[test]
    fn a_taught_concept_is_found_in_its_place_and_others_stay_where_they_were() {
        let (space, known) = (lorentz(), classifier());
        let (taught, captions) = known.teach(&space, &[bella(&APART)]).unwrap();
        assert_eq!(captions[0].0.text, "my dog Bella");
        let path = |photo: [f32; 3]| path(&taught, &space, &at(photo, 0.25));
        assert_eq!(path([0.05, 0.2, 0.95]), "thing, animal, dog, my dog Bella");
        assert_eq!(path([1.0, 0.1, 0.1]), "thing, animal, cat");
        let check = known.check_taught(&space, &bella(&APART));
        assert_eq!((check.recognised, check.photos, check.rival), (3, 3, None));
    }

    #[test]
    fn a_photo_is_compared_with_the_others_and_the_only_one_with_itself() {
        let (a, b, c) = ([1.0], [2.0], [3.0]);
        assert_eq!(without(&[&a, &b, &c], 1), [&[1.0], &[3.0]]);
        assert_eq!(without(&[&a], 0), [&[1.0]]);
    }

    #[test]
    fn concepts_of_another_tree_are_left_out() {
        let lost = TaughtConcept {
            below: "x".into(),
            ..bella(&APART)
        };
        let placed = placed_in(&tree_of(TREE), &[lost, bella(&APART)]);
        assert_eq!(placed, [bella(&APART)]);
    }

    #[test]
    fn blanks_around_a_name_are_no_part_of_it() {
        let mut concept = bella(&APART);
        concept.name = " Bella ".into();
        let (taught, captions) = classifier().teach(&lorentz(), &[concept]).unwrap();
        assert_eq!(captions[0].0.text, "Bella");
        let node = captions[0].0.node.as_deref().unwrap();
        let node = taught.taxonomy().find(node).unwrap();
        assert_eq!(taught.taxonomy().name(node), "Bella");
    }

    #[test]
    fn a_proper_name_gets_no_article() {
        let spoken = |name: &str| spoken_name("taught/x", name);
        let names = ["Bella", "my dog", "axolotl"].map(spoken);
        assert_eq!(names, ["Bella", "my dog", "an axolotl"]);
        assert_eq!(spoken_name("n1", "Egyptian cat"), "an Egyptian cat");
    }

    #[test]
    fn a_concept_that_looks_like_a_label_is_reported() {
        let alike = [[0.02, 1.0, 0.0], [0.9, 0.1, 0.2], [0.0, 1.0, 0.05]];
        let check = classifier().check_taught(&lorentz(), &bella(&alike));
        assert!(check.recognised < 3);
        // Two of the three photos look like a dog.
        assert_eq!(check.rival.as_deref(), Some("dog"));
    }

    #[test]
    fn on_the_sphere_photos_of_others_are_not_taken_for_it() {
        let unit = |v: [f32; 4]| {
            let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt();
            v.map(|x| x / norm).to_vec()
        };
        let space = Space::Sphere {
            root: unit([0.0, 0.0, 0.0, -1.0]),
        };
        // All photos share their last coordinate, which no label has.
        let labels = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]].map(|[x, y]| unit([x, y, 0.0, 0.0]));
        let calibration = Calibration::of_scale(100.0);
        let known = Classifier::new(tree_of(TREE), labels.concat(), 4, calibration).unwrap();
        let photo = |[x, y, z]: [f32; 3]| unit([0.5 * x, 0.5 * y, 0.5 * z, 2.0]);
        let concept = TaughtConcept {
            photos: APART.map(photo).to_vec(),
            ..bella(&APART)
        };
        let (taught, _) = known.teach(&space, &[concept]).unwrap();
        let path = |v| path(&taught, &space, &photo(v));
        assert_eq!(path([0.05, 0.2, 0.95]), "thing, animal, dog, my dog Bella");
        assert_eq!(path([1.0, 0.0, 0.1]), "thing, animal, cat");
        // A photo of a dog among two of cats is not told from the labels.
        let mixed = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.1, 0.0]];
        let mixed = TaughtConcept {
            photos: mixed.map(photo).to_vec(),
            ..bella(&APART)
        };
        let check = known.check_taught(&space, &mixed);
        assert_eq!((check.recognised, check.rival.as_deref()), (2, Some("dog")));

        // Seen from its only photos, the concept is ahead of the nearest label, whose logit is 0.2425.
        let alike = TaughtConcept {
            photos: vec![photo([1.0, 0.0, 0.0]); 2],
            ..bella(&APART)
        };
        let (taught, _) = known.teach(&space, std::slice::from_ref(&alike)).unwrap();
        let logits = taught.logits(&space, &alike.photos[0]);
        let ahead = logits[3] - logits[0];
        assert!((ahead - LEAD_ON_SPHERE / 100.0).abs() < 1e-6, "{logits:?}");
    }

    #[test]
    fn invalid_concepts_are_refused_and_say_why() {
        let (space, known) = (lorentz(), classifier());
        let fault =
            |concept: TaughtConcept| known.teach(&space, &[concept]).unwrap_err().to_string();
        let named = |name: &str| TaughtConcept {
            name: name.into(),
            ..bella(&APART)
        };
        assert!(fault(named(" ")).contains("a name of 1 to 80 characters"));
        assert!(fault(named("a|b")).contains("found `a|b`"));
        assert!(fault(bella(&[])).contains("expected 1 to 100 photos, found 0"));
        assert!(fault(bella(&[APART[0]; 101])).contains("found 101"));
        assert!(fault(named(&"b".repeat(81))).contains("1 to 80 characters"));
        let most = TaughtConcept {
            name: "ü".repeat(80),
            ..bella(&[APART[0]; 100])
        };
        assert!(known.teach(&space, &[most]).is_ok());
        let mut wide = bella(&APART);
        wide.photos[1].push(1.0);
        assert!(fault(wide).contains("3 finite numbers for photo 2"));
        let lost = TaughtConcept {
            below: "x".into(),
            ..bella(&APART)
        };
        assert!(fault(lost).contains("found `x`"));
    }
}

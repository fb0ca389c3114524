//! Photos with what is known of the parts that they show.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use espalier_core::caption::Captioner;
use espalier_core::statements::{PartIx, Vocabulary};
use espalier_core::taxonomy::Taxonomy;
use espalier_data::formats::condition::{Condition, split_condition};
use espalier_data::records::source::Record;
use espalier_data::sampling::outliers;
use espalier_io::disk::read;
use espalier_io::exit::usage;
use espalier_io::output::note;
use image::RgbImage;
use rayon::prelude::*;
use serde::Deserialize;

/// Number of images between two messages.
const LOG_EVERY: usize = 500;

/// What is known of each part, in the order of the vocabulary.
pub(super) type Known = Vec<Option<bool>>;

/// A photo's point with what is known of it.
pub(super) struct Seen {
    pub(super) point: Vec<f32>,
    pub(super) known: Known,
}

/// Photos of which everything from a list of parts is described.
#[derive(Deserialize)]
pub(super) struct Described {
    /// Folder of the list.
    #[serde(skip)]
    folder: PathBuf,
    /// Folder of all photos, in place of each image's own.
    #[serde(skip)]
    photos: Option<PathBuf>,
    /// Ids of the parts that were looked for.
    vocabulary: Vec<String>,
    images: Vec<DescribedImage>,
}

#[derive(Deserialize)]
struct DescribedImage {
    #[serde(alias = "file_name")]
    filename: String,
    #[serde(rename = "filepath")]
    folder: Option<PathBuf>,
    /// Ids of the parts that it shows.
    shows: Vec<String>,
}

/// Returns what captions tell: each part is mentioned by one of them or not.
pub(super) fn captioned(vocabulary: &Vocabulary, record: &Record) -> Known {
    let mut known = vec![Some(false); vocabulary.parts().len()];
    for text in record.captions() {
        for part in vocabulary.mentions(text).parts() {
            known[part.index()] = Some(true);
        }
    }
    known
}

/// Returns what a label tells: a photo of a dog shows an animal, and no food. Parts without a node are unknown, but
/// for those below one that the photo does not show.
pub(super) fn labelled(vocabulary: &Vocabulary, taxonomy: &Taxonomy, label: &str) -> Option<Known> {
    let label = taxonomy.find(label)?;
    let of_node = |ix: PartIx| {
        let node = taxonomy.find(vocabulary.part(ix).node.as_deref()?)?;
        Some(node == label || taxonomy.ancestors(label).contains(&node))
    };
    Some(completed(vocabulary, of_node))
}

/// Completes what is known of some parts: a part below one that is not shown is not shown either.
fn completed(vocabulary: &Vocabulary, known: impl Fn(PartIx) -> Option<bool>) -> Known {
    let is_missing = |ix: &PartIx| known(*ix) == Some(false);
    let of_part = |ix: PartIx| {
        let above = vocabulary.ancestors(ix);
        known(ix).or_else(|| above.iter().any(is_missing).then_some(false))
    };
    vocabulary.indices().map(of_part).collect()
}

impl Described {
    /// Reads the file of `--shows`, which may end with the folder of its photos: `FILE?images=DIR`.
    ///
    /// # Errors
    /// Bad usage naming the file and what is wrong with it.
    pub(super) fn read(file: &Path) -> anyhow::Result<Self> {
        let (file, condition) = split_condition(file);
        let fault = |reason: String| {
            usage(format!(
                "--shows {}: expected Karpathy's JSON with `vocabulary`, and `shows` for each image: {reason}",
                file.display()
            ))
        };
        let photos = match condition {
            None => None,
            Some(Condition { column, value }) if column == "images" => Some(PathBuf::from(value)),
            Some(Condition { column, .. }) => {
                return Err(fault(format!(
                    "`?{column}=` is unknown; a list takes `?images=DIR`"
                )));
            }
        };
        let mut described: Self = read::json(&file).map_err(|e| fault(e.to_string()))?;
        described.folder = file.parent().unwrap_or(Path::new("")).to_owned();
        described.photos = photos;
        let listed: BTreeSet<&str> = described.vocabulary.iter().map(String::as_str).collect();
        for image in &described.images {
            if let Some(other) = image.shows.iter().find(|id| !listed.contains(id.as_str())) {
                let name = &image.filename;
                return Err(fault(format!(
                    "{name} shows `{other}`, which `vocabulary` does not list"
                )));
            }
        }
        Ok(described)
    }

    /// Returns the ids that are no part of a vocabulary.
    pub(super) fn unknown(&self, vocabulary: &Vocabulary) -> Vec<&str> {
        let ids = self.vocabulary.iter().map(String::as_str);
        ids.filter(|id| vocabulary.find(id).is_none()).collect()
    }

    /// Returns the files of the images, with what they show.
    pub(super) fn images(&self, vocabulary: &Vocabulary) -> Vec<(PathBuf, Known)> {
        let ids = self.vocabulary.iter();
        let looked_for: BTreeSet<PartIx> = ids.filter_map(|id| vocabulary.find(id)).collect();
        let image = |image: &DescribedImage| {
            let mut shown: BTreeSet<PartIx> = BTreeSet::new();
            for ix in image.shows.iter().filter_map(|id| vocabulary.find(id)) {
                shown.insert(ix);
                shown.extend(vocabulary.ancestors(ix));
            }
            let of_part = |ix: PartIx| match shown.contains(&ix) {
                true => Some(true),
                false => looked_for.contains(&ix).then_some(false),
            };
            let folder = match (&self.photos, &image.folder) {
                (Some(photos), _) => photos.clone(),
                (None, Some(below)) => self.folder.join(below),
                (None, None) => self.folder.clone(),
            };
            let file = present(folder.join(&image.filename));
            (file, completed(vocabulary, of_part))
        };
        self.images.iter().map(image).collect()
    }
}

/// Returns a file, or where it is missing the one that has its name in another format.
fn present(file: PathBuf) -> PathBuf {
    let others = ["jpg", "png", "webp"].map(|format| file.with_extension(format));
    let mut files = std::iter::once(file.clone()).chain(others);
    files.find(|file| file.exists()).unwrap_or(file)
}

/// Embeds a photo.
fn seen(captioner: &Captioner, photo: RgbImage, known: Known) -> espalier_core::Result<Seen> {
    let mut points = pollster::block_on(captioner.embed(&[photo]))?;
    let point = points.swap_remove(0);
    Ok(Seen { point, known })
}

/// Embeds the photos of records; those that cannot be read, or of which nothing is known, are left out.
pub(super) fn embed(
    captioner: &Captioner,
    records: &[Record],
    known: impl Fn(&Record) -> Option<Known> + Sync,
) -> anyhow::Result<Vec<Seen>> {
    let done = AtomicUsize::new(0);
    let all = records.par_iter().filter_map(|record| {
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(LOG_EVERY) {
            note(format_args!("{count} of {} images", records.len()));
        }
        let photo = record.image.decode().ok()?;
        let known = known(record)?;
        Some(seen(captioner, photo, known))
    });
    Ok(all.collect::<espalier_core::Result<_>>()?)
}

/// Embeds generated images, which show none of `parts` parts.
pub(super) fn embed_outliers(
    captioner: &Captioner,
    count: u64,
    parts: usize,
) -> anyhow::Result<Vec<Seen>> {
    // Larger than the input, so that some have cells as fine as the noise of a camera.
    let side = 4 * captioner.preprocessing().size;
    let all = (0..count).into_par_iter().map(|index| {
        let image = outliers::pool_image(side, index);
        seen(captioner, image, vec![Some(false); parts])
    });
    Ok(all.collect::<espalier_core::Result<_>>()?)
}

/// Embeds the photos in files.
pub(super) fn embed_files(
    captioner: &Captioner,
    files: Vec<(PathBuf, Known)>,
) -> anyhow::Result<Vec<Seen>> {
    let all = files.into_par_iter().map(|(file, known)| {
        let fault = |error: String| usage(format!("--shows: {}: {error}", file.display()));
        let bytes = read::bytes(&file).map_err(|e| fault(e.to_string()))?;
        let photo = espalier_core::input::decode(&bytes).map_err(|e| fault(e.to_string()))?;
        Ok(seen(captioner, photo, known)?)
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(vocabulary: &Vocabulary, known: &Known, id: &str) -> Option<bool> {
        known[vocabulary.find(id).unwrap().index()]
    }

    #[test]
    fn a_label_tells_of_its_node_and_of_what_it_is_not() {
        let words = Vocabulary::everyday().unwrap();
        let tree = "synset\tnames\thypernyms\tlabelled\n\
            r\tthing\t\t0\nn00015388\tanimal\tr\t0\nn02084071\tdog\tn00015388\t0\np\tpug\tn02084071\t1\n\
            n00021265\tfood\tr\t0\nq\tquiche\tn00021265\t1\n";
        let taxonomy = Taxonomy::from_tsv(tree).unwrap();
        let pug = labelled(&words, &taxonomy, "p").unwrap();
        let of = |id: &str| value(&words, &pug, id);
        assert_eq!(
            [of("animal"), of("dog"), of("food")],
            [Some(true), Some(true), Some(false)]
        );
        // Goats have no node: an animal may be one, food is none. A sandwich is food.
        assert_eq!(
            [of("goat"), of("person"), of("sandwich")],
            [None, None, Some(false)]
        );
        let quiche = labelled(&words, &taxonomy, "q").unwrap();
        assert_eq!(value(&words, &quiche, "goat"), Some(false));
        assert!(labelled(&words, &taxonomy, "x").is_none());
    }

    #[test]
    fn what_was_looked_for_and_not_seen_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shows.json");
        let write = |shows: &str| {
            let json = format!(
                r#"{{"vocabulary":["beach","person","sport"],"images":[{{"filename":"a.jpg","filepath":"../b","shows":[{shows}]}}]}}"#
            );
            std::fs::write(&file, json).unwrap();
            Described::read(&file)
        };
        let words = Vocabulary::everyday().unwrap();
        let images = write("\"beach\"").unwrap().images(&words);
        let (path, known) = &images[0];
        assert_eq!(*path, folder.path().join("../b/a.jpg"));
        let of = |id: &str| value(&words, known, id);
        assert_eq!(
            [of("beach"), of("outdoors"), of("kitchen")],
            [Some(true), Some(true), None]
        );
        assert_eq!([of("person"), of("child"), of("surf")], [Some(false); 3]);
        std::fs::write(folder.path().join("a.webp"), "").unwrap();
        let here = format!("{}?images={}", file.display(), folder.path().display());
        let images = Described::read(Path::new(&here)).unwrap().images(&words);
        assert_eq!(images[0].0, folder.path().join("a.webp"));
        let list = file.display();
        let elsewhere = Described::read(Path::new(&format!("{list}?images=/photos"))).unwrap();
        assert_eq!(elsewhere.images(&words)[0].0, Path::new("/photos/a.jpg"));
        let other = Described::read(Path::new(&format!("{list}?source=a"))).err();
        assert!(other.unwrap().to_string().contains("?images=DIR"));
        let error = write("\"moon\"").err().unwrap().to_string();
        assert!(
            error.contains("`moon`") && error.contains("a.jpg"),
            "{error}"
        );
    }
}

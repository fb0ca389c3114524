//! Draws one training sample from one record.

use image::RgbImage;

use crate::Needs;
use crate::batches::batch_spec::BatchSpec;
use crate::records::boxes::{GroundedBox, Region};
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::lineage::TextChain;
use crate::records::mirror::{mirrored, with_mirrored_boxes};
use crate::records::phrases::noun_phrases;
use crate::records::picture::{FeatureRange, Picture};
use crate::records::random::Random;
use crate::records::source::Record;
use crate::sampling::regions::{crop_region, encoder_square, usable_boxes, window};

/// A training sample, ready to be packed.
#[derive(Default)]
pub(crate) struct Sample {
    /// The shard of its record.
    pub shard: u32,
    pub key: String,
    pub caption: String,
    pub picture: Option<View>,
    /// Crop and phrase.
    pub boxed: Option<(View, String)>,
    pub synset: Option<String>,
    pub chain: Option<TextChain>,
    pub parts: Vec<Part>,
    /// Boxes of other images, each with a label of one of the parts.
    pub companions: Vec<Part>,
}

/// One view of an image or crop.
pub(crate) enum View {
    /// The square that the encoder reads.
    Pixels(RgbImage),
    /// Row of its precomputed features.
    Row(u32),
    /// The square that another process reads.
    Elsewhere,
}

/// How much of a sample is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// All of it.
    Whole,
    /// All but the pixels, which another process needs. Headers of images are read, so that the
    /// same boxes are usable; damaged pixels are not noticed. Scenes are always drawn whole.
    WithoutPixels,
}

/// Returns a view of an image: one of the precomputed views, or a newly drawn crop.
fn view(
    picture: &Picture,
    spec: &BatchSpec,
    random: &mut Random,
    detail: Detail,
) -> Result<View, Fault> {
    match (picture, detail) {
        (Picture::Features(kept), _) => Ok(cached_view(*kept, random)),
        (picture, Detail::Whole) => {
            encoder_square(&picture.decode()?, spec, random).map(View::Pixels)
        }
        (picture, Detail::WithoutPixels) => picture.size().map(|_| View::Elsewhere),
    }
}

/// An image as far as it is read.
enum Opened {
    Pixels(RgbImage),
    /// Width and height.
    Size(u32, u32),
}

impl Opened {
    fn read(picture: &Picture, detail: Detail) -> Result<Self, Fault> {
        match detail {
            Detail::Whole => picture.decode().map(Self::Pixels),
            Detail::WithoutPixels => picture
                .size()
                .map(|(width, height)| Self::Size(width, height)),
        }
    }

    fn size(&self) -> (u32, u32) {
        match self {
            Self::Pixels(picture) => picture.dimensions(),
            Self::Size(width, height) => (*width, *height),
        }
    }
}

/// Draws one of the precomputed views uniformly.
fn cached_view(kept: FeatureRange, random: &mut Random) -> View {
    View::Row(kept.first + random.below(kept.views))
}

/// A box of a scene.
pub(crate) struct Part {
    pub crop: RgbImage,
    /// Key of the scene's record.
    pub key: String,
    /// Label of the box.
    pub label: String,
    /// Left, top, right, bottom relative to the scene.
    pub place: [f64; 4],
}

/// Maximum number of boxes of a scene; if there are more, a random subset of this size is drawn.
const MAX_PARTS: usize = 16;

/// Result of drawing a sample from a record.
pub(crate) enum DrawResult {
    Sample(Box<Sample>),
    NoUsableBox,
    NoChain,
    Broken(Broken),
}

/// Draws a sample: one of the captions and one of the usable boxes, each uniformly, then independent
/// random crops of the image and of the box (notation 2.10, 4).
pub(crate) fn draw(
    record: Result<Record, Broken>,
    spec: &BatchSpec,
    random: &mut Random,
    detail: Detail,
) -> DrawResult {
    let mut record = match record {
        Ok(record) => record,
        Err(broken) => return DrawResult::Broken(broken),
    };
    record.choose_caption(random);
    let key = record.key.clone();
    let record = if spec.mirror && random.uniform() < 0.5 {
        match detail {
            Detail::Whole => mirrored(record),
            Detail::WithoutPixels => with_mirrored_boxes(record),
        }
    } else {
        Ok(record)
    };
    match record.and_then(|record| try_draw(record, spec, random, detail)) {
        Ok(Some(sample)) => DrawResult::Sample(Box::new(sample)),
        Ok(None) if spec.needs == Needs::Chains => DrawResult::NoChain,
        Ok(None) => DrawResult::NoUsableBox,
        Err(fault) => DrawResult::Broken(fault.of(key)),
    }
}

fn try_draw(
    record: Record,
    spec: &BatchSpec,
    random: &mut Random,
    detail: Detail,
) -> Result<Option<Sample>, Fault> {
    match spec.needs {
        Needs::Captions => draw_captioned(record, spec, random, detail).map(Some),
        Needs::Boxes => draw_boxed(record, spec, random, detail),
        Needs::Chains => draw_chained(record, spec, random, detail),
        Needs::Parts => draw_scene(record, spec, random),
    }
}

/// Returns the first label of a record.
fn label(record: &Record) -> Option<String> {
    let boxed = record.boxes.iter().find_map(|b| b.synset.clone());
    boxed.or_else(|| record.synsets.first().cloned())
}

fn draw_captioned(
    record: Record,
    spec: &BatchSpec,
    random: &mut Random,
    detail: Detail,
) -> Result<Sample, Fault> {
    let synset = label(&record);
    let picture = view(&record.picture, spec, random, detail)?;
    Ok(Sample {
        key: record.key,
        caption: record.caption,
        picture: Some(picture),
        synset,
        ..Sample::default()
    })
}

fn draw_chained(
    record: Record,
    spec: &BatchSpec,
    random: &mut Random,
    detail: Detail,
) -> Result<Option<Sample>, Fault> {
    let synset = label(&record);
    let draw_chain = || {
        if let Some(chains) = &spec.caption_chains {
            return chains.draw(&record.caption, random);
        }
        let lineages = spec.lineages.as_ref()?;
        lineages.draw(synset.as_ref()?, random)
    };
    let Some(chain) = record.chain.clone().or_else(draw_chain) else {
        return Ok(None);
    };
    let picture = match &record.picture {
        Picture::None => None,
        picture => Some(view(picture, spec, random, detail)?),
    };
    Ok(Some(Sample {
        key: record.key,
        caption: record.caption,
        picture,
        synset,
        chain: Some(chain),
        ..Sample::default()
    }))
}

fn draw_scene(
    record: Record,
    spec: &BatchSpec,
    random: &mut Random,
) -> Result<Option<Sample>, Fault> {
    let picture = record.picture.decode()?;
    let mut usable = usable_boxes(record.boxes, picture.dimensions(), spec.min_box_px);
    random.shuffle(&mut usable);
    usable.truncate(MAX_PARTS);
    let mut parts = Vec::with_capacity(usable.len());
    for grounded in usable {
        parts.extend(part(&record.key, grounded, &picture, spec, random)?);
    }
    if parts.is_empty() {
        return Ok(None);
    }
    let synset = parts.first().map(|part| part.label.clone());
    Ok(Some(Sample {
        key: record.key,
        caption: record.caption,
        picture: Some(View::Pixels(encoder_square(&picture, spec, random)?)),
        synset,
        parts,
        ..Sample::default()
    }))
}

/// Converts a box to a part of a scene; `None` for a separate crop, since its position relative to
/// other boxes is unknown.
fn part(
    key: &str,
    grounded: GroundedBox,
    picture: &RgbImage,
    spec: &BatchSpec,
    random: &mut Random,
) -> Result<Option<Part>, Fault> {
    let Region::Relative(place) = grounded.region else {
        return Ok(None);
    };
    Ok(Some(Part {
        crop: encoder_square(&crop_region(&grounded.region, picture)?, spec, random)?,
        key: key.to_owned(),
        label: grounded.label().to_owned(),
        place,
    }))
}

/// Draws box `index` of a record; `None` if the record is broken or the box is too small.
pub(crate) fn companion(
    record: Result<Record, Broken>,
    index: usize,
    spec: &BatchSpec,
    random: &mut Random,
) -> Option<Part> {
    let mut record = record.ok()?;
    let picture = record.picture.decode().ok()?;
    let grounded = (index < record.boxes.len()).then(|| record.boxes.swap_remove(index))?;
    let grounded = usable_boxes(vec![grounded], picture.dimensions(), spec.min_box_px).pop()?;
    part(&record.key, grounded, &picture, spec, random).ok()?
}

fn draw_boxed(
    record: Record,
    spec: &BatchSpec,
    random: &mut Random,
    detail: Detail,
) -> Result<Option<Sample>, Fault> {
    let Record {
        key,
        picture,
        caption,
        boxes,
        ..
    } = record;
    // For images with precomputed features, the stored boxes are already the usable ones.
    let (opened, mut usable) = match &picture {
        Picture::Features(_) => (None, boxes),
        picture => {
            let opened = Opened::read(picture, detail)?;
            let usable = usable_boxes(boxes, opened.size(), spec.min_box_px);
            (Some(opened), usable)
        }
    };
    if usable.is_empty() {
        if !spec.phrases_as_boxes {
            return Ok(None);
        }
        return draw_phrase(key, caption, (&picture, opened.as_ref()), spec, random);
    }
    let chosen = random.below(u32::try_from(usable.len()).unwrap_or(u32::MAX)) as usize;
    let GroundedBox {
        phrase,
        region,
        synset,
        ..
    } = usable.swap_remove(chosen);
    let (picture, crop) = match (&opened, &region) {
        (Some(Opened::Size(width, height)), region) => {
            match region {
                Region::Crop(crop) => crop.size().map(|_| ())?,
                Region::Relative(rel) => window(*rel, *width, *height).map(|_| ())?,
            }
            (View::Elsewhere, View::Elsewhere)
        }
        (Some(Opened::Pixels(whole)), region) => {
            let crop = crop_region(region, whole)?;
            let whole = encoder_square(whole, spec, random)?;
            let crop = encoder_square(&crop, spec, random)?;
            (View::Pixels(whole), View::Pixels(crop))
        }
        (None, Region::Crop(crop)) => {
            let whole = view(&picture, spec, random, detail)?;
            (whole, view(crop, spec, random, detail)?)
        }
        (None, Region::Relative(_)) => {
            let detail = "the features of the image are cached, but not those of its box";
            return Err(Fault::new(Cause::MissingPicture, detail));
        }
    };
    Ok(Some(Sample {
        key,
        caption,
        picture: Some(picture),
        boxed: Some((crop, phrase)),
        synset,
        ..Sample::default()
    }))
}

/// Draws a phrase of the caption, whose box is the whole image; `None` for a caption without a phrase.
fn draw_phrase(
    key: String,
    caption: String,
    (picture, opened): (&Picture, Option<&Opened>),
    spec: &BatchSpec,
    random: &mut Random,
) -> Result<Option<Sample>, Fault> {
    let phrases = noun_phrases(&caption);
    if phrases.is_empty() {
        return Ok(None);
    }
    let chosen = random.below(u32::try_from(phrases.len()).unwrap_or(u32::MAX)) as usize;
    let phrase = phrases[chosen].to_owned();
    let mut look = || match opened {
        Some(Opened::Pixels(whole)) => encoder_square(whole, spec, random).map(View::Pixels),
        Some(Opened::Size(..)) => Ok(View::Elsewhere),
        None => view(picture, spec, random, Detail::Whole),
    };
    let (picture, crop) = (look()?, look()?);
    Ok(Some(Sample {
        key,
        caption,
        picture: Some(picture),
        boxed: Some((crop, phrase)),
        ..Sample::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Synthetic;
    use crate::records::random::Purpose;
    use crate::records::source::Dataset;

    fn record() -> Record {
        let records = Synthetic::new(4, 64, 1).load(0).ok().unwrap();
        records.read(0).ok().unwrap()
    }

    fn random() -> Random {
        Random::new(7, Purpose::Outliers, 0, 0)
    }

    fn spec(needs: Needs) -> BatchSpec {
        BatchSpec {
            needs,
            min_box_px: 1.0,
            ..BatchSpec::new(4, 16, 77)
        }
    }

    fn drawn(record: Record, spec: &BatchSpec) -> Option<Sample> {
        match draw(Ok(record), spec, &mut random(), Detail::Whole) {
            DrawResult::Sample(sample) => Some(*sample),
            _ => None,
        }
    }

    #[test]
    fn a_scene_has_all_its_boxes_as_parts() {
        let record = record();
        let count = record.boxes.len();
        assert!(count > 0);
        let scene = drawn(record.clone(), &spec(Needs::Parts)).unwrap();
        assert_eq!(scene.parts.len(), count);
        assert!(scene.picture.is_some());
        let companion = |index| {
            companion(
                Ok(record.clone()),
                index,
                &spec(Needs::Parts),
                &mut random(),
            )
        };
        assert!((0..count).all(|index| companion(index).is_some()));
        assert!(companion(count).is_none() && companion(count + 1).is_none());
        assert_eq!(companion(0).unwrap().label, record.boxes[0].label());
    }

    #[test]
    fn without_a_chain_there_is_no_sample_of_chains() {
        let spec = spec(Needs::Chains);
        let result = draw(Ok(record()), &spec, &mut random(), Detail::Whole);
        assert!(matches!(result, DrawResult::NoChain));
        let mut bare = record();
        bare.boxes.clear();
        let boxes = self::spec(Needs::Boxes);
        let result = draw(Ok(bare), &boxes, &mut random(), Detail::Whole);
        assert!(matches!(result, DrawResult::NoUsableBox));
        let chain = TextChain {
            positives: vec!["animal".to_owned(), "cat".to_owned()],
            negatives: vec!["plant".to_owned(), "oak".to_owned()],
        };
        let with_chain = Record {
            chain: Some(chain.clone()),
            ..record()
        };
        let sample = drawn(with_chain, &spec).unwrap();
        assert_eq!(sample.chain.unwrap().positives, chain.positives);
        assert!(sample.picture.is_some());
        let texts = drawn(Record::of_chain("k".to_owned(), chain), &spec).unwrap();
        assert!(texts.picture.is_none());
    }

    #[test]
    fn the_label_of_a_record_is_that_of_a_box_or_its_own() {
        let mut labelled = record();
        labelled.synsets = vec!["own".to_owned()];
        for (at, grounded) in labelled.boxes.iter_mut().enumerate() {
            grounded.synset = Some(format!("box {at}"));
        }
        assert_eq!(label(&labelled).as_deref(), Some("box 0"));
        let spec = spec(Needs::Captions);
        assert_eq!(
            drawn(labelled.clone(), &spec).unwrap().synset.as_deref(),
            Some("box 0")
        );
        labelled.boxes.clear();
        assert_eq!(label(&labelled).as_deref(), Some("own"));
        labelled.synsets.clear();
        assert_eq!(label(&labelled), None);
    }

    #[test]
    fn cached_views_are_those_of_the_record() {
        let kept = FeatureRange {
            first: 10,
            views: 3,
        };
        let mut random = random();
        let rows: Vec<u32> = (0..50)
            .map(|_| match cached_view(kept, &mut random) {
                View::Row(row) => row,
                _ => unreachable!(),
            })
            .collect();
        assert!(
            (10..13).all(|row| rows.contains(&row)) && rows.iter().all(|r| (10..13).contains(r))
        );
    }

    #[test]
    fn records_are_mirrored_if_asked_for_and_a_random_number_is_below_a_half() {
        let mut one_box = record();
        one_box.boxes.truncate(1);
        // Captions that mention a side are not mirrored.
        one_box.caption = "a shape".to_owned();
        let Region::Relative([left, top, right, bottom]) = one_box.boxes[0].region else {
            panic!("expected a box in the image")
        };
        let mut random = random();
        for mirror in [true, false] {
            let spec = BatchSpec {
                mirror,
                ..spec(Needs::Parts)
            };
            for _ in 0..50 {
                let is_mirrored = mirror && random.clone().uniform() < 0.5;
                let result = draw(Ok(one_box.clone()), &spec, &mut random, Detail::Whole);
                let DrawResult::Sample(sample) = result else {
                    panic!("expected a sample")
                };
                let (left, right) = match is_mirrored {
                    true => (1.0 - right, 1.0 - left),
                    false => (left, right),
                };
                assert_eq!(sample.parts[0].place, [left, top, right, bottom]);
            }
        }
    }
}

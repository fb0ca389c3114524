//! Draws one training sample from one record.

use image::RgbImage;

use crate::Needs;
use crate::batches::batch_spec::BatchSpec;
use crate::records::boxes::{GroundedBox, Region};
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::lineage::TextChain;
use crate::records::mirror::{mirrored, with_mirrored_boxes};
use crate::records::phrases::noun_phrases;
use crate::records::random::Random;
use crate::records::record_image::{FeatureRange, RecordImage};
use crate::records::source::Record;
use crate::sampling::regions::{crop_region, encoder_square, usable_boxes, window};

/// A training sample, ready to be packed.
pub(crate) struct Sample {
    /// The shard of its record.
    pub shard: u32,
    pub key: String,
    pub caption: String,
    pub synset: Option<String>,
    pub content: Content,
}

/// The content of a sample beside its caption; one variant for each of [`Needs`].
pub(crate) enum Content {
    /// An image.
    Pair(View),
    /// An image, and a crop of it with its phrase.
    Boxed {
        image: View,
        crop: View,
        phrase: String,
    },
    /// Texts from general to specific, and an image where the record has one.
    Chain {
        image: Option<View>,
        chain: TextChain,
    },
    /// An image and its parts.
    Scene {
        image: View,
        parts: Vec<Part>,
        /// Boxes of other images, each with a label of one of the parts.
        companions: Vec<Part>,
    },
}

impl Content {
    /// Returns the image; `None` for a chain without one.
    pub(crate) fn image(&self) -> Option<&View> {
        match self {
            Self::Pair(image) | Self::Boxed { image, .. } | Self::Scene { image, .. } => {
                Some(image)
            }
            Self::Chain { image, .. } => image.as_ref(),
        }
    }

    /// Returns the crop and its phrase, if the sample has one.
    pub(crate) fn boxed(&self) -> Option<(&View, &str)> {
        match self {
            Self::Boxed { crop, phrase, .. } => Some((crop, phrase)),
            _ => None,
        }
    }

    /// Returns the chain, if the sample has one.
    pub(crate) fn chain(&self) -> Option<&TextChain> {
        match self {
            Self::Chain { chain, .. } => Some(chain),
            _ => None,
        }
    }

    /// Returns the parts and the boxes of other images, if the sample is a scene.
    pub(crate) fn scene(&self) -> Option<(&[Part], &[Part])> {
        match self {
            Self::Scene {
                parts, companions, ..
            } => Some((parts, companions)),
            _ => None,
        }
    }
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
    image: &RecordImage,
    spec: &BatchSpec,
    random: &mut Random,
    detail: Detail,
) -> Result<View, Fault> {
    match (image, detail) {
        (RecordImage::Features(kept), _) => Ok(cached_view(*kept, random)),
        (image, Detail::Whole) => encoder_square(&image.decode()?, spec, random).map(View::Pixels),
        (image, Detail::WithoutPixels) => image.size().map(|_| View::Elsewhere),
    }
}

/// An image as far as it is read.
enum Opened {
    Pixels(RgbImage),
    /// Width and height.
    Size(u32, u32),
}

impl Opened {
    fn read(image: &RecordImage, detail: Detail) -> Result<Self, Fault> {
        match detail {
            Detail::Whole => image.decode().map(Self::Pixels),
            Detail::WithoutPixels => image
                .size()
                .map(|(width, height)| Self::Size(width, height)),
        }
    }

    fn size(&self) -> (u32, u32) {
        match self {
            Self::Pixels(image) => image.dimensions(),
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
    let (key, caption) = (record.key.clone(), record.caption.clone());
    let drawn = match spec.needs {
        Needs::Captions => {
            let image = view(&record.image, spec, random, detail)?;
            Some((label(&record), Content::Pair(image)))
        }
        Needs::Boxes => draw_boxed(record, spec, random, detail)?,
        Needs::Chains => draw_chained(&record, spec, random, detail)?,
        Needs::Parts => draw_scene(record, spec, random)?,
    };
    Ok(drawn.map(|(synset, content)| Sample {
        shard: 0,
        key,
        caption,
        synset,
        content,
    }))
}

/// The label of a sample and its content.
type Drawn = (Option<String>, Content);

/// Returns the first label of a record.
fn label(record: &Record) -> Option<String> {
    let boxed = record.boxes.iter().find_map(|b| b.synset.clone());
    boxed.or_else(|| record.synsets.first().cloned())
}

fn draw_chained(
    record: &Record,
    spec: &BatchSpec,
    random: &mut Random,
    detail: Detail,
) -> Result<Option<Drawn>, Fault> {
    let synset = label(record);
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
    let image = match &record.image {
        RecordImage::None => None,
        image => Some(view(image, spec, random, detail)?),
    };
    Ok(Some((synset, Content::Chain { image, chain })))
}

fn draw_scene(
    record: Record,
    spec: &BatchSpec,
    random: &mut Random,
) -> Result<Option<Drawn>, Fault> {
    let image = record.image.decode()?;
    let mut usable = usable_boxes(record.boxes, image.dimensions(), spec.min_box_px);
    random.shuffle(&mut usable);
    usable.truncate(MAX_PARTS);
    let mut parts = Vec::with_capacity(usable.len());
    for grounded in usable {
        parts.extend(part(&record.key, grounded, &image, spec, random)?);
    }
    if parts.is_empty() {
        return Ok(None);
    }
    let synset = parts.first().map(|part| part.label.clone());
    let scene = Content::Scene {
        image: View::Pixels(encoder_square(&image, spec, random)?),
        parts,
        companions: Vec::new(),
    };
    Ok(Some((synset, scene)))
}

/// Converts a box to a part of a scene; `None` for a separate crop, since its position relative to
/// other boxes is unknown.
fn part(
    key: &str,
    grounded: GroundedBox,
    image: &RgbImage,
    spec: &BatchSpec,
    random: &mut Random,
) -> Result<Option<Part>, Fault> {
    let Region::Relative(place) = grounded.region else {
        return Ok(None);
    };
    Ok(Some(Part {
        crop: encoder_square(&crop_region(&grounded.region, image)?, spec, random)?,
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
    let image = record.image.decode().ok()?;
    let grounded = (index < record.boxes.len()).then(|| record.boxes.swap_remove(index))?;
    let grounded = usable_boxes(vec![grounded], image.dimensions(), spec.min_box_px).pop()?;
    part(&record.key, grounded, &image, spec, random).ok()?
}

fn draw_boxed(
    record: Record,
    spec: &BatchSpec,
    random: &mut Random,
    detail: Detail,
) -> Result<Option<Drawn>, Fault> {
    let Record {
        image,
        caption,
        boxes,
        ..
    } = record;
    // For images with precomputed features, the stored boxes are already the usable ones.
    let (opened, mut usable) = match &image {
        RecordImage::Features(_) => (None, boxes),
        image => {
            let opened = Opened::read(image, detail)?;
            let usable = usable_boxes(boxes, opened.size(), spec.min_box_px);
            (Some(opened), usable)
        }
    };
    let mut draw_below = |n: usize| random.below(u32::try_from(n).unwrap_or(u32::MAX)) as usize;
    let (phrase, region, synset) = if !usable.is_empty() {
        let chosen = usable.swap_remove(draw_below(usable.len()));
        (chosen.phrase, Some(chosen.region), chosen.synset)
    } else if spec.phrases_as_boxes {
        let phrases = noun_phrases(&caption);
        if phrases.is_empty() {
            return Ok(None);
        }
        // The box of the phrase is the whole image.
        (phrases[draw_below(phrases.len())].to_owned(), None, None)
    } else {
        return Ok(None);
    };
    let (image, crop) = match (opened, &region) {
        (Some(Opened::Size(width, height)), region) => {
            match region {
                Some(Region::Crop(crop)) => crop.size().map(|_| ())?,
                Some(Region::Relative(rel)) => window(*rel, width, height).map(|_| ())?,
                None => {}
            }
            (View::Elsewhere, View::Elsewhere)
        }
        (Some(Opened::Pixels(whole)), region) => {
            let crop = region.as_ref().map(|region| crop_region(region, &whole));
            let crop = crop.transpose()?;
            let image = encoder_square(&whole, spec, random)?;
            let crop = encoder_square(crop.as_ref().unwrap_or(&whole), spec, random)?;
            (View::Pixels(image), View::Pixels(crop))
        }
        (None, Some(Region::Relative(_))) => {
            let detail = "the features of the image are cached, but not those of its box";
            return Err(Fault::new(Cause::MissingImage, detail));
        }
        (None, region) => {
            let crop = match region {
                Some(Region::Crop(crop)) => crop,
                _ => &image,
            };
            let whole = view(&image, spec, random, detail)?;
            (whole, view(crop, spec, random, detail)?)
        }
    };
    let boxed = Content::Boxed {
        image,
        crop,
        phrase,
    };
    Ok(Some((synset, boxed)))
}

#[cfg(test)]
mod tests;

//! Boxes of a caption: converts character offsets to phrases and coordinates to pixels (notation
//! 5.1, 5.2).

use std::collections::BTreeSet;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::records::fault::{Cause, Fault};
use crate::records::record_image::RecordImage;

/// Longest caption in bytes; published ones have some hundred.
const MAX_CAPTION: usize = 1 << 16;

/// Most noun chunks or referring expressions of one caption; published ones have some dozens.
pub const MAX_ENTRIES: usize = 1000;

/// One stored entry: `[char_start, char_end, x1, y1, x2, y2, score]`; the score is optional.
pub type Entry = Vec<f64>;

/// Whether a shard must have boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boxes {
    /// A shard without the columns or keys of boxes is refused.
    Required,
    /// A shard may consist of images and captions.
    Optional,
}

/// Image region of a box.
#[derive(Clone, Debug)]
pub enum Region {
    /// Left, top, right, bottom relative to the image, in [0, 1], left < right, top < bottom.
    Relative([f64; 4]),
    /// A separate crop.
    Crop(RecordImage),
}

impl Region {
    /// Returns the edges; `None` for a separate crop.
    pub fn relative(&self) -> Option<[f64; 4]> {
        match self {
            Self::Relative(edges) => Some(*edges),
            Self::Crop(_) => None,
        }
    }
}

/// A box with its phrase.
#[derive(Clone, Debug)]
pub struct GroundedBox {
    /// The phrase, not blank.
    pub phrase: String,
    /// The image region.
    pub region: Region,
    /// Whether the phrase is known to be a longer referring expression, not a noun chunk of the caption.
    pub is_ref_exp: bool,
    /// Label of the boxed object, where the dataset has one.
    pub synset: Option<String>,
}

impl GroundedBox {
    /// Creates a box whose phrase is not known to be a referring expression.
    pub fn new(phrase: impl Into<String>, region: Region, synset: Option<String>) -> Self {
        Self {
            phrase: phrase.into(),
            region,
            is_ref_exp: false,
            synset,
        }
    }

    /// Returns the label of the box, or its phrase if it has no label.
    pub fn label(&self) -> &str {
        self.synset.as_ref().unwrap_or(&self.phrase)
    }
}

/// Counts of entries and irregularities found while reading the boxes of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxTally {
    /// Entries of `noun_chunks`.
    pub noun_chunks: u64,
    /// Entries of `ref_exps`.
    pub ref_exps: u64,
    /// Boxes of prepared shards.
    pub prepared: u64,
    /// Phrases that occurred earlier in the same record (skipped).
    pub repeated_phrase: u64,
    /// Offsets past the end of the caption (clamped, as Python slicing does).
    pub offset_past_the_end: u64,
    /// Entries whose phrase is blank (skipped).
    pub blank_phrase: u64,
    /// Entries with fewer than six numbers (skipped).
    pub too_few_numbers: u64,
    /// Entries with a number that is not finite (skipped).
    pub not_finite: u64,
    /// Boxes that extend beyond the image (clamped to it).
    pub outside: u64,
    /// Boxes with right <= left or bottom <= top (skipped).
    pub inverted: u64,
    /// Records whose number of synsets differs from their number of noun chunks (synsets of boxes
    /// ignored).
    pub synsets_misaligned: u64,
    /// Boxes that were drawn on the stored pixels of a photo with an orientation (turned with it).
    #[serde(default)]
    pub turned: u64,
    /// Turned photos whose listed size fits the stored and the upright frame, or that have none (their boxes are
    /// taken for upright).
    #[serde(default)]
    pub frame_unclear: u64,
    /// Boxes of photos whose listed size has other proportions than the photo (skipped).
    #[serde(default)]
    pub other_proportions: u64,
}

impl AddAssign for BoxTally {
    fn add_assign(&mut self, other: Self) {
        self.noun_chunks += other.noun_chunks;
        self.ref_exps += other.ref_exps;
        self.prepared += other.prepared;
        self.repeated_phrase += other.repeated_phrase;
        self.offset_past_the_end += other.offset_past_the_end;
        self.blank_phrase += other.blank_phrase;
        self.too_few_numbers += other.too_few_numbers;
        self.not_finite += other.not_finite;
        self.outside += other.outside;
        self.inverted += other.inverted;
        self.synsets_misaligned += other.synsets_misaligned;
        self.turned += other.turned;
        self.frame_unclear += other.frame_unclear;
        self.other_proportions += other.other_proportions;
    }
}

/// Checks that a caption and its entries have plausible lengths. The phrases of a record are copies
/// of parts of its caption, so a long caption with many entries would fill the memory.
///
/// # Errors
/// A fault that names the length.
pub fn check_lengths(
    caption: &str,
    noun_chunks: &[Entry],
    ref_exps: &[Entry],
) -> Result<(), Fault> {
    let checked = [
        ("caption", "bytes", caption.len(), MAX_CAPTION),
        ("noun_chunks", "entries", noun_chunks.len(), MAX_ENTRIES),
        ("ref_exps", "entries", ref_exps.len(), MAX_ENTRIES),
    ];
    for (key, unit, found, most) in checked {
        if found > most {
            let detail = format!("{key}: expected at most {most} {unit}, found {found}");
            return Err(Fault::new(Cause::UnreadableMetadata, detail));
        }
    }
    Ok(())
}

/// Reads the boxes of one record: noun chunks first, then referring expressions.
///
/// A phrase that occurred earlier in the record is skipped, even when the box of its first mention
/// could not be used (notation trap 9). A referring expression with exactly the box of a noun chunk
/// refers to the same object and takes over its synset.
pub fn ground(
    caption: &str,
    noun_chunks: &[Entry],
    ref_exps: &[Entry],
    synsets: &[String],
) -> (Vec<GroundedBox>, BoxTally) {
    let mut tally = BoxTally {
        noun_chunks: noun_chunks.len() as u64,
        ref_exps: ref_exps.len() as u64,
        ..BoxTally::default()
    };
    let aligned = synsets.len() == noun_chunks.len();
    if !aligned && !synsets.is_empty() {
        tally.synsets_misaligned = 1;
    }
    let slicer = CharSlices::new(caption);
    let mut seen = BTreeSet::new();
    let mut boxes: Vec<GroundedBox> = Vec::new();
    let entries = noun_chunks
        .iter()
        .enumerate()
        .map(|(i, entry)| (false, synsets.get(i).filter(|_| aligned), entry))
        .chain(ref_exps.iter().map(|entry| (true, None, entry)));
    for (is_ref_exp, synset, entry) in entries {
        let Some((phrase, stored)) = phrase_and_box(entry, &slicer, &mut tally) else {
            continue;
        };
        if !seen.insert(phrase) {
            tally.repeated_phrase += 1;
            continue;
        }
        let Some(rel) = clamped(stored, &mut tally) else {
            continue;
        };
        let same_box = |other: &&GroundedBox| other.region.relative() == Some(rel);
        let synset = synset
            .or_else(|| boxes.iter().find(same_box).and_then(|b| b.synset.as_ref()))
            .cloned();
        boxes.push(GroundedBox {
            is_ref_exp,
            ..GroundedBox::new(phrase, Region::Relative(rel), synset)
        });
    }
    (boxes, tally)
}

/// Returns the phrase of an entry and its box as stored; counts an entry that has none.
fn phrase_and_box<'a>(
    entry: &Entry,
    slicer: &CharSlices<'a>,
    tally: &mut BoxTally,
) -> Option<(&'a str, [f64; 4])> {
    let &[start, end, x1, y1, x2, y2, ..] = entry.as_slice() else {
        tally.too_few_numbers += 1;
        return None;
    };
    if ![start, end, x1, y1, x2, y2].iter().all(|v| v.is_finite()) {
        tally.not_finite += 1;
        return None;
    }
    let (phrase, past_the_end) = slicer.slice(start, end);
    tally.offset_past_the_end += u64::from(past_the_end);
    if phrase.trim().is_empty() {
        tally.blank_phrase += 1;
        return None;
    }
    Some((phrase, [x1, y1, x2, y2]))
}

/// Clamps a box to the image; `None` if it is inverted or empty, or a side is no number. Counts both.
pub(crate) fn clamped(stored: [f64; 4], tally: &mut BoxTally) -> Option<[f64; 4]> {
    let rel = stored.map(|v| v.clamp(0.0, 1.0));
    tally.outside += u64::from(rel != stored);
    let has_area = rel[2] > rel[0] && rel[3] > rel[1];
    tally.inverted += u64::from(!has_area);
    has_area.then_some(rel)
}

/// The byte offset of every character of a text.
struct CharSlices<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> CharSlices<'a> {
    fn new(text: &'a str) -> Self {
        let starts = text
            .char_indices()
            .map(|(offset, _)| offset)
            .chain([text.len()])
            .collect();
        Self { text, starts }
    }

    /// Returns `text[int(start)..int(end)]` in characters, with Python slice semantics: offsets
    /// past the end are clamped, negative ones count from the end. The flag is true if an offset
    /// was past the end or negative.
    fn slice(&self, start: f64, end: f64) -> (&'a str, bool) {
        let len = (self.starts.len() - 1) as i64;
        let resolve = |offset: f64| {
            // Saturates for huge values and truncates towards zero, as int() does.
            let offset = offset as i64;
            let from_start = if offset < 0 {
                offset.saturating_add(len)
            } else {
                offset
            };
            (
                from_start.clamp(0, len) as usize,
                offset < 0 || offset > len,
            )
        };
        let ((from, start_clamped), (to, end_clamped)) = (resolve(start), resolve(end));
        let phrase = if from < to {
            &self.text[self.starts[from]..self.starts[to]]
        } else {
            ""
        };
        (phrase, start_clamped || end_clamped)
    }
}

/// Converts a relative box to pixels: `int(x * width)`, `int(y * height)`, truncated (notation
/// 5.2).
///
/// Returns left, top, right, bottom; right and bottom are exclusive.
pub fn pixel_box(rel: [f64; 4], width: u32, height: u32) -> [u32; 4] {
    let pixel = |v: f64, size: u32| ((v * f64::from(size)) as u32).min(size);
    [
        pixel(rel[0], width),
        pixel(rel[1], height),
        pixel(rel[2], width),
        pixel(rel[3], height),
    ]
}

/// Returns whether the box area in whole pixels is strictly greater than `min_px` squared.
pub fn large_enough([left, top, right, bottom]: [u32; 4], min_px: f64) -> bool {
    let area = u64::from(right.saturating_sub(left)) * u64::from(bottom.saturating_sub(top));
    area as f64 > min_px * min_px
}

/// Returns the smallest usable box side, in pixels of the stored image, when boxes are cropped on
/// the fly for a model with an input of `image_size` pixels.
///
/// The limit of 32 px (notation 5.2) is meant for 224 px inputs: a smaller crop would be enlarged
/// more than seven times and contain hardly any detail. The limit shrinks in proportion to the
/// input size, which keeps the enlargement the same. Without this, a 64 px model would lose every
/// 32 px image, although it can use all of its pixels.
pub fn default_min_box_px(image_size: u32) -> f64 {
    PREPARED_MIN_BOX_PX * f64::from(image_size) / 224.0
}

/// Smallest box side of prepared shards (notation 5.2).
pub const PREPARED_MIN_BOX_PX: f64 = 32.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn phrases(boxes: &[GroundedBox]) -> Vec<&str> {
        boxes.iter().map(|b| b.phrase.as_str()).collect()
    }

    fn entry(start: f64, end: f64) -> Entry {
        vec![start, end, 0.1, 0.2, 0.5, 0.6, 0.9]
    }

    #[test]
    fn captions_and_lists_of_boxes_of_implausible_lengths_are_refused() {
        let entries = |count: usize| vec![entry(0.0, 1.0); count];
        let check = |caption: usize, noun_chunks: usize, ref_exps: usize| {
            let caption = "a".repeat(caption);
            let checked = check_lengths(&caption, &entries(noun_chunks), &entries(ref_exps));
            checked.map_err(|fault| fault.detail)
        };
        assert_eq!(check(65_536, 1000, 1000), Ok(()));
        for (found, key, limit) in [
            (check(65_537, 0, 0), "caption", "65536 bytes, found 65537"),
            (check(1, 1001, 0), "noun_chunks", "1000 entries, found 1001"),
            (check(1, 0, 1001), "ref_exps", "1000 entries, found 1001"),
        ] {
            assert_eq!(found, Err(format!("{key}: expected at most {limit}")));
        }
    }

    #[test]
    fn offsets_count_characters_and_slice_as_python_does() {
        for (caption, offsets, expected, past_the_end) in [
            (
                "👩‍🎤 a naïve 🐶 barks",
                [(6.0, 13.0), (4.0, 5.0)],
                ["naïve 🐶", "a"],
                0,
            ),
            // Past the end, [-3:5], and [int(1.9):int(5.2)].
            ("a 🐶", [(2.0, 50.0), (0.0, 1.0)], ["🐶", "a"], 1),
            ("a cat", [(-3.0, 5.0), (1.9, 5.2)], ["cat", " cat"], 1),
        ] {
            let entries = offsets.map(|(start, end)| entry(start, end));
            let (boxes, tally) = ground(caption, &entries, &[], &[]);
            assert_eq!(phrases(&boxes), expected);
            assert_eq!(tally.offset_past_the_end, past_the_end, "{caption}");
        }
        let (boxes, tally) = ground("a 🐶", &[entry(9.0, 12.0)], &[], &[]);
        assert_eq!((boxes.len(), tally.blank_phrase), (0, 1));
        assert_eq!(tally.offset_past_the_end, 1);
    }

    #[test]
    fn a_repeated_phrase_is_skipped_even_if_its_first_box_is_unusable() {
        let inverted = vec![2.0, 5.0, 0.9, 0.2, 0.5, 0.6];
        let (boxes, tally) = ground(
            "a cat",
            &[inverted],
            &[entry(2.0, 5.0), entry(0.0, 5.0)],
            &[],
        );
        assert_eq!(phrases(&boxes), ["a cat"]);
        assert_eq!((tally.inverted, tally.repeated_phrase), (1, 1));
    }

    #[test]
    fn invalid_boxes_are_skipped_and_counted() {
        let entries = [
            vec![0.0, 1.0, f64::NAN, 0.0, 1.0, 1.0],
            vec![f64::INFINITY, 1.0, 0.0, 0.0, 1.0, 1.0],
            vec![0.0, 1.0, 0.0],
            vec![],
            vec![2.0, 5.0, -0.5, 0.0, 1.5, 1.0],
            vec![0.0, 5.0, 2.0, 0.0, 3.0, 1.0],
        ];
        let (boxes, tally) = ground("a cat", &entries, &[], &[]);
        assert_eq!(phrases(&boxes), ["cat"]);
        assert_eq!(boxes[0].region.relative(), Some([0.0, 0.0, 1.0, 1.0]));
        assert_eq!((tally.not_finite, tally.too_few_numbers), (2, 2));
        assert_eq!((tally.outside, tally.inverted), (2, 1));
    }

    #[test]
    fn synsets_follow_noun_chunks_and_their_boxes() {
        let synsets = ["n1".to_owned()];
        let other = vec![0.0, 1.0, 0.0, 0.0, 1.0, 1.0];
        let (boxes, tally) = ground(
            "a cat",
            &[entry(2.0, 5.0)],
            &[entry(0.0, 5.0), other],
            &synsets,
        );
        let found: Vec<_> = boxes.iter().map(|b| b.synset.as_deref()).collect();
        assert_eq!(found, [Some("n1"), Some("n1"), None]);
        assert_eq!(tally.synsets_misaligned, 0);

        let two = ["n1".to_owned(), "n2".to_owned()];
        let (boxes, tally) = ground("a cat", &[entry(2.0, 5.0)], &[], &two);
        assert_eq!(
            (boxes[0].synset.clone(), tally.synsets_misaligned),
            (None, 1)
        );
    }

    #[test]
    fn pixels_are_truncated_and_the_limit_is_strict() {
        assert_eq!(
            pixel_box([0.0, 0.1406, 0.5, 0.7812], 64, 64),
            [0, 8, 32, 49]
        );
        let square = pixel_box([0.0, 0.0, 1.0, 1.0], 32, 32);
        assert!(!large_enough(square, 32.0));
        assert!(large_enough([0, 0, 33, 32], 32.0));
        assert!(large_enough(square, default_min_box_px(64)));
        assert!((default_min_box_px(224) - PREPARED_MIN_BOX_PX).abs() < 1e-12);
    }
}

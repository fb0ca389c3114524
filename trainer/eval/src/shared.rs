//! Embedding by several processes: each computes a part of the rows, and all get all of them.

use espalier_io::exit::usage;
use espalier_io::ranks::{Collective, different_from_most, share};

use super::cache::key;
use super::embedded::ImageMetadata;

/// Returns the part of a list that this rank computes.
pub fn own_part<'a, T>(ranks: &dyn Collective, all: &'a [T]) -> &'a [T] {
    let (from, count) = share(all.len(), ranks.rank(), ranks.world());
    &all[from..from + count]
}

/// Returns the rows of all ranks in the order of ranks. All rows have the same width.
pub fn all_rows(ranks: &dyn Collective, own: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
    if ranks.world() == 1 {
        return own;
    }
    let width = own.first().map_or(0, Vec::len) as u64;
    let own = own.concat();
    let sizes = [own.len() as u64, width].map(u64::to_le_bytes).concat();
    let sizes = ranks.all_gather_bytes(&sizes);
    let number = |bytes: &[u8], at: usize| {
        let bytes = bytes.as_chunks().0.get(at).copied();
        u64::from_le_bytes(bytes.unwrap_or_default()) as usize
    };
    let counts: Vec<usize> = sizes.iter().map(|bytes| number(bytes, 0)).collect();
    let width = sizes.iter().map(|bytes| number(bytes, 1)).max();
    let all = ranks.all_gather(&own, &counts);
    all.chunks(width.unwrap_or(0).max(1))
        .map(<[f32]>::to_vec)
        .collect()
}

/// Returns the metadata of all ranks' rows in the order of ranks.
///
/// # Errors
/// If another rank sends something else, which would be an error of the program.
pub fn all_metadata(ranks: &dyn Collective, own: ImageMetadata) -> anyhow::Result<ImageMetadata> {
    if ranks.world() == 1 {
        return Ok(own);
    }
    let mut all = ImageMetadata::default();
    for bytes in ranks.all_gather_bytes(&serde_json::to_vec(&own)?) {
        let part: ImageMetadata = serde_json::from_slice(&bytes)?;
        all.keys.extend(part.keys);
        all.captions.extend(part.captions);
        all.more_captions.extend(part.more_captions);
        all.labels.extend(part.labels);
        all.counts.merge(&part.counts);
    }
    Ok(all)
}

/// Checks that all ranks embed the same things with the same model; `parts` identify both.
///
/// # Errors
/// Bad usage with the ranks that differ from the others.
pub fn check_same(ranks: &dyn Collective, parts: &[&str]) -> anyhow::Result<()> {
    if ranks.world() == 1 {
        return Ok(());
    }
    let start = u32::from_str_radix(&key(parts.iter().copied())[..8], 16)?;
    let all = ranks.all_gather_bytes(&start.to_le_bytes());
    let sums = all.into_iter();
    let sums = sums.map(|bytes| bytes.try_into().map_or(0, u32::from_le_bytes));
    let different = different_from_most(&sums.collect::<Vec<u32>>());
    if different.is_empty() {
        return Ok(());
    }
    let different: Vec<String> = different.iter().map(ToString::to_string).collect();
    Err(usage(format!(
        "expected the same model and data on all ranks, found others on rank {}",
        different.join(", ")
    )))
}

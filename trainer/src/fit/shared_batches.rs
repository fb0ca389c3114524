//! Batches whose images are shared between the ranks of a run.

use anyhow::{Context, bail};

use crate::data::{Batch, BatchStream};
use crate::ranks::{Collective, different_from_most};

/// Returns the next batch with this rank's images; all ranks have the same records in it.
///
/// Each rank decodes only its own images. Where one of them is damaged, all ranks make the batch
/// again without it, so that it is the batch of a single process.
///
/// # Errors
/// As [`BatchStream`]; if a rank read other records than the others.
pub(super) fn next_batch(
    stream: &mut BatchStream,
    ranks: &dyn Collective,
) -> anyhow::Result<Batch> {
    let batch = stream.next().context("the data ended early")??;
    if ranks.world() == 1 {
        return Ok(batch);
    }
    if !ranks.any(stream.is_incomplete()) {
        check_same(&batch, ranks)?;
        return Ok(batch);
    }
    let batch = stream.redo()?;
    check_same(&batch, ranks)?;
    Ok(batch)
}

/// Checks that all ranks have the same records and texts, and the same position after them.
fn check_same(batch: &Batch, ranks: &dyn Collective) -> anyhow::Result<()> {
    let mut sum = 0;
    for key in &batch.keys {
        sum = crc32c::crc32c_append(sum, key.as_bytes());
        sum = crc32c::crc32c_append(sum, &[0]);
    }
    let texts = [Some(&batch.captions), batch.phrases.as_ref()];
    let chains = batch.chains.as_ref().map(|chains| &chains.texts);
    for tokens in texts.into_iter().chain([chains]).flatten() {
        for id in &tokens.ids {
            sum = crc32c::crc32c_append(sum, &id.to_le_bytes());
        }
    }
    for number in [batch.position_after.epoch, batch.position_after.index] {
        sum = crc32c::crc32c_append(sum, &number.to_le_bytes());
    }
    let all = ranks.all_gather_bytes(&sum.to_le_bytes()).into_iter();
    let sums = all.map(|bytes| bytes.try_into().map_or(0, u32::from_le_bytes));
    let differ = different_from_most(&sums.collect::<Vec<u32>>());
    if differ.is_empty() {
        return Ok(());
    }
    let position = batch.position_after;
    bail!(
        "expected the same records on all ranks, found others on rank {} in the batch before \
         record {} of epoch {}; check that all machines read the same files",
        list(&differ),
        position.index,
        position.epoch
    )
}

/// Lists ranks for a message.
pub(super) fn list(ranks: &[usize]) -> String {
    let names: Vec<String> = ranks.iter().map(usize::to_string).collect();
    names.join(", ")
}

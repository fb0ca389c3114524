//! Batches whose lanes and images are shared between the ranks of a run.

use std::ops::Range;

use anyhow::{Context, bail};
use espalier_data::batches::lane_batch::{LaneBatch, Outline, joined};
use espalier_data::{Batch, BatchSpec, BatchStream};
use espalier_io::ranks::{Collective, different_from_most};
use serde::{Deserialize, Serialize};

/// Returns the next batch with this rank's images; all ranks have the same records in it.
///
/// Each rank reads the lanes of its own rows and gets the texts of the others from the ranks that read
/// them. Of a lane that several ranks read, each decodes only its own images. Where one of them is
/// damaged, all ranks make the batch again without it, so that it is the batch of a single process.
///
/// # Errors
/// As [`BatchStream`]; if a rank read other records of a lane than the others.
pub fn next_batch(stream: &mut BatchStream, ranks: &dyn Collective) -> anyhow::Result<Batch> {
    let ended = "the data ended early";
    if ranks.world() == 1 {
        return Ok(stream.next().context(ended)??);
    }
    let mut parts = stream.next_parts().context(ended)??;
    if ranks.any(stream.is_incomplete()) {
        parts = stream.redo()?;
    }
    let spec = stream.spec();
    let lanes = exchange(parts, spec, ranks)?;
    joined(lanes, spec).context(ended)
}

/// Message of a rank about the lanes that it has read.
#[derive(Serialize, Deserialize)]
struct Message {
    /// Lanes with the check sums of their records.
    sums: Vec<(usize, u32)>,
    /// Lanes that other ranks have not read.
    outlines: Vec<(usize, Outline)>,
}

/// Returns all lanes of a batch: those that this rank has read, and the outlines of the others.
fn exchange(
    parts: Vec<LaneBatch>,
    spec: &BatchSpec,
    ranks: &dyn Collective,
) -> anyhow::Result<Vec<Batch>> {
    let read: Vec<Range<usize>> = (0..ranks.world()).map(|rank| spec.lanes_of(rank)).collect();
    let is_mine =
        |lane: usize| read.iter().position(|lanes| lanes.contains(&lane)) == Some(ranks.rank());
    let is_wanted = |lane: usize| read.iter().any(|lanes| !lanes.contains(&lane));
    let sums = parts.iter().map(|part| (part.lane, check_sum(&part.batch)));
    let lacking = parts
        .iter()
        .filter(|part| is_mine(part.lane) && is_wanted(part.lane));
    let message = Message {
        sums: sums.collect(),
        outlines: lacking
            .map(|part| (part.lane, Outline::of(&part.batch)))
            .collect(),
    };
    let messages = ranks.all_gather_bytes(&serde_json::to_vec(&message)?);
    let mut lanes: Vec<(usize, Batch)> = parts.into_iter().map(|p| (p.lane, p.batch)).collect();
    let mut sums = Vec::new();
    for (rank, bytes) in messages.iter().enumerate() {
        let message: Message = serde_json::from_slice(bytes)
            .with_context(|| format!("the message of rank {rank} about its data"))?;
        let of_rank = message.sums.into_iter();
        sums.extend(of_rank.map(|(lane, sum)| (lane, rank, sum)));
        for (lane, outline) in message.outlines {
            if !lanes.iter().any(|(known, _)| *known == lane) {
                lanes.push((lane, outline.into_batch(spec.image_size)));
            }
        }
    }
    lanes.sort_unstable_by_key(|(lane, _)| *lane);
    let lanes: Vec<Batch> = lanes.into_iter().map(|(_, batch)| batch).collect();
    check_same(&sums, &lanes)?;
    Ok(lanes)
}

/// Returns a check sum of the records, texts and position of a part of a batch.
fn check_sum(batch: &Batch) -> u32 {
    let mut sum = 0;
    for key in &batch.keys {
        sum = crc32c::crc32c_append(sum, key.as_bytes());
        sum = crc32c::crc32c_append(sum, &[0]);
    }
    for tokens in std::iter::once(&batch.captions).chain(batch.content.texts()) {
        for id in &tokens.ids {
            sum = crc32c::crc32c_append(sum, &id.to_le_bytes());
        }
    }
    for position in batch.position_after.lanes() {
        for number in [position.epoch, position.index] {
            sum = crc32c::crc32c_append(sum, &number.to_le_bytes());
        }
    }
    sum
}

/// Checks that ranks that read the same lane have the same sum of it: lane, rank and sum of each.
fn check_same(sums: &[(usize, usize, u32)], lanes: &[Batch]) -> anyhow::Result<()> {
    for (lane, batch) in lanes.iter().enumerate() {
        let of_lane = sums.iter().filter(|(number, _, _)| *number == lane);
        let (readers, sums): (Vec<usize>, Vec<u32>) =
            of_lane.map(|(_, rank, sum)| (*rank, *sum)).unzip();
        let differ = different_from_most(&sums);
        if differ.is_empty() {
            continue;
        }
        let differ: Vec<usize> = differ.into_iter().map(|at| readers[at]).collect();
        let position = batch.position_after.last();
        bail!(
            "expected the same records on all ranks, found others on rank {} in the batch before \
             record {} of epoch {}; check that all machines read the same files",
            list(&differ),
            position.index,
            position.epoch
        )
    }
    Ok(())
}

/// Lists ranks for a message.
pub(super) fn list(ranks: &[usize]) -> String {
    let names: Vec<String> = ranks.iter().map(usize::to_string).collect();
    names.join(", ")
}

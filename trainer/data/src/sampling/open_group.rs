//! The group of units that a lane is reading, and the thread that fetches the next one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::Needs;
use crate::batches::batch_spec::BatchSpec;
use crate::formats::companions::Companions;
use crate::records::fault::Broken;
use crate::records::order::{EpochOrder, Group, Position, Slot};
use crate::records::random::{Purpose, Random};
use crate::records::source::{Dataset, Record, Records};
use crate::sampling::draw::{Content, Detail, DrawResult, companion, draw};

/// A record, or why it cannot be used.
type RecordResult = std::result::Result<Record, Broken>;

/// A unit, loaded by the first worker that needs it.
type Loaded = OnceLock<std::result::Result<Box<dyn Records>, Broken>>;

/// The group of units currently being read.
pub(super) struct OpenGroup {
    pub(super) number: usize,
    /// Its records in the order in which they are read.
    pub(super) slots: Vec<Slot>,
    units: Vec<Loaded>,
    /// Boxes by label, where the method trains on boxes of other images.
    companions: Companions,
}

impl OpenGroup {
    /// Opens group `number` of an epoch.
    pub(super) fn open(
        number: usize,
        order: &EpochOrder,
        dataset: &dyn Dataset,
        spec: &BatchSpec,
        pool: &ThreadPool,
    ) -> Self {
        let group = order.group(number);
        let mut open = Self {
            number,
            slots: order.slots(number, dataset),
            units: group.units.iter().map(|_| Loaded::new()).collect(),
            companions: Companions::default(),
        };
        if spec.needs == Needs::Parts && spec.cross_image != 0 {
            let read = |slot: &Slot| (*slot, open.read(*slot, group, dataset));
            let all = || open.slots.par_iter().map(read).collect::<Vec<_>>();
            open.companions = Companions::of(pool.install(all).into_iter());
        }
        open
    }

    /// Reads a record of the group; its unit is loaded when its first record is read.
    fn read(&self, slot: Slot, group: &Group, dataset: &dyn Dataset) -> RecordResult {
        let member = slot.member as usize;
        let load = || dataset.load(group.units[member] as usize);
        self.units[member].get_or_init(load).read(slot.row as usize)
    }
}

/// The thread that fetches the units of the next group; it has ended when this is dropped.
#[derive(Default)]
pub(super) struct Ahead(Option<JoinHandle<()>>);

impl Ahead {
    /// Starts to fetch the units of a group; ends early once `stop` is set.
    pub(super) fn fetch(group: &Group, dataset: &Arc<dyn Dataset>, stop: &Arc<AtomicBool>) -> Self {
        let units = group.units.clone();
        let (dataset, stop) = (Arc::clone(dataset), Arc::clone(stop));
        let fetch = move || {
            let going_on = |_: &u32| !stop.load(Ordering::Relaxed);
            for unit in units.into_iter().take_while(going_on) {
                dataset.prefetch(unit as usize);
            }
        };
        // Without the thread, the units are fetched when they are read.
        Self(Builder::new().name("data-ahead".into()).spawn(fetch).ok())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A unit that could not be fetched is fetched when it is read.
            let _ = thread.join();
        }
    }
}

/// Draws records of an open group.
pub(super) struct Drawing<'a> {
    pub(super) open: &'a OpenGroup,
    pub(super) group: &'a Group,
    pub(super) dataset: &'a dyn Dataset,
    pub(super) spec: &'a BatchSpec,
    /// Seed of the lane.
    pub(super) seed: u64,
    /// Position of the first record that is drawn.
    pub(super) position: Position,
}

impl Drawing<'_> {
    /// Draws the record in a slot, `offset` records after the position; also returns the index of its
    /// unit.
    pub(super) fn draw(&self, (offset, slot): (usize, &Slot), detail: Detail) -> (u32, DrawResult) {
        let read = |slot| self.open.read(slot, self.group, self.dataset);
        let Position { epoch, index } = self.position;
        let mut random = Random::new(self.seed, Purpose::Sample, epoch, index + offset as u64);
        let mut outcome = draw(read(*slot), self.spec, &mut random, detail);
        if let DrawResult::Sample(sample) = &mut outcome
            && let Content::Scene {
                parts, companions, ..
            } = &mut sample.content
        {
            for part in parts {
                let limit = self.spec.cross_image;
                let others = &self.open.companions;
                for other in others.pick(&part.label, *slot, limit, &mut random) {
                    let part = companion(read(other.slot), other.box_index, self.spec, &mut random);
                    companions.extend(part);
                }
            }
        }
        (self.group.units[slot.member as usize], outcome)
    }
}

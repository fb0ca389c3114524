//! `trainer data bench`: measures what records cost before they reach a model, stage by stage on one
//! core, and then all of it on all cores.

use std::iter;
use std::time::{Duration, Instant};

use espalier_core::input::Tokenizer;
use espalier_io::storage::traffic;
use rayon::ThreadPool;
use rayon::prelude::*;
use serde::Serialize;

use crate::Needs;
use crate::batches::batch_spec::BatchSpec;
use crate::records::error::{DataError, Result};
use crate::records::fault::{Broken, BrokenCounts, Fault};
use crate::records::random::{Purpose, Random};
use crate::records::record_image::RecordImage;
use crate::records::source::{Dataset, Record, Records};
use crate::sampling::draw::{Detail, DrawResult, draw};
use crate::sampling::regions::{crop_region, encoder_square, usable_boxes};

/// Time of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Its name: `read`, `decode`, `crop`, `box` or `tokenise`.
    pub stage: &'static str,
    /// Mean time in microseconds for one image on one core.
    pub microseconds: f64,
    /// Images that one core can do in a second.
    pub images_per_second: f64,
}

impl Stage {
    fn new(stage: &'static str, time: Duration, images: u64) -> Self {
        let seconds = time.as_secs_f64() / images.max(1) as f64;
        Self {
            stage,
            microseconds: 1e6 * seconds,
            images_per_second: rate(1, seconds),
        }
    }
}

/// Returns `count` per second; 0 if no time passed.
fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

/// What the records of a dataset cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchReport {
    /// Records that went through all stages.
    pub records: u64,
    /// Records that were skipped as broken.
    pub broken: u64,
    /// Side of the square that the image encoder reads, in pixels.
    pub image_size: u32,
    /// Whether a box of each image was cropped too.
    pub boxes: bool,
    /// The stages, in the order of the work.
    pub stages: Vec<Stage>,
    /// All stages on one core, in images per second.
    pub one_core: f64,
    /// Number of threads of the last measurement.
    pub workers: usize,
    /// All stages on that many threads, in images per second.
    pub all_workers: f64,
    /// Mean number of bytes of shards that were read for an image.
    pub bytes_read: f64,
    /// Mean number of bytes for an image that came from object storage and not from the cache.
    pub bytes_fetched: f64,
    /// Bytes per second that came from object storage; 0 if none did.
    pub fetched_per_second: f64,
}

/// Measured times and counts of the stages.
#[derive(Default)]
struct Times {
    fetch: Duration,
    read: Duration,
    decode: Duration,
    crop: Duration,
    boxed: Duration,
    tokenise: Duration,
    /// Records that were read; whole units are, so they may be more than those that were decoded.
    loaded: u64,
    done: u64,
    counts: BrokenCounts,
}

/// Adds the time that `work` takes to `total`.
fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *total += start.elapsed();
    result
}

/// What is measured.
pub struct Bench<'a> {
    /// The records.
    pub dataset: &'a dyn Dataset,
    /// Encodes their texts.
    pub tokenizer: &'a Tokenizer,
    /// How they are cropped, and whether boxes are.
    pub spec: &'a BatchSpec,
    /// Number of records to measure; all if there are fewer.
    pub records: u64,
    /// Called with the number of records just finished.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Bench<'_> {
    /// Measures the first records, stage by stage on this thread, then together on the threads of a pool.
    ///
    /// # Errors
    /// If object storage fails, or no record can be used.
    pub fn run(&self, pool: &ThreadPool) -> Result<BenchReport> {
        let before = traffic();
        let mut times = Times::default();
        for unit in 0..self.dataset.units().len() {
            if times.done >= self.records {
                break;
            }
            self.measure_unit(unit, &mut times)?;
        }
        let after = traffic();
        let (read, fetched) = (after.read - before.read, after.fetched - before.fetched);
        if times.done == 0 {
            return Err(DataError::NoRecords {
                places: vec![self.dataset.shard_name(0).to_owned()],
                detail: format!(":\n{}", times.counts),
            });
        }
        let mut stages = vec![
            Stage::new("read", times.read, times.loaded),
            Stage::new("decode", times.decode, times.done),
            Stage::new("crop", times.crop, times.done),
        ];
        let boxes = self.spec.needs == Needs::Boxes;
        if boxes {
            stages.push(Stage::new("box", times.boxed, times.done));
        }
        stages.push(Stage::new("tokenise", times.tokenise, times.done));
        let sum: f64 = stages.iter().map(|stage| stage.microseconds).sum();
        let all_workers = self.in_parallel(pool);
        Ok(BenchReport {
            records: times.done,
            broken: times.counts.broken(),
            image_size: self.spec.image_size,
            boxes,
            stages,
            one_core: rate(1, sum / 1e6),
            workers: pool.current_num_threads(),
            all_workers,
            bytes_read: read as f64 / times.loaded.max(1) as f64,
            bytes_fetched: fetched as f64 / times.loaded.max(1) as f64,
            fetched_per_second: rate(fetched, times.fetch.as_secs_f64()),
        })
    }

    /// Reads a whole unit, and measures the other stages on those of its records that are still wanted.
    fn measure_unit(&self, unit: usize, times: &mut Times) -> Result<()> {
        let info = self.dataset.units()[unit];
        let shard = self.dataset.shard_name(info.shard);
        timed(&mut times.fetch, || self.dataset.prefetch(unit));
        let loaded = match timed(&mut times.read, || self.dataset.load(unit)) {
            Ok(loaded) => loaded,
            Err(broken) => {
                times.counts.add(shard, &broken);
                return DataError::check_storage(&times.counts);
            }
        };
        for row in 0..info.records as usize {
            let record = timed(&mut times.read, || {
                let mut record = loaded.read(row)?;
                take_bytes(&mut record)?;
                Ok::<_, Broken>(record)
            });
            times.loaded += 1;
            let measured = record.and_then(|record| {
                if times.done >= self.records {
                    return Ok(());
                }
                let (seed, unit) = (self.spec.seed, unit as u64);
                let mut random = Random::new(seed, Purpose::Sample, unit, row as u64);
                self.measure_record(record, &mut random, times)
            });
            if let Err(broken) = measured {
                times.counts.add(shard, &broken);
            }
        }
        DataError::check_storage(&times.counts)
    }

    fn measure_record(
        &self,
        record: Record,
        random: &mut Random,
        times: &mut Times,
    ) -> Result<(), Broken> {
        let spec = self.spec;
        let Record {
            key,
            image,
            caption,
            boxes,
            ..
        } = record;
        let stages = || -> Result<(), Fault> {
            let pixels = timed(&mut times.decode, || image.decode())?;
            timed(&mut times.crop, || encoder_square(&pixels, spec, random))?;
            let mut texts = vec![caption];
            if spec.needs == Needs::Boxes {
                let phrase = timed(&mut times.boxed, || {
                    let mut usable = usable_boxes(boxes, pixels.dimensions(), spec.min_box_px);
                    let count = u32::try_from(usable.len()).unwrap_or(u32::MAX);
                    if count == 0 {
                        return Ok(None);
                    }
                    let chosen = usable.swap_remove(random.below(count) as usize);
                    encoder_square(&crop_region(&chosen.region, &pixels)?, spec, random)?;
                    Ok(Some(chosen.phrase))
                })?;
                texts.extend(phrase);
            }
            timed(&mut times.tokenise, || {
                std::hint::black_box(self.tokenizer.encode_batch(&texts, spec.context))
            });
            times.done += 1;
            Ok(())
        };
        stages().map_err(|fault| fault.of(key))?;
        (self.progress)(1);
        Ok(())
    }

    /// Reads and draws the same records as training does, on all threads of the pool; returns images per
    /// second.
    fn in_parallel(&self, pool: &ThreadPool) -> f64 {
        let start = Instant::now();
        let (mut left, mut done) = (self.records, 0);
        for (unit, info) in self.dataset.units().iter().enumerate() {
            if left == 0 {
                break;
            }
            // Broken units were counted before.
            let Ok(loaded) = self.dataset.load(unit) else {
                continue;
            };
            let rows = left.min(u64::from(info.records));
            let drawn = |row: &u64| self.draw_row(&*loaded, *row, unit);
            done += pool.install(|| (0..rows).into_par_iter().filter(drawn).count());
            left -= rows;
        }
        rate(done as u64, start.elapsed().as_secs_f64())
    }

    /// Draws a sample and tokenises its texts; returns whether the record was usable.
    fn draw_row(&self, loaded: &dyn Records, row: u64, unit: usize) -> bool {
        let spec = self.spec;
        let mut random = Random::new(spec.seed, Purpose::Sample, unit as u64, row);
        match draw(loaded.read(row as usize), spec, &mut random, Detail::Whole) {
            DrawResult::Sample(sample) => {
                let phrase = sample.content.boxed().map(|(_, phrase)| phrase);
                let texts: Vec<&str> = iter::once(&*sample.caption).chain(phrase).collect();
                std::hint::black_box(self.tokenizer.encode_batch(&texts, spec.context));
                true
            }
            DrawResult::NoUsableBox | DrawResult::NoChain => true,
            DrawResult::Broken(_) => false,
        }
    }
}

/// Takes the bytes of images that lie in the shard, so that they are read before they are decoded.
fn take_bytes(record: &mut Record) -> Result<(), Broken> {
    if let RecordImage::ByteRange(range) = &record.image {
        let bytes = range.read().map_err(|fault| fault.of(record.key.clone()))?;
        record.image = RecordImage::Encoded(bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Synthetic;

    #[test]
    fn all_stages_are_measured_on_as_many_records_as_wanted() {
        let data = Synthetic::new(300, 32, 0);
        let tokenizer = Tokenizer::from_merges("r e\nre d</w>\n", 516).unwrap();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap();
        let run = |needs, records| {
            let spec = BatchSpec {
                needs,
                ..BatchSpec::new(1, 16, 32)
            };
            let bench = Bench {
                dataset: &data,
                tokenizer: &tokenizer,
                spec: &spec,
                records,
                progress: &|_| (),
            };
            bench.run(&pool).unwrap()
        };
        let report = run(Needs::Boxes, 40);
        let names: Vec<_> = report.stages.iter().map(|stage| stage.stage).collect();
        assert_eq!(names, ["read", "decode", "crop", "box", "tokenise"]);
        assert_eq!((report.records, report.broken, report.workers), (40, 0, 2));
        assert!(report.stages.iter().all(|stage| stage.microseconds > 0.0));
        let sum: f64 = report.stages.iter().map(|stage| stage.microseconds).sum();
        assert!((report.one_core * sum / 1e6 - 1.0).abs() < 1e-9);
        assert!(report.all_workers > 0.0 && report.fetched_per_second == 0.0);
        // More than there are: all of them.
        let report = run(Needs::Captions, 1000);
        assert_eq!((report.records, report.stages.len()), (300, 4));
    }
}

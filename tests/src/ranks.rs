//! Ranks that are threads of the test's process, and data that every method can train on.

use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use espalier_trainer::ranks::Collective;

use crate::{PATIENCE, lock};

/// What the ranks of one exchange have given.
#[derive(Default)]
struct Exchange {
    number: u64,
    given: Vec<Option<Vec<u8>>>,
    /// Results of the exchange before this one.
    complete: Arc<Vec<Vec<u8>>>,
}

/// One of several threads that train together.
pub struct ThreadRank {
    rank: usize,
    world: usize,
    shared: Arc<(Mutex<Exchange>, Condvar)>,
}

impl ThreadRank {
    fn exchange(&self, own: Vec<u8>) -> Arc<Vec<Vec<u8>>> {
        let (exchange, changed) = &*self.shared;
        let mut exchange = lock(exchange);
        let number = exchange.number;
        exchange.given[self.rank] = Some(own);
        if exchange.given.iter().all(Option::is_some) {
            let given = exchange.given.iter_mut().filter_map(Option::take).collect();
            exchange.complete = Arc::new(given);
            exchange.number += 1;
            changed.notify_all();
            return Arc::clone(&exchange.complete);
        }
        let waits = |exchange: &mut Exchange| exchange.number == number;
        let (exchange, waited) = changed
            .wait_timeout_while(exchange, PATIENCE, waits)
            .unwrap_or_else(PoisonError::into_inner);
        let rank = self.rank;
        assert!(!waited.timed_out(), "rank {rank}: another rank ended");
        Arc::clone(&exchange.complete)
    }
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let floats = bytes.as_chunks().0.iter();
    floats.map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

impl Collective for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn world(&self) -> usize {
        self.world
    }

    fn set_time_limit(&self, _limit: Duration) {}

    fn all_gather(&self, own: &[f32], counts: &[usize]) -> Vec<f32> {
        assert_eq!(own.len(), counts[self.rank], "rank {}", self.rank);
        let all = self.exchange(bytes(own));
        for (part, count) in all.iter().zip(counts) {
            assert_eq!(part.len(), 4 * count, "the ranks gather different values");
        }
        floats(&all.concat())
    }

    fn all_gather_bytes(&self, own: &[u8]) -> Vec<Vec<u8>> {
        self.exchange(own.to_vec()).to_vec()
    }

    fn all_reduce_sum(&self, values: &mut [f32]) {
        let all = self.exchange(bytes(values));
        let (first, others) = all.split_first().unwrap();
        values.copy_from_slice(&floats(first));
        for other in others {
            for (sum, value) in values.iter_mut().zip(floats(other)) {
                *sum += value;
            }
        }
    }

    fn barrier(&self) {
        self.exchange(Vec::new());
    }

    fn abort(&self, code: u8) -> ! {
        panic!("rank {} ends all with exit code {code}", self.rank)
    }
}

/// Runs the work of each rank in a thread; returns the results in the order of ranks.
pub fn on_ranks<T: Send>(world: usize, work: impl Fn(Rc<dyn Collective>) -> T + Sync) -> Vec<T> {
    let exchange = Exchange {
        given: vec![None; world],
        ..Exchange::default()
    };
    let shared = Arc::new((Mutex::new(exchange), Condvar::new()));
    thread::scope(|scope| {
        let (work, shared) = (&work, &shared);
        let running: Vec<_> = (0..world)
            .map(|rank| {
                scope.spawn(move || {
                    let shared = Arc::clone(shared);
                    let rank = ThreadRank {
                        rank,
                        world,
                        shared,
                    };
                    work(Rc::new(rank))
                })
            })
            .collect();
        let results = running.into_iter().map(|rank| match rank.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.collect()
    })
}

/// Writes `chains.csv` (chains of HierarCaps' form) and `ranks.tsv` (lineages of 16 labels).
pub fn write_chains(folder: &Path) {
    let (kinds, places) = (
        ["dog", "cat", "bird", "car"],
        ["road", "roof", "lawn", "beach"],
    );
    let mut rows = String::from("positive,negative\n");
    for (i, kind) in kinds.iter().enumerate() {
        for place in places {
            let other = kinds[(i + 1) % 4];
            rows.push_str(&format!(
                "thing => {kind} => a {kind} on a {place} => a large {kind} sits on a {place}\
                 ,idea => {other} => a {other} on a {place} => a small {kind} runs over a {place}\n"
            ));
        }
    }
    fs::write(folder.join("chains.csv"), rows).unwrap();
    let mut ranks = String::from("kingdom\tphylum\tclass\torder\n");
    for i in 0..16 {
        let row = format!("k{}\tp{}\tc{}\to{i}\n", i / 8, i / 4, i / 2);
        ranks.push_str(&row);
    }
    fs::write(folder.join("ranks.tsv"), ranks).unwrap();
}

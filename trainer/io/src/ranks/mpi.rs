//! Ranks that exchange through an MPI library.
//!
//! Every operation is non-blocking and is polled until it ends, so that a rank notices when another one
//! does not take part. All calls are made from the main thread.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::collective::CommunicatorCollectives;
use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::Universe;
use mpi::point_to_point::{Destination, Source};
use mpi::request::{Request, Scope, scope};
use mpi::topology::{Communicator, SimpleCommunicator};

use super::collective::{Collective, share};
use crate::disk::temporary::remove_all_and;
use crate::exit::usage;
use crate::output::note;

/// Time in which the other ranks have to answer whether they are waiting too.
const SURVEY: Duration = Duration::from_secs(5);

/// Time for which a process only yields its core between two polls; afterwards it sleeps between them.
const EAGER: Duration = Duration::from_millis(20);

/// Sleep between two polls.
const NAP: Duration = Duration::from_micros(50);

/// The ranks of an MPI job.
pub(super) struct Mpi {
    world: SimpleCommunicator,
    /// Used to find out which ranks do not take part; no operation of the training uses it.
    survey: SimpleCommunicator,
    limit: Cell<Option<Duration>>,
    /// Finalises MPI when it is dropped, which must be after the communicators.
    _universe: Universe,
}

impl Mpi {
    /// Initialises MPI.
    ///
    /// # Errors
    /// Bad usage if MPI was already initialised.
    pub(super) fn start() -> anyhow::Result<Self> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| usage("MPI can be started only once in a process"))?;
        let world = universe.world();
        let survey = world.duplicate();
        Ok(Self {
            world,
            survey,
            limit: Cell::new(None),
            _universe: universe,
        })
    }

    /// Waits until an operation has ended; ends the process where another rank does not come within
    /// the limit.
    fn wait<'a, D: ?Sized, S: Scope<'a>>(
        &self,
        mut request: Request<'a, D, S>,
        what: &str,
        limit: Option<Duration>,
    ) {
        let begun = Instant::now();
        loop {
            request = match request.test() {
                Ok(_) => return,
                Err(unfinished) => unfinished,
            };
            let waited = begun.elapsed();
            if waited < EAGER {
                thread::yield_now();
                continue;
            }
            thread::sleep(NAP);
            let is_late = limit.is_some_and(|limit| waited > limit);
            if is_late || self.survey.any_process().immediate_probe().is_some() {
                self.report_missing(what, waited);
            }
        }
    }

    /// Asks all ranks whether they are waiting too, says which ones do not answer, and ends the
    /// job. A rank that is asked joins, so that all that still run end together.
    fn report_missing(&self, what: &str, waited: Duration) -> ! {
        let (rank, world) = (self.rank(), self.world());
        let mut answered = vec![false; world];
        answered[rank] = true;
        // Small messages are sent at once; the process ends before they could be completed.
        let token: &'static [u8; 1] = &[1];
        for other in (0..world).filter(|other| *other != rank) {
            let other = self.survey.process_at_rank(other as i32);
            let sent = other.immediate_send(mpi::request::StaticScope, &token[..]);
            std::mem::forget(sent);
        }
        let begun = Instant::now();
        while begun.elapsed() < SURVEY && answered.contains(&false) {
            if let Some(status) = self.survey.any_process().immediate_probe() {
                let source = status.source_rank();
                let mut answer = [0_u8; 1];
                let _ = self
                    .survey
                    .process_at_rank(source)
                    .receive_into(&mut answer[..]);
                answered[source as usize] = true;
            }
            thread::sleep(NAP);
        }
        let ranks = |came: bool| -> Vec<usize> {
            (0..world)
                .filter(|other| answered[*other] == came)
                .collect()
        };
        let (gone, here) = (ranks(false), ranks(true));
        let names: Vec<String> = gone.iter().map(usize::to_string).collect();
        // One of the ranks that answered speaks for all.
        if here.first() == Some(&rank) {
            let missing = if gone.is_empty() {
                "all ranks answer, but the exchange does not end".to_owned()
            } else {
                format!("no answer from rank {}", names.join(", "))
            };
            note(format_args!(
                "error: rank {rank}: waited {:.0} s for the {what} of all ranks: {missing}; the run \
                 ends, resume it from its last checkpoint",
                waited.as_secs_f64()
            ));
        } else {
            // The launcher may end all processes as soon as one of them ends.
            thread::sleep(SURVEY);
        }
        self.abort(1)
    }

    /// Concatenates values of all ranks; `counts` is their number by rank.
    fn gather<T: mpi::traits::Equivalence + Clone + Default>(
        &self,
        own: &[T],
        counts: &[usize],
        what: &str,
    ) -> Vec<T>
    where
        [T]: mpi::traits::Buffer + mpi::traits::BufferMut,
    {
        let (counts, starts) = partition(counts.iter().copied());
        let total = counts.iter().sum::<i32>() as usize;
        let mut all = vec![T::default(); total];
        let mut parts = PartitionMut::new(&mut all[..], counts, starts);
        scope(|scope| {
            let request = self
                .world
                .immediate_all_gather_varcount_into(scope, own, &mut parts);
            self.wait(request, what, self.limit.get());
        });
        all
    }
}

/// Returns counts and the start of each part, as MPI takes them.
fn partition(counts: impl Iterator<Item = usize>) -> (Vec<i32>, Vec<i32>) {
    let counts: Vec<i32> = counts.map(|count| count as i32).collect();
    let mut next = 0;
    let starts = counts.iter().map(|count| {
        let start = next;
        next += count;
        start
    });
    let starts = starts.collect();
    (counts, starts)
}

impl Collective for Mpi {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn world(&self) -> usize {
        self.world.size() as usize
    }

    fn set_time_limit(&self, limit: Duration) {
        self.limit.set(Some(limit));
    }

    fn all_gather(&self, own: &[f32], counts: &[usize]) -> Vec<f32> {
        self.gather(own, counts, "features")
    }

    fn all_gather_bytes(&self, own: &[u8]) -> Vec<Vec<u8>> {
        let world = self.world();
        let counts = self.gather(&[own.len() as u64], &vec![1; world], "messages");
        let counts: Vec<usize> = counts.into_iter().map(|count| count as usize).collect();
        let all = self.gather(own, &counts, "messages");
        let mut rest = all.as_slice();
        let parts = counts.into_iter().map(|count| {
            let (part, after) = rest.split_at(count);
            rest = after;
            part.to_vec()
        });
        parts.collect()
    }

    /// Each rank adds up one part of the values, in the order of ranks, and gives the sums to all
    /// others. MPI's own reduction may add in any order.
    fn all_reduce_sum(&self, values: &mut [f32]) {
        let (rank, world) = (self.rank(), self.world());
        let counts: Vec<usize> = (0..world)
            .map(|r| share(values.len(), r, world).1)
            .collect();
        let own = counts[rank];
        let mut received = vec![0.0_f32; own * world];
        {
            let (send_counts, send_starts) = partition(counts.iter().copied());
            let send = Partition::new(&*values, send_counts, send_starts);
            let (counts, starts) = partition(std::iter::repeat_n(own, world));
            let mut receive = PartitionMut::new(&mut received[..], counts, starts);
            scope(|scope| {
                let request =
                    self.world
                        .immediate_all_to_all_varcount_into(scope, &send, &mut receive);
                self.wait(request, "gradients", self.limit.get());
            });
        }
        let (sums, others) = received.split_at_mut(own);
        for part in others.chunks_exact(own.max(1)) {
            for (sum, value) in sums.iter_mut().zip(part) {
                *sum += value;
            }
        }
        let all = self.gather(sums, &counts, "gradients");
        values.copy_from_slice(&all);
    }

    fn barrier(&self) {
        self.wait(self.world.immediate_barrier(), "start", None);
    }

    fn abort(&self, code: u8) -> ! {
        remove_all_and(|| self.world.abort(i32::from(code)))
    }
}

//! How long the rest of a run takes.

use std::collections::VecDeque;

/// Steps whose mean is the time of a step.
const WINDOW: usize = 50;

/// Durations of the last steps and of the pauses between steps, in seconds.
///
/// The first step, which allocates memory and compiles kernels, leaves the window soon; validation and
/// checkpoints are counted apart, since they come at intervals much longer than the window.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    steps: VecDeque<f64>,
    pauses: f64,
    pause_count: u64,
}

impl Pace {
    /// Records the duration of a step.
    pub(super) fn step(&mut self, seconds: f64) {
        if self.steps.len() == WINDOW {
            self.steps.pop_front();
        }
        self.steps.push_back(seconds.max(0.0));
    }

    /// Records the duration of a pause for validation and a checkpoint.
    pub(super) fn pause(&mut self, seconds: f64) {
        self.pauses += seconds;
        self.pause_count += 1;
    }

    /// Returns the seconds that some steps and pauses will take.
    pub(super) fn left(&self, steps: u64, pauses: u64) -> f64 {
        // The first of several steps is no measure of the others.
        let first = usize::from(self.steps.len() > 1 && self.steps.len() < WINDOW);
        let counted = self.steps.len().saturating_sub(first).max(1) as f64;
        let step = self.steps.iter().skip(first).sum::<f64>() / counted;
        let pause = self.pauses / self.pause_count.max(1) as f64;
        step * steps as f64 + pause * pauses as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_and_pauses_do_not_distort_the_time_of_a_step() {
        let mut pace = Pace::default();
        assert_eq!(pace.left(10, 1), 0.0);
        pace.step(30.0);
        assert_eq!(pace.left(2, 0), 60.0);
        for _ in 0..9 {
            pace.step(0.5);
        }
        pace.pause(4.0);
        pace.pause(2.0);
        assert_eq!(pace.left(10, 3), 14.0);
    }

    #[test]
    fn the_last_steps_count() {
        let mut pace = Pace::default();
        (0..100).for_each(|_| pace.step(1.0));
        (0..50).for_each(|_| pace.step(2.0));
        assert_eq!(pace.left(3, 0), 6.0);
    }
}

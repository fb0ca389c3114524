//! Time, bytes and memory of a run, by formula (`docs/scale.md`).

use std::fmt::Write as _;

use super::model::Model;

/// Measured parts of a machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Operations a second of a process.
    pub(super) flops: f64,
    /// Bytes a second that a process receives.
    pub(super) bandwidth: f64,
    /// Records a second that a core prepares.
    pub(super) records_per_core: f64,
}

/// A run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Samples of a step.
    pub(super) batch: u32,
    /// Records of an epoch.
    pub(super) records: u64,
    /// Bytes of a record.
    pub(super) record_bytes: f64,
}

impl Model {
    /// Returns the bytes that one of `processes` receives in a step: the features of the others' rows,
    /// `4 * 4 B D (W - 1) / W`, and gradients, `8 P (W - 1) / W`.
    fn exchange_bytes(&self, run: &Run, processes: u32) -> f64 {
        let share = f64::from(processes - 1) / f64::from(processes);
        let features = 4.0 * 4.0 * f64::from(run.batch) * self.width;
        (features + 8.0 * self.parameters()) * share
    }

    fn compute_seconds(&self, run: &Run, machine: &Machine, processes: u32) -> f64 {
        let samples = f64::from(run.batch) / f64::from(processes);
        samples * self.sample_operations() / machine.flops
    }

    fn exchange_seconds(&self, run: &Run, machine: &Machine, processes: u32) -> f64 {
        self.exchange_bytes(run, processes) / machine.bandwidth
    }

    /// Returns the time of a step: the encoders and then the exchange, which do not overlap. Reading
    /// does, where there are cores enough.
    pub(super) fn step_seconds(&self, run: &Run, machine: &Machine, processes: u32) -> f64 {
        self.compute_seconds(run, machine, processes)
            + self.exchange_seconds(run, machine, processes)
    }

    /// Returns the bytes of weights, gradients and the two moments of AdamW in 32 bits.
    fn state_bytes(&self) -> f64 {
        16.0 * self.parameters()
    }
}

/// Returns the table of a model.
pub(super) fn table(model: &Model, run: &Run, machine: &Machine, processes: &[u32]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {:.0} million parameters, {:.0} GFLOP a sample, {:.2} GiB of weights and optimiser; \
         batch {}, {:.1} GB of shards an epoch\n",
        model.name,
        model.parameters() / 1e6,
        model.sample_operations() / 1e9,
        model.state_bytes() / f64::from(1 << 30),
        run.batch,
        run.records as f64 * run.record_bytes / 1e9
    );
    out.push_str(
        "| processes | encoders, s | exchange, s | step, s | MB received a step | cores for data | \
         hours an epoch | of a process |\n|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let alone = model.step_seconds(run, machine, 1);
    for &w in processes {
        let step = model.step_seconds(run, machine, w);
        let records = f64::from(run.batch) / f64::from(w) / step;
        let hours = run.records as f64 / f64::from(run.batch) * step / 3600.0;
        let _ = writeln!(
            out,
            "| {w} | {:.3} | {:.3} | {step:.3} | {:.0} | {:.1} | {hours:.1} | {:.2} |",
            model.compute_seconds(run, machine, w),
            model.exchange_seconds(run, machine, w),
            model.exchange_bytes(run, w) / 1e6,
            records / machine.records_per_core,
            alone / step / f64::from(w),
        );
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine {
        flops: 1e14,
        bandwidth: 1e9,
        records_per_core: 100.0,
    };
    const RUN: Run = Run {
        batch: 768,
        records: 20_500_000,
        record_bytes: 5e4,
    };

    #[test]
    fn a_single_process_exchanges_nothing_and_many_approach_the_whole() {
        let model = &Model::ALL[1];
        assert_eq!(model.exchange_bytes(&RUN, 1), 0.0);
        let (two, many) = (
            model.exchange_bytes(&RUN, 2),
            model.exchange_bytes(&RUN, 1 << 20),
        );
        assert!((many / two - 2.0).abs() < 1e-3);
        let whole = 8.0 * model.parameters() + 16.0 * 768.0 * 512.0;
        assert!((many / whole - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_row_for_each_number_of_processes() {
        let text = table(&Model::ALL[0], &RUN, &MACHINE, &[1, 4]);
        let row = |w: &str| {
            text.lines()
                .find(|line| line.starts_with(w))
                .map(str::to_owned)
        };
        assert!(
            row("| 1 |").is_some_and(|row| row.ends_with(" 1.00 |")),
            "{text}"
        );
        assert!(row("| 4 |").is_some(), "{text}");
    }
}

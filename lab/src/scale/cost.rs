//! Time, bytes and memory of a run, by formula (`docs/scale.md`).

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::Args;

use super::model::Model;

/// Numbers of processes in the tables.
const PROCESSES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The run, and the measured parts. Those without a default have to be measured on the machine.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Samples of a step, of all processes together
    #[arg(long, default_value_t = 768)]
    batch_size: u32,
    /// Records of an epoch; GRIT has 20.5 million
    #[arg(long, default_value_t = 20_500_000)]
    records: u64,
    /// TFLOP/s that a process reaches in training, as measured: operations of a sample (printed)
    /// times samples a second
    #[arg(long)]
    tflops: f64,
    /// GB/s that a process receives in an exchange, as measured
    #[arg(long)]
    bandwidth: f64,
    /// Records a second that a core reads, decodes, crops and tokenises (`trainer data bench`)
    #[arg(long)]
    records_per_core: f64,
    /// Bytes of a record in the shards (`trainer data bench`)
    #[arg(long)]
    record_bytes: f64,
}

impl Options {
    pub(super) fn check(&self) -> Result<()> {
        let positive = [
            ("--batch-size", f64::from(self.batch_size)),
            ("--records", self.records as f64),
            ("--tflops", self.tflops),
            ("--bandwidth", self.bandwidth),
            ("--records-per-core", self.records_per_core),
            ("--record-bytes", self.record_bytes),
        ];
        for (flag, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                bail!("{flag}: expected a number above 0, found {value}");
            }
        }
        Ok(())
    }
}

impl Model {
    /// Returns the bytes that one of `processes` receives in a step: the features of the others' rows,
    /// `4 * 4 B D (W - 1) / W`, and gradients, `8 P (W - 1) / W`.
    fn exchange_bytes(&self, run: &Options, processes: u32) -> f64 {
        let share = f64::from(processes - 1) / f64::from(processes);
        let features = 4.0 * 4.0 * f64::from(run.batch_size) * self.width;
        (features + 8.0 * self.parameters()) * share
    }

    fn compute_seconds(&self, run: &Options, processes: u32) -> f64 {
        let samples = f64::from(run.batch_size) / f64::from(processes);
        samples * self.sample_operations() / (run.tflops * 1e12)
    }

    fn exchange_seconds(&self, run: &Options, processes: u32) -> f64 {
        self.exchange_bytes(run, processes) / (run.bandwidth * 1e9)
    }

    /// Returns the time of a step: the encoders and then the exchange, which do not overlap. Reading
    /// does, where there are cores enough.
    fn step_seconds(&self, run: &Options, processes: u32) -> f64 {
        self.compute_seconds(run, processes) + self.exchange_seconds(run, processes)
    }

    /// Returns the bytes of weights, gradients and the two moments of AdamW in 32 bits.
    fn state_bytes(&self) -> f64 {
        16.0 * self.parameters()
    }
}

/// Returns the table of a model.
pub(super) fn table(model: &Model, run: &Options) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {:.0} million parameters, {:.0} GFLOP a sample, {:.2} GiB of weights and optimiser; \
         batch {}, {:.1} GB of shards an epoch\n",
        model.name,
        model.parameters() / 1e6,
        model.sample_operations() / 1e9,
        model.state_bytes() / f64::from(1 << 30),
        run.batch_size,
        run.records as f64 * run.record_bytes / 1e9
    );
    out.push_str(
        "| processes | encoders, s | exchange, s | step, s | MB received a step | cores for data | \
         hours an epoch | of a process |\n|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let alone = model.step_seconds(run, 1);
    for w in PROCESSES {
        let step = model.step_seconds(run, w);
        let records = f64::from(run.batch_size) / f64::from(w) / step;
        let hours = run.records as f64 / f64::from(run.batch_size) * step / 3600.0;
        let _ = writeln!(
            out,
            "| {w} | {:.3} | {:.3} | {step:.3} | {:.0} | {:.1} | {hours:.1} | {:.2} |",
            model.compute_seconds(run, w),
            model.exchange_seconds(run, w),
            model.exchange_bytes(run, w) / 1e6,
            records / run.records_per_core,
            alone / step / f64::from(w),
        );
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Options = Options {
        batch_size: 768,
        records: 20_500_000,
        tflops: 100.0,
        bandwidth: 1.0,
        records_per_core: 100.0,
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
        let text = table(&Model::ALL[0], &RUN);
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

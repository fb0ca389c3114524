//! `cargo xtask scale`: what a run on many processes costs, worked out from measured parts.

mod cost;
mod model;
mod stops;
mod stragglers;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use cost::{Machine, Run, table};
use model::Model;
use stops::Stops;

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
    /// `metrics.jsonl` of a run with `train.log_frequency=1`, whose times of steps are those of the
    /// simulation of stragglers
    #[arg(long)]
    metrics: Option<PathBuf>,
    /// Hours between failures of a process, for the simulation of failures
    #[arg(long, default_value_t = 5_000.0)]
    hours_to_failure: f64,
    /// Steps between checkpoints
    #[arg(long, default_value_t = 500)]
    save_frequency: u32,
    /// Seconds to write a checkpoint
    #[arg(long, default_value_t = 10.0)]
    save_seconds: f64,
    /// Seconds from a failure to the first new step
    #[arg(long, default_value_t = 300.0)]
    restart_seconds: f64,
    /// Seed of the simulations
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Options {
    fn check(&self) -> Result<()> {
        let positive = [
            ("--batch-size", f64::from(self.batch_size)),
            ("--records", self.records as f64),
            ("--tflops", self.tflops),
            ("--bandwidth", self.bandwidth),
            ("--records-per-core", self.records_per_core),
            ("--record-bytes", self.record_bytes),
            ("--hours-to-failure", self.hours_to_failure),
            ("--save-frequency", f64::from(self.save_frequency)),
        ];
        for (flag, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                bail!("{flag}: expected a number above 0, found {value}");
            }
        }
        for (flag, value) in [
            ("--save-seconds", self.save_seconds),
            ("--restart-seconds", self.restart_seconds),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                bail!("{flag}: expected 0 or more, found {value}");
            }
        }
        Ok(())
    }
}

/// Prints the tables.
///
/// # Errors
/// If a part is not above 0, or the metrics cannot be read.
pub fn run(options: &Options) -> Result<()> {
    options.check()?;
    let machine = Machine {
        flops: options.tflops * 1e12,
        bandwidth: options.bandwidth * 1e9,
        records_per_core: options.records_per_core,
    };
    let run = Run {
        batch: options.batch_size,
        records: options.records,
        record_bytes: options.record_bytes,
    };
    for model in Model::ALL {
        print!("{}", table(&model, &run, &machine, &PROCESSES));
    }
    let step = Model::ALL[1].step_seconds(&run, &machine, PROCESSES[PROCESSES.len() - 1]);
    let stops = Stops {
        step_seconds: step,
        hours_to_failure: options.hours_to_failure,
        save_frequency: options.save_frequency,
        save_seconds: options.save_seconds,
        restart_seconds: options.restart_seconds,
    };
    print!("{}", stops::table(&stops, &PROCESSES, options.seed));
    if let Some(path) = &options.metrics {
        let times = stragglers::step_times(path)?;
        print!("{}", stragglers::table(&times, &PROCESSES, options.seed));
    }
    Ok(())
}

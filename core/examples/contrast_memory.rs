//! Peak memory and time of HyCoCLIP's loss and its gradient, for a batch of `B` samples of `D` numbers,
//! with all similarities at once or in blocks of `ROWS`. One case a process, since the peak of a process
//! never falls.
//!
//! ```text
//! cargo run --release -p espalier-core -p espalier-trainer --example contrast_memory -- 8192 512 1024
//! ```

use std::env;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Instant;

use burn::tensor::{Device, Distribution, Tensor};
use espalier_core::geometry::lorentz;
use espalier_core::loss::{Contrast, HycoclipPoints, HycoclipWeights, hycoclip};

/// Returns the peak resident memory of this process in MiB; `None` where the system does not tell.
fn peak_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

fn main() -> ExitCode {
    let numbers: Option<Vec<usize>> = env::args().skip(1).map(|arg| arg.parse().ok()).collect();
    let (batch, width, rows) = match numbers.as_deref() {
        Some([batch, width]) => (*batch, *width, None),
        Some([batch, width, rows]) => (*batch, *width, NonZeroUsize::new(*rows)),
        _ => {
            eprintln!("expected B D [ROWS]: samples, numbers a sample, and queries a block");
            return ExitCode::FAILURE;
        }
    };
    let device = Device::flex().autodiff();
    let scalar = |value: f32| Tensor::<1>::from_floats([value], &device).require_grad();
    let (scale, c) = (scalar(14.3), scalar(1.0));
    let curvature = c.clone().reshape([1, 1]);
    let features: [Tensor<2>; 4] = std::array::from_fn(|_| {
        let wide = Distribution::Normal(0.0, 0.04);
        Tensor::random([batch, width], wide, &device).require_grad()
    });
    let before = peak_mib();
    let start = Instant::now();
    let [image, text, box_image, box_text] = features
        .each_ref()
        .map(|x| lorentz::exp_map0(x.clone(), curvature.clone()));
    let points = HycoclipPoints {
        image,
        text,
        box_image,
        box_text,
    };
    let contrast = Contrast::from(scale.clone()).in_blocks(rows);
    let terms = hycoclip(&points, curvature, contrast, HycoclipWeights::default());
    let loss = terms.total.clone().inner().into_scalar::<f32>();
    let gradients = terms.total.backward();
    let norm = |x: &Tensor<2>| {
        let gradient = x
            .grad(&gradients)
            .map(|g| g.square().sum().into_scalar::<f32>());
        gradient.unwrap_or_default()
    };
    let squares: f32 = features.iter().map(norm).sum();
    let seconds = start.elapsed().as_secs_f64();
    let mib = |of: Option<u64>| of.map_or_else(|| "unknown".to_owned(), |mib| mib.to_string());
    let rows = rows.map_or_else(|| "all".to_owned(), |rows| rows.to_string());
    println!("batch {batch}  width {width}  rows {rows}");
    println!("loss {loss:.6}  gradient norm {:.6e}", squares.sqrt());
    println!(
        "peak {} MiB, of them {} before the loss; {seconds:.1} s",
        mib(peak_mib()),
        mib(before)
    );
    ExitCode::SUCCESS
}

//! Helpers for the tests that span packages.

pub mod browser;
pub mod models;
pub mod photos;
pub mod ranks;
pub mod schema;
pub mod shards;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use burn::tensor::{DType, Device, Tensor, TensorData};

/// Returns all elements of a tensor, row-major, in `f64`.
///
/// # Panics
/// If the device does not return the tensor's data.
#[must_use]
pub fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// Asserts that two lists agree element by element within an absolute tolerance.
///
/// # Panics
/// If they differ; names the first such element, or the lengths.
#[track_caller]
pub fn close(found: &[f64], known: &[f64], tolerance: f64) {
    assert_eq!(
        found.len(),
        known.len(),
        "lengths of {found:?} and {known:?}"
    );
    for (i, (f, k)) in found.iter().zip(known).enumerate() {
        assert!(
            (f - k).abs() <= tolerance,
            "element {i}: expected {k}, found {f} (+-{tolerance})"
        );
    }
}

/// Returns the tangent features of one role of the toy batch (notation 9.2), `[3, 4]`: role 0
/// image, 1 text, 2 box image, 3 box text.
#[must_use]
pub fn toy_features(role: usize, device: &Device, dtype: DType) -> Tensor<2> {
    let v = (0..12).map(|at| {
        let (i, j) = (f64::from(at / 4), f64::from(at % 4));
        0.5 * (1.0 + 0.7 * i + 0.3 * j + 1.1 * role as f64).sin()
    });
    let data = TensorData::new(v.collect::<Vec<f64>>(), [3, 4]);
    Tensor::from_data(data, (device, dtype))
}

/// Returns a command that runs the trainer: the program that `ESPALIER_TRAINER` names, otherwise
/// one that is built once in release mode.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn trainer_command() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        if let Some(path) = std::env::var_os("ESPALIER_TRAINER") {
            return path.into();
        }
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--release",
                "-p",
                "espalier-trainer",
                "--message-format=json",
            ])
            .current_dir(root)
            .output()
            .unwrap_or_else(|e| panic!("cargo: {e}"));
        assert!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        let text = String::from_utf8_lossy(&built.stdout);
        // The last build message with an executable names the program.
        let path = text.lines().rev().find_map(|line| {
            let rest = line.split_once("\"executable\":\"")?.1;
            rest.split_once('"').map(|(path, _)| PathBuf::from(path))
        });
        path.unwrap_or_else(|| panic!("expected an executable from cargo, found none"))
    });
    Command::new(program)
}

/// Runs the trainer to its end.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn trainer(args: &[&str]) -> Output {
    trainer_command()
        .args(args)
        .output()
        .unwrap_or_else(|e| panic!("trainer: {e}"))
}

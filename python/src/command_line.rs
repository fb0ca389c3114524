//! The command line of `trainer` as a function.

use std::ffi::OsString;

use espalier_trainer::{memory, run_with};
use pyo3::prelude::*;

use crate::errors::detached;

/// Runs a command of the trainer and returns its exit code; the first argument is the program's name.
#[pyfunction]
pub fn run(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    detached(py, || {
        memory::keep_freed_blocks();
        Ok(run_with(arguments))
    })
}

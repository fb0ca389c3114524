//! Errors of the trainer as exceptions, with the words of the command line.

use std::panic::{AssertUnwindSafe, catch_unwind};

use espalier_core::CoreError;
use espalier_trainer::data::DataError as TrainerDataError;
use espalier_trainer::exit::usage;
use espalier_trainer::{exit_code, storage};
use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(espalier.errors, Error);
import_exception!(espalier.errors, UsageError);
import_exception!(espalier.errors, DataError);
import_exception!(espalier.errors, RefusedError);

/// Returns the exception for an error: its class follows the exit code of the command line.
pub fn exception(error: anyhow::Error) -> PyErr {
    // An exception that passed through the trainer, such as that of a pressed Ctrl-C.
    let error = match error.downcast::<PyErr>() {
        Ok(exception) => return exception,
        Err(error) => error,
    };
    let message = storage::without_secrets(&format!("{error:#}")).to_string();
    let is_about_data = error
        .chain()
        .any(|cause| cause.is::<CoreError>() || cause.is::<TrainerDataError>());
    match exit_code::code(&error) {
        2 if is_about_data => DataError::new_err(message),
        2 => UsageError::new_err(message),
        3 => RefusedError::new_err(message),
        _ => Error::new_err(message),
    }
}

/// Returns the exception of bad usage.
pub fn refused(message: impl Into<String>) -> PyErr {
    exception(usage(message))
}

/// Computes without Python's lock, so that other threads of Python run meanwhile.
///
/// # Errors
/// The exception for the error of `work`. A panic, which only a fault of ours causes, is an exception
/// too, so that a notebook survives it.
pub fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> PyResult<T> {
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    match result {
        Ok(result) => result.map_err(exception),
        Err(panic) => {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
            let words = words.unwrap_or("no message");
            Err(Error::new_err(format!(
                "internal error, please report it: {words}"
            )))
        }
    }
}

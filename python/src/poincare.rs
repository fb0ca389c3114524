//! The Poincaré ball of core on arrays `[n, d]` in double precision, row by row.

use espalier_core::geometry::poincare;
use numpy::{PyArrayDyn, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::array;
use crate::errors::refused;

type Matrix<'py> = PyReadonlyArray2<'py, f64>;
type Vector<'py> = PyReadonlyArray1<'py, f64>;
type Result<'py> = PyResult<Bound<'py, PyArrayDyn<f64>>>;

/// Maps each row to a row of the same width.
fn rows<'py>(py: Python<'py>, x: &Matrix<'py>, map: impl Fn(&[f64]) -> Vec<f64>) -> Result<'py> {
    let view = x.as_array();
    let mapped = view.rows().into_iter().flat_map(|row| map(&row.to_vec()));
    let mapped: Vec<f64> = mapped.collect();
    let width = mapped.len().checked_div(view.nrows()).unwrap_or(0);
    array(py, mapped, &[view.nrows(), width])
}

/// Maps each pair of rows to a number.
fn numbers<'py>(
    py: Python<'py>,
    x: &Matrix<'py>,
    y: &Matrix<'py>,
    number: impl Fn(&[f64], &[f64]) -> f64,
) -> Result<'py> {
    let (x, y) = (x.as_array(), y.as_array());
    if x.shape() != y.shape() {
        return Err(refused(format!(
            "expected points of one shape, found {:?} and {:?}",
            x.shape(),
            y.shape()
        )));
    }
    let pairs = x.rows().into_iter().zip(y.rows());
    let values = pairs.map(|(x, y)| number(&x.to_vec(), &y.to_vec()));
    let values: Vec<f64> = values.collect();
    let count = values.len();
    array(py, values, &[count])
}

/// Points of the Lorentz model in the ball.
#[pyfunction]
pub fn from_lorentz<'py>(py: Python<'py>, x: Matrix<'py>, c: f64) -> Result<'py> {
    rows(py, &x, |row| {
        let row: Vec<f32> = row.iter().map(|v| *v as f32).collect();
        poincare::from_lorentz(&row, c)
    })
}

/// Points of the ball in the Lorentz model of curvature 1.
#[pyfunction]
pub fn to_lorentz<'py>(py: Python<'py>, p: Matrix<'py>) -> Result<'py> {
    rows(py, &p, |row| poincare::to_lorentz(row).0)
}

/// Distances by rows.
#[pyfunction]
pub fn distance<'py>(py: Python<'py>, p: Matrix<'py>, q: Matrix<'py>) -> Result<'py> {
    numbers(py, &p, &q, poincare::distance)
}

/// Busemann function of ideal points by rows.
#[pyfunction]
pub fn busemann<'py>(py: Python<'py>, ideal: Matrix<'py>, p: Matrix<'py>) -> Result<'py> {
    numbers(py, &ideal, &p, poincare::busemann)
}

/// Exponential map at the origin.
#[pyfunction]
pub fn poincare_exp0<'py>(py: Python<'py>, v: Matrix<'py>) -> Result<'py> {
    rows(py, &v, poincare::exp0)
}

/// Logarithmic map at the origin.
#[pyfunction]
pub fn poincare_log0<'py>(py: Python<'py>, p: Matrix<'py>) -> Result<'py> {
    rows(py, &p, poincare::log0)
}

/// Points after the isometry that maps `centre` to the origin.
#[pyfunction]
pub fn centred<'py>(py: Python<'py>, centre: Vector<'py>, p: Matrix<'py>) -> Result<'py> {
    let centre = centre.as_array().to_vec();
    rows(py, &p, |row| poincare::centred(&centre, row))
}

//! The geometry of core on arrays of NumPy.
//!
//! `espalier/geometry/` brings arguments into these forms: functions by rows take `[n, d]` with `c` as
//! `[n, 1]` or `[1, 1]`, functions of all pairs take `[k, n, d]` with `c` as `[k, 1, 1]`.

use espalier_core::geometry::{AngleFormula, DistanceReduction, cone, lorentz, product, radial};
use pyo3::prelude::*;

use crate::arrays::{Array, compute};
use crate::errors::refused;

/// Defines functions of Python by functions of core with the same arguments.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $path:path [$d:literal] ($($argument:ident),+);)+) => {
        $(
            $(#[$doc])*
            #[pyfunction]
            pub fn $name<'py>(
                py: Python<'py>,
                $($argument: Array),+
            ) -> PyResult<Bound<'py, PyAny>> {
                compute(py, move |device| $path($($argument.tensor::<$d>(device)),+))
            }
        )+
    };
}

functions! {
    /// Time parts of points.
    time = lorentz::time[2](x, c);
    /// Exponential map at the origin.
    exp_map0 = lorentz::exp_map0[2](v, c);
    /// Logarithmic map at the origin.
    log_map0 = lorentz::log_map0[2](x, c);
    /// Distances to the origin.
    dist0 = lorentz::dist0[2](x, c);
    /// Lorentzian inner products by rows.
    inner = lorentz::inner[2](x, y, c);
    /// Distances by rows.
    dist = lorentz::dist[2](x, y, c);
    /// Einstein midpoint of the rows.
    einstein_midpoint = lorentz::einstein_midpoint[2](x, c);
    /// Lorentzian inner products of all pairs.
    pairwise_inner = lorentz::pairwise_inner[3](x, y, c);
    /// Distances of all pairs.
    pairwise_dist = lorentz::pairwise_dist[3](x, y, c);
    /// Half-apertures of cones.
    half_aperture = cone::half_aperture[2](x, c);
    /// Exterior angles by rows.
    exterior_angle = cone::exterior_angle[2](x, y, c);
    /// Exterior angles of all pairs.
    pairwise_exterior_angle = cone::pairwise_exterior_angle[3](x, y, c);
    /// Exterior angles about a root.
    radial_angle = radial::exterior_angle[2](e, f, root);
    /// Half-apertures of cones about a root.
    radial_aperture = radial::half_aperture[2](e, root);
    /// Exterior angles about zero of all pairs.
    radial_pairwise_angle = radial::pairwise_exterior_angle[3](x, y);
    /// Angles between vectors.
    angle = radial::angle[2](a, b);
    /// Sums of the inner products in the factors, of all pairs.
    product_inner = product::pairwise_inner[3](x, y, c);
}

/// Angles by which points lie outside of cones.
#[pyfunction]
pub fn entailment_gap(
    py: Python<'_>,
    x: Array,
    y: Array,
    c: Array,
    eta: f64,
) -> PyResult<Bound<'_, PyAny>> {
    compute(py, move |device| {
        let (x, y) = (x.tensor::<2>(device), y.tensor(device));
        cone::entailment_gap(x, y, c.tensor(device), eta, AngleFormula::Stable)
    })
}

/// Distances in a product, of all pairs.
#[pyfunction]
pub fn product_dist<'py>(
    py: Python<'py>,
    x: Array,
    y: Array,
    c: Array,
    join: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let join = reduction(join)?;
    compute(py, move |device| {
        let (x, y) = (x.tensor(device), y.tensor(device));
        product::pairwise_dist(x, y, c.tensor(device), join)
    })
}

/// Returns how the distances of factors are combined.
///
/// # Errors
/// Bad usage for an unknown name.
pub fn reduction(join: &str) -> PyResult<DistanceReduction> {
    match join {
        "l1" => Ok(DistanceReduction::L1),
        "l2" => Ok(DistanceReduction::L2),
        other => Err(refused(format!("join: expected l1 or l2, found {other}"))),
    }
}

//! The native part of the Python package `espalier`: module `espalier._native`.
//!
//! It converts between Python and the trainer and computes nothing of its own. The Python files in
//! `python/espalier/` are what users import: they bring arguments into the few forms that these
//! functions take. Every computation runs without Python's lock, in `errors::detached`.

mod arrays;
mod command_line;
mod encoders;
mod errors;
mod evaluate;
mod geometry;
mod losses;
mod model;
mod photos;
mod poincare;
mod space;
mod taxonomy;

use pyo3::prelude::*;

/// The native part of the package `espalier`.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::command_line::run;
    #[pymodule_export]
    use super::evaluate::{evaluate, options, tasks};
    #[pymodule_export]
    use super::geometry::{
        angle, dist, dist0, einstein_midpoint, entailment_gap, exp_map0, exterior_angle,
        half_aperture, inner, log_map0, pairwise_dist, pairwise_exterior_angle, pairwise_inner,
        product_dist, product_inner, radial_angle, radial_aperture, radial_pairwise_angle, time,
    };
    #[pymodule_export]
    use super::model::{Model, open};
    #[pymodule_export]
    use super::poincare::{
        busemann, centred, distance, from_lorentz, poincare_exp0, poincare_log0, to_lorentz,
    };
    #[pymodule_export]
    use super::space::Space;
    #[pymodule_export]
    use super::taxonomy::{Node, Taxonomy};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name that Python gives it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn losses(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::losses::add(module)
    }
}

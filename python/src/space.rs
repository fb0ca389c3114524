//! The space of embeddings, on arrays of points: class `espalier.Space`.

use espalier_core::geometry::{self, interpolation};
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{Rows, array, of_json};
use crate::errors::{detached, exception, refused};
use crate::geometry::reduction;

/// A space of embeddings with its root. Results are in double precision.
#[pyclass(frozen, module = "espalier")]
pub struct Space {
    pub inner: geometry::Space,
    /// Width of the points, where it is known.
    pub width: Option<usize>,
}

/// An array of numbers.
type Numbers<'py> = PyResult<Bound<'py, PyArrayDyn<f64>>>;

/// Checks curvatures.
fn positive(c: f64) -> PyResult<f64> {
    if c.is_finite() && c > 0.0 {
        return Ok(c);
    }
    Err(refused(format!(
        "curvature: expected a positive number, found {c}"
    )))
}

impl Space {
    fn rows(&self, name: &str, points: &Bound<'_, PyAny>) -> PyResult<Rows> {
        let rows = Rows::read(name, points, self.width)?;
        let factors = self.inner.curvatures().len().max(1);
        if rows.width.is_multiple_of(factors) {
            return Ok(rows);
        }
        Err(refused(format!(
            "{name}: expected a width that divides by the {factors} factors, found {}",
            rows.width
        )))
    }

    /// Computes a number for each point; the result has the shape of the array without its last
    /// dimension.
    fn each<'py>(
        &self,
        points: &Bound<'py, PyAny>,
        number: impl Fn(&[f32]) -> f64 + Send + Sync,
    ) -> Numbers<'py> {
        let rows = self.rows("x", points)?;
        let py = points.py();
        let values = detached(py, || Ok(rows.iter().map(number).collect()))?;
        array(py, values, &rows.leading)
    }

    /// Computes a value for each pair of a row of `x` and a row of `y`, on all cores.
    pub fn pairwise<'py, T: numpy::Element + Send>(
        &self,
        (x, y): (&Bound<'py, PyAny>, &Bound<'py, PyAny>),
        value: impl Fn(&[f32], &[f32]) -> T + Send + Sync,
    ) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
        let py = x.py();
        let (x, y) = (self.rows("x", x)?, self.rows("y", y)?);
        if x.width != y.width || x.leading.len() > 1 || y.leading.len() > 1 {
            return Err(refused(format!(
                "expected points x [n, d] and y [m, d], found shapes {:?} and {:?}",
                [x.leading.as_slice(), &[x.width]].concat(),
                [y.leading.as_slice(), &[y.width]].concat()
            )));
        }
        let values = detached(py, || {
            let row = |at: &[f32]| y.iter().map(|other| value(at, other)).collect::<Vec<T>>();
            let each: Vec<Vec<T>> = x.data.par_chunks_exact(x.width).map(row).collect();
            Ok(each.into_iter().flatten().collect())
        })?;
        array(py, values, &[x.len(), y.len()])
    }
}

#[pymethods]
impl Space {
    /// The Lorentz model, with the origin as its root.
    #[staticmethod]
    #[pyo3(signature = (curvature = 1.0))]
    fn lorentz(curvature: f64) -> PyResult<Self> {
        Ok(Self {
            inner: geometry::Space::Lorentz {
                curvature: positive(curvature)?,
            },
            width: None,
        })
    }

    /// The unit sphere with a root.
    #[staticmethod]
    fn sphere(root: &Bound<'_, PyAny>) -> PyResult<Self> {
        let root = Rows::read("root", root, None)?;
        if root.len() != 1 {
            return Err(refused(format!(
                "root: expected one point, found {}",
                root.len()
            )));
        }
        Ok(Self {
            width: Some(root.width),
            inner: geometry::Space::Sphere { root: root.data },
        })
    }

    /// A product of Lorentz factors of consecutive coordinates.
    #[staticmethod]
    #[pyo3(signature = (curvatures, join = "l1"))]
    fn product(curvatures: Vec<f64>, join: &str) -> PyResult<Self> {
        if curvatures.is_empty() {
            return Err(refused("curvatures: expected at least one, found none"));
        }
        let curvatures = curvatures.into_iter().map(positive);
        Ok(Self {
            inner: geometry::Space::Product {
                curvatures: curvatures.collect::<PyResult<_>>()?,
                join: reduction(join)?,
            },
            width: None,
        })
    }

    /// `lorentz`, `sphere` or `product`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.inner {
            geometry::Space::Lorentz { .. } => "lorentz",
            geometry::Space::Sphere { .. } => "sphere",
            geometry::Space::Product { .. } => "product",
        }
    }

    /// Minus the curvature of each factor; empty on the sphere.
    #[getter]
    fn curvatures(&self) -> Vec<f64> {
        self.inner.curvatures().to_vec()
    }

    /// The root on the sphere; none elsewhere, where it is the origin.
    #[getter]
    fn root<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArrayDyn<f32>>>> {
        match &self.inner {
            geometry::Space::Sphere { root } => array(py, root.clone(), &[root.len()]).map(Some),
            _ => Ok(None),
        }
    }

    /// The space as it is written to JSON.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = serde_json::to_value(&self.inner).map_err(|e| exception(e.into()))?;
        of_json(py, &value)
    }

    /// Distances to the root, `[.., d] -> [..]`.
    pub fn radius<'py>(&self, x: &Bound<'py, PyAny>) -> Numbers<'py> {
        self.each(x, |x| self.inner.radius(x))
    }

    /// Distances to the origin in each factor, `[.., d] -> [.., k]`; `k` is 0 on the sphere.
    fn radii<'py>(&self, x: &Bound<'py, PyAny>) -> Numbers<'py> {
        let rows = self.rows("x", x)?;
        let values = rows.iter().flat_map(|x| self.inner.radii(x)).collect();
        let shape = [rows.leading.as_slice(), &[self.curvatures().len()]].concat();
        array(x.py(), values, &shape)
    }

    /// Half-apertures of the cones at points, `[.., d] -> [..]`.
    fn half_aperture<'py>(&self, x: &Bound<'py, PyAny>) -> Numbers<'py> {
        self.each(x, |x| self.inner.half_aperture(x))
    }

    /// Similarities that rank texts for an image, `[n, d], [m, d] -> [n, m]`.
    fn pairwise_score<'py>(&self, x: &Bound<'py, PyAny>, y: &Bound<'py, PyAny>) -> Numbers<'py> {
        self.pairwise((x, y), |x, y| self.inner.score(x, y))
    }

    /// Logits of the training loss before scaling, `[n, d], [m, d] -> [n, m]`.
    fn pairwise_logit<'py>(&self, x: &Bound<'py, PyAny>, y: &Bound<'py, PyAny>) -> Numbers<'py> {
        self.pairwise((x, y), |x, y| self.inner.logit(x, y))
    }

    /// Distances, `[n, d], [m, d] -> [n, m]`; on the sphere there are none.
    fn pairwise_distance<'py>(&self, x: &Bound<'py, PyAny>, y: &Bound<'py, PyAny>) -> Numbers<'py> {
        if matches!(self.inner, geometry::Space::Sphere { .. }) {
            return Err(refused(
                "pairwise_distance: expected a hyperbolic space, found the sphere, where points are \
                 compared by pairwise_score, their cosine",
            ));
        }
        self.pairwise((x, y), |x, y| -self.inner.logit(x, y))
    }

    /// Exterior angles at `x` toward `y`, `[n, d], [m, d] -> [n, m]`.
    fn pairwise_exterior_angle<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
    ) -> Numbers<'py> {
        self.pairwise((x, y), |x, y| self.inner.exterior_angle(x, y))
    }

    /// Whether the cone at `x` contains `y`, `[n, d], [m, d] -> [n, m]`.
    fn pairwise_entails<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        y: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArrayDyn<bool>>> {
        self.pairwise((x, y), |x, y| self.inner.entails(x, y))
    }

    /// Point at the fraction `share` of the way from `x` to `y`, or to the root without `y`.
    #[pyo3(signature = (x, y = None, *, share))]
    fn between<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        y: Option<&Bound<'py, PyAny>>,
        share: f64,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let from = self.rows("x", x)?;
        let to = y
            .map(|y| self.rows("y", y).map(|rows| rows.data))
            .transpose()?;
        let one = from.len() == 1 && to.as_ref().is_none_or(|to| to.len() == from.width);
        if !one {
            return Err(refused("between: expected one point x and one point y"));
        }
        let point = interpolation::between(&self.inner, &from.data, to.as_deref(), share);
        array(x.py(), point, &[from.width])
    }

    fn __repr__(&self) -> String {
        match &self.inner {
            geometry::Space::Sphere { root } => {
                format!("Space.sphere(root of width {})", root.len())
            }
            geometry::Space::Lorentz { curvature } => format!("Space.lorentz({curvature})"),
            geometry::Space::Product { curvatures, join } => {
                let join = format!("{join:?}").to_lowercase();
                format!("Space.product({curvatures:?}, join='{join}')")
            }
        }
    }
}

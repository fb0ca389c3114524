//! Arrays of NumPy as tensors and back. Results move into NumPy; they are not copied.

use burn::tensor::{DType, Device, Tensor, TensorData};
use espalier_trainer::device::Backend;
use numpy::ndarray::ArrayD;
use numpy::{Element, IntoPyArray, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::{detached, exception, refused};

/// An array of numbers in single or double precision.
#[derive(Clone)]
pub struct Array {
    pub shape: Vec<usize>,
    data: TensorData,
    dtype: DType,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Array {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArrayDyn<f32>>() {
            return Ok(Self::of(&array, DType::F32));
        }
        if let Ok(array) = object.cast::<PyArrayDyn<f64>>() {
            return Ok(Self::of(&array, DType::F64));
        }
        Err(refused(format!(
            "expected an array of float32 or float64, found {}",
            object.get_type().name()?
        )))
    }
}

impl Array {
    fn of<T: Element + burn::tensor::Element>(
        array: &Bound<'_, PyArrayDyn<T>>,
        dtype: DType,
    ) -> Self {
        let view = array.readonly();
        let view = view.as_array();
        let values: Vec<T> = view.iter().copied().collect();
        let shape = view.shape().to_vec();
        Self {
            data: TensorData::new(values, shape.clone()),
            shape,
            dtype,
        }
    }

    /// Returns the tensor on a device; the array must have `D` dimensions.
    pub fn tensor<const D: usize>(self, device: &Device) -> Tensor<D> {
        Tensor::from_data(self.data, (device, self.dtype))
    }

    /// Returns the sizes of an array of `D` dimensions, none of which is 0.
    ///
    /// # Errors
    /// Bad usage for another array.
    pub fn dims<const D: usize>(&self, name: &str) -> PyResult<[usize; D]> {
        let found = <[usize; D]>::try_from(self.shape.as_slice());
        found.ok().filter(|dims| !dims.contains(&0)).ok_or_else(|| {
            refused(format!(
                "{name}: expected an array of {D} dimensions that is not empty, found shape {:?}",
                self.shape
            ))
        })
    }

    /// Checks the shape.
    ///
    /// # Errors
    /// Bad usage for another shape; `why` says where it comes from.
    pub fn expect(&self, name: &str, shape: &[usize], why: &str) -> PyResult<()> {
        if self.shape == shape {
            return Ok(());
        }
        Err(refused(format!(
            "{name}: expected shape {shape:?}, {why}, found {:?}",
            self.shape
        )))
    }
}

/// Moves numbers into an array of NumPy.
///
/// # Errors
/// If they are not of the stated shape, which would be a fault of ours.
pub fn array<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let array = ArrayD::from_shape_vec(shape, values).map_err(|e| exception(e.into()))?;
    Ok(array.into_pyarray(py))
}

/// Moves the numbers of a tensor into an array of NumPy with their precision.
///
/// # Errors
/// As [`array`].
pub fn of_data<'py>(
    py: Python<'py>,
    data: TensorData,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let other = |e| exception(anyhow::anyhow!("reading numbers: {e:?}"));
    Ok(match data.dtype() {
        DType::F64 => {
            let values = data.try_into_vec::<f64>().map_err(other)?;
            array(py, values, shape)?.into_any()
        }
        _ => {
            let values = data.convert::<f32>().try_into_vec::<f32>();
            array(py, values.map_err(other)?, shape)?.into_any()
        }
    })
}

/// Computes a tensor without Python's lock and moves it into an array of NumPy.
///
/// # Errors
/// The exception of a failed computation.
pub fn compute<const D: usize>(
    py: Python<'_>,
    work: impl FnOnce(&Device) -> Tensor<D> + Send,
) -> PyResult<Bound<'_, PyAny>> {
    let (data, shape) = detached(py, || {
        let result = work(&Backend::Flex.device()?);
        let shape = result.dims();
        Ok((result.into_data(), shape))
    })?;
    of_data(py, data, &shape)
}

/// Points of one width as rows of `f32`, with the sizes of all dimensions before the last.
pub struct Rows {
    pub leading: Vec<usize>,
    pub width: usize,
    pub data: Vec<f32>,
}

impl Rows {
    /// Reads whatever NumPy takes for an array; `width` is the expected size of the last dimension.
    ///
    /// # Errors
    /// Bad usage for another width, or an array without dimensions; NumPy's for anything else.
    pub fn read(name: &str, object: &Bound<'_, PyAny>, width: Option<usize>) -> PyResult<Self> {
        let numpy = object.py().import("numpy")?;
        let single = numpy.getattr("float32")?;
        let array = numpy.call_method1("ascontiguousarray", (object, single))?;
        let array = array.cast::<PyArrayDyn<f32>>()?.readonly();
        let shape = array.as_array().shape().to_vec();
        let scalar = numpy.call_method1("ndim", (object,))?.extract::<usize>()? == 0;
        match shape.split_last() {
            Some((last, leading)) if !scalar && *last > 0 && width.is_none_or(|w| w == *last) => {
                Ok(Self {
                    leading: leading.to_vec(),
                    width: *last,
                    data: array.as_slice()?.to_vec(),
                })
            }
            _ => {
                let expected = width.map_or("d".to_owned(), |w| w.to_string());
                Err(refused(format!(
                    "{name}: expected points, an array [.., {expected}], found shape {shape:?}"
                )))
            }
        }
    }

    /// Returns the points in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.data.chunks_exact(self.width)
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.data.len() / self.width
    }
}

/// Returns a value of JSON as a value of Python.
///
/// # Errors
/// Those of Python's `json`.
pub fn of_json<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?
        .call_method1("loads", (value.to_string(),))
}

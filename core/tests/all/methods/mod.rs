//! Reference values of MERU, PHyCLIP, RE, EC, RCME, visual hierarchies and ATMG (notation 9.2, 9.3,
//! 9.6, 9.7), and finite values and gradients where directions vanish.

mod gradients;
mod lorentz;
mod parts_and_atmg;
mod radial;

use burn::tensor::{DType, Device, Tensor, TensorData};
use espalier_core::loss::{HycoclipPoints, LossTerms, Relations};
use espalier_core::math::normalize;
use espalier_fixtures::{toy_features, values};

pub(super) const SCALE: f64 = 1.0 / 0.07;

fn tensor<const D: usize>(v: Vec<f64>, shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(v, shape), (device, DType::F64))
}

fn scalar<const D: usize>(v: f64, device: &Device) -> Tensor<D> {
    tensor(vec![v], [1; D], device)
}

pub(super) fn term(loss: &LossTerms, name: &str) -> f64 {
    let (_, t) = loss.named.iter().find(|(n, _)| *n == name).unwrap();
    values(t.clone())[0]
}

fn total(loss: &LossTerms) -> f64 {
    values(loss.total.clone().inner())[0]
}

/// Returns the points of a batch with boxes: those of roles 0 to 3, as in [`toy_features`].
pub(super) fn with_boxes<const D: usize>(point: impl Fn(usize) -> Tensor<D>) -> HycoclipPoints<D> {
    HycoclipPoints {
        image: point(0),
        text: point(1),
        box_image: point(2),
        box_text: point(3),
    }
}

/// Returns the tangent features of notation 9.2 in `f64`.
fn features(role: usize, device: &Device) -> Tensor<2> {
    toy_features(role, device, DType::F64)
}

/// Returns the unit vector in the direction of `v`, `[1, n]`.
fn unit(v: &[f64], device: &Device) -> Tensor<2> {
    normalize(tensor(v.to_vec(), [1, v.len()], device))
}

fn relations(pairs: &[(usize, usize)], device: &Device) -> Relations {
    let mut v = vec![0.0; 9];
    for (i, j) in pairs {
        v[3 * i + j] = 1.0;
    }
    let mask = tensor(v, [3, 3], device).greater_scalar(0.5);
    Relations {
        pairs: mask.clone(),
        entails: mask,
    }
}

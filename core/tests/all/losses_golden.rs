//! Values and gradients of every loss in `f32` against an independent implementation in float64
//! (`tests/golden/gen_losses.py`): 32 samples of 64 numbers, several curvatures.

use std::f64::consts::PI;

use burn::tensor::{DType, Device, Tensor, TensorData};
use espalier_core::geometry::{AngleFormula, DistanceReduction, lorentz, product};
use espalier_core::loss::{
    Chains, HycoclipWeights, ImageApex, Lineages, LossTerms, MarginSide, PairTerm, RadialWeights,
    RcmeWeights, Relations, RootMode, atmg, clip, hycoclip, meru, parts, parts_euclidean, phyclip,
    radial, rcme,
};
use espalier_core::math::normalize;
use espalier_fixtures::values;

use super::methods::{SCALE, with_boxes};

const B: usize = 32;
const D: usize = 64;
const K: usize = 8;

/// Returns the counterpart of `numbers` in the generator.
fn numbers(seed: usize, count: usize) -> Vec<f64> {
    (0..count)
        .map(|at| {
            let wave = (at as f64 * 12.9898 + seed as f64 * 78.233).sin() * 437.585453;
            2.0 * (wave - wave.floor()) - 1.0
        })
        .collect()
}

/// The inputs of a case, on an autodiff device in one precision.
struct Given {
    v: Tensor<3>,
    c: Tensor<1>,
    device: Device,
    dtype: DType,
}

impl Given {
    fn tensor<const R: usize>(&self, v: Vec<f64>, shape: [usize; R]) -> Tensor<R> {
        Tensor::from_data(TensorData::new(v, shape), (&self.device, self.dtype))
    }

    fn part(&self, role: usize) -> Tensor<2> {
        self.v.clone().narrow(0, role, 1).reshape([B, D])
    }

    fn c(&self) -> Tensor<2> {
        self.c.clone().reshape([1, 1])
    }

    fn scale(&self) -> Tensor<1> {
        self.tensor(vec![SCALE], [1])
    }

    fn lift(&self, role: usize) -> Tensor<2> {
        lorentz::exp_map0(self.part(role), self.c())
    }

    fn root(&self) -> Tensor<2> {
        normalize(self.tensor(numbers(99, D), [1, D]))
    }

    fn phyclip(&self, join: DistanceReduction) -> LossTerms {
        let spread: Vec<f64> = (0..K)
            .map(|i| 0.5 + 1.5 * i as f64 / (K - 1) as f64)
            .collect();
        let c = self.tensor(spread, [K, 1, 1]) * self.c.clone().reshape([1, 1, 1]);
        let lift = |role| lorentz::exp_map0(product::split(self.part(role), K), c.clone());
        let (points, weights) = (with_boxes(lift), HycoclipWeights::default());
        phyclip(&points, c.clone(), self.scale(), join, weights)
    }

    fn radial(&self, term: PairTerm) -> LossTerms {
        let side = |role| normalize(self.part(role)).reshape([B / 4, 4, D]);
        let chains = Chains {
            positives: side(0),
            negatives: side(1),
            root: self.root(),
            frozen: Some(normalize(self.tensor(numbers(98, 2 * B * D), [2 * B, D]))),
        };
        let weights = RadialWeights {
            term,
            ..RadialWeights::default()
        };
        radial(&chains, weights)
    }

    fn rcme(&self, root_mode: RootMode) -> LossTerms {
        let lineages = |role| normalize(self.part(role)).reshape([B / 8, 8, D]);
        let ranks = |role, count| lineages(role).narrow(1, 0, count);
        let lineages = Lineages {
            texts: ranks(0, 7),
            negatives: ranks(1, 6),
            root: self.root(),
            images: Some(normalize(self.part(2).narrow(0, 0, B / 8))),
            frozen: None,
        };
        let weights = RcmeWeights {
            root_mode,
            ..RcmeWeights::default()
        };
        rcme(&lineages, self.scale(), weights)
    }

    fn relations(&self) -> Relations {
        let cells = (0..B * B).map(|at| {
            let (i, j) = (at / B, at % B);
            f64::from(u8::from(i == j || (7 * i + 3 * j) % 11 == 0))
        });
        let mask = self.tensor(cells.collect(), [B, B]).inner();
        let mask = mask.greater_scalar(0.5);
        Relations {
            pairs: mask.clone().autodiff(),
            entails: mask.autodiff(),
        }
    }

    fn loss(&self, name: &str) -> LossTerms {
        let weights = HycoclipWeights::default();
        let (a, b) = (self.part(0), self.part(1));
        let (x, y) = (self.lift(0), self.lift(1));
        let (c, scale) = (self.c(), self.scale());
        match name {
            "clip" => clip(normalize(a), normalize(b), scale),
            "meru" => meru(x, y, c, scale, 0.2, AngleFormula::Stable),
            "hycoclip" => hycoclip(&with_boxes(|role| self.lift(role)), c, scale, weights),
            "phyclip_l1" => self.phyclip(DistanceReduction::L1),
            "phyclip_l2" => self.phyclip(DistanceReduction::L2),
            "atmg" => atmg(x, y, c, scale, ImageApex::Maximised, 0.3),
            "parts" => parts(x, y, c, scale, &self.relations()),
            "parts_euclidean" => parts_euclidean(a, b, scale, &self.relations()),
            "re" => self.radial(PairTerm::Angle),
            "ec" => self.radial(PairTerm::Cone {
                margin: PI / 8.0,
                side: MarginSide::Outside,
            }),
            "rcme_root" => self.rcme(RootMode::Root),
            "rcme_parent" => self.rcme(RootMode::Parent),
            other => panic!("unknown loss {other}"),
        }
    }
}

#[test]
fn values_and_gradients_agree_with_another_implementation() {
    let golden = include_str!("../../../tests/golden/losses.tsv");
    let rows = golden.lines().filter(|l| !l.starts_with('#')).skip(1);
    let rows: Vec<&str> = rows.collect();
    assert_eq!(rows.len(), 24);
    for (seed, row) in rows.iter().enumerate() {
        let fields: Vec<&str> = row.split('\t').collect();
        let known: Vec<f64> = fields[1..].iter().map(|f| f.parse().unwrap()).collect();
        let (name, curvature) = (fields[0], known[0]);
        let device = Device::flex().autodiff();
        let dtype = DType::F32;
        let v: Vec<f64> = numbers(seed, 4 * B * D).iter().map(|x| 0.2 * x).collect();
        let data = |v: Vec<f64>, shape: Vec<usize>| TensorData::new(v, shape);
        let given = Given {
            v: Tensor::from_data(data(v, vec![4, B, D]), (&device, dtype)).require_grad(),
            c: Tensor::from_data(data(vec![curvature.max(1e-3)], vec![1]), (&device, dtype))
                .require_grad(),
            device: device.clone(),
            dtype,
        };
        let loss = given.loss(name);
        let value = values(loss.total.clone().inner())[0];
        let grads = loss.total.backward();
        let gradient = values(given.v.grad(&grads).unwrap());
        let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        let near = |what: &str, found: f64, known: f64, scale: f64| {
            let off = (found - known).abs() / scale.abs().max(1e-12);
            assert!(
                off < 1e-4,
                "{name} at c = {curvature}, {what}: expected {known}, found {found}"
            );
        };
        near("value", value, known[1], known[1]);
        near("gradient", norm, known[2], known[2]);
        for direction in 0..3 {
            let axis = numbers(1000 + direction, 4 * B * D);
            let along: f64 = gradient.iter().zip(&axis).map(|(g, a)| g * a).sum();
            // Relative to the norm of the gradient times that of the direction.
            near(
                "direction",
                along,
                known[3 + direction],
                norm * (4.0 * (B * D) as f64 / 3.0).sqrt(),
            );
        }
        if curvature > 0.0 {
            let by_c = values(given.c.grad(&grads).unwrap())[0];
            // The published angle of PHyCLIP adds 1e-6 to its denominator, the stable form does not:
            // 5e-5 in this derivative where points lie close together.
            let is_product = name.starts_with("phyclip");
            let least = if is_product { 1.0 } else { 0.1 };
            near("curvature", by_c, known[6], known[6].abs().max(least));
        }
    }
}

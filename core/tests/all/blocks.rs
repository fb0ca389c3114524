//! Contrastive terms in blocks: value and gradients of every method are those of the whole batch. And in
//! groups: samples that show the same image are no negatives.

use std::num::NonZeroUsize;

use burn::tensor::{DType, Device, Distribution, Tensor};
use espalier_core::geometry::{AngleFormula, DistanceReduction, lorentz};
use espalier_core::loss::{
    Contrast, Groups, HycoclipWeights, ImageApex, Lineages, LossTerms, RcmeWeights, atmg, clip,
    hycoclip, meru, phyclip, rcme,
};
use espalier_core::math::normalize;
use espalier_fixtures::{close, values};

use super::methods::{term, with_boxes};

/// Samples, not a multiple of any size of a block below.
const SAMPLES: usize = 7;
const WIDTH: usize = 6;

/// Images of the samples where some show the same one.
const SHARED: [u32; SAMPLES] = [0, 1, 0, 2, 3, 3, 0];

/// The inputs of a loss: features of four roles `[4 b, d]`, a curvature and a scale, all learned.
struct Inputs {
    features: Tensor<2>,
    curvature: Tensor<2>,
    scale: Tensor<1>,
}

impl Inputs {
    fn draw(device: &Device) -> Self {
        device.clone().inner().seed(11);
        let wide = Distribution::Normal(0.0, 0.5);
        let of_doubles = (&device.clone().inner(), DType::F64);
        let features = Tensor::<2>::random([4 * SAMPLES, WIDTH], wide, of_doubles);
        let number = |value: f64| Tensor::<1>::from_data([value], (device, DType::F64));
        Self {
            features: features.autodiff().require_grad(),
            curvature: number(0.7).reshape([1, 1]).detach().require_grad(),
            scale: number(9.0).detach().require_grad(),
        }
    }

    fn role(&self, role: usize) -> Tensor<2> {
        self.features.clone().narrow(0, role * SAMPLES, SAMPLES)
    }

    /// Returns the points of a role in the Lorentz model.
    fn point(&self, role: usize) -> Tensor<2> {
        lorentz::exp_map0(self.role(role), self.curvature.clone())
    }

    /// Returns the points of a role in a product of two factors of the same curvature, `[2, b, d / 2]`.
    fn in_product(&self, role: usize) -> Tensor<3> {
        self.point(role)
            .reshape([SAMPLES, 2, WIDTH / 2])
            .swap_dims(0, 1)
    }
}

/// A loss of the inputs with some way to contrast.
type Loss = fn(&Inputs, Contrast) -> LossTerms;

/// Every loss that takes a [`Contrast`]. The names of the methods are the trainer's, so this list cannot
/// come from them; `tests/tests/native/every_method.rs` trains each method.
const LOSSES: [(&str, Loss); 6] = [
    ("clip", |x, contrast| {
        clip(normalize(x.role(0)), normalize(x.role(1)), contrast)
    }),
    ("meru", |x, contrast| {
        let (c, form) = (x.curvature.clone(), AngleFormula::Stable);
        meru(x.point(0), x.point(1), c, contrast, 0.2, form)
    }),
    ("hycoclip", |x, contrast| {
        let (points, weights) = (with_boxes(|role| x.point(role)), HycoclipWeights::default());
        hycoclip(&points, x.curvature.clone(), contrast, weights)
    }),
    ("phyclip", |x, contrast| {
        let points = with_boxes(|role| x.in_product(role));
        let c = x.curvature.clone().unsqueeze::<3>().repeat_dim(0, 2);
        let weights = HycoclipWeights::default();
        phyclip(&points, c, contrast, DistanceReduction::L1, weights)
    }),
    ("atmg", |x, contrast| {
        let (c, apex) = (x.curvature.clone(), ImageApex::Maximised);
        atmg(x.point(0), x.point(1), c, contrast, apex, 0.1)
    }),
    ("rcme", |x, contrast| {
        let unit = |role| normalize(x.role(role)).unsqueeze_dim::<3>(1);
        let lineages = Lineages {
            texts: Tensor::cat(vec![unit(0), unit(1), unit(2)], 1),
            negatives: Tensor::cat(vec![unit(2), unit(0)], 1),
            root: normalize(x.role(3).narrow(0, 0, 1)),
            images: Some(normalize(x.role(3))),
            frozen: None,
        };
        rcme(&lineages, contrast, RcmeWeights::default())
    }),
];

/// Returns the loss, its contrastive term, and the gradients by features, curvature and scale.
fn value_and_gradients(loss: Loss, rows: Option<NonZeroUsize>, groups: &Groups) -> Vec<f64> {
    let inputs = Inputs::draw(&Device::flex().autodiff());
    let contrast = Contrast::from(inputs.scale.clone()).in_blocks(rows);
    let terms = loss(&inputs, contrast.within(groups.clone()));
    let mut all = vec![term(&terms, "contrastive")];
    all.extend(values(terms.total.clone().inner()));
    let gradients = terms.total.backward();
    all.extend(values(inputs.features.grad(&gradients).unwrap()));
    let by_curvature = inputs.curvature.grad(&gradients);
    all.extend(by_curvature.map(values).unwrap_or_default());
    all.extend(values(inputs.scale.grad(&gradients).unwrap()));
    all
}

#[test]
fn blocks_of_any_size_give_the_values_and_gradients_of_the_whole() {
    for groups in [Groups::default(), Groups::new(&SHARED)] {
        for (name, loss) in LOSSES {
            let whole = value_and_gradients(loss, None, &groups);
            assert!(whole.iter().any(|v| v.abs() > 0.1), "{name}: {whole:?}");
            for rows in [1, 2, 3, 6, 7, 100] {
                println!("{name}, {rows} rows, {groups:?}");
                let in_blocks = value_and_gradients(loss, NonZeroUsize::new(rows), &groups);
                close(&in_blocks, &whole, 1e-12);
            }
        }
    }
}

#[test]
fn samples_with_the_same_image_are_no_negatives() {
    let inputs = Inputs::draw(&Device::flex().autodiff());
    for (name, loss) in LOSSES {
        let of = |groups: Groups| {
            let contrast = Contrast::from(inputs.scale.clone()).within(groups);
            term(&loss(&inputs, contrast), "contrastive")
        };
        let every_sample_alone: Vec<u32> = (0..SAMPLES as u32).collect();
        let all = of(Groups::default());
        assert_eq!(of(Groups::new(&every_sample_alone)), all, "{name}");
        // A softmax over fewer keys gives a larger share to the right one.
        assert!(of(Groups::new(&SHARED)) < all, "{name}");
        // All negatives are left out.
        assert_eq!(of(Groups::new(&[4; SAMPLES])), 0.0, "{name}");
    }
}

#[test]
fn a_softmax_without_the_captions_of_the_same_image_is_that_of_the_others() {
    let device = Device::flex();
    let unit = |angle: f64| [angle.cos(), angle.sin()];
    let points = |angles: [f64; 3]| Tensor::<2>::from_data(angles.map(unit), (&device, DType::F64));
    let (images, texts) = ([0.1, 0.9, 0.1], [0.3, 0.8, 1.7]);
    let scale = Tensor::<1>::from_data([3.0], (&device, DType::F64));
    let contrast = Contrast::from(scale).within(Groups::new(&[7, 2, 7]));
    let found = clip(points(images), points(texts), contrast);
    let logit = |i: usize, j: usize| 3.0 * f64::cos(images[i] - texts[j]);
    let one_way = |logit: &dyn Fn(usize, usize) -> f64| {
        let keys = [&[0, 1][..], &[0, 1, 2], &[1, 2]];
        let terms = (0..3).map(|query| {
            let sum: f64 = keys[query].iter().map(|key| logit(query, *key).exp()).sum();
            sum.ln() - logit(query, query)
        });
        terms.sum::<f64>() / 3.0
    };
    let expected = (one_way(&logit) + one_way(&|i, j| logit(j, i))) / 2.0;
    close(&values(found.total), &[expected], 1e-12);
}

#[test]
fn blocks_without_gradients_give_the_value_of_the_whole() {
    let inputs = Inputs::draw(&Device::flex().autodiff());
    let without = Inputs {
        features: inputs.features.inner(),
        curvature: inputs.curvature.inner(),
        scale: inputs.scale.inner(),
    };
    for (name, loss) in LOSSES {
        let value = |rows| {
            let contrast = Contrast::from(without.scale.clone()).in_blocks(rows);
            values(loss(&without, contrast).total)
        };
        println!("{name}");
        close(&value(NonZeroUsize::new(3)), &value(None), 1e-12);
    }
}

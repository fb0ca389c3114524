//! A convolutional image encoder against plain loops, and two properties: any side length works,
//! and one photo gives the same result as in a batch.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Distribution, Tensor};
use espalier_core::model::{Pool, VisionBackbone, VitConfig};
use espalier_core::nn::StageConfig;
use espalier_fixtures::{close, values};

const WIDTHS: [usize; 2] = [5, 8];

fn config() -> VitConfig {
    let [first, last] = WIDTHS;
    let stages = vec![StageConfig::new(first, 0), StageConfig::new(last, 1)];
    VitConfig::new(16, 4, last, 0, 4)
        .with_pool(Pool::Mean)
        .with_stem(Some(stages))
}

/// Returns an encoder with random parameters: as initialised, a residual block would add nothing.
fn backbone(device: &Device) -> VisionBackbone {
    struct Fill;
    impl ModuleMapper for Fill {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            param.map(|t| Tensor::random(t.dims(), Distribution::Normal(0.2, 0.5), &t.device()))
        }
    }
    device.seed(3);
    config().init(device).map(&mut Fill)
}

/// Channels of `side * side` values.
type Map = Vec<Vec<f64>>;

/// Computes the convolution with plain sums, from its definition.
fn convolve(conv: &espalier_core::nn::conv::Conv, x: &Map, side: usize, stride: usize) -> Map {
    let weights = values(conv.weight.val());
    let (gains, biases) = (values(conv.gain.val()), values(conv.bias.val()));
    let (per_kernel, out) = (x.len() * 9, side.div_ceil(stride));
    let channel = |((kernel, gain), bias): ((&[f64], &f64), &f64)| {
        let mean = kernel.iter().sum::<f64>() / per_kernel as f64;
        let squares: f64 = kernel.iter().map(|w| (w - mean).powi(2)).sum();
        let at = |row: usize, col: usize| {
            let mut sum = 0.0;
            for (k, w) in kernel.iter().enumerate() {
                let (c, dy, dx) = (k / 9, k / 3 % 3, k % 3);
                let (y, x_at) = (row * stride + dy, col * stride + dx);
                let inside = (1..=side).contains(&y) && (1..=side).contains(&x_at);
                if inside {
                    sum += (w - mean) * x[c][(y - 1) * side + x_at - 1];
                }
            }
            sum * gain / (squares.sqrt() + 1e-5) + bias
        };
        (0..out * out).map(|i| at(i / out, i % out)).collect()
    };
    let kernels = weights.chunks(per_kernel).zip(&gains).zip(&biases);
    kernels.map(channel).collect()
}

fn rectified(map: &Map) -> Map {
    let relu = |channel: &Vec<f64>| channel.iter().map(|v| v.max(0.0)).collect();
    map.iter().map(relu).collect()
}

/// Computes the feature of one image with plain loops.
fn plainly(backbone: &VisionBackbone, image: &Map, side: usize) -> Vec<f64> {
    let stem = backbone.stem.as_ref().unwrap();
    let x = convolve(&stem.stages[0].down, image, side, 2);
    let mut x = convolve(&stem.stages[1].down, &rectified(&x), side / 2, 2);
    let block = &stem.stages[1].blocks[0];
    let inner = convolve(&block.conv1, &rectified(&x), side / 4, 1);
    let inner = convolve(&block.conv2, &rectified(&inner), side / 4, 1);
    let gain = values(block.gain.val())[0];
    for (v, a) in x.iter_mut().flatten().zip(inner.iter().flatten()) {
        *v += gain * a;
    }
    let mean_of = |row: &Vec<f64>| row.iter().sum::<f64>() / row.len() as f64;
    let means: Vec<f64> = rectified(&x).iter().map(mean_of).collect();
    let mean = mean_of(&means);
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / means.len() as f64;
    let norm = backbone.norm.as_ref().unwrap();
    let gamma = values(norm.gamma.val());
    let beta = values(norm.beta.as_ref().unwrap().val());
    let affine = means.iter().zip(gamma.iter().zip(&beta));
    let value = |(m, (g, b)): (&f64, (&f64, &f64))| (m - mean) / (variance + 1e-5).sqrt() * g + b;
    affine.map(value).collect()
}

#[test]
fn the_feature_is_that_of_plain_loops_at_every_side() {
    let device = Device::flex();
    let backbone = backbone(&device);
    for side in [16, 8] {
        let images = Tensor::<4>::random([3, 3, side, side], Distribution::Default, &device);
        let found = values(backbone.forward_tokens(images.clone(), None));
        let images = values(images);
        for (row, found) in found.chunks(WIDTHS[1]).enumerate() {
            let places = side * side;
            let channels = images.chunks(places).skip(row * 3).take(3);
            let image: Map = channels.map(<[f64]>::to_vec).collect();
            let expected = plainly(&backbone, &image, side);
            println!("side {side}, image {row}");
            close(found, &expected, 1e-4);
        }
    }
}

#[test]
fn a_photo_alone_has_the_feature_that_it_has_in_a_batch() {
    let device = Device::flex();
    let backbone = backbone(&device);
    let images = Tensor::<4>::random([4, 3, 16, 16], Distribution::Default, &device);
    let together = values(backbone.forward_tokens(images.clone(), None));
    let alone = values(backbone.forward_tokens(images.narrow(0, 2, 1), None));
    close(&alone, &together[2 * WIDTHS[1]..][..WIDTHS[1]], 1e-5);
}

#[test]
fn the_parameters_are_counted() {
    use espalier_core::model::Preset;
    let mut dual = Preset::VitT8_64.config();
    let before = dual.parameters();
    let patched = dual.vision.clone();
    dual.vision = config();
    dual.vision.n_heads = 4;
    let device = Device::flex();
    let of = |vision: &VitConfig| vision.init(&device).num_params() as u64;
    let projections = |v: &VitConfig| (dual.d_embed * v.d_model) as u64;
    let text = before - of(&patched) - projections(&patched);
    let vision = of(&dual.vision) + projections(&dual.vision);
    assert_eq!(dual.parameters(), text + vision);
}

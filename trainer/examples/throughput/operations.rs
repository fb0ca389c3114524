//! Time of the operations of an encoder of inverted residuals, by kind.
//!
//! The kernels have no clock of their own. So the operations of one image are computed here one
//! after the other on the public kernels, with the shapes of the network and random weights.

use std::time::Instant;

use anyhow::{Context, Result};
use espalier_core::nn::InvertedConfig;
use espalier_core::nn::inverted_config::BlockSizes;
use espalier_kernels::{Activation, Depthwise, PackedWeights, Patches, Sides};
use serde_json::{Value, json};

use super::clock::median;
use super::inference::pool;
use super::models::{ModelName, Models};

/// One operation of the network.
struct Operation {
    name: &'static str,
    /// Computes its output from its input.
    work: Work,
    /// Number of multiplications.
    products: usize,
    /// Number of values in its output.
    outputs: usize,
}

type Work = Box<dyn Fn(&[f32], &mut [f32]) + Sync>;

/// Returns a weight between `-scale` and `scale` that depends on its place.
fn weight(scale: f32, place: usize) -> f32 {
    scale * ((place * 7919 % 2003) as f32 / 1001.0 - 1.0)
}

fn pointwise(
    name: &'static str,
    (inputs, outputs): (usize, usize),
    sides: Sides,
    activation: Activation,
) -> Operation {
    let scale = (6.0 / inputs as f32).sqrt();
    let layer = PackedWeights::new(inputs, &vec![0.1; outputs], |o, i| {
        weight(scale, o * inputs + i)
    });
    let work: Work = Box::new(move |input, output| layer.apply(input, None, activation, output));
    Operation {
        name,
        work,
        products: sides.pixels() * inputs * outputs,
        outputs: sides.pixels() * outputs,
    }
}

fn depthwise(block: BlockSizes, sides: Sides) -> Operation {
    let (kernel, channels) = (block.kernel, block.d_inner);
    let scale = (6.0 / (kernel * kernel) as f32).sqrt();
    let layer = Depthwise::new(kernel, block.stride, &vec![0.1; channels], |c, y, x| {
        weight(scale, (c * kernel + y) * kernel + x)
    });
    let outputs = sides.after(block.stride).pixels() * channels;
    let work: Work =
        Box::new(move |input, output| layer.apply(input, sides, Activation::Relu6, output));
    Operation {
        name: if kernel == 3 {
            "depthwise, 3x3"
        } else {
            "depthwise, 5x5"
        },
        work,
        products: outputs * kernel * kernel,
        outputs,
    }
}

fn stem(width: usize, sides: Sides) -> Operation {
    let layer = Patches::new(3, 2, 3, &vec![0.1; width], |o, i, y, x| {
        weight(0.5, o * 27 + i * 9 + y * 3 + x)
    });
    let outputs = layer.after(sides).pixels() * width;
    let work: Work =
        Box::new(move |input, output| layer.apply(input, sides, None, Activation::Relu6, output));
    Operation {
        name: "stem",
        work,
        products: outputs * 27,
        outputs,
    }
}

/// Returns all operations for images of a side, in their order.
fn operations(config: &InvertedConfig, side: usize, head: usize) -> Vec<Operation> {
    let mut sides = Sides {
        height: side,
        width: side,
    };
    let mut all = vec![stem(config.stem_width, sides)];
    sides = sides.after(2);
    let mut width = config.stem_width;
    for block in config.blocks() {
        if block.expands {
            let widths = (block.d_in, block.d_inner);
            all.push(pointwise("expand", widths, sides, Activation::Relu6));
        }
        all.push(depthwise(block, sides));
        sides = sides.after(block.stride);
        let widths = (block.d_inner, block.d_out);
        all.push(pointwise("project", widths, sides, Activation::None));
        width = block.d_out;
    }
    all.push(pointwise("head", (width, head), sides, Activation::Relu6));
    all
}

/// Measures the operations for about `seconds`; returns median milliseconds and multiplications by
/// kind, in the order of the network.
pub fn measure(models: &Models, name: &ModelName, threads: usize, seconds: f64) -> Result<Value> {
    let vision = models.config(name)?.vision;
    let inverted = vision
        .inverted
        .as_ref()
        .with_context(|| format!("{}: expected inverted residuals, found none", name.model))?;
    let operations = operations(inverted, vision.image_size, vision.d_model);
    let pixels = vec![0.5; 3 * vision.image_size * vision.image_size];
    let mut passes: Vec<Vec<f64>> = Vec::new();
    pool(threads)?.install(|| {
        let begun = Instant::now();
        while passes.len() < 2 || begun.elapsed().as_secs_f64() < seconds {
            let mut x = pixels.clone();
            let times = operations.iter().map(|operation| {
                let since = Instant::now();
                let mut output = vec![0.0; operation.outputs];
                (operation.work)(&x, &mut output);
                x = output;
                since.elapsed().as_secs_f64()
            });
            passes.push(times.collect());
        }
    });
    // The first pass fills the caches.
    Ok(by_kind(&operations, &passes[1..]))
}

fn by_kind(operations: &[Operation], passes: &[Vec<f64>]) -> Value {
    let mut rows: Vec<(&str, f64, usize)> = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        let times: Vec<f64> = passes.iter().map(|pass| pass[at]).collect();
        let milliseconds = 1e3 * median(&times);
        match rows.iter_mut().find(|(name, ..)| *name == operation.name) {
            Some((_, sum, products)) => {
                *sum += milliseconds;
                *products += operation.products;
            }
            None => rows.push((operation.name, milliseconds, operation.products)),
        }
    }
    let rows = rows.into_iter().map(|(name, milliseconds, products)| {
        json!({ "part": name, "milliseconds": milliseconds, "products": products })
    });
    Value::Array(rows.collect())
}

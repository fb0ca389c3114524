//! Outlier images: images without recognisable content.
//!
//! A model trained only on images of objects classifies noise as one of them, with high confidence.
//! Training on outlier images without a label keeps them near the root (Hendrycks et al. 2019,
//! "Deep Anomaly Detection with Outlier Exposure", here with noise as the outliers).

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use image::imageops::{FilterType, resize};
use image::{Rgb, RgbImage};

use crate::batches::feature_rows::{FeatureRows, Features};
use crate::batches::image_batch::Pixels;
use crate::records::random::{Purpose, Random};

/// Number of samples of a batch per outlier image.
const SAMPLES_PER_OUTLIER: usize = 16;

/// Draws outlier images of `side` pixels for a batch of `samples`: one for every 16, at least one.
pub fn draw_outliers(samples: usize, side: u32, random: &mut Random) -> Pixels {
    let count = samples.div_ceil(SAMPLES_PER_OUTLIER);
    let drawn: Vec<RgbImage> = (0..count).map(|_| outlier_image(side, random)).collect();
    Pixels::pack(side, &drawn.iter().collect::<Vec<_>>())
}

/// Returns an outlier image that is the same in every run; `index` is its number in the pool.
pub fn pool_image(side: u32, index: u64) -> RgbImage {
    outlier_image(side, &mut Random::new(0, Purpose::Outliers, 1, index))
}

/// Draws the features of a batch's outlier images from a pool.
pub fn draw_pool_features(pool: &FeatureRows, samples: usize, random: &mut Random) -> Features {
    let rows = u32::try_from(pool.count()).unwrap_or(u32::MAX);
    let drawn = (0..samples.div_ceil(SAMPLES_PER_OUTLIER)).map(|_| random.below(rows));
    pool.gather(&drawn.collect::<Vec<u32>>())
}

/// Draws plain colours, gradients, stripes, checks, spots or noise, or the average of two such
/// layers.
fn outlier_image(side: u32, random: &mut Random) -> RgbImage {
    let mut image = layer(side, random);
    if random.below(2) == 0 {
        let other = layer(side, random);
        let values = image.iter_mut().zip(other.iter());
        values.for_each(|(value, other)| *value = value.midpoint(*other));
    }
    image
}

/// Draws a grid of random colours around one centre colour, optionally in shades of grey. The grid
/// has between one cell and one cell per pixel in each direction, with hard or interpolated cell
/// borders.
fn layer(side: u32, random: &mut Random) -> RgbImage {
    let mut cells = || 1 << random.below(side.ilog2() + 1);
    let (across, down) = (cells(), cells());
    let centre = [random.uniform(), random.uniform(), random.uniform()];
    let spread = random.uniform();
    let grey = random.below(2) == 0;
    let cells = RgbImage::from_fn(across, down, |_, _| {
        let one = random.uniform();
        Rgb(centre.map(|centre| {
            let value = if grey { one } else { random.uniform() };
            (255.0 * (centre + spread * (value - centre))).round() as u8
        }))
    });
    let filter = match random.below(2) {
        0 => FilterType::Triangle,
        _ => FilterType::Nearest,
    };
    resize(&cells, side, side, filter)
}

/// Returns the probability of every label when each step down the tree chooses a child with a
/// probability proportional to the square root of its number of labels. Uniform probabilities of
/// labels would make the larger half of them more likely true than not; uniform steps would do the
/// same for the few labels of a small branch.
pub fn tree_prior(taxonomy: &Taxonomy) -> Vec<f64> {
    let mut shares = vec![0.0; taxonomy.nodes().len()];
    shares[taxonomy.root().index()] = 1.0;
    let mut order: Vec<NodeIx> = (0..taxonomy.nodes().len() as u32).map(NodeIx).collect();
    // Sorts ancestors before descendants: a node has more ancestors than any of its ancestors.
    order.sort_by_key(|ix| taxonomy.ancestors(*ix).len());
    let weight = |ix: NodeIx| (taxonomy.labelled_below(ix).len() as f64).sqrt();
    for ix in order {
        let own_weight = f64::from(u8::from(taxonomy.node(ix).labelled));
        let children = taxonomy.children(ix);
        let sum = own_weight + children.iter().map(|child| weight(*child)).sum::<f64>();
        if sum == 0.0 {
            continue;
        }
        let share = shares[ix.index()] / sum;
        for child in children {
            shares[child.index()] += share * weight(*child);
        }
        // The share of the node itself, which is read for labels only.
        shares[ix.index()] = share;
    }
    let labels = taxonomy.labelled().iter();
    labels.map(|ix| shares[ix.index()]).collect()
}

#[cfg(test)]
mod tests {
    use espalier_core::bundle::sha256_hex;
    use half::f16;

    use super::*;

    fn drawn(index: u64) -> Pixels {
        draw_outliers(100, 32, &mut Random::new(7, Purpose::Outliers, 0, index))
    }

    #[test]
    fn there_is_one_outlier_per_sixteen_samples_and_the_draws_decide_it() {
        let images = drawn(0);
        assert_eq!((images.count, images.size), (7, 32));
        assert_eq!(images, drawn(0));
        assert_ne!(images, drawn(1));
        let one = draw_outliers(1, 1, &mut Random::new(7, Purpose::Outliers, 0, 0));
        assert_eq!((one.count, one.bytes.len()), (1, 3));
    }

    #[test]
    fn outliers_differ_in_roughness_and_brightness() {
        let (mut roughness, mut light) = (Vec::new(), Vec::new());
        for index in 0..60 {
            for plane in drawn(index).bytes.chunks(32 * 32) {
                let pairs = plane.windows(2);
                let steps = pairs.map(|pair| f64::from(pair[0].abs_diff(pair[1])));
                roughness.push(steps.sum::<f64>() / 1023.0);
                light.push(plane.iter().map(|v| f64::from(*v)).sum::<f64>() / 1024.0);
            }
        }
        let least = |v: &[f64]| v.iter().copied().fold(255.0, f64::min);
        let most = |v: &[f64]| v.iter().copied().fold(0.0, f64::max);
        assert!(least(&roughness) < 0.5 && most(&roughness) > 60.0);
        assert!(least(&light) < 40.0 && most(&light) > 215.0);
    }

    /// Models are trained on features of the pool that were computed once, so the pool may not change.
    #[test]
    fn the_pool_is_that_of_the_first_release() {
        let bytes = (0..40).flat_map(|index| pool_image(24, index).into_raw());
        let sum = sha256_hex(&bytes.collect::<Vec<u8>>());
        assert_eq!(sum[..16], *"7123101b5584fab0");
    }

    #[test]
    fn features_are_drawn_from_the_whole_pool() {
        let mut pool = FeatureRows::new(1);
        pool.push((0_u8..3).map(|row| f16::from_f32(f32::from(row))).collect());
        let mut random = Random::new(7, Purpose::Outliers, 0, 0);
        let drawn = draw_pool_features(&pool, 100 * SAMPLES_PER_OUTLIER + 1, &mut random);
        assert_eq!((drawn.count, drawn.width), (101, 1));
        for row in [0.0, 1.0, 2.0] {
            let times = drawn.values.iter().filter(|value| **value == row).count();
            assert!((20..48).contains(&times), "{row}: {times}");
        }
    }

    #[test]
    fn a_child_is_as_likely_as_the_square_root_of_its_number_of_labels() {
        // Four labels are birds and one is a stone. `x` leads to no label. A path that reaches the
        // penguin stays there or goes on to the king penguin, which can also be reached by another
        // path.
        let tree = "synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\nb\tbird\tr\t0\n\
                    s\tstone\tr\t1\nx\twind\tr\t0\np\tpenguin\tb\t1\nw\tswimmer\tb\t0\n\
                    k\tking penguin\tp|w\t1\nd\tduck\tb\t1\ne\towl\tb\t1\n";
        let taxonomy = Taxonomy::from_tsv(tree).unwrap();
        let shares = tree_prior(&taxonomy);
        let of = |id: &str| {
            let mut ids = taxonomy.labelled().iter().map(|ix| &taxonomy.node(*ix).id);
            shares[ids.position(|found| found == id).unwrap()]
        };
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // Square roots of 4 and 1 labels; below the birds, of 2, 1, 1 and 1.
        assert!((of("s") - 1.0 / 3.0).abs() < 1e-12);
        let one = 2.0 / 3.0 / (3.0 + 2.0_f64.sqrt());
        assert!((of("d") - one).abs() < 1e-12);
        assert!((of("p") - one * 2.0_f64.sqrt() / 2.0).abs() < 1e-12);
        assert!((of("k") - one - of("p")).abs() < 1e-12);
    }
}

//! Pictures of nothing, of which there is nothing to say.
//!
//! A model that has only met pictures of things takes noise for one of them, and is sure of it.
//! Met in training without a label, such pictures keep their place near the root (Hendrycks et al.
//! 2019, "Deep Anomaly Detection with Outlier Exposure", with noise as what lies outside).

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use image::imageops::{FilterType, resize};
use image::{Rgb, RgbImage};

use super::Pictures;
use super::random::Random;

/// Samples of a batch to each picture of nothing.
const SAMPLES: usize = 16;

/// Pictures of `side` pixels for a batch of `samples`, one for every 16, at least one.
pub(super) fn nothing(samples: usize, side: u32, random: &mut Random) -> Pictures {
    let count = samples.div_ceil(SAMPLES);
    let drawn: Vec<RgbImage> = (0..count).map(|_| picture(side, random)).collect();
    Pictures::pack(side, &drawn.iter().collect::<Vec<_>>())
}

/// Plain colours, gradients, stripes, checks, spots and noise, or two of them laid over each other.
fn picture(side: u32, random: &mut Random) -> RgbImage {
    let mut picture = layer(side, random);
    if random.below(2) == 0 {
        let other = layer(side, random);
        let values = picture.iter_mut().zip(other.iter());
        values.for_each(|(value, other)| *value = value.midpoint(*other));
    }
    picture
}

/// Cells of random colours about one colour, grey or not, from one cell to one a pixel in each
/// direction, hard or melting into each other.
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
    let smooth = random.below(2) == 0;
    let filter = if smooth {
        FilterType::Triangle
    } else {
        FilterType::Nearest
    };
    resize(&cells, side, side, filter)
}

/// Share of every label when each step down the tree is as likely as any other there. Even shares of
/// labels would not do: where most labels are artifacts, nothing would more likely be one than not.
pub(super) fn even(taxonomy: &Taxonomy) -> Vec<f64> {
    let mut shares = vec![0.0; taxonomy.nodes().len()];
    shares[taxonomy.root().index()] = 1.0;
    let mut order: Vec<NodeIx> = (0..taxonomy.nodes().len() as u32).map(NodeIx).collect();
    // A node has all ancestors of each of its ancestors, and these besides.
    order.sort_by_key(|ix| taxonomy.ancestors(*ix).len());
    for ix in order {
        let lead_on = |child: &&NodeIx| !taxonomy.labelled_below(**child).is_empty();
        let children: Vec<NodeIx> = taxonomy
            .children(ix)
            .iter()
            .filter(lead_on)
            .copied()
            .collect();
        let stays = usize::from(taxonomy.node(ix).labelled);
        let share = shares[ix.index()] / (children.len() + stays).max(1) as f64;
        children
            .iter()
            .for_each(|child| shares[child.index()] += share);
        shares[ix.index()] = share;
    }
    taxonomy
        .labelled()
        .iter()
        .map(|ix| shares[ix.index()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::random::Purpose;
    use super::*;

    fn drawn(index: u64) -> Pictures {
        nothing(100, 32, &mut Random::new(7, Purpose::Nothing, 0, index))
    }

    #[test]
    fn one_for_sixteen_samples_the_same_ones_from_the_same_draws() {
        let pictures = drawn(0);
        assert_eq!((pictures.count, pictures.size), (7, 32));
        assert_eq!(pictures, drawn(0));
        assert_ne!(pictures, drawn(1));
        let one = nothing(1, 1, &mut Random::new(7, Purpose::Nothing, 0, 0));
        assert_eq!((one.count, one.bytes.len()), (1, 3));
    }

    #[test]
    fn there_are_plain_ones_and_wild_ones_dark_ones_and_bright_ones() {
        let (mut roughness, mut light) = (Vec::new(), Vec::new());
        for index in 0..60 {
            for plane in drawn(index).bytes.chunks(32 * 32) {
                let steps = plane
                    .windows(2)
                    .map(|pair| f64::from(pair[0].abs_diff(pair[1])));
                roughness.push(steps.sum::<f64>() / 1023.0);
                light.push(plane.iter().map(|v| f64::from(*v)).sum::<f64>() / 1024.0);
            }
        }
        let (least, most) = (
            |v: &[f64]| v.iter().copied().fold(255.0, f64::min),
            |v: &[f64]| v.iter().copied().fold(0.0, f64::max),
        );
        assert!(least(&roughness) < 0.5 && most(&roughness) > 60.0);
        assert!(least(&light) < 40.0 && most(&light) > 215.0);
    }

    #[test]
    fn at_every_fork_nothing_is_as_likely_one_way_as_another() {
        // Three labels are birds, one of which is a kind of another, and one is a stone; `x` leads to
        // no label, and the penguin is reached by two ways.
        let tree = "synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\nb\tbird\tr\t0\n\
                    s\tstone\tr\t1\nx\twind\tr\t0\np\tpenguin\tb\t1\nw\tswimmer\tb\t0\n\
                    k\tking penguin\tp|w\t1\n";
        let taxonomy = Taxonomy::from_tsv(tree).unwrap();
        let shares = even(&taxonomy);
        let of = |id: &str| {
            let at = taxonomy
                .labelled()
                .iter()
                .position(|ix| taxonomy.node(*ix).id == id);
            shares[at.unwrap()]
        };
        // Half to the stone; of the birds' half, half to the swimmer's kind, the rest halved again.
        assert!((of("s") - 0.5).abs() < 1e-12);
        assert!((of("p") - 0.125).abs() < 1e-12);
        assert!((of("k") - 0.375).abs() < 1e-12);
    }
}

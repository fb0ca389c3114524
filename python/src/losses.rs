//! The losses of core on arrays of NumPy, with gradients by their inputs.
//!
//! Each function returns the total, the named terms and the gradients by name; the latter are empty if
//! they are not wanted. `espalier/losses.py` gives the arguments their defaults.

mod checks;
mod graph;

use espalier_core::geometry::{AngleFormula, product};
use espalier_core::loss::{
    self, Chains, HycoclipPoints, HycoclipWeights, ImageApex, Lineages, MarginSide, PairTerm,
    RadialWeights, RcmeWeights, RootMode,
};
use pyo3::prelude::*;

use self::checks::{chains, choice, curvatures, lineages, relations, same};
use self::graph::{Loss, computed};
use crate::arrays::Array;
use crate::geometry::reduction;

/// Returns the formula of angles: the published one with this `eps`, else the stable one.
fn formula(literal_eps: Option<f64>) -> AngleFormula {
    literal_eps.map_or(AngleFormula::Stable, AngleFormula::Literal)
}

/// Adds every loss to the native module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(clip, module)?)?;
    module.add_function(wrap_pyfunction!(meru, module)?)?;
    module.add_function(wrap_pyfunction!(hycoclip, module)?)?;
    module.add_function(wrap_pyfunction!(phyclip, module)?)?;
    module.add_function(wrap_pyfunction!(radial, module)?)?;
    module.add_function(wrap_pyfunction!(rcme, module)?)?;
    module.add_function(wrap_pyfunction!(atmg, module)?)?;
    module.add_function(wrap_pyfunction!(parts, module)?)
}

/// CLIP (notation 2.1).
#[pyfunction]
fn clip<'py>(
    py: Python<'py>,
    images: Array,
    texts: Array,
    scale: Array,
    gradients: bool,
) -> Loss<'py> {
    same([("images", &images), ("texts", &texts)])?;
    computed(py, gradients, |graph| {
        let (images, texts) = (graph.leaf("images", images), graph.leaf("texts", texts));
        loss::clip(images, texts, graph.leaf::<1>("scale", scale))
    })
}

/// MERU (notation 2.2).
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the inputs of the loss")]
fn meru<'py>(
    py: Python<'py>,
    images: Array,
    texts: Array,
    c: Array,
    scale: Array,
    entail: f64,
    literal_eps: Option<f64>,
    gradients: bool,
) -> Loss<'py> {
    same([("images", &images), ("texts", &texts)])?;
    computed(py, gradients, |graph| {
        let (images, texts) = (graph.leaf("images", images), graph.leaf("texts", texts));
        let (c, scale) = (graph.curvature(c), graph.leaf::<1>("scale", scale));
        loss::meru(images, texts, c, scale, entail, formula(literal_eps))
    })
}

/// Points of HyCoCLIP and PHyCLIP as arrays: images, texts, crops and phrases.
type Four = (Array, Array, Array, Array);

/// Checks that the four arrays have one shape, and returns it.
fn four((image, text, box_image, box_text): &Four) -> PyResult<[usize; 2]> {
    same([
        ("images", image),
        ("texts", text),
        ("box_images", box_image),
        ("box_texts", box_text),
    ])
}

/// Weights of HyCoCLIP: both factors on apertures, that of the entailment, and `eps` of the published
/// formula.
type Weights = (f64, f64, f64, Option<f64>);

fn weights((eta_inter, eta_intra, entail, literal_eps): Weights) -> HycoclipWeights {
    HycoclipWeights {
        eta_inter,
        eta_intra,
        entail,
        form: formula(literal_eps),
    }
}

/// HyCoCLIP (notation 2.3).
#[pyfunction]
fn hycoclip<'py>(
    py: Python<'py>,
    points: Four,
    c: Array,
    scale: Array,
    terms: Weights,
    gradients: bool,
) -> Loss<'py> {
    four(&points)?;
    computed(py, gradients, |graph| {
        let points = HycoclipPoints {
            image: graph.leaf("images", points.0),
            text: graph.leaf("texts", points.1),
            box_image: graph.leaf("box_images", points.2),
            box_text: graph.leaf("box_texts", points.3),
        };
        let (c, scale) = (graph.curvature(c), graph.leaf::<1>("scale", scale));
        loss::hycoclip(&points, c, scale, weights(terms))
    })
}

/// PHyCLIP (notation 2.4); points are `[b, k d]`.
#[pyfunction]
fn phyclip<'py>(
    py: Python<'py>,
    points: Four,
    c: Array,
    scale: Array,
    options: (String, Weights),
    gradients: bool,
) -> Loss<'py> {
    let (join, terms) = options;
    let [_, width] = four(&points)?;
    let join = reduction(&join)?;
    let factors = curvatures(&c, width)?;
    computed(py, gradients, |graph| {
        let split = |points| product::split(points, factors);
        let points = HycoclipPoints {
            image: split(graph.leaf("images", points.0)),
            text: split(graph.leaf("texts", points.1)),
            box_image: split(graph.leaf("box_images", points.2)),
            box_text: split(graph.leaf("box_texts", points.3)),
        };
        let c = graph.leaf::<1>("c", c).reshape([factors, 1, 1]);
        let scale = graph.leaf::<1>("scale", scale);
        loss::phyclip(&points, c, scale, join, weights(terms))
    })
}

/// ATMG (notation 2.8).
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the inputs of the loss")]
fn atmg<'py>(
    py: Python<'py>,
    images: Array,
    texts: Array,
    c: Array,
    scale: Array,
    apex: &str,
    centroid: f64,
    gradients: bool,
) -> Loss<'py> {
    same([("images", &images), ("texts", &texts)])?;
    let known = [
        ("maximised", ImageApex::Maximised),
        ("minimised", ImageApex::Minimised),
    ];
    let apex = choice("image_apex", apex, known)?;
    computed(py, gradients, |graph| {
        let (images, texts) = (graph.leaf("images", images), graph.leaf("texts", texts));
        let (c, scale) = (graph.curvature(c), graph.leaf::<1>("scale", scale));
        loss::atmg(images, texts, c, scale, apex, centroid)
    })
}

/// Visual hierarchies (notation 2.9) in the Lorentz model, or without `c` in Euclidean space; pairs and
/// relations are 0 or 1.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the inputs of the loss")]
fn parts<'py>(
    py: Python<'py>,
    wholes: Array,
    parts: Array,
    pairs: Array,
    entails: Array,
    c: Option<Array>,
    scale: Array,
    gradients: bool,
) -> Loss<'py> {
    relations(&wholes, &parts, [&pairs, &entails])?;
    computed(py, gradients, |graph| {
        let relations = graph.relations(pairs, entails);
        let (wholes, parts) = (graph.leaf("wholes", wholes), graph.leaf("parts", parts));
        let scale = graph.leaf::<1>("scale", scale);
        match c {
            Some(c) => loss::parts(wholes, parts, graph.curvature(c), scale, &relations),
            None => loss::parts_euclidean(wholes, parts, scale, &relations),
        }
    })
}

/// Term of a pair: margin of a cone and its position; none for the angle alone.
type Cone = Option<(f64, String)>;

/// RE and EC (notation 2.5, 2.6); `terms` are the weights of mined pairs, of the pull-back and of
/// negatives.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the inputs of the loss")]
fn radial<'py>(
    py: Python<'py>,
    positives: Array,
    negatives: Array,
    root: Array,
    frozen: Option<Array>,
    cone: Cone,
    terms: (f64, f64, f64),
    gradients: bool,
) -> Loss<'py> {
    let [b, n, d] = chains(("positives", &positives), 2)?;
    let of = "one row for each positive";
    negatives.expect("negatives", &[b, n, d], of)?;
    root.expect("root", &[1, d], "one point")?;
    if let Some(frozen) = &frozen {
        let why = "one row for each positive, then one for each negative";
        frozen.expect("frozen", &[2 * b * n, d], why)?;
    }
    let term = match cone {
        None => PairTerm::Angle,
        Some((margin, side)) => {
            let known = [
                ("outside", MarginSide::Outside),
                ("inside", MarginSide::Inside),
            ];
            let side = choice("margin_side", &side, known)?;
            PairTerm::Cone { margin, side }
        }
    };
    let (mined, pull_back, negatives_weight) = terms;
    computed(py, gradients, |graph| {
        let chains = Chains {
            positives: graph.leaf("positives", positives),
            negatives: graph.leaf("negatives", negatives),
            root: graph.leaf("root", root),
            frozen: frozen.map(|frozen| graph.constant(frozen)),
        };
        let weights = RadialWeights {
            term,
            mined,
            pull_back,
            negatives: negatives_weight,
        };
        loss::radial(&chains, weights)
    })
}

/// RCME (notation 2.7); `terms` are the margin and the weights of the global term, the local term, the
/// images and the frozen model.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the inputs of the loss")]
fn rcme<'py>(
    py: Python<'py>,
    texts: Array,
    negatives: Array,
    root: Array,
    images: Option<Array>,
    frozen: Option<Array>,
    scale: Array,
    options: (String, (f64, f64, f64, f64, f64)),
    gradients: bool,
) -> Loss<'py> {
    let (root_mode, terms) = options;
    let [b, n, d] = lineages(&texts, &negatives, &root)?;
    if let Some(images) = &images {
        images.expect("images", &[b, d], "one row for each lineage")?;
    }
    if let Some(frozen) = &frozen {
        let why = "one row for each text and negative, lineage by lineage";
        frozen.expect("frozen", &[b * (2 * n - 1), d], why)?;
    }
    let known = [("root", RootMode::Root), ("parent", RootMode::Parent)];
    let root_mode = choice("root_mode", &root_mode, known)?;
    let (margin, global, local, beta, prior) = terms;
    computed(py, gradients, |graph| {
        let lineages = Lineages {
            texts: graph.leaf("texts", texts),
            negatives: graph.leaf("negatives", negatives),
            root: graph.leaf("root", root),
            images: images.map(|images| graph.leaf("images", images)),
            frozen: frozen.map(|frozen| graph.constant(frozen)),
        };
        let weights = RcmeWeights {
            root_mode,
            margin,
            global,
            local,
            beta,
            prior,
        };
        loss::rcme(&lineages, graph.leaf::<1>("scale", scale), weights)
    })
}

//! Results, receipts and taught concepts, which people keep and pass on as JSON.

use std::sync::LazyLock;

use espalier_core::bundle::Manifest;
use espalier_core::caption::{
    Calibration, CaptionResult, Classifier, ModelInfo, Receipt, TaughtFile, placed_in, standings,
};
use espalier_core::geometry::Space;
use espalier_core::taxonomy::Taxonomy;
use espalier_web::narration::narrate;

const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
    r\tthing\t\t0\n\
    a\tanimal\tr\t0\n\
    c\tcat\ta\t1\n\
    d\tdog\ta\t1\n\
    t\ttable\tr\t1\n";

/// Length of the embeddings of the classifier below.
const WIDTH: usize = 3;

/// The manifest of the small model, for receipts.
static MANIFEST: LazyLock<Manifest> = LazyLock::new(|| {
    let json = include_bytes!("../../../../static/models/tiny/manifest.json");
    Manifest::parse(json).unwrap_or_else(|e| panic!("{e}"))
});

/// A classifier of three labels, in each of the spaces.
static CLASSIFIERS: LazyLock<[(Space, Classifier); 2]> = LazyLock::new(|| {
    let root = vec![0.0, 0.0, 1.0];
    let spaces = [Space::Lorentz { curvature: 0.1 }, Space::Sphere { root }];
    spaces.map(|space| {
        let tree = Taxonomy::from_tsv(TREE).unwrap_or_else(|e| panic!("{e}"));
        let labels = vec![0.6, 0.0, 0.0, 0.0, 0.6, 0.0, 0.4, 0.4, 0.0];
        let calibration = Calibration::of_scale(100.0);
        let classifier = Classifier::new(tree, labels, WIDTH, calibration);
        (space, classifier.unwrap_or_else(|e| panic!("{e}")))
    })
});

/// Reads a text as a result, as a receipt and as a file of taught concepts, and uses what it holds.
///
/// # Panics
/// If what was read cannot be written and read again.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Ok(result) = serde_json::from_str::<CaptionResult>(text) {
        let standings = standings(&result.ladder, &result.taxonomy);
        assert_eq!(standings.len(), result.ladder.len());
        let tree = CLASSIFIERS[0].1.taxonomy();
        for tree in [None, Some(tree)] {
            let narration = narrate(&result, &MANIFEST, tree);
            let rungs = result.ladder.len();
            assert!(narration.levels.len() <= rungs.max(result.taxonomy.path.len()));
            let levels = narration.levels.iter().map(|level| level.hidden.len());
            assert!(
                levels
                    .chain([narration.hidden.len()])
                    .all(|hidden| hidden == rungs)
            );
            let receipt = Receipt::parse(&narration.receipt, &MANIFEST);
            receipt.unwrap_or_else(|e| panic!("the receipt of a result: {e}"));
        }
    }
    if let Ok(receipt) = Receipt::parse(text, &MANIFEST) {
        let _ = serde_json::to_string(&receipt).unwrap_or_else(|e| panic!("{e}"));
    }
    let model = ModelInfo {
        name: "tiny".into(),
        version: "1".into(),
        sha256: "00".into(),
    };
    if let Ok(taught) = TaughtFile::parse(text, &model) {
        teach(&taught);
    }
}

fn teach(file: &TaughtFile) {
    for (space, classifier) in &*CLASSIFIERS {
        let placed = placed_in(classifier.taxonomy(), &file.concepts);
        let Ok((taught, captions)) = classifier.teach(space, &placed) else {
            continue;
        };
        assert_eq!(captions.len(), placed.len());
        for (caption, _) in &captions {
            let node = caption.node.as_deref().unwrap_or_default();
            assert!(taught.taxonomy().find(node).is_some(), "no node `{node}`");
        }
        let labels = classifier.taxonomy().labelled().len();
        assert_eq!(taught.taxonomy().labelled().len(), labels + placed.len());
        for concept in &placed {
            let check = classifier.check_taught(space, concept);
            assert!(check.recognised <= check.photos);
            for photo in &concept.photos {
                let path = taught.path(space, photo);
                assert!(path.stop < path.steps.len());
            }
        }
    }
}

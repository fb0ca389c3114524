//! A visitor's tree: read from text, with its names embedded and taught concepts added.

use espalier_core::CoreError;
use espalier_core::caption::{Calibration, Classifier, TaughtConcept, TextEmbedder, placed_in};
use espalier_core::geometry::Space;
use espalier_core::taxonomy::Taxonomy;

use crate::ui_error::UiError;

/// Maximum number of names in a visitor's tree.
const MAX_NAMES: usize = 3_000;

/// Number of names embedded per batch; progress is reported after each.
const NAME_BATCH: usize = 8;

/// A visitor's taxonomy with the embeddings of its nodes.
pub(super) struct VisitorTree {
    /// Without taught concepts.
    pub untaught: Classifier,
    /// Its embeddings, one per node.
    untaught_points: Vec<Vec<f32>>,
    /// With the taught concepts.
    pub classifier: Classifier,
    /// The embeddings of all nodes, with those of the taught concepts.
    pub points: Vec<Option<Vec<f32>>>,
}

impl VisitorTree {
    /// Reads the tree of a text.
    ///
    /// # Errors
    /// If the text is no tree, with the line, or has too many names.
    pub(super) fn parse(text: &str) -> Result<Taxonomy, UiError> {
        let taxonomy =
            Taxonomy::from_text(text).map_err(|error| UiError::bad_tree(&fault(error)))?;
        let count = taxonomy.nodes().len();
        if count > MAX_NAMES {
            return Err(UiError::bad_tree(&format!(
                "it has {count} names; at most {MAX_NAMES} are read"
            )));
        }
        Ok(taxonomy)
    }

    /// Embeds the names of a tree. `report` receives the number of embedded names and of all.
    ///
    /// # Errors
    /// If the text encoder fails.
    pub(super) async fn embed(
        taxonomy: Taxonomy,
        encoder: &TextEmbedder,
        calibration: Calibration,
        mut report: impl FnMut(u64, u64),
    ) -> Result<Self, UiError> {
        let names: Vec<&str> = taxonomy
            .nodes()
            .iter()
            .map(|n| n.names[0].as_str())
            .collect();
        let mut points = Vec::with_capacity(names.len());
        for batch in names.chunks(NAME_BATCH) {
            points.extend(encoder.embed_concepts(batch).await?);
            report(points.len() as u64, names.len() as u64);
        }
        let labels = taxonomy.labelled().iter();
        let labels: Vec<f32> = labels.flat_map(|ix| points[ix.index()].clone()).collect();
        let width = points.first().map_or(0, Vec::len);
        let untaught = Classifier::new(taxonomy, labels, width, calibration)?;
        Ok(Self {
            classifier: untaught.clone(),
            points: points.iter().cloned().map(Some).collect(),
            untaught,
            untaught_points: points,
        })
    }

    /// Teaches those concepts whose place is a node of this tree.
    ///
    /// # Errors
    /// If a concept is invalid.
    pub(super) fn teach(
        &mut self,
        space: &Space,
        concepts: &[TaughtConcept],
    ) -> Result<(), UiError> {
        let ours = placed_in(self.untaught.taxonomy(), concepts);
        let taught = self.untaught.teach(space, &ours);
        let (classifier, captions) = taught.map_err(UiError::bad_concepts)?;
        let taught = captions.into_iter().map(|(_, point)| point);
        let points = self.untaught_points.iter().cloned().chain(taught);
        self.points = points.map(Some).collect();
        self.classifier = classifier;
        Ok(())
    }
}

/// Describes why a visitor's text is no tree, with the line.
fn fault(error: CoreError) -> String {
    match error {
        CoreError::Taxonomy { line: 0, reason } => reason,
        CoreError::Taxonomy { line, reason } => format!("line {line}: {reason}"),
        other => other.to_string(),
    }
}

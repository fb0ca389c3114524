//! A model's answers for labelled images.

use std::collections::BTreeMap;
use std::rc::Rc;

use espalier_data::Coverage;

use super::classes::Classes;
use super::classified::Classified;
use crate::embedded::Embedded;
use crate::search::Ranked;

/// Images with their answers.
pub struct Answers {
    /// All images.
    pub images: Rc<Embedded>,
    /// Classes to choose from.
    pub classes: Classes,
    /// Indices of the images that are evaluated.
    pub evaluated: Vec<usize>,
    /// The class of each evaluated image.
    pub truth: Vec<usize>,
    /// The best classes of each evaluated image.
    pub ranked: Ranked,
    /// The answers of the classifier of `--classifier`, if given.
    pub classified: Option<Classified>,
    /// Number of images that were skipped, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// What is available and what is unusual.
    pub coverage: Coverage,
    /// Prompt set.
    pub prompts: String,
    /// The split or range that was used, if the data has several.
    pub split: Option<String>,
    /// Source of the taxonomy, as [`Context::taxonomy`](crate::task::Context::taxonomy) names it.
    pub taxonomy: &'static str,
}

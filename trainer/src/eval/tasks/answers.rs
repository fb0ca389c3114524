//! What a model answers of labelled pictures.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::classes::Classes;
use super::classified::Classified;
use crate::data::Ledger;
use crate::eval::embedded::Embedded;
use crate::eval::search::Ranked;

/// Pictures with their answers.
pub struct Answers {
    /// All pictures.
    pub pictures: Rc<Embedded>,
    /// Classes to choose from.
    pub classes: Classes,
    /// Places of the pictures that are judged.
    pub judged: Vec<usize>,
    /// The class of each judged picture.
    pub truth: Vec<usize>,
    /// The best classes of each.
    pub ranked: Ranked,
    /// What the classifier of `--classifier` answers, where it is asked.
    pub classified: Option<Classified>,
    /// Pictures left out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// What is there and what is odd.
    pub ledger: Ledger,
    /// Prompt set.
    pub prompts: String,
    /// The split or range that was taken, where the data has several.
    pub split: Option<String>,
}

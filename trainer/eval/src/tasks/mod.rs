//! The tasks of `trainer eval`. To add one, add a file here and a line in [`ALL`].

mod answers;
mod breeds;
mod captions;
mod classes;
mod classified;
mod confusions;
mod detection;
mod detection_text;
mod factors;
mod heat_map;
mod hierarcaps;
mod hierarchy;
mod hyperlex;
mod image_to_image;
mod labelled;
mod node_labels;
mod norms;
mod ordering;
pub mod parts;
mod parts_tree;
mod rank_ordering;
mod rank_zero_shot;
mod ranks;
mod retrieval;
mod scenes;
mod stop;
mod sugar_crepe;
mod teach;
mod two_subjects;
mod vl_checklist;
mod words;
mod zero_shot;

use espalier_io::exit::usage;

use super::Task;

/// Every task, in the order in which they run.
pub const ALL: &[&dyn Task] = &[
    &zero_shot::ZeroShot,
    &hierarchy::Hierarchy,
    &stop::Stop,
    &teach::Teach,
    &heat_map::HeatMaps,
    &two_subjects::TwoSubjects,
    &ordering::Ordering,
    &retrieval::Retrieval,
    &captions::Captions,
    &hierarcaps::Hierarcaps,
    &hyperlex::Hyperlex,
    &words::Words,
    &breeds::Breeds,
    &rank_zero_shot::RankZeroShot,
    &rank_ordering::RankOrdering,
    &image_to_image::ImageToImage,
    &parts::Parts,
    &detection::Detection,
    &sugar_crepe::SugarCrepe,
    &vl_checklist::VlChecklist,
    &norms::Norms,
    &factors::Factors,
];

/// Returns the names of all tasks.
#[must_use]
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|task| task.name()).collect()
}

/// Returns the task with a name.
///
/// # Errors
/// Bad usage for an unknown name; the message lists the known tasks.
pub fn find(name: &str) -> anyhow::Result<&'static dyn Task> {
    let found = ALL.iter().find(|task| task.name() == name);
    found.copied().ok_or_else(|| {
        usage(format!(
            "--task: expected one of {}, found `{name}`",
            names().join(", ")
        ))
    })
}

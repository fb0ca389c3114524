//! The tasks of `trainer eval`. To add one, add a file here and a line in [`ALL`].

mod answers;
mod breeds;
mod captions;
mod classes;
mod classified;
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
pub const ALL: &[Task] = &[
    zero_shot::TASK,
    hierarchy::TASK,
    stop::TASK,
    teach::TASK,
    heat_map::TASK,
    two_subjects::TASK,
    ordering::TASK,
    retrieval::TASK,
    captions::TASK,
    hierarcaps::TASK,
    hyperlex::TASK,
    words::TASK,
    breeds::TASK,
    rank_zero_shot::TASK,
    rank_ordering::TASK,
    image_to_image::TASK,
    parts::TASK,
    detection::TASK,
    sugar_crepe::TASK,
    vl_checklist::TASK,
    norms::TASK,
    factors::TASK,
];

/// Returns the task with a name.
///
/// # Errors
/// Bad usage for an unknown name; the message lists the known tasks.
pub fn find(name: &str) -> anyhow::Result<&'static Task> {
    ALL.iter().find(|task| task.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|task| task.name).collect();
        usage(format!(
            "--task: expected one of {}, found `{name}`",
            names.join(", ")
        ))
    })
}

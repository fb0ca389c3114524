//! How a new page answers for the photos that were set aside.

use std::path::Path;

use espalier_core::caption::Request;
use espalier_core::taxonomy::Taxonomy;
use espalier_io::output::note;
use serde::Serialize;

use crate::cli::Common;
use crate::commands::caption;
use crate::photos::classes;
use crate::photos::plan::PHOTOS;

/// Answers for the photos of a class.
#[derive(Clone, Debug, Default, Serialize)]
struct Row {
    /// Name of the class.
    class: String,
    /// Number of photos.
    photos: usize,
    /// Those whose path ends at the class.
    right: usize,
    /// Those whose path stops at or above the class.
    stop_right: usize,
    /// Those whose path stops at the class itself.
    named: usize,
}

/// Answers for all photos that were set aside.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Judgement {
    /// All classes together.
    all: Row,
    /// One row per class.
    classes: Vec<Row>,
}

impl Row {
    fn line(&self) -> String {
        let share = |part: usize| match self.photos {
            0 => String::new(),
            n => format!("{part} ({:.0} %)", 100.0 * part as f64 / n as f64),
        };
        format!(
            "| {} | {} | {} | {} | {} |\n",
            self.class,
            self.photos,
            share(self.right),
            share(self.named),
            share(self.stop_right)
        )
    }
}

impl Judgement {
    /// Returns in words how many photos were answered right, and which class was answered worst.
    pub(super) fn in_words(&self, trained_on: usize) -> String {
        let all = &self.all;
        let classes = self.classes.len();
        let made = format!("The page was made from {trained_on} photos of {classes} classes.");
        if all.photos == 0 {
            return format!("{made} No photos were set aside, so how good it is was not measured.");
        }
        let percent = |part: usize| 100.0 * part as f64 / all.photos as f64;
        let mut text = format!(
            "{made} On {} others, its best guess is right for {} ({:.0} %); the answer that it stands by, which may be \
             less specific, is right for {} ({:.0} %).",
            all.photos,
            all.right,
            percent(all.right),
            all.stop_right,
            percent(all.stop_right),
        );
        let share = |row: &&Row| row.right as f64 / row.photos as f64;
        let measured = self.classes.iter().filter(|row| row.photos > 0);
        let worst = measured.min_by(|a, b| share(a).total_cmp(&share(b)));
        if let Some(row) = worst.filter(|row| row.right < row.photos) {
            text.push_str(&format!(
                " Its weakest class is {}: {} of {}; more photos of it help most.",
                row.class, row.right, row.photos
            ));
        }
        text
    }

    /// Returns a table in Markdown: the total, then the classes.
    pub(super) fn table(&self) -> String {
        if self.all.photos == 0 {
            return "No photos were set aside, so nothing was measured.\n".to_owned();
        }
        let mut out = String::from(
            "| class | photos set aside | best label is right | answer is this label | answer is right, \
             maybe less specific |\n|---|--:|--:|--:|--:|\n",
        );
        for row in std::iter::once(&self.all).chain(&self.classes) {
            out.push_str(&row.line());
        }
        out
    }
}

/// Reads the photos that a run set aside with a bundle, as the page would.
pub(super) fn judge(bundle: &Path, run: &Path, common: &Common) -> anyhow::Result<Judgement> {
    let device = common.backend.device()?;
    let captioner = caption::captioner(bundle, None, None, &device)?;
    let taxonomy: &Taxonomy = captioner.classifier().taxonomy();
    let name = |id: &str| {
        taxonomy
            .find(id)
            .map_or(id, |ix| taxonomy.name(ix))
            .to_owned()
    };
    let backend = common.backend.resolve().name();
    let mut judgement = Judgement::default();
    judgement.all.class = "all".to_owned();
    for class in classes::from_csv(&run.join(PHOTOS))? {
        let mut row = Row {
            class: name(&class.label),
            ..Row::default()
        };
        for photo in &class.held_out {
            let request = Request::default();
            let result = match caption::caption(&captioner, photo, request, backend) {
                Ok(result) => result.taxonomy,
                Err(error) => {
                    note(format_args!("skipped: {error:#}"));
                    continue;
                }
            };
            let last = result.path.last().map(|step| step.id.as_str());
            let truth = taxonomy.find(&class.label);
            let stop = taxonomy.find(&result.stop);
            let is_right = stop
                .zip(truth)
                .is_some_and(|(stop, truth)| stop == truth || taxonomy.is_ancestor(stop, truth));
            for counted in [&mut row, &mut judgement.all] {
                counted.photos += 1;
                counted.right += usize::from(last == Some(&class.label));
                counted.stop_right += usize::from(is_right);
                counted.named += usize::from(stop == truth);
            }
        }
        judgement.classes.push(row);
    }
    Ok(judgement)
}

//! The tables that `trainer data audit` and `trainer data prepare` print.

use std::path::Path;

use espalier_core::taxonomy::is_synset;
use espalier_data::formats::open;
use espalier_data::tools::audit::AuditReport;
use espalier_data::tools::prepare::PrepareReport;
use indicatif::HumanCount;

/// Number of labels listed in the table.
const LISTED_LABELS: usize = 5;

/// Shipped taxonomy that has names for ids of WordNet.
const NAMED_BY: &str = "imagenet";

/// A table of two columns.
#[derive(Default)]
struct Table(Vec<(String, String)>);

impl Table {
    fn row(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }

    fn count(&mut self, name: &str, value: u64) {
        self.row(name, HumanCount(value).to_string());
    }

    fn render(&self) -> String {
        let widths = self.0.iter().map(|(name, _)| name.chars().count());
        let width = widths.max().unwrap_or(0);
        let lines = self.0.iter();
        let lines = lines.map(|(name, value)| format!("{name:<width$}  {value}"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Returns the table of an audit.
pub(super) fn audit_table(report: &AuditReport) -> String {
    let mut table = Table::default();
    add_records(&mut table, report);
    add_boxes(&mut table, report);
    add_size_limits(&mut table, report);
    add_captions(&mut table, report);
    add_labels(&mut table, report);
    add_images(&mut table, report);
    table.render()
}

/// Adds the numbers of files and records, and the causes of broken records.
fn add_records(table: &mut Table, report: &AuditReport) {
    table.count("shards", report.shards as u64);
    table.count("units (row groups, tars)", report.units as u64);
    table.count("records", report.records);
    table.count("broken", report.broken);
    for broken in &report.broken_by_cause {
        let example = &broken.count.example;
        table.row(
            format!("  {}", broken.cause),
            format!(
                "{}  (for example {}, record {}: {})",
                HumanCount(broken.count.count),
                example.file,
                example.key,
                example.detail
            ),
        );
    }
    for (rule, entries) in &report.left_out {
        let example = &entries.example;
        table.row(
            format!("  left out: {rule}"),
            format!("{}  (for example {example})", HumanCount(entries.count)),
        );
    }
    table.count("repeated keys", report.repeated_keys);
}

/// Adds the numbers of boxes and of their irregularities.
fn add_boxes(table: &mut Table, report: &AuditReport) {
    let boxes = &report.boxes;
    table.count("noun chunks", boxes.noun_chunks);
    table.count("referring expressions", boxes.ref_exps);
    let irregular = [
        (boxes.prepared, "boxes of prepared shards"),
        (
            boxes.repeated_phrase,
            "phrase repeated in its record (skipped)",
        ),
        (boxes.offset_past_the_end, "offset past the end (truncated)"),
        (boxes.blank_phrase, "phrase blank (skipped)"),
        (boxes.too_few_numbers, "fewer than six numbers (skipped)"),
        (boxes.not_finite, "number not finite (skipped)"),
        (boxes.outside, "box outside the image (clamped)"),
        (boxes.inverted, "box inverted or empty (skipped)"),
        (boxes.turned, "box in the stored frame (turned)"),
        (
            boxes.frame_unclear,
            "photo turned, frame of its boxes unknown (upright)",
        ),
        (
            boxes.other_proportions,
            "box of a photo of other proportions (skipped)",
        ),
        (
            boxes.synsets_misaligned,
            "records with more or fewer synsets than noun chunks",
        ),
    ];
    for (count, name) in irregular.into_iter().filter(|(count, _)| *count > 0) {
        table.count(&format!("  {name}"), count);
    }
    table.count("boxes with a phrase", report.usable_boxes);
    table.count("distinct phrases", report.unique_phrases as u64);
    table.count("records without a box", report.records_without_box);
}

/// Adds the effect of each minimum box size.
fn add_size_limits(table: &mut Table, report: &AuditReport) {
    for limit in &report.size_limits {
        table.row(
            format!("boxes up to {:.1} px squared", limit.min_box_px),
            format!(
                "{}  (too small for {} px models; {} records keep no box)",
                HumanCount(limit.boxes_below),
                limit.model_px,
                HumanCount(limit.records_without_box)
            ),
        );
    }
}

/// Adds the lengths of captions.
fn add_captions(table: &mut Table, report: &AuditReport) {
    let captions = report.captions;
    table.row(
        "caption length",
        format!(
            "{} to {} characters, mean {:.1}",
            captions.min, captions.max, captions.mean
        ),
    );
}

/// Adds the most frequent labels and the least frequent one.
fn add_labels(table: &mut Table, report: &AuditReport) {
    let labels = &report.labels;
    table.row(
        "labels",
        format!(
            "{}, {} distinct",
            HumanCount(labels.total),
            HumanCount(labels.distinct as u64)
        ),
    );
    let mut frequent: Vec<(&String, u64)> = labels.counts.iter().map(|(l, &n)| (l, n)).collect();
    frequent.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let has_ids = frequent.iter().any(|(label, _)| is_synset(label));
    let known = has_ids.then(|| open::taxonomy(Some(Path::new(NAMED_BY)), &[]));
    let known = known.and_then(Result::ok);
    let named = |label: &str| match known.as_ref().and_then(|t| Some(t.name(t.find(label)?))) {
        Some(name) => format!("{label} ({name})"),
        None => label.to_owned(),
    };
    for (label, count) in frequent.iter().take(LISTED_LABELS) {
        table.count(&format!("  {}", named(label)), *count);
    }
    if let Some((label, count)) = frequent.last().filter(|_| frequent.len() > LISTED_LABELS) {
        table.count(&format!("  … {}", named(label)), *count);
    }
}

/// Adds the sizes of images.
fn add_images(table: &mut Table, report: &AuditReport) {
    let images = &report.images;
    table.row(
        "image sides",
        format!(
            "{} to {} px, {} distinct sizes",
            images.min_side,
            images.max_side,
            HumanCount(images.distinct as u64)
        ),
    );
    for size in &images.most_frequent {
        table.count(&format!("  {} x {}", size.width, size.height), size.count);
    }
}

/// Returns the table of a preparation.
pub(super) fn prepare_table(report: &PrepareReport) -> String {
    let mut table = Table::default();
    table.row(
        "shards",
        format!(
            "{}  ({} already prepared)",
            report.shards.len(),
            report.already_done
        ),
    );
    table.count("records read", report.counts.seen);
    table.count("records written", report.written);
    table.count("boxes written", report.boxes);
    table.count("no box above 32 px squared", report.counts.no_usable_box);
    table.count("broken", report.counts.broken());
    let mut text = table.render();
    if report.counts.broken() > 0 {
        text.push('\n');
        text.push_str(&report.counts.to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use espalier_data::Synthetic;
    use espalier_data::records::source::Dataset;
    use espalier_data::tools::audit::audit as read_all;

    use super::*;

    #[test]
    fn ids_of_wordnet_have_their_names_beside_them() {
        let mut report = read_all(&Synthetic::new(20, 32, 0), &|_| ()).unwrap();
        report.labels.counts = [("n02121620".to_owned(), 3), ("Bella".to_owned(), 2)].into();
        let text = audit_table(&report);
        assert!(text.contains("  n02121620 (cat)  "), "{text}");
        assert!(text.contains("  Bella  "), "{text}");
    }

    #[test]
    fn the_table_states_records_boxes_and_limits() {
        let data = Synthetic::new(300, 32, 0);
        let text = audit_table(&read_all(&data, &|_| ()).unwrap());
        let lines: Vec<&str> = text.lines().collect();
        let value = |name: &str| {
            let line = lines.iter().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim()
        };
        assert_eq!(value("records "), "300");
        assert_eq!(value("broken"), "0");
        let units = data.units().len().to_string();
        assert_eq!(value("units (row groups, tars)"), units);
        assert!(value("boxes up to 32.0 px squared").contains("300 records keep no box"));
        assert!(value("image sides").starts_with("32 to 32 px"));
    }
}

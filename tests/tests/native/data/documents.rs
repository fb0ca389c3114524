//! Compares the documents with the registry of dataset formats.

use espalier_trainer::data::formats::registry::FORMATS;

#[test]
fn the_documents_list_every_format() {
    let text = include_str!("../../../../docs/data.md");
    for format in FORMATS {
        let holds = match (format.labels, format.boxes) {
            (true, true) => "labels, boxes",
            (true, false) => "labels",
            _ => "boxes",
        };
        let start = format!("| {} |", format.name);
        let row = text.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("docs/data.md has no row `{}`", format.name));
        assert!(row.ends_with(&format!("| {holds} |")), "{row}");
    }
}

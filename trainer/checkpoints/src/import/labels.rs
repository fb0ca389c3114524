//! The labels of a classifier, in class order: a table with the header `index<TAB>synset`.

use std::path::Path;

use espalier_io::disk::read;
use espalier_io::exit::usage;

const HEADER: &str = "index\tsynset";

/// Reads the synset ids of a table, in class order.
///
/// # Errors
/// Bad usage naming the file and the line: another header, an index that does not count up from 0,
/// an id that is empty or listed twice.
pub fn read(path: &Path) -> anyhow::Result<Vec<String>> {
    let text = read::text(path).map_err(|e| usage(format!("--labels {}: {e}", path.display())))?;
    parse(&text).map_err(|reason| usage(format!("--labels {}: {reason}", path.display())))
}

fn parse(text: &str) -> Result<Vec<String>, String> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    if header.trim_end() != HEADER {
        return Err(format!(
            "line 1: expected the header `index<TAB>synset`, found `{header}`"
        ));
    }
    let mut labels: Vec<String> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (at, line) in lines.enumerate() {
        let fail = |what: String| format!("line {}: {what}", at + 2);
        let (index, label) = line.split_once('\t').ok_or_else(|| {
            fail(format!(
                "expected an index, a tab and a synset, found `{line}`"
            ))
        })?;
        if index.trim().parse() != Ok(at) {
            return Err(fail(format!("expected the index {at}, found `{index}`")));
        }
        let label = label.trim();
        if label.is_empty() || label.contains('\t') {
            return Err(fail(format!("expected one synset id, found `{label}`")));
        }
        if !seen.insert(label) {
            return Err(fail(format!("`{label}` is listed twice")));
        }
        labels.push(label.to_owned());
    }
    if labels.is_empty() {
        return Err("expected at least one class, found none".into());
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn classes_are_read_in_order_and_errors_name_the_line() {
        let labels = parse("index\tsynset\n0\tn02\n1\tn01\n").unwrap();
        assert_eq!(labels, ["n02", "n01"]);
        for (text, known) in [
            ("0\tn01\n", "line 1: expected the header"),
            ("index\tsynset\n1\tn01\n", "line 2: expected the index 0"),
            ("index\tsynset\n0\tn01\n1\tn01\n", "line 3: `n01` is listed"),
            ("index\tsynset\n0\t\n", "line 2: expected one synset id"),
            ("index\tsynset\n0 n01\n", "line 2: expected an index, a tab"),
            ("index\tsynset\n", "expected at least one class"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.starts_with(known), "{message}");
        }
    }
}

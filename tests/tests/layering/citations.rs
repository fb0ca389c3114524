//! Sections of `docs/notation.md` that comments cite.

use std::collections::BTreeSet;

/// Returns the numbers of sections (`2.3`, `4`) and of traps (`trap 34`) that a source cites as
/// `notation 2.3, 2.4`, `notation trap 34` or `notation traps 30 to 32`.
pub fn cited(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| !word.chars().all(|c| "/!*#".contains(c)))
        .collect();
    let mut at = 0;
    while at < words.len() {
        let is_citation = words[at].trim_start_matches(['(', '"', '`']) == "notation";
        at += 1;
        if !is_citation {
            continue;
        }
        let mut kind = "";
        while let Some(word) = words.get(at) {
            match *word {
                "section" | "and" | "to" => {}
                "trap" | "traps" => kind = "trap ",
                number => {
                    let bare = number.trim_matches(|c: char| !c.is_ascii_digit());
                    if bare.is_empty() || !bare.chars().all(|c| c.is_ascii_digit() || c == '.') {
                        break;
                    }
                    found.insert(format!("{kind}{bare}"));
                    if !number.ends_with([','])
                        && !matches!(words.get(at + 1), Some(&("and" | "to")))
                    {
                        at += 1;
                        break;
                    }
                }
            }
            at += 1;
        }
    }
    found
}

/// Returns the sections and traps of the notation: numbers at the start of headings and of bold
/// words, and the first column of the table of traps.
pub fn available(notation: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in notation.lines() {
        if let Some(rest) = line.strip_prefix("## ").or(line.strip_prefix("**")) {
            let of_number = |c: char| c.is_ascii_digit() || c == '.';
            let number = rest.split(|c| !of_number(c)).next().unwrap();
            found.insert(number.trim_end_matches('.').to_owned());
        } else if let Some(row) = line.strip_prefix("| ") {
            let numbers = row.split(" |").next().unwrap_or_default();
            let parts = numbers.split(|c: char| !c.is_ascii_digit());
            let all: Vec<u32> = parts.filter_map(|n| n.parse().ok()).collect();
            match (numbers.contains(" to "), all.as_slice()) {
                (true, [from, to]) => found.extend((*from..=*to).map(|n| format!("trap {n}"))),
                _ => found.extend(all.iter().map(|n| format!("trap {n}"))),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn citations_are_read_across_lines_and_lists() {
        let text = "/// As (notation 2.3, 2.4) and notation\n/// 6.1. See notation traps 30 to 32; the notation is\n\
                    // short, notation section 4 and trap 44.\n";
        let expected = ["2.3", "2.4", "4", "6.1", "trap 30", "trap 32", "trap 44"];
        assert_eq!(cited(text).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn headings_bold_numbers_and_rows_are_available() {
        let text = "## 4. Training\n**2.3 HyCoCLIP** is\n| 30 to 32 | x |\n| 4, 5 | y |\n";
        let found = available(text);
        for wanted in ["4", "2.3", "trap 31", "trap 5"] {
            assert!(found.contains(wanted), "{found:?}");
        }
        assert!(!found.contains("trap 33"));
    }
}

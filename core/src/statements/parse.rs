//! The TSV format of a vocabulary.
//!
//! ```text
//! role     id     above   excludes  name                  link  node       words
//! subject  person                   person|people|people                   person|someone
//! subject  man    person            man                                    man|guy
//! place    beach                    a beach               on               beach|seaside
//! thing    ball                     ball                  with  n02778669  ball
//! ```
//!
//! Columns are separated by tabs, entries of a list by `|`. `above` and `excludes` name parts of the same role;
//! those above a part stand on lines before it, so that there is no circle. `name` is a noun for subjects and
//! things (singular, and where they do not follow the rules plural and the form for an unknown number), an -ing
//! form for doings, and a noun with its article for places; a part without a name is never said. `link` is the
//! preposition before a thing or a place; for a doing, it names the things that are its objects ("vehicle" for
//! "riding"), which are said without a preposition. `node` is an id of a taxonomy. `words` are what captions say for
//! the part; plurals and forms of verbs are found too.

use std::collections::HashMap;

use super::english::Name;
use super::part::{Part, PartIx, Role};
use crate::error::{CoreError, Result};

const COLUMNS: [&str; 8] = [
    "role", "id", "above", "excludes", "name", "link", "node", "words",
];
/// Most parts of a vocabulary.
const MAX_PARTS: usize = 10_000;
/// Longest line in bytes.
const MAX_LINE: usize = 1 << 16;
/// Most words of a phrase that mentions a part.
const MAX_WORDS: usize = 8;
/// Most lines from a part up to the most general ones above it.
const MAX_DEPTH: usize = 16;

fn fail<T>(line: usize, reason: impl Into<String>) -> Result<T> {
    Err(CoreError::Statements {
        line,
        reason: reason.into(),
    })
}

fn list(field: &str) -> impl Iterator<Item = &str> {
    let entries = field.split('|').map(str::trim);
    entries.filter(|entry| !entry.is_empty())
}

/// Reads the parts of a vocabulary.
pub(super) fn read(text: &str) -> Result<Vec<Part>> {
    let mut lines = (1..).zip(text.lines());
    let header = lines.next().map_or("", |(_, line)| line);
    if !header.split('\t').map(str::trim).eq(COLUMNS) {
        let expected = COLUMNS.join("<tab>");
        let reason = format!("expected the header `{expected}`, found `{header}`");
        return fail(1, reason);
    }
    let rows: Vec<(usize, &str)> = lines.filter(|(_, line)| !line.trim().is_empty()).collect();
    if rows.is_empty() {
        return fail(0, "expected at least one part, found none");
    }
    let mut parts: Vec<Part> = Vec::with_capacity(rows.len().min(MAX_PARTS));
    let mut depths: Vec<usize> = Vec::new();
    let mut known: HashMap<&str, PartIx> = HashMap::new();
    let mut excluded: Vec<(usize, PartIx, &str)> = Vec::new();
    let mut objects: Vec<(usize, PartIx, &str)> = Vec::new();
    for (line, row) in rows {
        if parts.len() == MAX_PARTS || row.len() > MAX_LINE {
            let most = format!("at most {MAX_PARTS} parts and lines of {MAX_LINE} bytes");
            return fail(line, format!("expected {most}, found more"));
        }
        let fields: Vec<&str> = row.split('\t').map(str::trim).collect();
        let [role, id, above, excludes, name, link, node, words] = fields[..] else {
            let (expected, found) = (COLUMNS.len(), fields.len());
            return fail(line, format!("expected {expected} columns, found {found}"));
        };
        let Some(role) = Role::named(role) else {
            let names = Role::ALL.map(Role::name).join(", ");
            return fail(line, format!("expected a role ({names}), found `{role}`"));
        };
        if id.is_empty() {
            return fail(line, "expected an id, found none");
        }
        let mut general = Vec::new();
        for parent in list(above) {
            let found = known.get(parent);
            match found.filter(|ix| parts[ix.index()].role == role) {
                Some(ix) if !general.contains(ix) => general.push(*ix),
                Some(_) => return fail(line, format!("`{id}` is below `{parent}` twice")),
                None => {
                    let role = role.name();
                    let reason = format!(
                        "`{id}` is below `{parent}`; expected a {role} on a line before it, found none"
                    );
                    return fail(line, reason);
                }
            }
        }
        let depth = general.iter().map(|ix| depths[ix.index()] + 1).max();
        depths.push(depth.unwrap_or(0));
        if depth.is_some_and(|depth| depth > MAX_DEPTH) {
            let reason = format!("`{id}` has more than {MAX_DEPTH} parts above each other");
            return fail(line, reason);
        }
        if let Some(long) = list(words).find(|phrase| phrase.split(' ').count() > MAX_WORDS) {
            let most = format!("phrases of at most {MAX_WORDS} words");
            return fail(line, format!("expected {most}, found `{long}`"));
        }
        let ix = PartIx::at(parts.len());
        if known.insert(id, ix).is_some() {
            return fail(line, format!("`{id}` has a line already"));
        }
        excluded.extend(list(excludes).map(|other| (line, ix, other)));
        let is_doing = role == Role::Doing;
        if is_doing {
            objects.extend(list(link).map(|object| (line, ix, object)));
        }
        parts.push(Part {
            id: id.to_owned(),
            role,
            above: general,
            excludes: Vec::new(),
            name: Name::parse(name),
            link: if is_doing { "" } else { link }.to_owned(),
            objects: Vec::new(),
            node: (!node.is_empty()).then(|| node.to_owned()),
            words: list(words).map(str::to_owned).collect(),
        });
    }
    for (line, ix, id) in excluded {
        let other = known.get(id).copied();
        let other = other
            .filter(|other| *other != ix && parts[other.index()].role == parts[ix.index()].role);
        let Some(other) = other else {
            let (own, role) = (&parts[ix.index()].id, parts[ix.index()].role.name());
            let expected = format!("expected another {role}, found none");
            return fail(line, format!("`{own}` excludes `{id}`; {expected}"));
        };
        // Said on one of the two lines, it holds both ways.
        for (one, excluded) in [(ix, other), (other, ix)] {
            let excludes = &mut parts[one.index()].excludes;
            if !excludes.contains(&excluded) {
                excludes.push(excluded);
            }
        }
    }
    for (line, ix, id) in objects {
        let object = known.get(id).copied().filter(|object| {
            let role = parts[object.index()].role;
            matches!(role, Role::Subject | Role::Thing)
        });
        let Some(object) = object else {
            let doing = &parts[ix.index()].id;
            let expected = "expected a subject or thing, found none";
            return fail(line, format!("`{doing}` has the object `{id}`; {expected}"));
        };
        parts[ix.index()].objects.push(object);
    }
    Ok(parts)
}

/// Writes parts in the format that [`read`] reads.
pub(super) fn write(parts: &[Part]) -> String {
    let mut text = COLUMNS.join("\t") + "\n";
    let ids = |list: &[PartIx]| {
        let ids = list.iter().map(|ix| parts[ix.index()].id.as_str());
        ids.collect::<Vec<_>>().join("|")
    };
    for part in parts {
        let fields = [
            part.role.name().to_owned(),
            part.id.clone(),
            ids(&part.above),
            ids(&part.excludes),
            part.name.as_ref().map(Name::write).unwrap_or_default(),
            match part.role {
                Role::Doing => ids(&part.objects),
                _ => part.link.clone(),
            },
            part.node.clone().unwrap_or_default(),
            part.words.join("|"),
        ];
        text.push_str(&fields.join("\t"));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "role\tid\tabove\texcludes\tname\tlink\tnode\twords\n";

    fn error(rows: &str) -> String {
        read(&format!("{HEADER}{rows}")).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = include_str!("everyday.tsv");
        let parts = read(text).unwrap();
        assert_eq!(read(&write(&parts)).unwrap(), parts);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (rows, expected) in [
            (
                "verb\trun\t\t\trunning\t\t\trun\n",
                "line 2: expected a role (subject, doing, thing, place), found `verb`",
            ),
            ("doing\trun\n", "line 2: expected 8 columns, found 2"),
            (
                "doing\t\t\t\trunning\t\t\trun\n",
                "expected an id, found none",
            ),
            (
                "doing\trun\tmove\t\trunning\t\t\trun\n",
                "`run` is below `move`; expected a doing on a line before it",
            ),
            (
                "doing\ta\t\t\ta\t\t\ta\ndoing\ta\t\t\ta\t\t\ta\n",
                "line 3: `a` has a line already",
            ),
            (
                "doing\ta\t\ta\ta\t\t\ta\n",
                "`a` excludes `a`; expected another doing",
            ),
            (
                "doing\ta\t\t\ta\tb\t\ta\n",
                "`a` has the object `b`; expected a subject or thing, found none",
            ),
            (
                "doing\ta\t\t\ta\t\t\t1 2 3 4 5 6 7 8 9\n",
                "phrases of at most 8 words",
            ),
            ("", "expected at least one part, found none"),
        ] {
            let error = error(rows);
            assert!(error.contains(expected), "{error}");
        }
        let error = read("id\tname\n").unwrap_err().to_string();
        assert!(
            error.contains("expected the header `role<tab>id"),
            "{error}"
        );
    }

    #[test]
    fn parts_above_each_other_have_a_limit() {
        let row = |at: usize| format!("place\tp{}\tp{at}\t\ta p\t\t\tp{at}\n", at + 1);
        let rows: String = (0..20).map(row).collect();
        let error = error(&format!("place\tp0\t\t\ta p\t\t\tp\n{rows}"));
        assert!(
            error.contains("`p17` has more than 16 parts above each other"),
            "{error}"
        );
    }

    #[test]
    fn exclusion_holds_both_ways() {
        let text = format!("{HEADER}place\tin\t\tout\tin\t\t\tin\nplace\tout\t\t\tout\t\t\tout\n");
        let parts = read(&text).unwrap();
        assert_eq!(parts[0].excludes, [PartIx::at(1)]);
        assert_eq!(parts[1].excludes, [PartIx::at(0)]);
    }
}

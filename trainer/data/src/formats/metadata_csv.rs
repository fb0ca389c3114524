//! Labelled images in a CSV: BioCLIP's evaluation metadata, RCME's tables of its images and of its
//! ordering test, and plain lists `filepath,class` (notation 5.6).
//!
//! A path may end with a condition, `photos.csv?source=NIPS 2017`: only rows whose column `source`
//! has this value are read.

use std::path::{Path, PathBuf};

use espalier_core::taxonomy::RANKS;
use espalier_io::disk::read;

use super::condition::{Condition, split_condition};
use super::format::{Format, is_single, open_single};
use crate::formats::image_index::ImageIndex;
use crate::formats::listed::{Listed, table};
use crate::records::error::{DataError, Result};
use crate::records::paths::folder_of;
use crate::records::table::Table;

/// This format.
pub const FORMAT: Format = Format {
    name: "CSV",
    labels: true,
    boxes: false,
    detect: |paths| is_single(paths, matches),
    open: |paths| open_single(paths, open),
};

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "a CSV with a column filepath (or relative_path, image_filename, img_fn) and the \
    ranks kingdom .. species, a chain `captions` joined by =>, or a column class (or label, synset), its images \
    below the same folder or at absolute paths";

/// Columns that may hold the path of an image, in order of preference.
const PATH_COLUMNS: [&str; 5] = [
    "filepath",
    "relative_path",
    "image_filename",
    "img_fn",
    "path",
];

/// Columns with a label that is not a lineage.
const LABELS: [&str; 3] = ["class", "label", "synset"];

/// Bytes that hold the header.
const HEAD: u64 = 1 << 14;

/// Columns that form the label of a row.
enum Labels {
    /// One name per rank.
    Ranks([usize; 7]),
    /// Texts from general to specific; each extends the previous one by one name.
    Chain(usize),
    /// The label itself.
    Plain(usize),
}

struct Columns {
    path: usize,
    labels: Labels,
    common: Option<usize>,
    names: Vec<String>,
}

impl Columns {
    fn detect(header: &csv::StringRecord) -> Option<Self> {
        let position = |name: &str| header.iter().position(|h| h.trim() == name);
        // BioCLIP names the rank `cls` and uses `class` for the label; others name the rank
        // `class`.
        let rank = |name: &&str| match *name {
            "class" => position("cls").or_else(|| position("class")),
            name => position(name),
        };
        let ranks: Vec<usize> = RANKS.iter().filter_map(rank).collect();
        let labels = <[usize; 7]>::try_from(ranks).map(Labels::Ranks).ok();
        let labels = labels
            .or_else(|| position("captions").map(Labels::Chain))
            .or_else(|| LABELS.iter().find_map(|l| position(l)).map(Labels::Plain))?;
        Some(Self {
            path: PATH_COLUMNS.iter().find_map(|p| position(p))?,
            labels,
            common: position("common_name"),
            names: header.iter().map(|name| name.trim().to_owned()).collect(),
        })
    }
}

/// Returns the CSV that a path refers to: the path itself, or the `metadata.csv` in it.
fn csv_file(path: &Path) -> Option<PathBuf> {
    let is_csv = |p: &Path| p.is_file() && p.extension().is_some_and(|e| e == "csv");
    let (path, _) = split_condition(path);
    let candidates = [path.clone(), path.join("metadata.csv")];
    candidates.into_iter().find(|p| is_csv(p))
}

fn columns(rows: &mut csv::Reader<&[u8]>) -> std::result::Result<Columns, String> {
    let header = rows.headers().map_err(|e| e.to_string())?;
    let names: Vec<&str> = header.iter().collect();
    Columns::detect(header).ok_or_else(|| format!("the columns {}", names.join(", ")))
}

/// Returns whether a path is such a CSV, or a folder with one.
pub fn matches(path: &Path) -> bool {
    let has_columns = |file: &Path| {
        let head = read::head(file, HEAD);
        head.is_ok_and(|text| columns(&mut csv::Reader::from_reader(text.as_bytes())).is_ok())
    };
    csv_file(path).is_some_and(|file| !path.is_dir() || has_columns(&file))
}

/// Builds the lineage of seven ranks; removes the genus from the species epithet.
fn lineage(names: [&str; 7]) -> String {
    let mut names = names.map(str::trim);
    if let Some(epithet) = names[6].strip_prefix(names[5])
        && epithet.starts_with([' ', '_'])
        && !names[5].is_empty()
    {
        names[6] = epithet.trim_start_matches([' ', '_']);
    }
    names.join("/")
}

/// Recovers the lineage from a chain of texts in which each text joins the names of all ranks so
/// far by blanks.
fn lineage_of_chain(chain: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let mut before = "";
    for text in chain.split("=>").map(str::trim) {
        let name = text.strip_prefix(before)?;
        names.push(name.trim_start());
        before = text;
    }
    Some(names.join("/"))
}

/// Reads the CSV and locates its images.
///
/// # Errors
/// If the file cannot be read, lacks columns, or has no row.
pub fn open(path: &Path) -> Result<Table> {
    let file = csv_file(path).ok_or_else(|| DataError::layout(path, EXPECTED, "no such file"))?;
    let broken = |found: String| DataError::layout(&file, EXPECTED, found);
    let text = read::text(&file).map_err(DataError::io(&file))?;
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let columns = columns(&mut rows).map_err(broken)?;
    let images = ImageIndex::of(&folder_of(&file))?;
    let (_, condition) = split_condition(path);
    let filter = condition.map(|Condition { column, value }| {
        let at = columns.names.iter().position(|name| *name == column);
        let missing = || {
            let names = columns.names.join(", ");
            broken(format!(
                "no column `{column}` for the condition of the path; the columns are {names}"
            ))
        };
        at.map(|at| (at, value)).ok_or_else(missing)
    });
    let filter = filter.transpose()?;
    let mut listed = Vec::new();
    for row in rows.records() {
        let row = row.map_err(|e| broken(e.to_string()))?;
        let field = |at: usize| row.get(at).unwrap_or_default().trim();
        let is_other = |(at, value): &(usize, String)| field(*at) != value;
        if filter.as_ref().is_some_and(is_other) {
            continue;
        }
        let label = match &columns.labels {
            Labels::Ranks(ranks) => lineage(ranks.map(field)),
            Labels::Plain(at) => field(*at).to_owned(),
            Labels::Chain(at) => lineage_of_chain(field(*at)).ok_or_else(|| {
                broken(format!(
                    "`{}`, in which a text does not begin with the previous text",
                    field(*at)
                ))
            })?,
        };
        let name = field(columns.path);
        let absolute = Some(Path::new(name)).filter(|path| path.is_absolute() && path.is_file());
        listed.push(Listed {
            common: columns.common.map_or("", field).to_owned(),
            ..Listed::new(name, absolute.or_else(|| images.find(name)), label)
        });
    }
    if listed.is_empty() {
        return Err(broken(match filter {
            Some((at, value)) => format!("no row with `{value}` in `{}`", columns.names[at]),
            None => "no row".into(),
        }));
    }
    let files = listed.iter().filter_map(|row| row.file.as_deref());
    let left_out = images.unused(files.chain([file.as_path()]))?;
    Ok(table(file.display().to_string(), listed).with_left_out(left_out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::fault::Broken;
    use crate::records::source::{Dataset, Record};
    use crate::test_files::{folder, read_all};

    fn labels(csv: &str) -> Vec<String> {
        let dir = folder(&[("metadata.csv", csv), ("p/1.jpg", "x")]);
        assert!(matches(dir.path()));
        let read = read_all(&open(dir.path()).unwrap()).into_iter();
        let label = |record: Record| record.synsets.concat();
        let cause = |broken: Broken| broken.fault.cause.description().to_owned();
        read.map(|r| r.map_or_else(cause, label)).collect()
    }

    #[test]
    fn published_tables_and_a_plain_list_are_read() {
        let bioclip = "index,kingdom,phylum,cls,order,family,genus,species,common_name,filepath,class\n\
            0,Animalia,P,C,O,F,Aptenodytes,Aptenodytes patagonicus,penguin,p/1.jpg,17\n\
            1,Animalia,P,C,O,F,G,sp. nov,,p/2.jpg,18\n";
        assert_eq!(
            labels(bioclip),
            ["Animalia/P/C/O/F/Aptenodytes/patagonicus", "no image"]
        );
        let rcme = "global_id,folder_name,image_filename,source_dataset,relative_path,scientific_name,\
            common_name,kingdom,phylum,class,order,family,genus,species\n\
            1,f,1.jpg,inat,p/1.jpg,G s,,K,P,C,O,F,G,s\n";
        assert_eq!(labels(rcme), ["K/P/C/O/F/G/s"]);
        let order = "captions,img_fn\nK=>K P=>K P C=>K P C O=>K P C O F=>K P C O F G=>K P C O F G s,1.jpg\n";
        assert_eq!(labels(order), ["K/P/C/O/F/G/s"]);
        assert_eq!(labels("filepath,class\np/1.jpg,tree\n"), ["tree"]);
    }

    #[test]
    fn a_condition_selects_rows() {
        let text = "filepath,synset,source\n1.jpg,n1,web\n2.jpg,n2,lab\n3.jpg,n3,web\n";
        let dir = folder(&[("photos.csv", text)]);
        let file = dir.path().join("photos.csv");
        let with = |condition: &str| PathBuf::from(format!("{}?{condition}", file.display()));
        assert!(matches(&with("source=web")));
        assert_eq!(open(&with("source=web")).unwrap().records(), 2);
        assert_eq!(open(&file).unwrap().records(), 3);
        let error = |condition: &str| open(&with(condition)).map(|_| ()).unwrap_err().to_string();
        assert!(error("source=moon").contains("no row with `moon` in `source`"));
        assert!(error("origin=web").contains("no column `origin`"));
    }

    #[test]
    fn other_tables_are_rejected() {
        let message = |csv: &str| {
            let dir = folder(&[("x.csv", csv)]);
            let error = open(&dir.path().join("x.csv")).map(|_| ()).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            error.to_string()
        };
        assert!(message("a,b\n1,2\n").contains("the columns a, b"));
        assert!(message("filepath,class\n").contains("no row"));
        assert!(message("captions,img_fn\na=>b,1.jpg\n").contains("begin with"));
    }
}

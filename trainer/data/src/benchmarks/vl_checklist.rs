//! VL-CheckList: images with a matching and a wrong text, by kind (notation 5.7).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use espalier_io::disk::read;

use crate::formats::image_index::{ImageFiles, ImageIndex};
use crate::records::coverage::Coverage;
use crate::records::error::{DataError, Result};
use crate::records::walk;

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "VL-CheckList's corpus files (*.yaml with ANNO_PATH, IMG_ROOT and TYPE), \
    the JSON lists that they name, and the images in --images DIR, under IMG_ROOT, or below the \
    same folder";

/// Maximum number of questions used per list: published as 2000 texts, two per image (notation
/// 6.9).
pub const MAX_QUESTIONS: usize = 1000;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Index of the image in [`VlChecklist::images`].
    pub image: usize,
    /// The text that matches.
    pub positive: String,
    /// The text that does not match.
    pub negative: String,
}

/// One list of a corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Corpus: `vg_obj`, `hake`, `swig_agent` and so on.
    pub corpus: String,
    /// Kind: `Object/Location/center` and so on.
    pub kind: String,
    /// Questions whose image exists.
    pub questions: Vec<Question>,
}

/// All lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VlChecklist {
    /// Lists in the order of their files.
    pub lists: Vec<List>,
    /// Image files, without duplicates.
    pub images: Vec<PathBuf>,
    /// Counts of available and missing items; items are questions.
    pub coverage: Coverage,
}

/// Parses the plain `KEY: value` lines of a corpus file; lists under a key become its values.
fn yaml(text: &str) -> BTreeMap<String, Vec<String>> {
    let clean = |v: &str| {
        let v = v.split(" #").next().unwrap_or_default().trim();
        let quoted = v.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        let quoted = quoted.or_else(|| v.strip_prefix('\'').and_then(|v| v.strip_suffix('\'')));
        quoted.unwrap_or(v).to_owned()
    };
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut key = String::new();
    for line in text.lines().filter(|l| !l.trim_start().starts_with('#')) {
        if let Some(item) = line.trim().strip_prefix("- ") {
            found.entry(key.clone()).or_default().push(clean(item));
        } else if let Some((name, value)) = line.split_once(':') {
            key = clean(name);
            let values = found.entry(key.clone()).or_default();
            values.extend(Some(clean(value)).filter(|v| !v.is_empty()));
        }
    }
    found
}

/// Contents of a list file: `[[image, {"POS": [..], "NEG": [..]}], ..]`.
type Entries = Vec<(String, BTreeMap<String, Vec<String>>)>;

impl VlChecklist {
    /// Reads the corpora of a folder (or one corpus file).
    ///
    /// # Errors
    /// If there is no corpus file, a corpus file names a missing list, or no question has an
    /// existing image.
    pub fn open(path: &Path, images: Option<&Path>) -> Result<Self> {
        let (folder, all) = if path.is_dir() {
            (path, walk::files_below(path)?.files)
        } else {
            (path.parent().unwrap_or(path), vec![path.to_owned()])
        };
        let is_yaml = |p: &&PathBuf| p.extension().is_some_and(|e| e == "yaml" || e == "yml");
        let corpora: Vec<&PathBuf> = all.iter().filter(is_yaml).collect();
        if corpora.is_empty() {
            return Err(DataError::layout(path, EXPECTED, "no .yaml"));
        }
        let mut data = Self::default();
        let mut used = ImageFiles::default();
        for corpus in corpora {
            let text = read::text(corpus).map_err(DataError::io(corpus))?;
            let keys = yaml(&text);
            let Some(lists) = keys.get("ANNO_PATH").filter(|v| !v.is_empty()) else {
                continue;
            };
            let first = |key: &str| keys.get(key)?.first();
            let root = folder.join(first("IMG_ROOT").map_or("", String::as_str));
            let root: &Path = if root.is_dir() { &root } else { folder };
            let images = ImageIndex::of(images.unwrap_or(root))?;
            let corpus_type = first("TYPE").map_or("", String::as_str);
            // A corpus file may name one long list many times.
            let mut seen = BTreeSet::new();
            for list in lists.iter().filter(|list| seen.insert(*list)) {
                let file = Self::list_file(corpus, folder, list)?;
                let stem = corpus.file_stem().unwrap_or_default().to_string_lossy();
                let list = List {
                    corpus: stem.into_owned(),
                    kind: kind(corpus_type, &file),
                    questions: data.read(&file, &images, &mut used)?,
                };
                data.lists.push(list);
            }
        }
        data.images = used.paths;
        if data.lists.iter().all(|list| list.questions.is_empty()) {
            let missing = data.coverage.missing.values().map(|m| m.count).sum::<u64>();
            let found = format!("no question with its image ({missing} questions without)");
            return Err(DataError::layout(path, EXPECTED, found));
        }
        Ok(data)
    }

    /// Locates a list that a corpus file names: next to the corpus file or below the folder.
    fn list_file(corpus: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
        let next_to_corpus = corpus.parent().unwrap_or(folder).join(name);
        let candidates = [folder.join(name), next_to_corpus];
        let found = candidates.into_iter().find(|file| file.is_file());
        found.ok_or_else(|| {
            let found = format!("ANNO_PATH {name}, which does not exist");
            DataError::layout(corpus, EXPECTED, found)
        })
    }

    /// Reads the questions of a list, and counts those that cannot be used.
    fn read(
        &mut self,
        file: &Path,
        images: &ImageIndex,
        used: &mut ImageFiles,
    ) -> Result<Vec<Question>> {
        let entries: Entries = DataError::read_json(file, EXPECTED)?;
        let mut questions = Vec::new();
        for (name, texts) in entries.into_iter().take(MAX_QUESTIONS) {
            let first = |side: &str| texts.get(side).and_then(|t| t.first()).cloned();
            let (Some(positive), Some(negative)) = (first("POS"), first("NEG")) else {
                let cause = "no text that fits or none that does not";
                self.coverage.miss(cause, &name);
                continue;
            };
            let Some(path) = images.find(&name) else {
                self.coverage.miss("image not there", &name);
                continue;
            };
            self.coverage.usable(1);
            questions.push(Question {
                image: used.number(path),
                positive,
                negative,
            });
        }
        Ok(questions)
    }
}

/// Returns the kind of a list: the corpus' `TYPE`, or a more specific kind derived from the list's
/// file name.
fn kind(corpus_type: &str, file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy().to_lowercase();
    let groups = [
        ("Object/Location", ["center", "mid", "margin"]),
        ("Object/Size", ["large", "medium", "small"]),
    ];
    let last = stem.rsplit(['_', '-', '.']).next().unwrap_or_default();
    for (group, words) in groups {
        if words.contains(&last) {
            return format!("{group}/{last}");
        }
    }
    corpus_type.trim_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_is_read_with_its_lists() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("Object/Location")).unwrap();
        std::fs::create_dir_all(at("vg")).unwrap();
        let yaml = "# corpus\nANNO_PATH: \"Object/Location/center.json\" # a list\n\
            - Object/Location/center.json\nIMG_ROOT: 'vg'\nTYPE: \"Object/Location\"\n";
        std::fs::write(at("vg_obj.yaml"), yaml).unwrap();
        let json = r#"[["vg/1.jpg", {"POS": ["a cat", "x"], "NEG": ["a dog"]}],
            ["vg/2.jpg", {"POS": ["a cat"], "NEG": ["a dog"]}], ["vg/1.jpg", {"POS": [], "NEG": ["y"]}]]"#;
        std::fs::write(at("Object/Location/center.json"), json).unwrap();
        std::fs::write(at("vg/1.jpg"), "x").unwrap();
        let data = VlChecklist::open(dir.path(), None).unwrap();
        assert_eq!(data.lists.len(), 1);
        let list = &data.lists[0];
        assert_eq!(list.corpus, "vg_obj");
        assert_eq!(list.kind, "Object/Location/center");
        assert_eq!(list.questions[0].positive, "a cat");
        assert_eq!((data.coverage.expected, data.coverage.found), (3, 1));
        assert_eq!(data.coverage.missing.len(), 2);
    }

    #[test]
    fn one_key_may_have_several_lists() {
        let keys = yaml("ANNO_PATH:\n  - a.json\n  - 'b.json'\nTYPE: Object/Size\n");
        assert_eq!(keys["ANNO_PATH"], ["a.json", "b.json"]);
        let large = kind("Object/Size", Path::new("vg_obj_size_large.json"));
        assert_eq!(large, "Object/Size/large");
        assert_eq!(kind("Object/hake", Path::new("hake.json")), "Object/hake");
    }

    #[test]
    fn missing_files_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let error = || VlChecklist::open(dir.path(), None).unwrap_err().to_string();
        assert!(error().contains("found no .yaml"));
        std::fs::write(dir.path().join("a.yaml"), "ANNO_PATH: gone.json\n").unwrap();
        assert!(error().contains("ANNO_PATH gone.json, which does not exist"));
    }
}

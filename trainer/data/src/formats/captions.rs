//! Images with captions as training data: everything that [`Captioned`] reads, and shards of images with texts
//! (notation 5.7).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::captioned::{Captioned, EXPECTED, Splits};
use super::condition::split_condition;
use super::grit::Grit;
use crate::records::error::{DataError, Result};
use crate::records::fault::Broken;
use crate::records::mixture::Mixture;
use crate::records::record_image::RecordImage;
use crate::records::source::{Dataset, Record, Records};
use crate::records::table::Table;

/// Returns whether one of the paths is a file or folder of [`Captioned`], with or without a split.
pub fn matches(paths: &[PathBuf]) -> bool {
    let mut files = paths.iter().map(|path| split_condition(path).0);
    files.any(|file| Captioned::matches(&file))
}

/// Opens images with captions. Each path is a file or folder of [`Captioned`] or names shards; a split is
/// chosen by `FILE?split=NAME`, otherwise `splits` are read, and a folder of images that lie elsewhere by
/// `FILE?images=DIR`.
///
/// # Errors
/// [`DataError`] that names the file and the problem.
pub fn open(paths: &[PathBuf], splits: Splits<'_>) -> Result<Arc<dyn Dataset>> {
    let (mut sources, mut shards) = (Vec::new(), Vec::new());
    for path in paths {
        match table(path, splits)? {
            Some(found) => sources.push(Arc::new(found) as Arc<dyn Dataset>),
            None => shards.push(path.clone()),
        }
    }
    if !shards.is_empty() || sources.is_empty() {
        let opened = Grit::with_captions(&shards).map_err(|error| match error {
            DataError::NothingFound { place, found } => neither(place, found),
            DataError::UnknownKind { path, found } => neither(path.display().to_string(), found),
            error => error,
        });
        sources.push(Arc::new(opened?));
    }
    if sources.len() == 1 {
        return Ok(sources.swap_remove(0));
    }
    let once = sources.into_iter().map(|source| (source, 1.0));
    Ok(Arc::new(Mixture::new(once.collect())))
}

/// Returns the error for a path without captions and without shards.
fn neither(place: String, found: String) -> DataError {
    DataError::Layout {
        place,
        expected: format!("{EXPECTED}; or .parquet or .tar shards with captions"),
        found,
    }
}

/// Opens what is not a shard; `None` for everything else.
fn table(path: &Path, splits: Splits<'_>) -> Result<Option<Table>> {
    let (file, condition) = split_condition(path);
    let Some(condition) = condition else {
        let found = Captioned::open_if_any(&file, None, splits)?;
        return Ok(found.map(|found| rows(&file, found)));
    };
    let value = condition.value.as_str();
    let found = match condition.column.as_str() {
        "split" => Captioned::open(&file, None, Splits(&[value]))?,
        "images" => Captioned::open(&file, Some(Path::new(value)), splits)?,
        other => {
            return Err(DataError::layout(
                path,
                "FILE?split=NAME or FILE?images=DIR, the only conditions for images with captions",
                format!("`{other}={value}`"),
            ));
        }
    };
    Ok(Some(rows(&file, found)))
}

fn rows(file: &Path, mut found: Captioned) -> Table {
    let left_out = std::mem::take(&mut found.left_out);
    let rows: Vec<Row> = found.into_images().collect();
    let name = file.display().to_string();
    Table::new(name, rows.len(), Rows(rows)).with_left_out(left_out)
}

/// The name of an image in an index, its file and its captions.
type Row = (String, Option<PathBuf>, Vec<String>);

struct Rows(Vec<Row>);

impl Records for Rows {
    fn read(&self, row: usize) -> std::result::Result<Record, Broken> {
        let (key, file, captions) = &self.0[row];
        let image = RecordImage::of_file(file.as_deref());
        image
            .and_then(|image| Record::captioned(key.clone(), image, captions.clone()))
            .map_err(|fault| fault.of(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::fault::Cause;
    use crate::records::random::{Purpose, Random};
    use crate::test_files::{self, read_all};

    fn folder() -> tempfile::TempDir {
        let json = r#"{"images": [
            {"filename": "1.png", "split": "train", "sentences": [{"raw": "a"}, {"raw": " "}, {"raw": "b"}]},
            {"filename": "2.png", "split": "val", "sentences": [{"raw": "c"}]},
            {"filename": "3.png", "split": "train", "sentences": [{"raw": "d"}]},
            {"filename": "1.png", "split": "odd", "sentences": []}, {"filename": "1.png", "split": "odd",
             "sentences": [{"raw": "e"}]}]}"#;
        let dir = test_files::folder(&[("captions.json", json)]);
        for name in ["1.png", "2.png"] {
            image::RgbImage::new(4, 4)
                .save(dir.path().join(name))
                .unwrap();
        }
        dir
    }

    fn read(paths: &[PathBuf]) -> Vec<std::result::Result<Record, Cause>> {
        let records = read_all(&*open(paths, Splits::TRAINING).unwrap()).into_iter();
        records.map(|r| r.map_err(|b| b.fault.cause)).collect()
    }

    fn error_of(path: PathBuf) -> String {
        let opened = open(&[path], Splits::TRAINING);
        opened.map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn an_image_has_all_its_captions_and_a_missing_one_is_a_broken_record() {
        let dir = folder();
        let records = read(&[dir.path().to_owned()]);
        assert_eq!(records.len(), 2);
        let first = records[0].as_ref().unwrap();
        assert_eq!((&first.key[..], &first.caption[..]), ("1.png", "a"));
        assert_eq!(first.more_captions, ["b"]);
        assert_eq!(first.image.size().unwrap(), (4, 4));
        assert_eq!(records[1].as_ref().unwrap_err(), &Cause::MissingImage);
    }

    #[test]
    fn a_condition_names_a_split_and_paths_are_read_one_after_the_other() {
        let dir = folder();
        let with = |condition: &str| {
            let file = dir.path().join("captions.json");
            PathBuf::from(format!("{}?{condition}", file.display()))
        };
        let val = read(&[with("split=val")]);
        assert_eq!(val[0].as_ref().unwrap().caption, "c");
        assert!(matches(&[PathBuf::from("x.tar"), with("split=val")]));
        assert!(!matches(&[PathBuf::from("x.tar")]));
        let odd = read(&[with("split=odd")]);
        assert_eq!(odd[0].as_ref().unwrap_err(), &Cause::MissingCaption);
        assert_eq!(odd[1].as_ref().unwrap().caption, "e");
        let both = read(&[with("split=val"), with("split=odd")]);
        assert_eq!(both.len(), 3);
        assert!(error_of(with("split=test")).contains("its splits are odd, train, val"));
        assert!(error_of(with("source=web")).contains("FILE?split=NAME"));
    }

    #[test]
    fn a_folder_with_neither_captions_nor_shards_is_told_what_is_read() {
        let dir = test_files::folder_with(&["a.svg"]);
        let error = error_of(dir.path().to_owned());
        assert!(
            error.contains("Karpathy") && error.contains("shards with captions"),
            "{error}"
        );
        assert!(error.contains("found 1 .svg"), "{error}");
        // Which of two files is meant is asked, not guessed.
        let dir = test_files::folder_with(&["captions_a.json", "captions_b.json"]);
        let error = error_of(dir.path().to_owned());
        assert!(error.contains("give one of them"), "{error}");
    }

    #[test]
    fn each_caption_is_chosen_equally_often() {
        let dir = folder();
        let record = read(&[dir.path().to_owned()]).swap_remove(0).unwrap();
        let mut times = [0; 2];
        for index in 0..400 {
            let mut record = record.clone();
            record.choose_caption(&mut Random::new(3, Purpose::Sample, 0, index));
            assert!(record.more_captions.is_empty());
            times[usize::from(record.caption == "b")] += 1;
        }
        assert!(times.iter().all(|n| (150..250).contains(n)), "{times:?}");
        // A single caption takes no random number: other draws of the sample stay as they were.
        let mut random = Random::new(3, Purpose::Sample, 0, 0);
        Record::labelled(String::new(), RecordImage::None, None, "only")
            .choose_caption(&mut random);
        assert_eq!(random.bits(), Random::new(3, Purpose::Sample, 0, 0).bits());
    }
}

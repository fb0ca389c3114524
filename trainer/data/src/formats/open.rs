//! Resolves the paths that a user names to one dataset or taxonomy, in the same way for every
//! command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use espalier_core::taxonomy::Taxonomy;
use espalier_io::disk::read;
use espalier_io::exit::usage;
use espalier_io::output;

use crate::Dataset;
use crate::formats::levels::{self, Purpose};
use crate::formats::registry::{self, Need};
use crate::formats::{arrays, splits};
use crate::records::error::{DataError, Result};

/// The shipped taxonomies by the short names that `--taxonomy` accepts; the first is the default.
pub const SHIPPED: [(&str, &str); 2] = [
    ("wordnet", include_str!("../../taxonomy/wordnet.tsv")),
    ("imagenet", include_str!("../../taxonomy/imagenet.tsv")),
];

/// Returns the taxonomy that is itself the data, if the data is one TSV file.
pub fn taxonomy_file(data: &[PathBuf]) -> Option<&Path> {
    match data {
        [one] if one.extension().is_some_and(|e| e == "tsv") => Some(one),
        _ => None,
    }
}

/// Loads the taxonomy given by a flag (a file or the short name of a [shipped one](SHIPPED)), or
/// else the data if that is a taxonomy, or else the first shipped one. A file that has a short name
/// is given as `./imagenet`.
///
/// # Errors
/// Bad usage when the file cannot be read; a taxonomy error that names the line.
pub fn taxonomy(flag: Option<&Path>, data: &[PathBuf]) -> anyhow::Result<Taxonomy> {
    let Some(path) = flag.or_else(|| taxonomy_file(data)) else {
        return Ok(Taxonomy::from_tsv(SHIPPED[0].1)?);
    };
    let shipped = SHIPPED.iter().find(|(short, _)| path == Path::new(short));
    if let Some((_, text)) = shipped {
        return Ok(Taxonomy::from_tsv(text)?);
    }
    let text = read::text(path).map_err(|e| {
        let path = path.display();
        if e.kind() != std::io::ErrorKind::NotFound {
            return usage(format!("--taxonomy {path}: {e}"));
        }
        let names = SHIPPED.map(|(name, _)| name).join(", ");
        usage(format!(
            "--taxonomy {path}: expected a file or one of {names}; {e}"
        ))
    })?;
    let taxonomy = Taxonomy::from_file(&text);
    let taxonomy = taxonomy.with_context(|| format!("--taxonomy {}", path.display()))?;
    if let Some(note) = taxonomy.note() {
        output::note(format_args!("--taxonomy {}: {note}", path.display()));
    }
    Ok(taxonomy)
}

/// Labelled images with the name of their split.
pub struct Labelled {
    /// The images.
    pub data: Arc<dyn Dataset>,
    /// The split or range that was read, where the data has several.
    pub split: Option<String>,
}

/// Opens the split `split` of labelled images, or the part of it that the benchmark `dataset`
/// evaluates.
///
/// # Errors
/// [`DataError`] that names the file and the problem.
pub fn benchmark(paths: &[PathBuf], dataset: Option<&str>, split: &str) -> Result<Labelled> {
    if let [one] = paths
        && !arrays::matches(one)
        && let Some(found) = splits::open(one, dataset, split)?
    {
        return Ok(Labelled {
            data: Arc::new(found.data),
            split: Some(found.description),
        });
    }
    // Photos of a training split are never evaluated in place of others.
    let purpose = match split {
        "train" => Purpose::Training,
        "val" => Purpose::Evaluation,
        _ => Purpose::Test,
    };
    let is_training_alone = |path: &&PathBuf| {
        let roots = |purpose| levels::roots(path, purpose);
        roots(Purpose::Everything).is_some() && roots(purpose).is_none()
    };
    if let Some(path) = paths.iter().find(is_training_alone) {
        let expected = "class folders of the split that is asked for, or the folder of one split";
        let found = "those of other splits alone";
        return Err(DataError::layout(path, expected, found));
    }
    let parts = levels::resolved(paths, purpose);
    let data = registry::open(&parts, Need::Labels)?;
    if parts == paths && split != splits::TEST {
        let expected = "`test`, the only split of data without split lists";
        return Err(DataError::setting("--split", expected, split));
    }
    let names = parts.iter().map(|part| part.display().to_string());
    let names = names.collect::<Vec<_>>().join(", ");
    Ok(Labelled {
        data,
        split: (parts != paths).then_some(names),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files::{folder_with, write};

    #[test]
    fn shipped_taxonomies_have_short_names() {
        let labels = |flag: Option<&str>| {
            let found = taxonomy(flag.map(Path::new), &[]).unwrap();
            found.labelled().len()
        };
        assert_eq!(labels(Some("imagenet")), 1000);
        assert_eq!((labels(Some("wordnet")), labels(None)), (210, 210));
    }

    #[test]
    fn a_training_split_is_not_evaluated_in_place_of_another() {
        let dir = folder_with(&["train/cat/1.png"]);
        let paths = [dir.path().to_owned()];
        std::fs::create_dir(dir.path().join("val")).unwrap();
        let error = benchmark(&paths, None, splits::TEST).err().unwrap();
        let message = error.to_string();
        assert!(message.contains("other splits alone"), "{message}");
        write(dir.path(), &[("val/cat/2.png", "x")]);
        let found = benchmark(&paths, None, splits::TEST).unwrap();
        assert_eq!(found.data.records(), 1);
        assert!(found.split.unwrap().ends_with("val"));
    }

    #[test]
    fn the_error_for_a_missing_file_lists_the_short_names() {
        let error = taxonomy(Some(Path::new("imagnet")), &[]).unwrap_err();
        let message = error.to_string();
        for part in ["imagnet", "wordnet, imagenet"] {
            assert!(message.contains(part), "{message}");
        }
    }
}

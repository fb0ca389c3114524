//! Precomputed embeddings: the files written by `trainer embed`.

use std::collections::HashMap;
use std::path::Path;

use espalier_core::caption::EMBEDDINGS;
use espalier_core::geometry::Space;
use espalier_core::weights::Tensors;
use espalier_io::disk::read;
use espalier_io::exit::usage;

use super::Points;

/// Metadata entry with the names of the rows.
pub const NAMES: &str = "names";
/// The space of the points, as JSON of [`Space`].
pub const SPACE: &str = "space";
/// Metadata entry with the hash of the weights that computed the embeddings.
pub const MODEL: &str = "model_sha256";

/// Points read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Points, row by row.
    pub points: Points,
    /// Names of the rows, if the file has them.
    pub names: Option<Vec<String>>,
    /// Their space, if the file records it.
    pub space: Option<Space>,
    /// Hash of the weights that computed them; empty if the file does not record it.
    pub model: String,
}

impl Stored {
    /// Reads a file: a tensor `embeddings` `[n, d]` and, in the metadata, `names` and `space`.
    ///
    /// # Errors
    /// Bad usage when there is no such file, or its content is different.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let unexpected = |found: String| {
            usage(format!(
                "{}: expected a safetensors file with a tensor `{EMBEDDINGS}` [n, d], as `trainer \
                 embed` writes it, found {found}",
                path.display()
            ))
        };
        let bytes = read::bytes(path).map_err(|e| usage(format!("{}: {e}", path.display())))?;
        let mut file = Tensors::read(&bytes).map_err(|e| unexpected(e.to_string()))?;
        let Some(tensor) = file.tensors.remove(EMBEDDINGS) else {
            let names: Vec<String> = file.tensors.into_keys().collect();
            return Err(unexpected(format!("the tensors {}", names.join(", "))));
        };
        let &[rows, width] = tensor.shape.as_slice() else {
            return Err(unexpected(format!("shape {:?}", tensor.shape)));
        };
        let points = Points::new(width, tensor.data);
        if rows == 0 || width == 0 {
            return Err(unexpected("no embedding".into()));
        }
        if let Some(row) = points.first_not_finite() {
            return Err(unexpected(format!("NaN or infinity in row {row}")));
        }
        let metadata = |key: &str| file.metadata.get(key);
        let names: Option<Vec<String>> = metadata(NAMES)
            .map(|text| serde_json::from_str(text))
            .transpose()
            .map_err(|e| unexpected(format!("metadata `{NAMES}`: {e}")))?;
        if names.as_ref().is_some_and(|names| names.len() != rows) {
            let found = format!("{rows} rows but a different number of names");
            return Err(unexpected(found));
        }
        let space = metadata(SPACE)
            .map(|text| serde_json::from_str(text))
            .transpose()
            .map_err(|e| unexpected(format!("metadata `{SPACE}`: {e}")))?;
        Ok(Self {
            points,
            names,
            space,
            model: metadata(MODEL).cloned().unwrap_or_default(),
        })
    }

    /// Returns the row of each name; for repeated names, the first.
    pub fn by_name(&self) -> HashMap<&str, usize> {
        let mut rows = HashMap::new();
        for (row, name) in self.names.iter().flatten().enumerate() {
            rows.entry(name.as_str()).or_insert(row);
        }
        rows
    }
}

/// Returns the space that two files share; cosine of the stored coordinates if neither records one.
///
/// # Errors
/// Bad usage when widths, weights or spaces differ.
pub fn shared_space(a: &Stored, b: &Stored) -> anyhow::Result<Space> {
    let (width, other) = (a.points.width(), b.points.width());
    if width != other {
        return Err(usage(format!(
            "expected embeddings of one width, found {width} and {other}"
        )));
    }
    if !a.model.is_empty() && !b.model.is_empty() && a.model != b.model {
        return Err(usage(format!(
            "expected embeddings of one model, found different models ({} and {})",
            &a.model[..a.model.len().min(12)],
            &b.model[..b.model.len().min(12)]
        )));
    }
    match (&a.space, &b.space) {
        (Some(a), Some(b)) if a != b => Err(usage(
            "expected embeddings in one space, found different spaces",
        )),
        (Some(space), _) | (None, Some(space)) => Ok(space.clone()),
        (None, None) => Ok(Space::Sphere {
            root: vec![0.0; width],
        }),
    }
}

/// Rows scaled to length 1, for files without a space.
pub fn normalised(points: &Points) -> Points {
    let data = points.rows().flat_map(|row| {
        let norm = row.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-12);
        row.iter().map(move |v| v / norm)
    });
    Points::new(points.width(), data.collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use espalier_core::weights::HostTensor;

    use super::*;

    fn write(dir: &Path, metadata: &[(&str, &str)], data: Vec<f32>) -> Stored {
        let file = dir.join("e.safetensors");
        let tensor = HostTensor {
            shape: vec![data.len() / 2, 2],
            data,
        };
        let metadata = metadata.iter().copied();
        let file_of = Tensors {
            tensors: BTreeMap::from([(EMBEDDINGS.to_owned(), tensor)]),
            metadata: metadata
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .collect(),
        };
        std::fs::write(&file, file_of.write(|_, _| None).unwrap()).unwrap();
        Stored::open(&file).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn files_are_read_with_names_and_space() {
        let dir = tempfile::tempdir().unwrap();
        let space = Space::Lorentz { curvature: 0.5 };
        let json = serde_json::to_string(&space).unwrap();
        let names = (NAMES, r#"["a","b","a"]"#);
        let metadata = [names, (SPACE, json.as_str()), (MODEL, "x")];
        let data = vec![1.0, 0.0, 0.0, 1.0, 2.0, 2.0];
        let a = write(dir.path(), &metadata, data);
        assert_eq!((a.by_name()["a"], a.by_name()["b"]), (0, 1));
        assert_eq!(shared_space(&a, &a).unwrap(), space);
        let b = write(dir.path(), &[(MODEL, "y")], vec![3.0, 4.0]);
        let error = shared_space(&a, &b).unwrap_err().to_string();
        assert!(error.contains("different models"), "{error}");
        let space = shared_space(&b, &b).unwrap();
        assert!(matches!(space, Space::Sphere { .. }));
        assert_eq!(normalised(&b.points).data(), [0.6, 0.8]);
    }

    #[test]
    fn the_error_for_another_file_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let message = |path: &Path| Stored::open(path).unwrap_err().to_string();
        let path = dir.path().join("x.safetensors");
        assert!(message(&path).contains("x.safetensors"));
        std::fs::write(&path, "nothing").unwrap();
        let error = message(&path);
        assert!(error.contains("expected a safetensors file"), "{error}");
        let none = Tensors::default().write(|_, _| None).unwrap();
        std::fs::write(&path, none).unwrap();
        assert!(message(&path).contains("found the tensors"));
    }
}

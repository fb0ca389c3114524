//! The file of taught concepts, which is bound to the model that embedded their photos.

use serde::{Deserialize, Serialize};

use super::result::ModelInfo;
use super::taught::{TaughtConcept, invalid};
use crate::error::Result;

/// The value of [`TaughtFile::format`] that this version reads and writes.
pub const FORMAT: &str = "espalier-concepts/1";

/// Maximum number of concepts in a file.
const MAX_CONCEPTS: usize = 500;

/// Taught concepts in the form in which they are stored and exchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaughtFile {
    /// [`FORMAT`].
    pub format: String,
    /// The model that embedded the photos.
    pub model: ModelInfo,
    /// The concepts.
    pub concepts: Vec<TaughtConcept>,
}

impl TaughtFile {
    /// Creates the file of concepts that were taught to a model.
    #[must_use]
    pub fn new(model: ModelInfo, concepts: Vec<TaughtConcept>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            model,
            concepts,
        }
    }

    /// Reads a file and checks that its photos were embedded by `model`.
    ///
    /// # Errors
    /// [`crate::CoreError::Bundle`] when it is no such file, or was made with another model.
    pub fn parse(text: &str, model: &ModelInfo) -> Result<Self> {
        let file: Self = serde_json::from_str(text)
            .map_err(|error| invalid(format!("expected JSON with format `{FORMAT}`: {error}")))?;
        if file.format != FORMAT {
            let found = file.format;
            let reason = format!("expected format `{FORMAT}`, found `{found}`");
            return Err(invalid(reason));
        }
        if file.model.sha256 != model.sha256 {
            return Err(invalid(format!(
                "its photos were read by the model {} {}, which is not the one in use, {} {}; teach \
                 the names again",
                file.model.name, file.model.version, model.name, model.version
            )));
        }
        if file.concepts.len() > MAX_CONCEPTS {
            let found = file.concepts.len();
            let reason = format!("expected at most {MAX_CONCEPTS} names, found {found}");
            return Err(invalid(reason));
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bella() -> TaughtConcept {
        TaughtConcept {
            name: "my dog Bella".into(),
            below: "d".into(),
            photos: vec![vec![0.5, 0.25, 1.0]],
        }
    }

    #[test]
    fn a_file_comes_back_and_fits_its_model_only() {
        let model = |sha256: &str| ModelInfo {
            name: "m".into(),
            version: "1".into(),
            sha256: sha256.into(),
        };
        let file = TaughtFile::new(model("s"), vec![bella()]);
        let text = serde_json::to_string(&file).unwrap();
        assert_eq!(TaughtFile::parse(&text, &model("s")).unwrap(), file);
        let many = |count| {
            let file = TaughtFile::new(model("s"), vec![bella(); count]);
            serde_json::to_string(&file).unwrap()
        };
        let most = TaughtFile::parse(&many(500), &model("s")).unwrap();
        assert_eq!(most.concepts.len(), 500);
        for (text, sha256, expected) in [
            (many(501), "s", "at most 500 names, found 501"),
            (text, "t", "teach the names again"),
            ("{}".into(), "s", "with format `espalier-concepts/1`"),
        ] {
            let error = TaughtFile::parse(&text, &model(sha256)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}

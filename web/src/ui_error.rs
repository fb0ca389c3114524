//! Errors as shown to a visitor: what happened, and what to do about it.

use espalier_core::CoreError;
use serde::{Deserialize, Serialize};

/// Cause of an error; determines what the page does next (see [`crate::state::session`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The photo: another one may work.
    Photo,
    /// A file of the model: every engine would fail on it.
    Bundle,
    /// The network: another attempt may succeed.
    Network,
    /// The graphics device: the other engine may work.
    Gpu,
    /// The engine itself: it crashed, hung or ran out of memory.
    Engine,
}

impl Cause {
    /// Returns the value used in the page's `data-cause` attributes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Photo => "photo",
            Self::Bundle => "bundle",
            Self::Network => "network",
            Self::Gpu => "gpu",
            Self::Engine => "engine",
        }
    }

    /// Returns whether both engines would fail alike, so that changing the engine cannot help.
    pub const fn is_shared_by_engines(self) -> bool {
        matches!(self, Self::Bundle | Self::Network | Self::Photo)
    }
}

/// An error as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UiError {
    /// The cause.
    pub cause: Cause,
    /// What happened: one sentence.
    pub what: String,
    /// What to do: one or two sentences.
    pub todo: String,
    /// The technical message, for a bug report.
    pub detail: Option<String>,
}

impl UiError {
    /// Creates an error without detail.
    pub fn new(cause: Cause, what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self {
            cause,
            what: what.into(),
            todo: todo.into(),
            detail: None,
        }
    }

    /// Adds the technical message to the error.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The chosen photo is empty.
    pub fn empty_photo(name: &str) -> Self {
        Self::new(
            Cause::Photo,
            format!("“{name}” is empty: the file has 0 bytes."),
            "Choose the original file; this copy may be incomplete.",
        )
    }

    /// Dropped or pasted data holds no image.
    pub fn no_photo(action: &str) -> Self {
        Self::new(
            Cause::Photo,
            format!("What you {action} is not an image file."),
            "Save the image to this device first, then drop or choose that file.",
        )
    }

    /// A query about a photo that the running engine has not read.
    pub fn forgotten_photo() -> Self {
        Self::new(
            Cause::Photo,
            "The engine was restarted and has not read this photo yet.",
            "Choose the photo again.",
        )
    }

    /// A query about a tree that the running engine has not read.
    pub fn forgotten_tree() -> Self {
        Self::new(
            Cause::Photo,
            "The engine was restarted and does not know your tree yet.",
            "Press “Use this tree” again.",
        )
    }

    /// The model has no text encoder.
    pub fn no_text_encoder() -> Self {
        Self::new(
            Cause::Bundle,
            "This model has no part that reads words.",
            "Ask whoever runs this page for a model with its text encoder.",
        )
    }

    /// The visitor's text cannot be read as a tree.
    pub fn bad_tree(reason: &str) -> Self {
        Self::new(
            Cause::Photo,
            format!("This can't be read as a tree: {reason}."),
            "Write one name per line and indent what belongs below it, or use CSV with one path per line, Newick or NEXUS.",
        )
    }

    /// Taught names that cannot be used.
    pub fn bad_concepts(error: CoreError) -> Self {
        let reason = match error {
            CoreError::Bundle { reason, .. } => reason,
            other => other.to_string(),
        };
        Self::new(
            Cause::Photo,
            format!("These names can't be taught: {reason}."),
            "Check the name and the place, or choose another file.",
        )
    }

    /// The camera cannot be used.
    pub fn no_camera(detail: impl Into<String>) -> Self {
        Self::new(
            Cause::Photo,
            "The camera can't be used.",
            "Allow this page to use it in the browser's settings, or choose a photo instead.",
        )
        .with_detail(detail)
    }

    /// A link that leads to no readable image.
    pub fn link_refused(address: &str) -> Self {
        Self::new(
            Cause::Network,
            format!("No image could be read from {address}."),
            "Either there is none at this address, or its site does not allow other pages to read \
             it. Save the image to this device and drop it here.",
        )
    }

    /// The engine was silent for too long.
    pub fn silent(seconds: u64) -> Self {
        Self::new(
            Cause::Engine,
            format!("The engine has not answered for {seconds} seconds."),
            "Try once more. If it happens again, close other pages or use another device.",
        )
    }

    /// The worker died.
    pub fn died(detail: impl Into<String>) -> Self {
        Self::new(
            Cause::Engine,
            "The engine stopped, most likely because it ran out of memory.",
            "Try a smaller copy of the photo; the engine starts again with it.",
        )
        .with_detail(detail)
    }

    /// The visitor cancelled the load.
    pub fn cancelled() -> Self {
        Self::new(
            Cause::Network,
            "Loading was stopped.",
            "Try again to continue; files that have arrived are kept.",
        )
    }

    /// The worker's code could not be loaded at all.
    pub fn not_started(detail: impl Into<String>) -> Self {
        Self::new(
            Cause::Engine,
            "The engine could not be started.",
            "Reload the page. If that does not help, use a newer browser.",
        )
        .with_detail(detail)
    }

    /// A message that does not fit the protocol: page and worker come from different builds.
    pub fn version_mismatch(detail: impl Into<String>) -> Self {
        Self::new(
            Cause::Engine,
            "The page and its engine are of different versions.",
            "Reload the page: it was updated after you opened it. If that does not help, reload it \
             without its cache (Ctrl+Shift+R, or ⌘+Shift+R on a Mac).",
        )
        .with_detail(detail)
    }

    /// An answer to another query than the one that was sent.
    pub fn other_answer() -> Self {
        Self::version_mismatch("the answer does not fit the query")
    }

    /// A file of the model is missing on the server.
    pub fn missing_file(file: &str, status: u16) -> Self {
        Self::new(
            Cause::Bundle,
            format!("The model's file “{file}” is not on the server (status {status})."),
            "Reload the page. If it stays missing, whoever runs this page has to put the complete \
             model folder next to it.",
        )
    }

    /// A file of the model has invalid content.
    pub fn in_file(file: &str, reason: impl Into<String>) -> Self {
        Self::new(
            Cause::Bundle,
            format!("The model's file “{file}” is not valid."),
            "Reload the page. If it stays so, whoever runs this page has to copy the model \
             folder there again, complete and unchanged.",
        )
        .with_detail(reason)
    }

    /// A file could not be fetched completely.
    pub fn network(file: &str, detail: impl Into<String>) -> Self {
        Self::new(
            Cause::Network,
            format!("“{file}” could not be fetched completely."),
            "Check the connection and try again; files that have arrived completely are kept.",
        )
        .with_detail(detail)
    }

    /// The embedding of the stored image is wrong.
    pub fn wrong_self_test(cosine: f32, needed: f32) -> Self {
        Self::new(
            Cause::Engine,
            "The engine computed a wrong result for an image whose result is known.",
            "Its results can't be trusted on this device. Use another device or browser.",
        )
        .with_detail(format!(
            "self-test: cosine {cosine:.6}, at least {needed} needed"
        ))
    }

    /// The embedding of a stored caption is wrong.
    pub fn wrong_text_self_test(cosine: f32, needed: f32) -> Self {
        Self::new(
            Cause::Engine,
            "The engine computed a wrong result for a phrase whose result is known.",
            "Phrases and own trees can't be used on this device; photos are not affected.",
        )
        .with_detail(format!(
            "self-test of the text encoder: cosine {cosine:.4}, at least {needed} needed"
        ))
    }
}

/// Advice for a photo in an unsupported format.
const OTHER_PHOTO: &str = "Choose another photo, or open this one in a photo program and save it \
                           as JPEG.";

/// Advice for a file that ends too early.
const INCOMPLETE_PHOTO: &str = "The file is incomplete, most likely because it was not copied or \
                                downloaded to its end. Copy or download it again, or choose \
                                another photo.";

/// Advice for HEIC, the most frequent unsupported format of phone photos.
const HEIC: &str = "On an iPhone or iPad, choose the photo from the library rather than from Files \
                    and it is handed over as JPEG; for new photos set Camera › Formats to “Most \
                    Compatible”. Elsewhere, open it in a photo program and save it as JPEG.";

/// Returns the advice for a photo that cannot be read for this reason.
fn advice_for(reason: &str) -> &'static str {
    if reason.contains("HEIC") {
        HEIC
    } else if reason.contains("is empty") || reason.contains("truncated") {
        INCOMPLETE_PHOTO
    } else {
        OTHER_PHOTO
    }
}

/// Converts an error of core, with its causes and advice for the visitor.
impl From<CoreError> for UiError {
    fn from(error: CoreError) -> Self {
        match error {
            CoreError::Image(reason) => Self::new(
                Cause::Photo,
                format!("This file can't be read as a photo: {reason}."),
                advice_for(&reason),
            ),
            CoreError::Region(_) => Self::new(
                Cause::Photo,
                "That part of the photo contains no pixel.",
                "Draw a larger box.",
            ),
            CoreError::Bundle { file, reason } => Self::in_file(&file, reason),
            CoreError::Device(reason) => Self::new(
                Cause::Gpu,
                "The device returned no result.",
                "Try once more; the other engine is used if there is one.",
            )
            .with_detail(reason),
            other => Self::new(
                Cause::Bundle,
                "The model does not fit this version of the page.",
                "Reload the page. If it stays so, whoever runs this page has to update the page \
                 and the model together.",
            )
            .with_detail(other.to_string()),
        }
    }
}

/// A text that is no message, query or result of this version.
impl From<serde_json::Error> for UiError {
    fn from(error: serde_json::Error) -> Self {
        Self::version_mismatch(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_photo_error_has_the_message_of_core() {
        let error = UiError::from(CoreError::Image("the file is empty (0 bytes)".into()));
        assert_eq!(error.cause, Cause::Photo);
        assert!(error.what.ends_with("the file is empty (0 bytes)."));
        assert_eq!(error.todo, INCOMPLETE_PHOTO);
        let error = UiError::from(CoreError::Image("this is not an image".into()));
        assert_eq!(error.todo, OTHER_PHOTO);
    }

    #[test]
    fn a_heic_photo_is_answered_with_advice_on_jpeg() {
        let decoded = espalier_core::input::decode(b"\0\0\0\x18ftypheic\0\0\0\0heicmif1");
        let todo = decoded.err().map(|error| UiError::from(error).todo);
        assert_eq!(todo.as_deref(), Some(HEIC));
    }

    #[test]
    fn a_bundle_error_names_the_file() {
        let error = UiError::from(CoreError::Bundle {
            file: "image.safetensors".into(),
            reason: "hash differs".into(),
        });
        assert_eq!(error.cause, Cause::Bundle);
        assert!(error.what.contains("image.safetensors"));
        assert_eq!(error.detail.as_deref(), Some("hash differs"));
    }

    #[test]
    fn a_missing_file_is_named_with_the_status() {
        let error = UiError::missing_file("captions.safetensors", 404);
        assert!(error.what.contains("captions.safetensors") && error.what.contains("404"));
    }

    #[test]
    fn every_other_core_error_is_shown_as_a_model_that_does_not_fit() {
        let error = UiError::from(CoreError::TensorShape {
            tensor: "visual.cls".into(),
            expected: vec![1, 2],
            found: vec![3],
        });
        assert_eq!(error.cause, Cause::Bundle);
        assert!(error.detail.is_some_and(|d| d.contains("visual.cls")));
    }
}

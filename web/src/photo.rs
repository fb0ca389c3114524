//! A photo as the visitor gave it. Its bytes go to the worker and nowhere else.

use js_sys::ArrayBuffer;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{DataTransfer, File, FileList, Url};

use crate::engine::protocol::PhotoId;
use crate::load::fetch::in_words;
use crate::ui_error::{Cause, UiError};

/// An address inside this page for a file; given back when dropped.
#[derive(Debug)]
struct ObjectUrl(String);

impl Drop for ObjectUrl {
    fn drop(&mut self) {
        let _ = Url::revoke_object_url(&self.0);
    }
}

/// A photo on the page.
#[derive(Debug)]
pub struct Photo {
    /// Its number.
    pub id: PhotoId,
    file: File,
    url: ObjectUrl,
}

impl Photo {
    /// Takes a file as photo number `id`.
    ///
    /// # Errors
    /// When the file is empty or the browser makes no address for it.
    pub fn new(id: PhotoId, file: File) -> Result<Self, UiError> {
        if file.size() == 0.0 {
            return Err(UiError::empty_photo(&file.name()));
        }
        let url = Url::create_object_url_with_blob(&file).map_err(|error| unreadable(&error))?;
        Ok(Self {
            id,
            file,
            url: ObjectUrl(url),
        })
    }

    /// Name of the file.
    #[must_use]
    pub fn name(&self) -> String {
        self.file.name()
    }

    /// Address to show it by.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url.0
    }

    /// Its bytes.
    ///
    /// # Errors
    /// When the file has been moved, changed or made private since it was chosen.
    pub async fn bytes(&self) -> Result<ArrayBuffer, UiError> {
        let buffer = JsFuture::from(self.file.array_buffer()).await;
        buffer
            .map(JsCast::unchecked_into)
            .map_err(|error| unreadable(&error))
    }
}

fn unreadable(error: &JsValue) -> UiError {
    UiError::new(
        Cause::Photo,
        "The browser could not open this file any more.",
        "Choose it again; it may have been moved or changed.",
    )
    .with_detail(in_words(error))
}

/// The first picture among some files, and how many more there were.
#[must_use]
pub fn first_of(files: Option<FileList>) -> Option<(File, u32)> {
    let files = files?;
    let all: Vec<File> = (0..files.length()).filter_map(|i| files.get(i)).collect();
    // A file whose type the browser does not know may well be a picture; one of another type may
    // be chosen only where there is nothing better.
    let place = all
        .iter()
        .position(|file| file.type_().starts_with("image/"))
        .unwrap_or(0);
    let others = u32::try_from(all.len().saturating_sub(1)).unwrap_or(u32::MAX);
    all.into_iter().nth(place).map(|file| (file, others))
}

/// The picture in what was dropped or pasted.
///
/// # Errors
/// When it holds no file at all: a link, a text, a picture dragged out of another page.
pub fn carried(data: Option<DataTransfer>, how: &str) -> Result<(File, u32), UiError> {
    first_of(data.and_then(|data| data.files())).ok_or_else(|| UiError::no_photo(how))
}

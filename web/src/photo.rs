//! A photo given by the visitor. Its bytes are sent to the worker and nowhere else.

use js_sys::{Array, ArrayBuffer, Promise};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, CanvasRenderingContext2d, DataTransfer, File, FileList, HtmlCanvasElement,
    HtmlImageElement, Url,
};

use crate::load::js::message_of;
use crate::messages::query::PhotoId;
use crate::ui_error::{Cause, UiError};

/// Longest side of an image that is read from a link, in pixels; larger images are scaled down.
const MAX_LINKED_SIDE: f64 = 4096.0;

/// A photo on the page.
#[derive(Debug)]
pub struct Photo {
    /// Its number.
    pub id: PhotoId,
    /// Name of the sample, if the photo is one.
    pub sample: Option<String>,
    /// The file.
    pub file: File,
    /// The file's object URL for display; revoked when the photo is dropped.
    pub url: String,
}

impl Drop for Photo {
    fn drop(&mut self) {
        let _ = Url::revoke_object_url(&self.url);
    }
}

impl Photo {
    /// Creates photo number `id` from a file.
    ///
    /// # Errors
    /// When the file is empty or the browser creates no object URL for it.
    pub fn new(id: PhotoId, file: File, sample: Option<String>) -> Result<Self, UiError> {
        if file.size() == 0.0 {
            return Err(UiError::empty_photo(&file.name()));
        }
        let url = Url::create_object_url_with_blob(&file).map_err(|error| unreadable(&error))?;
        Ok(Self {
            id,
            sample,
            file,
            url,
        })
    }
}

/// Reads the bytes of a file.
///
/// # Errors
/// When the file has been moved or changed, or its permissions were revoked, since it was chosen.
pub async fn bytes_of(file: &File) -> Result<ArrayBuffer, UiError> {
    let buffer = JsFuture::from(file.array_buffer()).await;
    buffer
        .map(JsCast::unchecked_into)
        .map_err(|error| unreadable(&error))
}

fn unreadable(error: &JsValue) -> UiError {
    UiError::new(
        Cause::Photo,
        "The browser could not open this file any more.",
        "Choose it again; it may have been moved or changed.",
    )
    .with_detail(message_of(error))
}

/// Input from a visitor.
#[derive(Debug)]
pub enum PhotoInput {
    /// Files, at least one.
    Files(Vec<File>),
    /// Address of an image.
    Link(String),
}

/// Returns the images among some files. If there are none, returns all files, so that an error can
/// be reported for the first.
pub fn image_files(files: Option<FileList>) -> Vec<File> {
    let Some(files) = files else {
        return Vec::new();
    };
    let all: Vec<File> = (0..files.length()).filter_map(|i| files.get(i)).collect();
    let is_image = |file: &&File| file.type_().starts_with("image/");
    let images: Vec<File> = all.iter().filter(is_image).cloned().collect();
    if images.is_empty() { all } else { images }
}

/// Returns the images in dropped or pasted data, or the address of one. `action` is "dropped" or
/// "pasted".
///
/// # Errors
/// When the data holds neither.
pub fn input_of(data: Option<DataTransfer>, action: &str) -> Result<PhotoInput, UiError> {
    let no_photo = || UiError::no_photo(action);
    let data = data.ok_or_else(no_photo)?;
    let files = image_files(data.files());
    if !files.is_empty() {
        return Ok(PhotoInput::Files(files));
    }
    let text = ["text/uri-list", "text/plain"]
        .iter()
        .filter_map(|kind| data.get_data(kind).ok())
        .find(|text| !text.trim().is_empty());
    let address = text.unwrap_or_default();
    let address = address
        .lines()
        .map(str::trim)
        .find(|line| !line.starts_with('#'));
    address
        .filter(|address| address.starts_with("https://") || address.starts_with("http://"))
        .map(|address| PhotoInput::Link(address.to_owned()))
        .ok_or_else(no_photo)
}

/// Creates a file with these contents.
///
/// # Errors
/// When the browser cannot create it.
pub fn file_of(blob: &Blob, name: &str) -> Result<File, UiError> {
    File::new_with_blob_sequence(&Array::of1(blob), name).map_err(|error| unreadable(&error))
}

/// Reads the image at an address.
///
/// Uses an image element instead of a fetch: to protect photos, the page may connect only to its
/// own server, and this rule needs no exception here. The image is drawn upright and returned as
/// PNG.
///
/// # Errors
/// When there is no image, or its site does not allow other pages to read it.
pub async fn fetch_linked(address: &str) -> Result<File, UiError> {
    let refused = |_| UiError::link_refused(address);
    let image = HtmlImageElement::new().map_err(refused)?;
    image.set_cross_origin(Some("anonymous"));
    image.set_src(address);
    JsFuture::from(image.decode()).await.map_err(refused)?;
    let (width, height) = (
        f64::from(image.natural_width()),
        f64::from(image.natural_height()),
    );
    let shrink = (MAX_LINKED_SIDE / width.max(height)).min(1.0);
    let (width, height) = ((width * shrink).max(1.0), (height * shrink).max(1.0));
    let canvas = canvas(width, height).ok_or_else(|| UiError::link_refused(address))?;
    let context = context(&canvas).ok_or_else(|| UiError::link_refused(address))?;
    context
        .draw_image_with_html_image_element_and_dw_and_dh(&image, 0.0, 0.0, width, height)
        .map_err(refused)?;
    let blob = encoded(&canvas, "image/png").await.map_err(refused)?;
    let path = address.split(['?', '#']).next().unwrap_or(address);
    let name = path.rsplit('/').find(|part| !part.is_empty());
    file_of(&blob, name.unwrap_or("linked image"))
}

/// Creates a canvas of this size, in pixels, outside the page.
pub fn canvas(width: f64, height: f64) -> Option<HtmlCanvasElement> {
    let document = web_sys::window()?.document()?;
    let canvas: HtmlCanvasElement = document.create_element("canvas").ok()?.dyn_into().ok()?;
    canvas.set_width(width as u32);
    canvas.set_height(height as u32);
    Some(canvas)
}

/// Returns the 2D drawing context of a canvas.
pub fn context(canvas: &HtmlCanvasElement) -> Option<CanvasRenderingContext2d> {
    canvas.get_context("2d").ok().flatten()?.dyn_into().ok()
}

/// Encodes a canvas as an image of this kind, such as `image/png`.
///
/// # Errors
/// When the browser does not allow it to be read.
pub async fn encoded(canvas: &HtmlCanvasElement, kind: &str) -> Result<Blob, JsValue> {
    let promise = Promise::new(&mut |resolve, reject| {
        let done = Closure::once_into_js(move |blob: JsValue| {
            let _ = resolve.call1(&JsValue::NULL, &blob);
        });
        if let Err(error) = canvas.to_blob_with_type(done.unchecked_ref(), kind) {
            let _ = reject.call1(&JsValue::NULL, &error);
        }
    });
    JsFuture::from(promise).await?.dyn_into()
}

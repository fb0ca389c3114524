//! The visitor's camera. Its frames are read on this device like any photo.

use js_sys::Reflect;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    File, HtmlVideoElement, MediaDevices, MediaStream, MediaStreamConstraints, MediaStreamTrack,
};

use crate::load::js::{message_of, of_navigator};
use crate::photo::{canvas, context, encoded, file_of};
use crate::ui_error::UiError;

/// Longest side of a frame that is read while the camera runs, in pixels: enough for every model.
pub const LIVE_SIDE: f64 = 480.0;

/// A running camera; stopped when dropped.
#[derive(Debug)]
pub struct Camera {
    stream: MediaStream,
}

impl Drop for Camera {
    fn drop(&mut self) {
        for track in self.stream.get_tracks().iter() {
            track.unchecked_into::<MediaStreamTrack>().stop();
        }
    }
}

/// Returns the browser's cameras; `None` on insecure addresses.
fn devices() -> Option<MediaDevices> {
    of_navigator("mediaDevices").map(JsCast::unchecked_into)
}

/// Returns whether the browser offers cameras to this page.
pub fn is_offered() -> bool {
    devices().is_some()
}

impl Camera {
    /// Starts the camera, on a phone the one at the back. The browser asks the visitor first.
    ///
    /// # Errors
    /// When there is no camera or the visitor does not allow it.
    pub async fn open() -> Result<Self, UiError> {
        let devices = devices().ok_or_else(|| UiError::no_camera("not offered here"))?;
        let video = js_sys::Object::new();
        let _ = Reflect::set(&video, &"facingMode".into(), &"environment".into());
        let constraints = MediaStreamConstraints::new();
        constraints.set_video(&video);
        let refused = |error: JsValue| UiError::no_camera(message_of(&error));
        let promise = devices.get_user_media_with_constraints(&constraints);
        let stream = JsFuture::from(promise.map_err(refused)?).await;
        let stream: MediaStream = stream.map_err(refused)?.unchecked_into();
        Ok(Self { stream })
    }

    /// Shows the camera in a video element.
    pub fn show_in(&self, video: &HtmlVideoElement) {
        video.set_src_object(Some(&self.stream));
    }
}

/// Returns the frame that a video shows as a JPEG file, with sides of at most `max_side` pixels;
/// `None` before the first frame, or if the browser cannot encode it.
pub async fn frame(video: &HtmlVideoElement, max_side: f64) -> Option<File> {
    let (width, height) = (
        f64::from(video.video_width()),
        f64::from(video.video_height()),
    );
    if width < 1.0 || height < 1.0 {
        return None;
    }
    let scale = (max_side / width.max(height)).min(1.0);
    let (width, height) = ((width * scale).round(), (height * scale).round());
    let canvas = canvas(width, height)?;
    let pen = context(&canvas)?;
    pen.draw_image_with_html_video_element_and_dw_and_dh(video, 0.0, 0.0, width, height)
        .ok()?;
    let blob = encoded(&canvas, "image/jpeg").await.ok()?;
    file_of(&blob, "camera.jpg").ok()
}

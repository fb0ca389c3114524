//! Brings the photo, and then its answer, into view. Without this, a browser that keeps the
//! visible content in place while content is inserted above it scrolls past the answer.

use std::time::Duration;

use leptos::prelude::*;
use web_sys::Element;

use crate::controller::AppController;
use crate::state::session::Work;

/// How long after an answer the page still changes its height.
const SETTLING_TIME: Duration = Duration::from_millis(900);

/// Attribute of the body while a photo is read; the style sheet then switches scroll anchoring off.
const SETTLING: &str = "data-settling";

/// Part of the window's height within which an element has to begin to count as in view.
const VISIBLE_PART: f64 = 0.62;

/// Scrolls to each new photo and to its first answer or error. Finer answers to the same photo move
/// nothing.
pub fn follow_photos(controller: AppController) {
    let photo = Memo::new(move |_| {
        let photo = controller.photo.get();
        photo.map(|photo| photo.id)
    });
    Effect::new(move |_| {
        if photo.get().is_some() {
            mark_body(SETTLING, true);
            request_animation_frame(|| bring_into_view(".frame-column"));
        }
    });
    // The photo that was answered; a photo that failed has no answer but an error.
    let ended = Memo::new(move |_| {
        controller.session.with(|session| match &session.work {
            Work::Done(answer) => Some(Some(answer.photo)),
            Work::Failed { photo, .. } => Some(*photo),
            _ => None,
        })
    });
    Effect::new(move |_| {
        if ended.get().is_some() {
            // Two frames: one that draws the answer, one after its layout.
            request_animation_frame(|| request_animation_frame(show_answer));
            set_timeout(|| mark_body(SETTLING, false), SETTLING_TIME);
        }
    });
}

fn show_answer() {
    bring_into_view(".answer-head, [data-testid=error-card]");
}

/// Sets or removes an attribute of the body, which the style sheets read.
pub fn mark_body(attribute: &str, on: bool) {
    if let Some(body) = document().body() {
        let _ = body.toggle_attribute_with_force(attribute, on);
    }
}

/// Scrolls to the first element that matches `selector`, unless it is in view. The style sheet says
/// whether smoothly.
fn bring_into_view(selector: &str) {
    if let Ok(Some(element)) = document().query_selector(selector)
        && !is_in_view(&element)
    {
        element.scroll_into_view();
    }
}

fn is_in_view(element: &Element) -> bool {
    let height = window()
        .inner_height()
        .ok()
        .and_then(|height| height.as_f64());
    let top = element.get_bounding_client_rect().top();
    (0.0..height.unwrap_or(0.0) * VISIBLE_PART).contains(&top)
}

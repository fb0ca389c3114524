//! The page's side of the protocol: owns one worker at a time and turns its messages into events.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, ArrayBuffer};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

use crate::load::js::{message_of, property};
use crate::messages::protocol::{Backend, Request, Response};
use crate::state::session::Event;
use crate::ui_error::UiError;

/// A running worker and the closures that listen to it.
struct Running {
    worker: Worker,
    _on_message: Closure<dyn FnMut(MessageEvent)>,
    _on_error: Closure<dyn FnMut(ErrorEvent)>,
}

/// Starts and terminates workers and sends them requests.
#[derive(Default)]
pub struct Client {
    running: RefCell<Option<Running>>,
}

impl Client {
    /// Terminates the current worker, if any, and starts the worker of `backend`. `folder` is the
    /// address of the engines' folder.
    ///
    /// # Errors
    /// When the browser refuses to start a worker.
    pub fn start(
        &self,
        folder: &str,
        backend: Backend,
        handler: Rc<dyn Fn(Event)>,
    ) -> Result<(), UiError> {
        self.stop();
        let url = format!("{folder}worker.js?engine={}", backend.program());
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let worker = Worker::new_with_options(&url, &options).map_err(|error| {
            UiError::died(format!(
                "the browser refused the worker: {}",
                message_of(&error)
            ))
        })?;

        let handle_message = Rc::clone(&handler);
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
            handle_message(parse_message(&message.data()));
        });
        let on_error = Closure::<dyn FnMut(ErrorEvent)>::new(move |error: ErrorEvent| {
            error.prevent_default();
            handler(Event::WorkerFailed(ui_error_of(&error)));
        });
        worker.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onmessageerror(Some(on_message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        *self.running.borrow_mut() = Some(Running {
            worker,
            _on_message: on_message,
            _on_error: on_error,
        });
        Ok(())
    }

    /// Terminates the current worker, if any, which frees its memory.
    pub fn stop(&self) {
        if let Some(running) = self.running.borrow_mut().take() {
            // Late messages must not be attributed to the next worker.
            running.worker.set_onmessage(None);
            running.worker.set_onerror(None);
            running.worker.set_onmessageerror(None);
            running.worker.terminate();
            // This call may come from one of its own closures, which must outlive the call.
            spawn_local(async move { drop(running) });
        }
    }

    /// Sends a request; a photo's bytes are transferred, not copied.
    ///
    /// # Errors
    /// When there is no worker or the browser refuses the message.
    pub fn send(&self, request: &Request, photo: Option<&ArrayBuffer>) -> Result<(), UiError> {
        let running = self.running.borrow();
        let Some(running) = running.as_ref() else {
            return Err(UiError::died("no engine is running"));
        };
        let text = serde_json::to_string(request)?;
        let message = Array::of2(&text.into(), &photo.map_or(JsValue::NULL, JsValue::from));
        let transferred = photo.map_or_else(Array::new, |buffer| Array::of1(buffer));
        running
            .worker
            .post_message_with_transfer(&message, &transferred)
            .map_err(|error| UiError::died(message_of(&error)))
    }
}

/// Converts an error event. A script that cannot be loaded causes an event without a message; a
/// failure at run time has one.
fn ui_error_of(error: &ErrorEvent) -> UiError {
    match property(error, "message").and_then(|message| message.as_string()) {
        Some(text) => UiError::died(text),
        None => UiError::not_started("worker.js could not be loaded"),
    }
}

fn parse_message(data: &JsValue) -> Event {
    let Some(text) = data.as_string() else {
        return Event::WorkerFailed(UiError::version_mismatch("expected a message of text"));
    };
    match serde_json::from_str::<Response>(&text) {
        Ok(response) => Event::Received(response),
        Err(error) => Event::WorkerFailed(error.into()),
    }
}

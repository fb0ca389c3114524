//! The engine that a worker computes with.

use espalier_core::caption::Engine;

use crate::messages::protocol::Backend;
use crate::ui_error::{Cause, UiError};

/// Opens the engine of `backend`. `lost` is called if the graphics device is lost later.
///
/// # Errors
/// When this worker was built without that engine, or the browser provides no device.
pub async fn open(backend: Backend, lost: fn(String)) -> Result<Engine, UiError> {
    match backend {
        #[cfg(feature = "cpu")]
        Backend::Cpu => {
            // The CPU cannot be lost.
            let _ = lost;
            Ok(Engine::Kernels)
        }
        #[cfg(feature = "webgpu")]
        Backend::WebGpu => {
            // Must happen asynchronously and before the first tensor; otherwise a browser provides
            // no device.
            let (device, setup) = burn::tensor::Device::wgpu_options()
                .init_with_setup_async()
                .await
                .map_err(|error| {
                    UiError::new(
                        Cause::Gpu,
                        "The browser provided no graphics device.",
                        "The CPU is used instead.",
                    )
                    .with_detail(error.to_string())
                })?;
            setup
                .device
                .set_device_lost_callback(move |reason, message| {
                    lost(format!("{reason:?}: {message}"));
                });
            Ok(Engine::Device(device))
        }
        #[allow(unreachable_patterns, reason = "depends on the engines built in")]
        other => {
            let _ = lost;
            Err(UiError::new(
                Cause::Engine,
                format!("This worker has no engine for {}.", other.in_words()),
                "Reload the page.",
            ))
        }
    }
}

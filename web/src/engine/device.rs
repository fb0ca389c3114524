//! The device that a worker computes on.

use burn::tensor::Device;

use crate::messages::protocol::Backend;
use crate::ui_error::{Cause, UiError};

/// Opens the device of `backend`. `lost` is called if the graphics device is lost later.
///
/// # Errors
/// When this worker was built without that engine, or the browser provides no device.
pub async fn open(backend: Backend, lost: fn(String)) -> Result<Device, UiError> {
    match backend {
        #[cfg(feature = "cpu")]
        Backend::Cpu => {
            // The CPU cannot be lost.
            let _ = lost;
            Ok(Device::flex())
        }
        #[cfg(feature = "webgpu")]
        Backend::WebGpu => {
            // Must happen asynchronously and before the first tensor; otherwise a browser provides
            // no device.
            let (device, setup) = Device::wgpu_options()
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
            Ok(device)
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

//! Chooses the engine, and explains why the other one is not used.

use crate::messages::protocol::Backend;
use crate::ui_error::UiError;

/// The engine requested by the page's address: `?backend=auto|webgpu|cpu`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    /// WebGPU if there is a hardware adapter, else the CPU.
    #[default]
    Auto,
    /// The CPU, without probing for an adapter.
    Cpu,
    /// WebGPU even on a software adapter.
    WebGpu,
}

/// The browser's answer to the request for a graphics adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// A hardware adapter, with its name.
    Hardware(String),
    /// A software adapter, which computes on the CPU, with its name.
    Software(String),
    /// No adapter that can be used, with the reason.
    Missing(Missing),
    /// The browser was not asked, because the answer would not matter.
    NotAsked,
}

/// Why no adapter can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The browser has no WebGPU, or hides it from pages at insecure addresses.
    NoWebGpu,
    /// The browser has WebGPU and offers no adapter on this device.
    NoAdapter,
    /// The browser did not answer in time.
    NoAnswer,
    /// The browser was not asked, because this site has no engine for an adapter.
    NoEngine,
}

/// Why WebGPU is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FallbackReason {
    /// No adapter can be used.
    Missing(Missing),
    /// Only a software adapter, which is slower than the CPU engine.
    Software(String),
    /// The browser killed an earlier page while WebGPU started.
    Crashed,
    /// WebGPU was tried and failed.
    Failed(UiError),
}

impl FallbackReason {
    /// Returns the reason as text for the page.
    pub fn in_words(&self) -> String {
        match self {
            Self::Missing(Missing::NoWebGpu) => {
                "WebGPU is not used: this browser does not offer it.".into()
            }
            Self::Missing(Missing::NoAdapter) => {
                "WebGPU is not used: the browser offers no graphics adapter.".into()
            }
            Self::Missing(Missing::NoAnswer) => {
                "WebGPU is not used: the browser did not answer about its graphics adapter.".into()
            }
            Self::Missing(Missing::NoEngine) => {
                "WebGPU is not used: this site has no engine for it yet.".into()
            }
            Self::Software(name) => {
                format!("WebGPU is not used: its only adapter is a software one ({name}).")
            }
            Self::Crashed => "WebGPU is not used: the last time it started, the browser ended the \
                              page."
                .into(),
            Self::Failed(error) => match &error.detail {
                Some(detail) => {
                    format!("WebGPU was tried and given up. {} ({detail})", error.what)
                }
                None => format!("WebGPU was tried and given up. {}", error.what),
            },
        }
    }
}

/// Returns the engine to start.
///
/// # Errors
/// The reason why WebGPU is not used; the caller then starts the CPU engine.
pub fn choose(preference: Preference, probe: &Probe) -> Result<Backend, FallbackReason> {
    match (preference, probe) {
        (Preference::Cpu, _) | (_, Probe::NotAsked) => Ok(Backend::Cpu),
        (_, Probe::Hardware(_)) | (Preference::WebGpu, Probe::Software(_)) => Ok(Backend::WebGpu),
        (Preference::Auto, Probe::Software(name)) => Err(FallbackReason::Software(name.clone())),
        (_, Probe::Missing(missing)) => Err(FallbackReason::Missing(*missing)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui_error::Cause;

    #[test]
    fn a_real_adapter_is_used_and_a_software_one_only_where_forced() {
        let real = Probe::Hardware("nvidia".into());
        let software = Probe::Software("google swiftshader".into());
        assert_eq!(choose(Preference::Auto, &real), Ok(Backend::WebGpu));
        assert_eq!(choose(Preference::WebGpu, &software), Ok(Backend::WebGpu));
        assert_eq!(
            choose(Preference::Auto, &software),
            Err(FallbackReason::Software("google swiftshader".into()))
        );
    }

    #[test]
    fn no_adapter_is_no_adapter_even_where_webgpu_is_forced() {
        for preference in [Preference::Auto, Preference::WebGpu] {
            for missing in [
                Missing::NoWebGpu,
                Missing::NoAdapter,
                Missing::NoAnswer,
                Missing::NoEngine,
            ] {
                assert_eq!(
                    choose(preference, &Probe::Missing(missing)),
                    Err(FallbackReason::Missing(missing))
                );
            }
        }
    }

    #[test]
    fn every_reason_has_its_own_sentence() {
        let reasons = [
            FallbackReason::Missing(Missing::NoWebGpu),
            FallbackReason::Missing(Missing::NoAdapter),
            FallbackReason::Missing(Missing::NoAnswer),
            FallbackReason::Missing(Missing::NoEngine),
            FallbackReason::Software("swiftshader".into()),
            FallbackReason::Crashed,
            FallbackReason::Failed(UiError::new(Cause::Gpu, "The device was lost.", "")),
        ];
        let mut sentences: Vec<_> = reasons.iter().map(FallbackReason::in_words).collect();
        assert!(
            sentences
                .iter()
                .all(|s| s.starts_with("WebGPU ") && s.ends_with('.'))
        );
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), reasons.len());
    }
}

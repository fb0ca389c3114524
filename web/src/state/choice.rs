//! Chooses the engine, and explains why the other one is not used.

use crate::messages::protocol::Backend;
use crate::ui_error::UiError;

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
        let why: &str = match self {
            Self::Missing(Missing::NoWebGpu) => "this browser does not offer it",
            Self::Missing(Missing::NoAdapter) => "the browser offers no graphics adapter",
            Self::Missing(Missing::NoAnswer) => {
                "the browser did not answer about its graphics adapter"
            }
            Self::Missing(Missing::NoEngine) => "this site has no engine for it yet",
            Self::Software(name) => &format!("its only adapter is a software one ({name})"),
            Self::Crashed => "the last time it started, the browser ended the page",
            Self::Failed(UiError { what, detail, .. }) => {
                let detail = detail.as_ref().map(|detail| format!(" ({detail})"));
                let detail = detail.unwrap_or_default();
                return format!("WebGPU was tried and given up. {what}{detail}");
            }
        };
        format!("WebGPU is not used: {why}.")
    }
}

/// Returns the engine to start: WebGPU if there is a hardware adapter, else the CPU. If the page's
/// address requests WebGPU, a software adapter is enough.
///
/// # Errors
/// The reason why WebGPU is not used; the caller then starts the CPU engine.
pub fn choose(requested: Option<Backend>, probe: &Probe) -> Result<Backend, FallbackReason> {
    match (requested, probe) {
        (Some(Backend::Cpu), _) | (_, Probe::NotAsked) => Ok(Backend::Cpu),
        (_, Probe::Hardware(_)) | (Some(Backend::WebGpu), Probe::Software(_)) => {
            Ok(Backend::WebGpu)
        }
        (None, Probe::Software(name)) => Err(FallbackReason::Software(name.clone())),
        (_, Probe::Missing(missing)) => Err(FallbackReason::Missing(*missing)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ui_error::Cause;

    const MISSING: [Missing; 4] = [
        Missing::NoWebGpu,
        Missing::NoAdapter,
        Missing::NoAnswer,
        Missing::NoEngine,
    ];

    #[test]
    fn a_real_adapter_is_used_and_a_software_one_only_where_forced() {
        let real = Probe::Hardware("nvidia".into());
        let software = Probe::Software("google swiftshader".into());
        assert_eq!(choose(None, &real), Ok(Backend::WebGpu));
        assert_eq!(
            choose(Some(Backend::WebGpu), &software),
            Ok(Backend::WebGpu)
        );
        assert_eq!(
            choose(None, &software),
            Err(FallbackReason::Software("google swiftshader".into()))
        );
    }

    #[test]
    fn no_adapter_is_no_adapter_even_where_webgpu_is_forced() {
        for requested in [None, Some(Backend::WebGpu)] {
            for missing in MISSING {
                assert_eq!(
                    choose(requested, &Probe::Missing(missing)),
                    Err(FallbackReason::Missing(missing))
                );
            }
        }
    }

    #[test]
    fn every_reason_has_its_own_sentence() {
        let lost = UiError::new(Cause::Gpu, "The device was lost.", "");
        let reasons = MISSING.map(FallbackReason::Missing).into_iter().chain([
            FallbackReason::Software("swiftshader".into()),
            FallbackReason::Crashed,
            FallbackReason::Failed(lost),
        ]);
        let sentences: Vec<String> = reasons.map(|reason| reason.in_words()).collect();
        let is_sentence = |s: &String| s.starts_with("WebGPU ") && s.ends_with('.');
        assert!(sentences.iter().all(is_sentence), "{sentences:?}");
        assert_eq!(BTreeSet::from_iter(&sentences).len(), sentences.len());
    }
}

//! What the page and an engine's worker say to each other.
//!
//! Every message is one JSON text; a photo travels beside its request as a transferred
//! `ArrayBuffer`, so that it is neither copied nor turned into text. Every [`Request`] is answered:
//! `Load` by [`Response::Ready`], `Caption` by [`Response::Result`] or [`Response::Superseded`],
//! `Rank` by [`Response::Result`], `Phrase` by [`Response::Phrased`], `Place` by [`Response::Placed`],
//! `Ask` as [`super::ask`] says, and each of them by [`Response::Failed`] where it cannot be. A photo that was read while finer
//! captions were still on their way gets a [`Response::Finer`] when they have come.
//! `worker.js` speaks the same language for what happens before and after the Rust code runs, and
//! the widget's `engine.js` at the other end.

use espalier_core::caption::Lineage;
use serde::{Deserialize, Serialize};

use super::ask::{Ask, AskId, Reply};
use super::narration::Narration;
use super::photo_id::PhotoId;
use crate::ui_error::UiError;

/// The two engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Rust kernels with wasm SIMD on the processor; works everywhere.
    Cpu,
    /// Kernels on the graphics processor through WebGPU.
    WebGpu,
}

impl Backend {
    /// The word of the result's `backend` field and of `?backend=`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::WebGpu => "webgpu",
        }
    }

    /// Name of the program that `worker.js` starts for it.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::Cpu => "worker_cpu",
            Self::WebGpu => "worker_gpu",
        }
    }

    /// As it is called in a sentence.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Cpu => "the processor (CPU)",
            Self::WebGpu => "the graphics processor (WebGPU)",
        }
    }
}

/// What a worker is busy with before it is ready, in the order in which it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The engine's own code is fetched and compiled.
    Engine,
    /// The list of the model's files is read.
    Manifest,
    /// The model's files are fetched and their hashes checked.
    Model,
    /// The stored picture is embedded and compared with its known vector.
    SelfTest,
    /// One picture is read for nothing, so that the first real one is not the slow one.
    WarmUp,
}

/// How far a worker has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Bytes of this stage that have arrived.
    pub loaded: u64,
    /// Bytes of this stage in all; 0 where the worker cannot know.
    pub total: u64,
    /// The file being fetched.
    pub file: Option<String>,
}

/// An engine that passed its self-test, and the model in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineInfo {
    /// Which engine.
    pub backend: Backend,
    /// Name of the model.
    pub model: String,
    /// Version of the model.
    pub version: String,
    /// Hash of the model's manifest, hexadecimal.
    pub sha256: String,
    /// Cosine between the stored picture's vector and the one computed here, in [-1, 1].
    pub self_test: f32,
    /// Time of one warm photo, in milliseconds.
    pub warm_ms: f64,
}

/// From the page to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// Fetch the model and make ready.
    Load {
        /// Absolute address of `manifest.json`; the files lie beside it.
        manifest_url: String,
    },
    /// Read a photo; its bytes travel beside this message.
    Caption {
        /// Number to answer with.
        id: PhotoId,
    },
    /// Rank a photo again that was read lately, without looking at it again.
    Rank {
        /// The photo.
        id: PhotoId,
        /// Node that it is known to lie at or below; none for all of the taxonomy.
        below: Option<String>,
    },
    /// Put a result into words, as the page does.
    Phrase {
        /// The photo.
        id: PhotoId,
        /// Its result, as it was answered.
        json: String,
    },
    /// Say where a node of the taxonomy lies, seen from a photo that was read lately.
    Place {
        /// The photo.
        id: PhotoId,
        /// The node.
        node: String,
    },
    /// Answer a question; a photo's bytes may travel beside this message.
    Ask {
        /// Number to answer with.
        id: AskId,
        /// The question.
        ask: Ask,
    },
}

/// From the worker to the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Response {
    /// The worker's code runs and listens.
    Booted,
    /// Something moved.
    Progress(Progress),
    /// The model is loaded, tested and warm.
    Ready(EngineInfo),
    /// The answer to a photo: the result JSON as text, shown and copied as it is.
    Result {
        /// The photo.
        id: PhotoId,
        /// The result of `PRODUCT`'s schema, pretty-printed.
        json: String,
    },
    /// A finer answer to a photo that was answered before, asked for by nobody.
    Finer {
        /// The photo.
        id: PhotoId,
        /// As of [`Response::Result`].
        json: String,
    },
    /// Captions that would have made answers finer cannot be used; the general ones still answer.
    Coarse {
        /// Why.
        error: UiError,
    },
    /// A result in words.
    Phrased {
        /// The photo.
        id: PhotoId,
        /// The words.
        told: Narration,
    },
    /// Where a node lies.
    Placed {
        /// The photo.
        id: PhotoId,
        /// The node, the way to it and what it shares with the photo's own.
        place: Lineage,
        /// The same as a sentence.
        sentence: String,
    },
    /// A newer photo was already waiting, so this one was not read.
    Superseded {
        /// The photo.
        id: PhotoId,
    },
    /// Something went wrong.
    Failed {
        /// The photo that it went wrong with; none where it was the engine or the model.
        id: Option<PhotoId>,
        /// Whether the worker is of no further use.
        fatal: bool,
        /// What to tell the visitor.
        error: UiError,
    },
    /// Something about a question.
    Told {
        /// The question.
        id: AskId,
        /// What.
        reply: Reply,
    },
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ui_error::Cause;

    fn there_and_back(response: &Response) {
        let text = serde_json::to_string(response).unwrap();
        assert_eq!(&serde_json::from_str::<Response>(&text).unwrap(), response);
    }

    #[test]
    fn every_request_survives_the_way_to_the_worker() {
        for request in [
            Request::Load {
                manifest_url: "https://a.example/m/manifest.json".into(),
            },
            Request::Caption { id: PhotoId(7) },
            Request::Rank {
                id: PhotoId(7),
                below: Some("n02084071".into()),
            },
            Request::Phrase {
                id: PhotoId(7),
                json: "{}".into(),
            },
            Request::Place {
                id: PhotoId(7),
                node: "n02084071".into(),
            },
        ] {
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        }
    }

    #[test]
    fn every_response_survives_the_way_to_the_page() {
        there_and_back(&Response::Booted);
        for stage in [
            Stage::Engine,
            Stage::Manifest,
            Stage::Model,
            Stage::SelfTest,
            Stage::WarmUp,
        ] {
            there_and_back(&Response::Progress(Progress {
                stage,
                loaded: 3,
                total: u64::from(u32::MAX) + 1,
                file: Some("image.safetensors".into()),
            }));
        }
        for backend in [Backend::Cpu, Backend::WebGpu] {
            there_and_back(&Response::Ready(EngineInfo {
                backend,
                model: "default".into(),
                version: "1".into(),
                sha256: "00ff".into(),
                self_test: 0.999,
                warm_ms: 41.5,
            }));
        }
        there_and_back(&Response::Result {
            id: PhotoId(2),
            json: "{\"a\": \"ü\\n\"}".into(),
        });
        there_and_back(&Response::Finer {
            id: PhotoId(2),
            json: "{}".into(),
        });
        there_and_back(&Response::Coarse {
            error: UiError::new(Cause::Bundle, "what", "todo"),
        });
        there_and_back(&Response::Superseded { id: PhotoId(3) });
        there_and_back(&Response::Phrased {
            id: PhotoId(3),
            told: Narration::default(),
        });
        there_and_back(&Response::Placed {
            id: PhotoId(3),
            place: Lineage {
                id: "n1".into(),
                name: "bird".into(),
                path: Vec::new(),
                shared: "n0".into(),
            },
            sentence: "It is hardly a bird.".into(),
        });
        for id in [None, Some(PhotoId(4))] {
            there_and_back(&Response::Failed {
                id,
                fatal: id.is_none(),
                error: UiError::new(Cause::Bundle, "what", "todo").with_detail("detail"),
            });
        }
    }

    #[test]
    fn the_loader_script_speaks_the_same_language() {
        // As `worker.js` writes them, with its own values filled in.
        let progress = r#"{"type":"progress","stage":"engine","loaded":9,"total":0,"file":"worker_cpu_bg.wasm"}"#;
        assert_eq!(
            serde_json::from_str::<Response>(progress).unwrap(),
            Response::Progress(Progress {
                stage: Stage::Engine,
                loaded: 9,
                total: 0,
                file: Some("worker_cpu_bg.wasm".into())
            })
        );
        let failed = r#"{"type":"failed","id":null,"fatal":true,"error":{"cause":"engine","what":"w","todo":"t","detail":"d"}}"#;
        assert_eq!(
            serde_json::from_str::<Response>(failed).unwrap(),
            Response::Failed {
                id: None,
                fatal: true,
                error: UiError::new(Cause::Engine, "w", "t").with_detail("d")
            }
        );
        // The keys and words above are those that the script really uses.
        let script = include_str!("../../worker.js");
        for word in [
            r#"type: "progress""#,
            r#"stage: "engine""#,
            "loaded, total: 0, file",
            r#"type: "failed""#,
            "id: null",
            "fatal: true",
            r#"cause: "engine""#,
            "what,",
            "todo:",
            "detail:",
        ] {
            assert!(script.contains(word), "worker.js no longer says `{word}`");
        }
        for backend in [Backend::Cpu, Backend::WebGpu] {
            assert!(
                backend.program().starts_with("worker_"),
                "worker.js allows worker_* only"
            );
        }
    }

    #[test]
    fn the_widget_speaks_the_same_language() {
        // Requests as `engine.js` writes them, with its own values filled in.
        for request in [
            r#"{"type":"load","manifest_url":"https://a.example/m/manifest.json"}"#,
            r#"{"type":"caption","id":1}"#,
            r#"{"type":"rank","id":1,"below":null}"#,
            r#"{"type":"phrase","id":1,"json":"{}"}"#,
            r#"{"type":"place","id":1,"node":"n02084071"}"#,
        ] {
            serde_json::from_str::<Request>(request).unwrap();
        }
        let script = include_str!("../../widget/engine.js");
        for word in [
            r#"type: "load", manifest_url"#,
            r#"type: "caption", id"#,
            r#"type: "rank", id, below"#,
            r#"type: "phrase", id, json"#,
            r#"type: "place", id, node"#,
            "progress: (",
            "ready: (",
            "result: (",
            "phrased: (",
            "superseded: (",
            "placed: (",
            "failed: (",
            Backend::Cpu.program(),
            Backend::WebGpu.program(),
        ] {
            assert!(script.contains(word), "engine.js no longer says `{word}`");
        }
    }
}

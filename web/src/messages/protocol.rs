//! The message protocol between the page and an engine's worker.
//!
//! Every message is one JSON text. A photo is sent with its request as a transferred
//! `ArrayBuffer`, which avoids copying and text encoding. Every [`Request`] is answered: `Load` by
//! [`Response::Ready`], `Caption` by [`Response::Result`] or [`Response::Superseded`], `Rank` by
//! [`Response::Result`], `Narrate` by [`Response::Narrated`], `Lineage` by [`Response::Lineage`], and
//! `Query` as described in [`super::query`]. [`Response::Failed`] may answer any of them. A photo that
//! was read before the finer captions arrived gets a [`Response::Finer`] when they do.
//!
//! `worker.js` uses the same protocol for events before and after the Rust code runs; the widget's
//! `engine.js` uses it in place of the page.

use espalier_core::caption::Lineage;
use serde::{Deserialize, Serialize};

use super::narration::Narration;
use super::query::{PhotoId, Query, QueryId, Reply};
use crate::ui_error::UiError;

/// Hash of the sources that this program was built from, hexadecimal. The page and its engines are
/// built from the same ones.
pub const BUILD: &str = env!("ESPALIER_BUILD");

/// The two engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Rust kernels with wasm SIMD on the CPU; works everywhere.
    Cpu,
    /// Kernels on the GPU through WebGPU.
    WebGpu,
}

impl Backend {
    /// Returns the value used in the result's `backend` field and in `?backend=`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::WebGpu => "webgpu",
        }
    }

    /// Returns the engine that [`as_str`](Self::as_str) names so.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = [Self::Cpu, Self::WebGpu].into_iter();
        all.find(|backend| backend.as_str() == name)
    }

    /// Returns the name of the program that `worker.js` starts for this engine.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Cpu => "worker_cpu",
            Self::WebGpu => "worker_gpu",
        }
    }

    /// Returns the name used in sentences.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Cpu => "the processor (CPU)",
            Self::WebGpu => "the graphics processor (WebGPU)",
        }
    }
}

/// Stages of a worker's start, in chronological order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The engine's own code is fetched and compiled.
    Engine,
    /// The list of the model's files is read.
    Manifest,
    /// The model's files are fetched and their hashes checked.
    Model,
    /// The stored image is embedded and compared with its known vector.
    SelfTest,
    /// One extra image is embedded, so that the first photo does not pay the start-up cost.
    WarmUp,
}

/// Progress of a worker's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// Bytes of this stage that have arrived.
    pub loaded: u64,
    /// Total bytes of this stage; 0 if unknown to the worker.
    pub total: u64,
    /// The file being fetched.
    pub file: Option<String>,
}

/// An engine that passed its self-test, and its model.
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
    /// Cosine similarity between the stored image's known vector and the one computed here, in
    /// [-1, 1].
    pub self_test: f32,
    /// Time to embed one image after warm-up, in milliseconds.
    pub warm_ms: f64,
    /// Reasons to doubt the answers of the model, as sentences.
    pub cautions: Vec<String>,
}

/// From the page to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// Fetches the model and prepares the engine.
    Load {
        /// Absolute address of `manifest.json`; the other files are in the same folder.
        manifest_url: String,
        /// The page's [`BUILD`]; an engine of another build refuses it. A page that is still open
        /// after an update would fetch the new engine. The widget has no build of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        build: Option<String>,
    },
    /// Reads a photo; its bytes are transferred with this message.
    Caption {
        /// Number to answer with.
        id: PhotoId,
    },
    /// Ranks a recently read photo again from its stored embedding.
    Rank {
        /// The photo.
        id: PhotoId,
        /// Node at or below which the photo is known to lie; `None` means the whole taxonomy.
        below: Option<String>,
    },
    /// Turns a result into text, as the page does.
    Narrate {
        /// The photo.
        id: PhotoId,
        /// The photo's result JSON, as it was answered.
        json: String,
    },
    /// Compares the path to a node of the taxonomy with the path of a recently read photo.
    Lineage {
        /// The photo.
        id: PhotoId,
        /// The node.
        node: String,
    },
    /// Answers a query; a photo's bytes may be transferred with this message.
    Query {
        /// Number to answer with.
        id: QueryId,
        /// The query.
        query: Query,
    },
}

/// From the worker to the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Response {
    /// The worker's code runs and accepts messages.
    Booted,
    /// The start has progressed.
    Progress(Progress),
    /// The model is loaded, tested and warm.
    Ready(EngineInfo),
    /// The answer to a photo: the result JSON as text, shown and copied unchanged.
    Result {
        /// The photo.
        id: PhotoId,
        /// The result, pretty-printed; `docs/schema/result.schema.json` describes it.
        json: String,
    },
    /// A finer answer to a photo that was answered before, sent without a request.
    Finer {
        /// The photo.
        id: PhotoId,
        /// As in [`Response::Result`].
        json: String,
    },
    /// The finer captions could not be loaded; answers use the general ones.
    Coarse {
        /// The reason.
        error: UiError,
    },
    /// A result as text.
    Narrated {
        /// The photo.
        id: PhotoId,
        /// The text.
        narration: Narration,
    },
    /// The path to a node.
    Lineage {
        /// The photo.
        id: PhotoId,
        /// The node, the path to it and the part that it shares with the photo's own path.
        lineage: Lineage,
        /// The same as a sentence.
        sentence: String,
    },
    /// A newer photo was already waiting, so this one was not read.
    Superseded {
        /// The photo.
        id: PhotoId,
    },
    /// A request failed, or the engine did.
    Failed {
        /// The photo concerned; `None` if the engine or the model failed.
        id: Option<PhotoId>,
        /// Whether the worker can no longer be used.
        fatal: bool,
        /// The error to show to the visitor.
        error: UiError,
    },
    /// A reply to a query.
    Reply {
        /// The query.
        id: QueryId,
        /// The reply.
        reply: Reply,
    },
}

#[cfg(test)]
mod tests {
    use espalier_core::caption::TaughtConcept;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::messages::query::{QueryAnswer, TreeSource};
    use crate::ui_error::Cause;

    fn assert_round_trips<T>(messages: impl IntoIterator<Item = T>)
    where
        T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        for message in messages {
            let text = serde_json::to_string(&message).unwrap();
            assert_eq!(serde_json::from_str::<T>(&text).unwrap(), message);
        }
    }

    #[test]
    fn every_request_survives_serialisation() {
        let id = PhotoId(7);
        assert_round_trips([
            Request::Load {
                manifest_url: "https://a.example/m/manifest.json".into(),
                build: Some(BUILD.into()),
            },
            Request::Caption { id },
            Request::Rank {
                id,
                below: Some("n02084071".into()),
            },
            Request::Narrate {
                id,
                json: "{}".into(),
            },
            Request::Lineage {
                id,
                node: "n02084071".into(),
            },
        ]);
    }

    #[test]
    fn every_query_survives_serialisation() {
        let (photo, tree) = (PhotoId(4), TreeSource::Own);
        let queries = [
            Query::Read {
                photo,
                region: Some([0.0, 0.25, 0.5, 1.0]),
            },
            Query::Heat {
                photo,
                caption: "a cat".into(),
            },
            Query::Subjects,
            Query::Place {
                photo,
                tree,
                below: Some("n1".into()),
            },
            Query::WhyNot {
                photo,
                tree,
                phrase: "a robin".into(),
            },
            Query::EmbedTree {
                text: "a\n b\n".into(),
            },
            Query::Learn {
                name: "Bella".into(),
                below: "dog".into(),
                tree,
                photos: vec![photo],
            },
            Query::Teach {
                concepts: vec![TaughtConcept {
                    name: "Bella".into(),
                    below: "dog".into(),
                    photos: vec![vec![0.5, 1.0]],
                }],
            },
            Query::Disk {
                tree: TreeSource::Bundle,
                photos: vec![photo],
            },
            Query::Walk {
                from: photo,
                to: None,
                tree,
            },
        ];
        let id = QueryId(1);
        assert_round_trips(queries.map(|query| Request::Query { id, query }));
    }

    #[test]
    fn every_response_survives_serialisation() {
        let id = PhotoId(2);
        let error = || UiError::new(Cause::Bundle, "what", "todo").with_detail("detail");
        assert_round_trips([
            Response::Booted,
            Response::Progress(Progress {
                stage: Stage::SelfTest,
                loaded: 3,
                total: u64::from(u32::MAX) + 1,
                file: Some("image.safetensors".into()),
            }),
            Response::Ready(EngineInfo {
                backend: Backend::WebGpu,
                model: "default".into(),
                version: "1".into(),
                sha256: "00ff".into(),
                self_test: 0.999,
                warm_ms: 41.5,
                cautions: vec!["Not calibrated.".into()],
            }),
            Response::Result {
                id,
                json: "{\"a\": \"ü\\n\"}".into(),
            },
            Response::Finer {
                id,
                json: "{}".into(),
            },
            Response::Coarse { error: error() },
            Response::Superseded { id },
            Response::Narrated {
                id,
                narration: Narration::default(),
            },
            Response::Lineage {
                id,
                lineage: Lineage {
                    id: "n1".into(),
                    name: "bird".into(),
                    path: Vec::new(),
                    shared: "n0".into(),
                },
                sentence: "It is hardly a bird.".into(),
            },
            Response::Failed {
                id: None,
                fatal: true,
                error: error(),
            },
        ]);
        let answer = QueryAnswer::Disk {
            nodes: vec![None, Some([0.5, -0.25])],
            photos: Vec::new(),
            explained: 0.5,
        };
        let replies = [
            Reply::Fetching {
                loaded: 1,
                total: 2,
            },
            Reply::Done { answer },
            Reply::Failed { error: error() },
        ];
        let id = QueryId(1);
        assert_round_trips(replies.map(|reply| Response::Reply { id, reply }));
    }

    #[test]
    fn worker_js_uses_the_same_protocol() {
        // Messages as `worker.js` writes them, with sample values.
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
        // Checks that the script uses the keys and values above.
        let script = include_str!("../../worker.js");
        for word in [
            r#"type: "progress""#,
            r#"stage: "engine""#,
            "loaded, total: 0, file",
            r#"type: "failed""#,
            "id: null",
            "fatal: true",
            r#"cause = "engine""#,
            r#""network""#,
            "error: { cause, what, todo, detail:",
        ] {
            assert!(
                script.contains(word),
                "worker.js no longer contains `{word}`"
            );
        }
        for backend in [Backend::Cpu, Backend::WebGpu] {
            assert!(
                backend.program().starts_with("worker_"),
                "worker.js allows worker_* only"
            );
        }
    }

    #[test]
    fn the_widget_uses_the_same_protocol() {
        // Requests as `engine.js` writes them, with sample values.
        let requests = [
            r#"{"type":"load","manifest_url":"https://a.example/m/manifest.json"}"#,
            r#"{"type":"caption","id":1}"#,
            r#"{"type":"rank","id":1,"below":null}"#,
            r#"{"type":"narrate","id":1,"json":"{}"}"#,
            r#"{"type":"lineage","id":1,"node":"n02084071"}"#,
            r#"{"type":"query","id":0,"query":{"teach":{"concepts":[]}}}"#,
        ];
        for request in requests {
            serde_json::from_str::<Request>(request).unwrap();
        }
        let script = include_str!("../../widget/engine.js");
        let sent = script.matches(r#"{ type: ""#).count();
        // `narrate` is sent from two places, and the worker is of the type "module".
        assert_eq!(sent, requests.len() + 2);
        for word in [
            r#"{ type: "load", manifest_url"#,
            r#"{ type: "caption", id"#,
            r#"{ type: "rank", id, below"#,
            r#"{ type: "narrate", id, json"#,
            r#"{ type: "lineage", id, node"#,
            r#"{ type: "query", id: 0, query: { teach: { concepts } } }"#,
            "progress: (",
            "ready: (",
            "result: (",
            "narrated: (",
            "superseded: (",
            "lineage: (",
            "failed: (",
            Backend::Cpu.program(),
            Backend::WebGpu.program(),
        ] {
            assert!(
                script.contains(word),
                "engine.js no longer contains `{word}`"
            );
        }
    }
}

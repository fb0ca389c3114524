//! Files of a model kept in the browser's Cache API, under their hash.
//!
//! Only what has passed its check is put in, and it is checked again when it is taken out, so that
//! a half-written or stale entry can never be used. Nothing here is an error: without a cache
//! (private mode, full storage, an address that is not secure) files are fetched each time.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Cache, Response, WorkerGlobalScope};

/// Name of the cache; its number changes when the way of storing does.
const NAME: &str = "espalier-models-1";

/// The browser's cache, if it gives one.
#[derive(Clone, Debug)]
pub struct Store(Option<Cache>);

impl Store {
    /// Opens the cache. Works in a worker.
    pub async fn open() -> Self {
        Self(open().await)
    }

    /// Bytes kept under a file's address and hash.
    pub async fn get(&self, url: &str, sha256: &str) -> Option<Vec<u8>> {
        let cache = self.0.as_ref()?;
        let found = JsFuture::from(cache.match_with_str(&key(url, sha256)))
            .await
            .ok()?;
        let response: Response = found.dyn_into().ok()?;
        let buffer = JsFuture::from(response.array_buffer().ok()?).await.ok()?;
        Some(Uint8Array::new(&buffer).to_vec())
    }

    /// Keeps checked bytes. A failure (storage full, for example) is not an error.
    pub async fn put(&self, url: &str, sha256: &str, bytes: &[u8]) {
        let Some(cache) = &self.0 else { return };
        let body = Uint8Array::from(bytes);
        if let Ok(response) = Response::new_with_opt_js_u8_array(Some(&body)) {
            let _ = JsFuture::from(cache.put_with_str(&key(url, sha256), &response)).await;
        }
    }

    /// Drops an entry that failed its check.
    pub async fn forget(&self, url: &str, sha256: &str) {
        if let Some(cache) = &self.0 {
            let _ = JsFuture::from(cache.delete_with_str(&key(url, sha256))).await;
        }
    }

    /// Drops every file of the folder at `base` that the manifest in use does not list, so that an
    /// updated model does not leave its predecessor behind. `keep` holds addresses with hashes.
    pub async fn sweep(&self, base: &str, keep: &[(String, String)]) {
        let Some(cache) = &self.0 else { return };
        let Ok(keys) = JsFuture::from(cache.keys()).await else {
            return;
        };
        let keep: Vec<String> = keep.iter().map(|(url, sha256)| key(url, sha256)).collect();
        for request in Array::from(&keys).iter() {
            let Ok(request) = request.dyn_into::<web_sys::Request>() else {
                continue;
            };
            let url = request.url();
            if url.starts_with(base) && !keep.contains(&url) {
                let _ = JsFuture::from(cache.delete_with_str(&url)).await;
            }
        }
    }
}

fn key(url: &str, sha256: &str) -> String {
    format!("{url}?sha256={sha256}")
}

async fn open() -> Option<Cache> {
    let scope: WorkerGlobalScope = js_sys::global().dyn_into().ok()?;
    // Not there at all on addresses that are not secure.
    let caches = scope.caches().ok().filter(|caches| caches.is_truthy())?;
    JsFuture::from(caches.open(NAME))
        .await
        .ok()?
        .dyn_into()
        .ok()
}

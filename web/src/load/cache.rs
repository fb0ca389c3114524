//! Caches model files in the browser's Cache API, keyed by address and hash.
//!
//! Files are verified before they are stored and again when they are read, so a half-written or
//! stale entry is never used. No function here fails: without a cache (private mode, full storage,
//! insecure address) files are fetched each time.

use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Cache, CacheStorage, Headers, Response, ResponseInit};

use super::js::property;

/// Name of the cache; its number changes with the storage format.
pub const NAME: &str = "espalier-models-1";

/// Header that holds the length of an entry.
pub const LENGTH: &str = "Content-Length";

/// The browser's cache, if available.
#[derive(Clone, Debug)]
pub struct FileCache(Option<Cache>);

impl FileCache {
    /// Opens the cache.
    pub async fn open() -> Self {
        Self(open(NAME).await)
    }

    /// Returns the bytes stored under a [`key`].
    pub async fn get(&self, key: &str) -> Option<Vec<u8>> {
        let cache = self.0.as_ref()?;
        let matched = JsFuture::from(cache.match_with_str(key)).await.ok()?;
        let response: Response = matched.dyn_into().ok()?;
        let buffer = JsFuture::from(response.array_buffer().ok()?).await.ok()?;
        Some(Uint8Array::new(&buffer).to_vec())
    }

    /// Stores verified bytes under a [`key`]. Ignores failures, for example full storage.
    pub async fn put(&self, key: &str, bytes: &[u8]) {
        let Some(cache) = &self.0 else { return };
        let body = Uint8Array::from(bytes);
        let init = ResponseInit::new();
        if let Ok(headers) = Headers::new() {
            let _ = headers.set(LENGTH, &bytes.len().to_string());
            init.set_headers(&headers);
        }
        let response = Response::new_with_opt_js_u8_array_and_init(Some(&body), &init);
        if let Ok(response) = response {
            let _ = JsFuture::from(cache.put_with_str(key, &response)).await;
        }
    }

    /// Deletes an entry that failed its check.
    pub async fn remove(&self, key: &str) {
        if let Some(cache) = &self.0 {
            let _ = JsFuture::from(cache.delete_with_str(key)).await;
        }
    }

    /// Deletes every file of the folder at `base` that is not stored under one of the addresses
    /// `keep` (see [`key`]). This removes the files of earlier versions of the model.
    pub async fn remove_others(&self, base: &str, keep: &[String]) {
        let Some(cache) = &self.0 else { return };
        let Ok(keys) = JsFuture::from(cache.keys()).await else {
            return;
        };
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

/// Returns the address under which a file with this hash is stored.
pub fn key(url: &str, sha256: &str) -> String {
    format!("{url}?sha256={sha256}")
}

/// Opens the cache of this name, or creates it.
pub async fn open(name: &str) -> Option<Cache> {
    let opened = JsFuture::from(storage()?.open(name)).await.ok()?;
    opened.dyn_into().ok()
}

/// Returns whether any cache of this site holds an address. Creates no cache, unlike
/// [`FileCache::open`].
pub async fn is_stored(address: &str) -> bool {
    match storage() {
        Some(caches) => JsFuture::from(caches.match_with_str(address))
            .await
            .is_ok_and(|response| response.is_truthy()),
        None => false,
    }
}

/// Returns the browser's cache storage, in the page or in a worker; `None` on insecure addresses.
pub fn storage() -> Option<CacheStorage> {
    property(&js_sys::global(), "caches").map(JsCast::unchecked_into)
}

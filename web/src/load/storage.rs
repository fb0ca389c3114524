//! Lists, measures and deletes the data that Espalier stores in this browser.

use std::collections::BTreeMap;

use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Cache, Request, Response};

use super::cache::{LENGTH, NAME, open, storage};
use super::js::{of_navigator, property};

/// Prefix of the names of the service worker's caches for the program.
const PROGRAM: &str = "espalier-app-";

/// The stored data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredData {
    /// Bytes of each model's files, by the address of its folder.
    pub models: BTreeMap<String, u64>,
    /// Whether the program is stored too, so that the page opens offline.
    pub program: bool,
    /// Storage used by this site in bytes, if the browser reports it.
    pub used: Option<u64>,
    /// Whether the storage is persistent: the browser does not evict it by itself.
    pub persistent: bool,
}

/// Inspects the stored data.
pub async fn inspect() -> StoredData {
    let names = names().await;
    // Opening a missing cache would create it.
    let models = match names.iter().any(|name| name == NAME) {
        true => models().await,
        false => None,
    };
    StoredData {
        models: models.unwrap_or_default(),
        program: names.iter().any(|name| name.starts_with(PROGRAM)),
        used: used().await,
        persistent: ask("persisted").await,
    }
}

/// Requests persistent storage and returns whether it was granted. Some browsers ask the visitor.
pub async fn request_persistence() -> bool {
    ask("persist").await
}

/// Deletes the files of every model.
pub async fn delete_models() {
    delete(|name| name == NAME).await;
}

/// Deletes all stored data, including the service worker's copy of the program.
pub async fn delete_all() {
    delete(|name| name == NAME || name.starts_with(PROGRAM)).await;
    // Otherwise the service worker would stay registered with empty caches.
    if let Some(registered) = call(of_navigator("serviceWorker"), "getRegistration").await {
        call(Some(registered), "unregister").await;
    }
}

async fn delete(matches: impl Fn(&str) -> bool) {
    let Some(caches) = storage() else { return };
    for name in names().await.into_iter().filter(|name| matches(name)) {
        // A cache that is still in use keeps its bytes after deletion, so delete its entries first.
        if let Some((cache, keys)) = entries(&name).await {
            for request in keys.iter().filter_map(|key| key.dyn_into::<Request>().ok()) {
                let _ = JsFuture::from(cache.delete_with_request(&request)).await;
            }
        }
        let _ = JsFuture::from(caches.delete(&name)).await;
    }
}

/// Returns a cache and the requests stored in it.
async fn entries(name: &str) -> Option<(Cache, Array)> {
    let cache = open(name).await?;
    let keys = JsFuture::from(cache.keys()).await.ok()?;
    Some((cache, Array::from(&keys)))
}

async fn names() -> Vec<String> {
    let Some(caches) = storage() else {
        return Vec::new();
    };
    let Ok(keys) = JsFuture::from(caches.keys()).await else {
        return Vec::new();
    };
    let keys = Array::from(&keys);
    keys.iter().filter_map(|key| key.as_string()).collect()
}

async fn models() -> Option<BTreeMap<String, u64>> {
    let (cache, keys) = entries(NAME).await?;
    let mut models = BTreeMap::new();
    for request in keys.iter() {
        let request: Request = request.dyn_into().ok()?;
        let found = JsFuture::from(cache.match_with_request(&request))
            .await
            .ok()?;
        let Ok(response) = found.dyn_into::<Response>() else {
            continue;
        };
        let length = response.headers().get(LENGTH).ok().flatten();
        let bytes: u64 = length.and_then(|l| l.parse().ok()).unwrap_or(0);
        let url = request.url();
        let path = url.split('?').next().unwrap_or(&url);
        let folder = path.rfind('/').map_or(path, |slash| &path[..slash]);
        *models.entry(folder.to_owned()).or_insert(0) += bytes;
    }
    Some(models)
}

/// Calls a method and returns what its promise gives; `None` if that is nothing or fails.
async fn call(of: Option<JsValue>, method: &str) -> Option<JsValue> {
    let of = of?;
    let method: Function = property(&of, method)?.dyn_into().ok()?;
    let promise: Promise = method.call0(&of).ok()?.dyn_into().ok()?;
    let given = JsFuture::from(promise).await.ok()?;
    given.is_truthy().then_some(given)
}

async fn ask(method: &str) -> bool {
    call(of_navigator("storage"), method).await.is_some()
}

async fn used() -> Option<u64> {
    let estimate = call(of_navigator("storage"), "estimate").await?;
    let usage = Reflect::get(&estimate, &"usage".into()).ok()?.as_f64()?;
    Some(usage as u64)
}

//! Loading under difficult conditions: no network, no storage, a cancelled download, two tabs at
//! once.

use espalier_core::bundle::Part;
use espalier_tests::browser::{Gpu, Site, TINY};
use espalier_tests::shards::in_shards;
use espalier_tests::wait_until;
use serde_json::json;

use crate::visitor::Visit;

/// Whether everything that the page needs to open without a network is cached.
const KEPT: &str = "return (async () => {
  const worker = (await navigator.serviceWorker.getRegistration())?.active;
  const names = await caches.keys();
  const { folder } = await (await fetch('engines.json')).json();
  const engine = new URL(`${folder}worker_cpu_bg.wasm`, document.baseURI).href;
  return worker?.state === 'activated'
    && names.some((name) => name.startsWith('espalier-app-page'))
    && (await caches.match(engine)) !== undefined;
})()";

/// Bytes of the cached models.
const MODELS: &str = "return (async () => {
  if (!(await caches.has('espalier-models-1'))) return 0;
  const cache = await caches.open('espalier-models-1');
  let sum = 0;
  for (const key of await cache.keys()) sum += (await (await cache.match(key)).arrayBuffer()).byteLength;
  return sum;
})()";

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn after_one_visit_the_page_works_without_a_network() {
    let mut visit = Visit::to(Site::copy(), Gpu::None);
    let online = visit.open("").answer();
    visit.browser.wait_for("everything to be cached", KEPT);
    visit.site.stop();
    // Leaves the page first, so that it is loaded again.
    visit.browser.visit("about:blank");
    let offline = visit.open("").answer();
    assert_eq!(offline.result.ladder, online.result.ladder);
    assert_eq!(offline.result.taxonomy, online.result.taxonomy);
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_second_visit_fetches_no_model_unless_it_was_deleted_or_damaged() {
    let visit = Visit::new();
    let _ = visit.open("?model=tiny&backend=cpu").answer();
    visit.browser.wait_for("everything to be cached", KEPT);
    let bytes = visit.browser.evaluate(MODELS).as_u64().unwrap();
    let fetched: u64 = visit
        .site
        .manifest(TINY)
        .files_of(&Part::OF_AN_ANSWER)
        .map(|f| f.bytes)
        .sum();
    assert_eq!(bytes, fetched);
    let second = visit.open("?model=tiny&backend=cpu");
    // The engine starts by itself.
    second.browser.wait_for_id("engine-line");
    let _ = second.answer();
    assert_eq!(visit.browser.asked("image.safetensors"), 1);
    assert_eq!(visit.browser.asked("worker_cpu_bg.wasm"), 1);

    // The panel shows the size of the cached models and deletes them.
    visit.browser.press("[data-testid=kept] summary");
    let megabytes = format!("{:.1} MB", bytes as f64 / 1e6);
    visit
        .browser
        .wait_for_words("[data-testid=kept-model]", &megabytes);
    visit.browser.press("[data-testid=delete-models]");
    visit.browser.wait_for_end_of("kept-model");
    assert_eq!(visit.browser.evaluate(MODELS), json!(0));
    visit.browser.press("[data-testid=delete-all]");
    let emptied = "Everything was deleted. Nothing is stored";
    visit
        .browser
        .wait_for_words("[data-testid=kept-sum]", emptied);
    assert_eq!(visit.browser.evaluate("return caches.keys()"), json!([]));
    let used = "return navigator.storage.estimate().then(({ usage }) => usage)";
    let used = visit.browser.evaluate(used).as_u64().unwrap();
    assert!(used < 100_000, "{used} bytes are still used");
    let fetched = visit.open("?model=tiny&backend=cpu").answer();
    assert_eq!(visit.browser.asked("image.safetensors"), 2);

    // An entry of the cache that is not what it should be is never used.
    let damaged = visit.browser.evaluate(
        "return (async () => {
           const cache = await caches.open('espalier-models-1');
           const key = (await cache.keys()).find(({ url }) => url.includes('image'));
           const bytes = new Uint8Array(await (await cache.match(key)).arrayBuffer());
           bytes[bytes.length >> 1] ^= 32;
           await cache.put(key, new Response(bytes));
           return key.url;
         })()",
    );
    assert!(damaged.as_str().unwrap().contains("image"));
    let again = visit.open("?model=tiny&backend=cpu").answer();
    assert_eq!(again.result.ladder, fetched.result.ladder);
    assert_eq!(visit.browser.asked("image.safetensors"), 3);
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_stopped_download_goes_on_with_what_has_arrived() {
    let visit = Visit::new();
    visit.browser.network().hold("image.safetensors");
    let _ = visit.open("?model=tiny&backend=cpu");
    visit.browser.press("[data-testid=load-button]");
    visit.browser.wait_until_asked("image.safetensors");
    // The network stalls until it is released, and that does not block the page.
    visit.browser.press("[data-testid=cancel]");
    visit.browser.wait_for_id("load-button");
    visit.browser.network().release();
    let _ = visit.answer();
    // Fetched again as a whole, or as a range if the browser itself continues from the middle.
    assert!(visit.browser.asked("image.safetensors") >= 2);
    assert_eq!(
        visit.browser.asked("captions.safetensors"),
        1,
        "a file that had arrived was fetched again"
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn general_captions_answer_while_finer_ones_are_on_their_way() {
    let visit = Visit::to(Site::copy(), Gpu::None);
    let bundle = visit.folder.path().join("bundle");
    in_shards(&visit.site.model_folder(TINY), &bundle);
    visit.site.replace_model(TINY, &bundle);
    visit.browser.network().hold("captions-1");
    let first = visit.open("?model=tiny&backend=cpu").answer();
    assert!(first.rungs.len() >= 3, "{:?}", first.rungs);
    let is_fine = |text: &String| text.contains(" in the ") || text.contains(" on the ");
    assert!(!first.rungs.iter().any(is_fine), "{:?}", first.rungs);
    visit.browser.network().release();
    let known = first.rungs.len() as u64;
    wait_until("no finer rung came", || {
        visit.browser.count("[data-testid=rung-text]") > known
    });
    assert_eq!(
        visit.browser.asked("image"),
        2,
        "expected one request for each of two shards of the image encoder"
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn with_storage_full_the_page_runs_from_memory() {
    let visit = Visit::new();
    let _ = visit.open("?model=tiny&backend=cpu");
    let origin = visit.site.url().trim_end_matches('/').to_owned();
    visit.browser.devtools(
        "Storage.overrideQuotaForOrigin",
        &json!({ "origin": origin, "quotaSize": 100_000 }),
    );
    let answer = visit.answer();
    assert!(answer.rungs.len() >= 3);
    let kept = visit.browser.evaluate(MODELS).as_u64().unwrap();
    assert!(
        kept < 200_000,
        "expected less than 200 kB in the cache, found {kept} bytes"
    );
    // A second visit fetches the model again and gives the same answer.
    let again = visit.open("?model=tiny&backend=cpu").answer();
    assert_eq!(again.result.ladder, answer.result.ladder);
    assert_eq!(visit.browser.asked("image.safetensors"), 2);
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn two_tabs_at_once_fetch_the_model_once() {
    let visit = Visit::new();
    visit.browser.network().hold("image.safetensors");
    let _ = visit.open("?model=tiny&backend=cpu");
    visit.browser.press("[data-testid=load-button]");
    visit.browser.wait_until_asked("image.safetensors");
    let first = visit.browser.tab();
    let second = visit.browser.new_tab();
    let _ = visit.open("?model=tiny&backend=cpu");
    visit.browser.press("[data-testid=load-button]");
    // The second tab waits for the lock of the file, which the first one holds.
    let manifest = visit.site.manifest(TINY);
    let hash = &manifest.file("image.safetensors").unwrap().sha256;
    let waits = format!(
        "return navigator.locks.query().then(({{ pending }}) =>\
           pending.some(({{ name }}) => name === 'espalier {hash}'))"
    );
    visit.browser.wait_for("the second tab to wait", &waits);
    visit.browser.network().release();
    visit.browser.wait_for_id("engine-line");
    visit.browser.go_to_tab(&first);
    visit.browser.wait_for_id("engine-line");
    assert_ne!(first, second);
    assert_eq!(visit.browser.asked("image.safetensors"), 1);
}

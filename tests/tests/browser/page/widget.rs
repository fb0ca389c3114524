//! The widget on other sites' pages: strict content security policies, sub-folders, several
//! elements and a blocked host. The page around the widget stays unchanged.

use std::fs;

use espalier_core::caption::{CaptionResult, Engine, Receipt, Request, TaughtConcept, TaughtFile};
use espalier_tests::browser::paper::{ELEMENT, STRICT, agree, heard, opened, settled};
use espalier_tests::browser::{Browser, Host, Site, natively};
use espalier_tests::calls::call;
use espalier_tests::models::{self, tiny};
use espalier_tests::photos::{jpeg, keep, landscape};
use serde_json::{Value, json};

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn three_elements_in_a_sub_folder_under_a_strict_policy_share_one_download() {
    let element = |id: &str, src: &str| {
        format!(
            "<espalier-ladder id=\"{id}\" src=\"{src}\" alt=\"A view\">\
             <a href=\"w/\"><img src=\"{src}\" alt=\"A view\"></a></espalier-ladder>"
        )
    };
    let body = [("a", "photo.jpg"), ("b", "other.jpg"), ("c", "photo.jpg")]
        .map(|(id, src)| element(id, src))
        .join("<p>Words of the paper.</p>");
    let (host, browser) = opened(STRICT, &body);
    browser.wait_for(
        "the size on the first poster",
        "return document.getElementById('a').shadowRoot?.querySelector('[part=bar]').innerText.includes('MB')",
    );
    // Before the button is pressed, the poster is in its place and almost nothing is fetched.
    assert_eq!(browser.evaluate("return shifts"), json!(0));
    for part in ["_bg.wasm", "worker", ".safetensors", "view.js"] {
        assert_eq!(
            browser.asked(part),
            0,
            "{part} was fetched before the button was pressed"
        );
    }
    let bytes = browser.evaluate(
        "return performance.getEntriesByType('resource').filter((e) => e.name.includes('/w/'))\
         .reduce((sum, e) => sum + e.encodedBodySize, 0)",
    );
    assert!(
        bytes.as_u64().is_some_and(|bytes| bytes < 50_000),
        "expected less than 50 kB before the button is pressed, found {bytes} bytes"
    );

    for id in ["a", "b", "c"] {
        browser.press_poster(&format!("#{id}"));
    }
    for (id, photo) in [("a", "photo.jpg"), ("b", "other.jpg"), ("c", "photo.jpg")] {
        let native = natively(&host.path(&format!("paper/{photo}")), &[]);
        agree(&settled(&browser, id, &native), &native);
    }
    for part in [
        "worker.js",
        "worker_cpu_bg.wasm",
        "image.safetensors",
        "captions.safetensors",
    ] {
        assert_eq!(browser.asked(part), 1, "expected one request for {part}");
    }
    let faults = browser.evaluate("return { refused, thrown, shifts }");
    let none = json!({ "refused": [], "thrown": [], "shifts": 0 });
    assert_eq!(faults, none);
    let mut requests = browser.requests().into_iter();
    assert!(requests.all(|seen| !seen.url.starts_with(&host.url("")) || seen.only_reads()));
    assert!(!heard(&browser, "progress").is_empty() && heard(&browser, "ready").len() == 3);
    let bar = heard(&browser, "progress");
    let loaded: Vec<u64> = bar
        .iter()
        .filter(|event| event["id"] == "a")
        .map(|event| event["detail"]["loaded"].as_u64().unwrap())
        .collect();
    assert!(loaded.is_sorted(), "the progress went back: {loaded:?}");
    let total = bar[0]["detail"]["total"].as_u64().unwrap();
    assert_eq!(loaded.last(), Some(&total));
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn methods_events_and_attributes_do_what_the_docs_say() {
    let (host, browser) = opened(STRICT, &ELEMENT.replace("></", " colour=\"red\"></"));
    let first = browser.evaluate("return a.load()");
    let native = natively(&host.path("paper/photo.jpg"), &[]);
    let loaded = settled(&browser, "a", &native);
    agree(&loaded, &native);
    assert_eq!(browser.evaluate("return a.toJSON()"), loaded);
    assert_eq!(browser.evaluate("return a.result"), loaded);
    // The promise holds the result that was shown first; finer captions may have arrived since,
    // with events of their own.
    let results = heard(&browser, "result");
    assert_eq!(results[0]["detail"], first);
    assert_eq!(results.last().unwrap()["detail"], loaded);

    // Closed and opened again, the element still shows the finer result.
    close(&browser);
    assert_eq!(browser.evaluate("return a.load()"), loaded);
    let results = heard(&browser, "result");
    assert_eq!(results.last().unwrap()["detail"], loaded);

    // The command line verifies the receipt.
    let receipt = host.path("receipt.json");
    let text = browser.evaluate("return JSON.stringify(a.receipt)");
    fs::write(&receipt, text.as_str().unwrap()).unwrap();
    call("verify")
        .arg(&receipt)
        .set("--model", tiny())
        .set("--photo", host.path("paper/photo.jpg"))
        .done();

    // `select` describes a node off the path, marks nothing and leaves the address as it is.
    let place = browser.evaluate("return a.select('n02121620')");
    assert_eq!(place["name"], "cat");
    assert!(
        place["sentence"].as_str().unwrap().contains("cat"),
        "{place}"
    );
    let way = place["path"].as_array().unwrap();
    assert_eq!(way.last().unwrap()["id"], "n02121620");
    assert_eq!(heard(&browser, "select").len(), 1);
    assert_eq!(
        browser.evaluate("return location.href"),
        json!(host.url("paper/index.html"))
    );
    let unknown = browser.evaluate("return a.select('n0')");
    assert_eq!(unknown, Value::Null);
    let errors = heard(&browser, "error");
    assert_eq!(errors.len(), 1);
    let told = "return a.shadowRoot.querySelector('.placed').textContent";
    assert_eq!(browser.evaluate(told), errors[0]["detail"]["what"]);

    // The dial truncates the same path elsewhere; nothing is computed again.
    let sentence = "return a.shadowRoot.querySelector('[part=sentence]').textContent";
    let stop = browser.evaluate(sentence);
    let path = &native.taxonomy.path;
    let carried = path
        .iter()
        .position(|step| step.id == native.taxonomy.stop)
        .unwrap();
    // Past the stop to the label itself: a node between them may be one whose name is not shown.
    let level = path.len() - 1;
    assert!(
        carried < level,
        "expected a stop above the label, found {path:?}"
    );
    let _ = browser.evaluate(&format!("a.setAttribute('level', '{level}')"));
    let cut = browser.evaluate(sentence);
    assert_ne!(stop, cut);
    let marked = browser.evaluate(
        "return a.shadowRoot.querySelector('[part=tree] [aria-current] button').textContent",
    );
    assert!(
        cut.as_str().unwrap().contains(marked.as_str().unwrap()),
        "{cut}, {marked}"
    );
    let _ = browser.evaluate("a.removeAttribute('level')");
    assert_eq!(browser.evaluate(sentence), stop);
    // Steps that nobody would name are shown on demand.
    let shown = "return [...a.shadowRoot.querySelectorAll('[part=tree] li[data-id]:not([hidden])')]\
                 .map((step) => step.dataset.id)";
    let named = browser.evaluate(shown);
    let is_shown = |id: &str| named.as_array().unwrap().contains(&json!(id));
    assert!(
        !is_shown("n00001740") && is_shown(&path[level].id),
        "{named}"
    );
    let _ = browser.evaluate("a.shadowRoot.querySelector('[part=tree] .all button').click()");
    let every = browser.evaluate(shown);
    assert_eq!(every.as_array().unwrap().len(), path.len());
    assert_eq!(heard(&browser, "result").len(), results.len());

    // An answer restricted to a node and those below it, and then another photo.
    let _ = browser.evaluate("a.setAttribute('taxonomy', 'n00015388')");
    let below = browser.wait_for(
        "the answer below a node",
        "return a.result.taxonomy.path.find((s) => s.id === 'n00015388')?.p > 0.999 && a.result",
    );
    let expected = natively(&host.path("paper/photo.jpg"), &["--below", "n00015388"]);
    agree(&below, &expected);
    let receipt = browser.evaluate("return a.receipt");
    let receipt: Receipt = serde_json::from_value(receipt).unwrap();
    assert_eq!(receipt.below.as_deref(), Some("n00015388"));
    let _ = browser.evaluate("a.removeAttribute('taxonomy')");
    let given = browser
        .evaluate("return fetch('other.jpg').then((r) => r.blob()).then((b) => a.classify(b))");
    agree(&given, &natively(&host.path("paper/other.jpg"), &[]));

    // Escape closes the answer; the poster is shown again with its button focused.
    close(&browser);
    assert_eq!(
        browser.evaluate("return a.shadowRoot.activeElement?.textContent"),
        json!("Read this photo")
    );
    let faults = browser.evaluate("return [refused, thrown]");
    assert_eq!(faults, json!([[], []]));
}

/// Closes the answer of an element by its key.
fn close(browser: &Browser) {
    let _ = browser.evaluate("a.shadowRoot.querySelector('[part=words]').focus()");
    browser.key("Escape", false);
    browser.wait_for(
        "the poster",
        "return !a.shadowRoot.querySelector('[part=answer]')",
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_name_taught_on_the_page_of_the_same_site_is_known_to_the_element() {
    const NAME: &str = "Aunt Emma's hill";
    let (host, browser) = opened(STRICT, ELEMENT);
    let photo = host.path("paper/photo.jpg");
    let captioner = models::captioner(&tiny(), &Engine::Kernels);
    let bytes = fs::read(&photo).unwrap();
    let reading = captioner.read(&bytes, Request::default(), || 0.0);
    let reading = pollster::block_on(reading).unwrap();
    let stop = reading.result(&captioner, "cpu").taxonomy.stop;
    let concept = TaughtConcept {
        name: NAME.to_owned(),
        below: stop,
        photos: vec![reading.embedding],
    };
    let model = captioner.info().clone();
    let key = format!("espalier-taught-{}", model.sha256);
    let file = serde_json::to_string(&TaughtFile::new(model, vec![concept])).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let saved = keep(folder.path(), "names.json", file.as_bytes());
    let native = natively(&photo, &["--extra", &saved.to_string_lossy()]);
    assert_eq!(native.taxonomy.path.last().unwrap().name, NAME);

    let set = format!("localStorage.setItem({}, {})", json!(key), json!(file));
    let _ = browser.evaluate(&set);
    browser.press_poster("#a");
    agree(&settled(&browser, "a", &native), &native);
    assert_eq!(browser.evaluate("return thrown"), json!([]));
    assert!(heard(&browser, "error").is_empty());
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn without_room_for_a_worker_the_element_becomes_a_frame_by_itself() {
    let (site, host) = (Site::built(), Host::new());
    let there = site.url();
    let origin = there.trim_end_matches('/');
    host.write("photo.jpg", jpeg(&landscape(640, 480), 1));
    let policy = format!(
        "default-src 'none'; script-src 'self' {origin} 'wasm-unsafe-eval'; connect-src {origin}; \
         frame-src {origin}; img-src 'self' {origin} data:; style-src 'self' {origin}"
    );
    host.page(
        "index.html",
        &policy,
        &format!(
            "<script type=\"module\" src=\"{there}widget/espalier-ladder.js\" crossorigin></script>"
        ),
        &format!(
            "<espalier-ladder id=\"a\" class=\"brown\" src=\"photo.jpg\" alt=\"A view\" \
             model=\"{there}models/tiny/\"></espalier-ladder>"
        ),
    );
    let browser = Browser::at_element(&host.url("index.html"));
    browser.press_poster("#a");
    let native = natively(&host.path("photo.jpg"), &[]);
    let result = settled(&browser, "a", &native);
    let fallback = heard(&browser, "fallback");
    assert_eq!(fallback.len(), 1, "{fallback:?}");
    assert_eq!(fallback[0]["detail"]["to"], "iframe");
    assert_eq!(browser.evaluate("return a.result"), result);
    assert_eq!(browser.evaluate("return a.toJSON()"), result);
    // The page's policy forbids fetches from its own server, so a copy of the image was read. No
    // file has its bytes, so there is no receipt, and the element says why.
    assert_eq!(browser.evaluate("return a.receipt"), Value::Null);
    let widget: CaptionResult = serde_json::from_value(result).unwrap();
    assert_eq!((widget.image.width, widget.image.height), (640, 480));
    assert_eq!(widget.taxonomy.stop, native.taxonomy.stop);
    assert_eq!(
        browser.evaluate("return refused"),
        json!([]),
        "the policy was violated"
    );
    assert!(!heard(&browser, "progress").is_empty() && heard(&browser, "ready").len() == 1);
    assert!(!heard(&browser, "result").is_empty());
    let place = browser.evaluate("return a.select('n00015388')");
    assert_eq!(place["name"], "animal");
    assert_eq!(heard(&browser, "select").len(), 1);
    // Its colours are those of the page around it.
    let picture = image::load_from_memory(&browser.screenshot()).unwrap();
    let picture = picture.to_rgb8();
    let brown = picture.pixels().filter(|p| p.0 == [250, 240, 230]).count();
    assert!(brown > 10_000, "{brown} pixels in the page's colour");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_blocked_host_leaves_the_poster_its_text_and_a_link_and_one_error() {
    let host = Host::new();
    host.write("photo.jpg", jpeg(&landscape(640, 480), 1));
    let mut site = Site::copy();
    let there = site.url();
    let body = format!(
        "<espalier-ladder id=\"a\" src=\"photo.jpg\" alt=\"A view of hills\">\
         <a href=\"{there}\"><img src=\"photo.jpg\" alt=\"A view of hills\"></a></espalier-ladder>"
    );
    let origin = there.trim_end_matches('/');
    let policy = format!("default-src 'self' {origin}; style-src 'self'");
    let script = format!(
        "<script type=\"module\" src=\"{there}widget/espalier-ladder.js\" crossorigin></script>"
    );
    host.page("index.html", &policy, &script, &body);
    host.page("bare.html", &policy, &script, &body);
    let browser = Browser::at_element(&host.url("index.html"));
    site.stop();
    browser.press_poster("#a");
    browser.wait_for("the error", "return heard.some((e) => e.name === 'error')");
    let errors = heard(&browser, "error");
    assert_eq!(errors.len(), 1, "{errors:?}");
    for key in ["cause", "what", "todo"] {
        assert!(errors[0]["detail"][key].is_string(), "{errors:?}");
    }
    assert_eq!(errors[0]["detail"]["cause"], "network", "{errors:?}");
    let words = browser.evaluate("return a.shadowRoot.querySelector('[part=bar]').innerText");
    assert!(words.as_str().unwrap().contains("Try again"), "{words}");
    // The link between the tags is the way on, as words: its picture is the poster already.
    let shown = browser.evaluate(
        "const img = a.shadowRoot.querySelector('img'); const bar = a.shadowRoot.querySelector('[part=bar]');\
         const link = bar.querySelector('a');\
         return [img.alt, img.naturalWidth, link.innerText, link.href, bar.offsetHeight < 140]",
    );
    let expected = json!(["A view of hills", 640, "A view of hills", there, true]);
    assert_eq!(shown, expected);

    // Without the script, the content between the tags is shown as it was written.
    let disabled = json!({ "cacheDisabled": true });
    browser.devtools("Network.setCacheDisabled", &disabled);
    browser.visit(&host.url("bare.html"));
    let link = browser.evaluate(
        "const img = a.querySelector('img');\
         return [a.shadowRoot === null, img.alt, img.getBoundingClientRect().height > 0]",
    );
    assert_eq!(link, json!([true, "A view of hills", true]));
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn policies_that_forbid_workers_or_fetches_lead_to_a_frame_and_without_one_to_words() {
    let rest = "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self' 'wasm-unsafe-eval'";
    for (policy, framed) in [
        (
            "connect-src 'self'; worker-src 'none'; frame-src 'self'",
            true,
        ),
        (
            "connect-src 'none'; worker-src 'self'; frame-src 'self'",
            true,
        ),
        (
            "connect-src 'none'; worker-src 'self'; frame-src 'none'",
            false,
        ),
    ] {
        let (_host, browser) = opened(&format!("{rest}; {policy}"), ELEMENT);
        browser.press_poster("#a");
        let end = "return heard.some((e) => e.name === 'result' || e.name === 'error')";
        browser.wait_for("a result or an error", end);
        assert_eq!(heard(&browser, "fallback").len(), 1, "{policy}");
        assert_eq!(!heard(&browser, "result").is_empty(), framed, "{policy}");
        let errors = heard(&browser, "error");
        assert_eq!(errors.len(), usize::from(!framed), "{policy}");
        for error in errors {
            // Both directives that would have to change are named.
            assert_eq!(error["detail"]["cause"], "policy", "{error}");
            let what = error["detail"]["what"].as_str().unwrap();
            assert!(
                what.contains("frame-src") && what.contains("connect-src"),
                "{what}"
            );
        }
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_photo_that_is_not_there_offers_no_download() {
    let (_host, browser) = opened(STRICT, &ELEMENT.replace("photo", "gone"));
    let words = browser.wait_for(
        "words about the photo",
        "const bar = a.shadowRoot.querySelector('[part=bar]').innerText;\
         return bar.includes('gone.jpg') && bar",
    );
    let words = words.as_str().unwrap();
    assert!(words.contains("could not be shown"), "{words}");
    assert!(!words.contains("Read this photo"), "{words}");
    // A visitor may still give one.
    let photo = "return fetch('photo.jpg').then((r) => r.blob()).then((b) => a.classify(b))";
    let result = browser.evaluate(photo);
    assert!(result["taxonomy"]["path"].is_array(), "{result}");
}

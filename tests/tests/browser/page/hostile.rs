//! Strangers against the page and the widget: a bundle whose names are markup, a page that frames
//! ours, and a widget that was changed on its server.

use std::fs;
use std::path::Path;

use espalier_core::bundle::sha256_hex;
use espalier_core::caption::files;
use espalier_tests::browser::paper::{ELEMENT, STRICT, paper};
use espalier_tests::browser::{Browser, Gpu, Host, Site};
use espalier_tests::models::{manifest, tiny};
use espalier_tests::wait_until;
use serde_json::json;

use crate::visitor::Visit;

/// What a stranger would like to run.
const MARKUP: &str = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=2</script>";

/// Writes the bundle `tiny` with markup after every name, caption and the name of the model.
fn with_markup(to: &Path) {
    let from = tiny();
    let mut manifest = manifest(&from);
    for file in &mut manifest.files {
        let mut bytes = fs::read(from.join(&file.path)).unwrap();
        if file.path == files::TAXONOMY {
            let rows = String::from_utf8(bytes).unwrap();
            let mut lines = rows.lines().map(|line| {
                let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
                if fields[0] != "synset" {
                    let names = fields[1].split('|').map(|name| format!("{name} {MARKUP}"));
                    fields[1] = names.collect::<Vec<_>>().join("|");
                }
                fields.join("\t")
            });
            let first = lines.next().unwrap();
            bytes = lines
                .fold(first, |text, line| text + "\n" + &line)
                .into_bytes();
        } else if file.path.starts_with("captions") && file.path.ends_with(".json") {
            let mut captions: Vec<serde_json::Value> = serde_json::from_slice(&bytes).unwrap();
            for caption in &mut captions {
                caption["text"] = json!(format!("{} {MARKUP}", caption["text"].as_str().unwrap()));
            }
            bytes = serde_json::to_vec(&captions).unwrap();
        }
        file.bytes = bytes.len() as u64;
        file.sha256 = sha256_hex(&bytes);
        fs::write(to.join(&file.path), bytes).unwrap();
    }
    manifest.name = format!("tiny {MARKUP}");
    manifest.licence = MARKUP.into();
    let json = serde_json::to_vec(&manifest).unwrap();
    fs::write(to.join("manifest.json"), json).unwrap();
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn names_with_markup_are_shown_as_text() {
    let visit = Visit::to(Site::copy(), Gpu::None);
    let bundle = visit.folder.path().join("bundle");
    fs::create_dir(&bundle).unwrap();
    with_markup(&bundle);
    visit.site.replace_model("tiny", &bundle);
    let answer = visit.open("?model=tiny&backend=cpu").answer();
    let rungs = answer.rungs;
    assert!(rungs.iter().all(|r| r.contains("<script>")), "{rungs:?}");
    assert_eq!(
        visit.browser.evaluate(
            "return [window.hacked ?? null, document.querySelectorAll('img[src=\"x\"]').length,\
             [...document.scripts].filter((s) => s.textContent.includes('hacked')).length]"
        ),
        json!([null, 0, 0])
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn inside_another_page_ours_does_not_start() {
    let (site, host) = (Site::built(), Host::new());
    // The other page is transparent above ours, so that a visitor presses what they do not see.
    let url = site.url();
    let frame = format!("<iframe id=\"ours\" src=\"{url}\" allow=\"camera\"></iframe>");
    let policy = "default-src * data: 'unsafe-inline'";
    host.page("index.html", policy, "", &frame);
    let browser = Browser::start(Gpu::None);
    browser.visit(&host.url("index.html"));
    // The page is of another origin, so its content is asked of the browser, not of the script.
    let text = || {
        let tree = browser.devtools("DOM.getDocument", &json!({ "depth": -1, "pierce": true }));
        tree.to_string()
    };
    wait_until("the page inside does not say that it does not run", || {
        text().contains("does not run inside another page")
    });
    let inside = text();
    for button in ["Choose a photo", "file-input", "data-sample"] {
        assert!(!inside.contains(button), "{button}: {inside}");
    }
    assert!(
        inside.contains("noopener") && inside.contains("_blank"),
        "{inside}"
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_widget_that_was_changed_is_refused_by_its_hash() {
    let host = paper(STRICT, &ELEMENT.replace("></", ">words</"));
    let script = host.path("paper/w/widget/espalier-ladder.js");
    let hash = xtask::digest::integrity(&fs::read(&script).unwrap());
    let page = host.path("paper/index.html");
    let html = fs::read_to_string(&page).unwrap();
    let pinned = html.replace(
        "espalier-ladder.js\" crossorigin",
        &format!("espalier-ladder.js\" integrity=\"{hash}\" crossorigin"),
    );
    assert_ne!(html, pinned);
    fs::write(&page, pinned).unwrap();
    let browser = Browser::start(Gpu::None);
    browser.visit(&host.url("paper/index.html"));
    browser.wait_for(
        "the widget",
        "return customElements.get('espalier-ladder') !== undefined",
    );

    let mut changed = fs::read(&script).unwrap();
    changed.extend(b"\nwindow.hacked = 1;\n");
    fs::write(&script, changed).unwrap();
    let browser = Browser::start(Gpu::None);
    browser.visit(&host.url("paper/index.html"));
    // Scripts with an error are done when the page is.
    browser.wait_for("the page", "return document.readyState === 'complete'");
    assert_eq!(
        browser.evaluate(
            "return [window.hacked ?? null, customElements.get('espalier-ladder') ?? null,\
             document.getElementById('a').innerText]"
        ),
        json!([null, null, "words"])
    );
}

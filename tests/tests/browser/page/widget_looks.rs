//! The widget as a reader sees it: scrolling over it, its colours, when it loads, and the example
//! of a project page at every width.

use espalier_tests::browser::paper::{ELEMENT, STRICT, heard, opened, result_of};
use espalier_tests::browser::{Browser, Gpu, Look, Site};
use espalier_tests::wait_until;
use serde_json::{Value, json};

use crate::page::states::shot;

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn scrolling_is_never_trapped() {
    let body = format!("{ELEMENT}<p class=\"after\">On.</p>");
    let (_host, browser) = opened(STRICT, &body);
    let scrolls = |x: f64, y: f64, state: &str| {
        wait_until(&format!("{state} does not scroll the page"), || {
            browser.wheel(x, y, 240.0);
            // A browser keeps scrolling the element that it began with; only after a pause a turn
            // of the wheel begins a new gesture.
            std::thread::sleep(std::time::Duration::from_millis(250));
            browser.evaluate("return scrollY > 0") == true
        });
        let _ = browser.evaluate("scrollTo({ top: 0, behavior: 'instant' })");
        browser.wait_for("the top", "return scrollY === 0");
    };
    scrolls(200.0, 200.0, "scrolling over the poster");
    browser.press_poster("#a");
    let _ = result_of(&browser, "a");
    let _ = browser.evaluate("scrollTo({ top: 0, behavior: 'instant' })");
    let words = browser.evaluate(
        "const box = a.shadowRoot.querySelector('[part=words]').getBoundingClientRect();\
         return [box.x + box.width / 2, box.y + box.height / 2]",
    );
    // Over the answer, which scrolls its own content first if it is too long, and then the page.
    scrolls(
        words[0].as_f64().unwrap(),
        words[1].as_f64().unwrap(),
        "scrolling over the answer",
    );
    scrolls(20.0, 100.0, "scrolling over the photo");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn themes_parts_and_properties_reach_the_element() {
    let body = "<espalier-ladder id=\"plain\" src=\"photo.jpg\"></espalier-ladder>\
        <espalier-ladder id=\"dark\" src=\"photo.jpg\" theme=\"dark\" credit=\"off\"></espalier-ladder>\
        <espalier-ladder id=\"brown\" class=\"brown\" src=\"photo.jpg\"></espalier-ladder>\
        <espalier-ladder id=\"accent\" src=\"photo.jpg\" theme=\"dark\"></espalier-ladder>\
        <espalier-ladder id=\"quiet\" src=\"photo.jpg\" reveal=\"manual\"></espalier-ladder>";
    let (_host, browser) = opened(STRICT, body);
    browser.resize(1000, Look::Light);
    let colour = |id: &str, part: &str, of: &str| {
        browser.evaluate(&format!(
            "return getComputedStyle({id}.shadowRoot.querySelector('[part={part}]')).{of}"
        ))
    };
    for (id, part, expected) in [
        ("plain", "box", "rgb(253, 250, 244)"),
        ("dark", "box", "rgb(33, 28, 24)"),
        ("brown", "box", "rgb(250, 240, 230)"),
        ("brown", "button", "rgb(120, 60, 20)"),
    ] {
        assert_eq!(colour(id, part, "backgroundColor"), expected, "{id}");
    }
    // Words on the page's accent stand out in both themes.
    for (accent, words) in [
        ("#7a2a10", "rgb(255, 255, 255)"),
        ("#ffd27a", "rgb(0, 0, 0)"),
    ] {
        let set = format!("accent.style.setProperty('--espalier-accent', '{accent}')");
        let _ = browser.evaluate(&set);
        let painted = browser.evaluate(
            "const canvas = new OffscreenCanvas(1, 1).getContext('2d');\
             canvas.fillStyle = getComputedStyle(accent.shadowRoot.querySelector('[part=button]')).color;\
             canvas.fillRect(0, 0, 1, 1);\
             return `rgb(${[...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).join(', ')})`",
        );
        assert_eq!(painted, words, "on {accent}");
    }
    assert_eq!(colour("dark", "credit", "display"), "none");
    assert_ne!(colour("plain", "credit", "display"), "none");
    assert_eq!(colour("quiet", "bar", "display"), "none");
    browser.resize(1000, Look::Dark);
    let dark = colour("plain", "box", "backgroundColor");
    assert_eq!(dark, "rgb(33, 28, 24)");
    // With `reveal="manual"` only `load()` starts it; then it answers like any other.
    let _ = browser.evaluate("return quiet.load()");
    browser.wait_for(
        "its answer",
        "return quiet.shadowRoot.querySelector('[part=answer]') !== null",
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_model_is_fetched_early_where_the_page_asks_for_it_and_never_after_a_crash() {
    let body = "<espalier-ladder id=\"a\" src=\"photo.jpg\" loading=\"eager\" reveal=\"interaction\"></espalier-ladder>";
    let (host, browser) = opened(STRICT, body);
    browser.wait_for("the model", "return heard.some((e) => e.name === 'ready')");
    // The answer is hidden behind the poster until the button is pressed.
    assert_eq!(
        browser.evaluate("return a.shadowRoot.querySelector('[part=answer]')"),
        Value::Null
    );
    browser.wait_for(
        "the end of the load",
        "return localStorage.getItem('espalier-loading') === null",
    );
    browser.press_poster("#a");
    let _ = result_of(&browser, "a");
    // A note remains when the browser ends a page during a load. Another load would replace it as
    // soon as the element is there.
    browser.visit(&host.url("paper/page.css"));
    let _ = browser.evaluate("localStorage.setItem('espalier-loading', 'crashed')");
    browser.visit(&host.url("paper/index.html"));
    browser.wait_for(
        "the size on the poster",
        "return a.shadowRoot?.querySelector('[part=bar]').innerText.includes('MB')",
    );
    assert_eq!(
        browser.evaluate("return localStorage.getItem('espalier-loading')"),
        "crashed",
        "the model was loaded without a press after a crash"
    );
    assert!(heard(&browser, "ready").is_empty());
    browser.press_poster("#a");
    let _ = result_of(&browser, "a");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_demo_page_shows_three_answers_and_breaks_no_policy() {
    let site = Site::built();
    let browser = Browser::start(Gpu::None);
    browser.visit(&format!("{}demo/", site.url()));
    let _ = browser.evaluate(
        "window.refused = []; document.addEventListener('securitypolicyviolation', (e) => refused.push(e.blockedURI))",
    );
    let all = "[...document.querySelectorAll('espalier-ladder')]";
    let answers = browser.evaluate(&format!("return Promise.all({all}.map((e) => e.load()))"));
    assert_eq!(answers.as_array().map(Vec::len), Some(3));
    assert_eq!(browser.asked("image.safetensors"), 1);
    assert_eq!(browser.evaluate("return refused"), json!([]));
    let _ = browser.evaluate("document.querySelector('button[data-node]').click()");
    browser.wait_for(
        "the selection",
        "return document.getElementById('events').innerText.includes('espalier-select')",
    );
    for look in [Look::Light, Look::Dark] {
        for width in [360, 768, 1440] {
            shot(&browser, "demo", width, look);
        }
    }
}

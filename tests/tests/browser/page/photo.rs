//! What the page shows about the photo itself: heat maps, two subjects and look-alikes.

use espalier_tests::browser::{Browser, Gpu, Site, sample, started};
use espalier_tests::photos::{save, side_by_side};

fn no_serious_barrier(browser: &Browser) {
    let barriers = browser.barriers();
    assert!(barriers.iter().all(|b| !b.is_serious()), "{barriers:?}");
}

fn count(browser: &Browser, selector: &str) -> u64 {
    let body = format!("return document.querySelectorAll('{selector}').length");
    browser.evaluate(&body).as_u64().unwrap()
}

/// Waits for the words below the map and returns them.
fn words(browser: &Browser, caption: &str) -> String {
    browser.wait_for(
        "the map in words",
        &format!(
            "const words = document.querySelector('[data-testid=heat-words]')?.innerText;\
             return words?.includes('{caption}') && document.querySelector('[data-testid=heat-map]') !== null"
        ),
    );
    browser.text("heat-words")
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_heat_map_follows_the_caption_by_keyboard_and_is_told_in_words() {
    let (browser, _site, _) = started("?backend=cpu&sample=cat");
    browser.press("[data-testid=heat-button]");
    let stop = words(&browser, "a domestic cat");
    assert!(stop.starts_with("It sees a domestic cat mostly "), "{stop}");
    // One pixel of the map for each place, and one around them.
    let size = "const map = document.querySelector('[data-testid=heat-map]');\
                return map.width + ' x ' + map.height";
    assert_eq!(browser.evaluate(size), "9 x 9");
    no_serious_barrier(&browser);
    browser.keys("[data-testid=heat-option]:checked", &["ArrowUp"]);
    assert!(words(&browser, "a cat").contains("a cat"));
    // An area takes the place of the map, and the map that of an area.
    browser.press("[data-testid=part-button]");
    assert_eq!(count(&browser, "[data-testid=heat-map]"), 0);
    browser.press("[data-testid=heat-button]");
    assert_eq!(count(&browser, "[data-testid=part-box]"), 0);
    browser.press("[data-testid=heat-button]");
    assert_eq!(count(&browser, "[data-testid=heat-panel]"), 0);
    // A phrase of the visitor is found in the photo too.
    browser.type_text("[data-testid=why-input]", "whiskers");
    browser.press("[data-testid=why-ask]");
    browser.wait_for_id("why-where");
    browser.press("[data-testid=why-where]");
    assert!(words(&browser, "whiskers").contains("whiskers"));
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn two_subjects_are_named_with_their_own_ladders() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name| image::open(sample(name)).unwrap().to_rgb8();
    let pair = side_by_side(&open("barn"), &open("cat"));
    let pair = save(folder.path(), "pair.png", pair);
    let (browser, site) = (Browser::start(Gpu::None), Site::built());
    browser.open(&site, "?backend=cpu");
    let _ = browser.give(&pair).answer();
    browser.wait_for_id("subjects");
    let said = browser.text("two-things");
    assert!(said.starts_with("It seems to show two things: "), "{said}");
    assert_eq!(
        count(&browser, "[data-testid=subjects] [data-testid=part-ladder]"),
        2
    );
    no_serious_barrier(&browser);
    // The next photo shows one thing.
    let _ = browser.give(&sample("cat")).answer();
    browser.wait_for(
        "the two subjects to go",
        "return document.querySelector('[data-testid=subjects]') === null",
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn look_alikes_are_fetched_when_asked_for_and_name_their_authors() {
    let (browser, site, _) = started("?backend=cpu&sample=barn");
    let fetched = |browser: &Browser| {
        let requests = browser.requests();
        let examples = requests
            .iter()
            .filter(|seen| seen.url.contains("/examples/"));
        examples.count()
    };
    assert_eq!(fetched(&browser), 0);
    browser.press("[data-testid=look-alikes]");
    browser.wait_for(
        "five pictures",
        "const images = [...document.querySelectorAll('.example img')];\
         images.forEach((image) => image.scrollIntoView());\
         return images.length === 5 && images.every((image) => image.complete && image.naturalWidth === 128)",
    );
    assert!(fetched(&browser) >= 6);
    assert_eq!(count(&browser, ".example-by[href^=https]"), 5);
    let answer = browser.text("example-answer");
    assert!(answer.contains("barn"), "{answer}");
    no_serious_barrier(&browser);
    drop(site);
}

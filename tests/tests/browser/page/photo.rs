//! What the page shows about the photo itself: heat maps, two subjects and look-alikes.

use espalier_tests::browser::{Browser, Gpu, Site, sample, started};
use espalier_tests::photos::{save, side_by_side};

/// Waits for a map, and for words below it about a caption.
fn wait_for_map(browser: &Browser, caption: &str) {
    browser.wait_for_words("[data-testid=heat-words]", caption);
    browser.wait_for_id("heat-map");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_heat_map_follows_the_caption_by_keyboard_and_is_told_in_words() {
    let (browser, _site, _) = started("?backend=cpu&sample=cat");
    browser.press("[data-testid=heat-button]");
    wait_for_map(&browser, "a domestic cat");
    let stop = browser.text("heat-words");
    assert!(stop.starts_with("It sees a domestic cat mostly "), "{stop}");
    // One pixel of the map for each place, and one around them.
    let size = "const map = document.querySelector('[data-testid=heat-map]');\
                return map.width + ' x ' + map.height";
    assert_eq!(browser.evaluate(size), "9 x 9");
    browser.has_no_serious_barrier("heat map");
    browser.keys("[data-testid=heat-option]:checked", &["ArrowUp"]);
    wait_for_map(&browser, "a cat");
    // An area takes the place of the map, and the map that of an area.
    browser.press("[data-testid=part-button]");
    assert_eq!(browser.count("[data-testid=heat-map]"), 0);
    browser.press("[data-testid=heat-button]");
    assert_eq!(browser.count("[data-testid=part-box]"), 0);
    browser.press("[data-testid=heat-button]");
    assert_eq!(browser.count("[data-testid=heat-panel]"), 0);
    // A phrase of the visitor is found in the photo too.
    browser.type_text("[data-testid=why-input]", "whiskers");
    browser.press("[data-testid=why-ask]");
    browser.wait_for_id("why-where");
    browser.press("[data-testid=why-where]");
    wait_for_map(&browser, "whiskers");
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
    let _ = browser.give(&pair).unwrap();
    browser.wait_for_id("subjects");
    let said = browser.text("two-things");
    assert!(said.starts_with("It seems to show two things: "), "{said}");
    let ladders = "[data-testid=subjects] [data-testid=part-ladder]";
    assert_eq!(browser.count(ladders), 2);
    browser.has_no_serious_barrier("two subjects");
    // The next photo shows one thing.
    let _ = browser.give(&sample("cat")).unwrap();
    browser.wait_for_end_of("subjects");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn look_alikes_are_fetched_when_asked_for_and_name_their_authors() {
    let (browser, _site, _) = started("?backend=cpu&sample=barn");
    assert_eq!(browser.asked("/examples/"), 0);
    browser.press("[data-testid=look-alikes]");
    browser.wait_for(
        "five pictures",
        "const images = [...document.querySelectorAll('.example img')];\
         images.forEach((image) => image.scrollIntoView());\
         return images.length === 5 && images.every((image) => image.complete && image.naturalWidth === 128)",
    );
    assert!(browser.asked("/examples/") >= 6);
    assert_eq!(browser.count(".example-by[href^=https]"), 5);
    let answer = browser.text("example-answer");
    assert!(answer.contains("barn"), "{answer}");
    browser.has_no_serious_barrier("look-alikes");
}

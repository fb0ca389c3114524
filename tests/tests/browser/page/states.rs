//! Several photos, links, two models and the count of sent bytes, and the accessibility of every
//! state of the page.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use espalier_tests::browser::{Browser, Gpu, Look, Site, natively, natively_by, sample, started};
use espalier_tests::models::shipped;
use espalier_tests::photos::{jpeg, keep, landscape, save};
use espalier_tests::{texts, wait_until};
use image::RgbImage;

use crate::visitor::Visit;

/// A file that is no photo.
const LETTER: &[u8] = b"Dear reader, this is no photo.\n";

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn several_photos_become_a_table_and_counts_in_the_tree() {
    let visit = Visit::new();
    let (browser, folder) = (&visit.browser, visit.folder.path());
    let photos = [
        visit.photo.clone(),
        save(folder, "two.png", landscape(90, 120)),
        keep(folder, "letter.jpg", LETTER),
    ];
    visit.open("?model=tiny&backend=cpu");
    browser.give_all(&photos);
    browser.wait_for_words("[data-testid=folder-progress]", "All 3 read");
    let lines = browser.evaluate(
        "return [...document.querySelectorAll('[data-testid=folder-line]')].map((l) => l.innerText)",
    );
    let lines: Vec<String> = serde_json::from_value(lines).unwrap();
    assert_eq!(lines.len(), 3);
    // Sorted by name: the letter comes first.
    let native = natively(&visit.photo, &[]).taxonomy;
    let mut path = native.path.iter();
    let stop = path.find(|step| step.id == native.stop).unwrap();
    assert!(lines[1].contains(&stop.name), "{lines:?}: {}", stop.name);
    assert!(lines[0].contains("can't be read"), "{lines:?}");
    browser.wait_for_words(".tree-count", "2 photos");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_link_carries_node_and_dial_and_never_the_photo() {
    let (browser, site, page) =
        started("?model=tiny&backend=cpu&sample=cat&level=1&with=000000000000&node=n02084071");
    assert!(browser.text("other-model").contains("another model"));
    let dial = browser.evaluate("return document.querySelector('[data-testid=dial]').value");
    assert_eq!(dial, "1");
    let link = browser.text("link");
    let model = &page.model.sha256[..12];
    for part in ["sample=cat", "level=1", model, "backend=cpu"] {
        assert!(link.contains(part), "{link}: {part}");
    }
    assert!(link.starts_with(&site.url()) && link.len() < 300, "{link}");

    let folder = tempfile::tempdir().unwrap();
    let photo = jpeg(&landscape(200, 150), 1);
    let photo = keep(folder.path(), "secret-name.jpg", &photo);
    let _ = browser.give(&photo).unwrap();
    let link = browser.text("link");
    for part in ["sample", "secret"] {
        assert!(!link.contains(part), "{link}");
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn nothing_is_sent_and_the_counter_that_says_so_counts() {
    let (browser, _site, _) = started("?model=tiny&backend=cpu&sample=cat");
    let bytes =
        || browser.evaluate("return document.querySelector('[data-testid=wire]').dataset.bytes");
    assert_eq!(bytes(), "0");
    let said = browser.text("wire");
    assert!(said.starts_with("0 bytes of the photo were sent"), "{said}");
    let _ = browser.evaluate(
        "return fetch('./', { method: 'POST', body: 'x'.repeat(77) }).then(() => 1, () => 0)",
    );
    wait_until("the counter does not count", || bytes() == "77");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_main_thread_is_never_held_for_long_while_a_photo_is_read() {
    let (browser, _site, _) = started("?backend=cpu&sample=cat");
    browser.watch_turns();
    let folder = tempfile::tempdir().unwrap();
    let photo = jpeg(&landscape(3_000, 2_000), 1);
    let photo = keep(folder.path(), "large.jpg", &photo);
    let _ = browser.give(&photo).unwrap();
    let longest = browser.longest_turn();
    // The goal is 50 ms; the rest is a margin for a busy machine.
    assert!(
        longest < 250.0,
        "expected tasks below 250 ms, found one of {longest} ms"
    );
    eprintln!("longest task of the page: {longest:.0} ms (0: none above 50)");
}

/// Saves a screenshot of a page of this width for a person to look at in `target/screenshots`, and
/// asserts that the page does not scroll sideways. Returns the picture and a name for messages.
pub(crate) fn shot(browser: &Browser, state: &str, width: u32, look: Look) -> (RgbImage, String) {
    browser.resize(width, look);
    let name = format!("{state}-{width}-{}.png", look.as_str());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots");
    fs::create_dir_all(&folder).unwrap();
    let bytes = browser.screenshot();
    fs::write(folder.join(&name), &bytes).unwrap();
    let reach = browser.evaluate("return document.documentElement.scrollWidth");
    assert!(
        reach.as_u64().unwrap() <= u64::from(width),
        "{name}: expected a page at most {width} pixels wide, found {reach}"
    );
    let picture = image::load_from_memory(&bytes).unwrap().to_rgb8();
    (picture, name)
}

/// Asserts that a picture of the page is as wide as its window, is not empty and has the brightness of
/// its colour scheme.
fn is_a_page((picture, name): &(RgbImage, String), width: u32, look: Look) {
    assert_eq!(picture.width(), width, "{name}");
    let colours: BTreeSet<[u8; 3]> = picture.pixels().map(|pixel| pixel.0).collect();
    assert!(colours.len() > 50, "{name}: {} colours", colours.len());
    let corner = picture.get_pixel(2, 2).0.map(u32::from).iter().sum::<u32>();
    assert_eq!(
        corner > 384,
        look == Look::Light,
        "{name}: the corner has a brightness of {corner} of 765"
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn no_state_has_a_serious_barrier_and_none_sticks_out() {
    let folder = tempfile::tempdir().unwrap();
    let letter = keep(folder.path(), "letter.jpg", LETTER);
    let (browser, site) = (Browser::start(Gpu::None), Site::built());
    let look = |state: &str| {
        for look in [Look::Light, Look::Dark] {
            for width in [360, 768, 1440] {
                is_a_page(&shot(&browser, state, width, look), width, look);
            }
            browser.has_no_serious_barrier(&format!("{state}, {}", look.as_str()));
        }
        // The page does not scroll sideways on the narrowest screen either.
        shot(&browser, state, 320, Look::Light);
    };
    browser.open(&site, "?model=tiny&backend=cpu");
    look("bench-start");
    browser.press("[data-testid=browse]");
    browser.wait_for_id("tree");
    look("bench-tree");
    assert_eq!(browser.asked("image.safetensors"), 0);

    let query = "?model=tiny&backend=cpu&sample=cat";
    let _ = browser.open_sample(&site, query).unwrap();
    browser.wait_for_id("disk");
    browser.press("[data-testid=numbers]");
    look("bench-answer");
    browser.press("[data-testid=part-button]");
    browser.wait_for_id("part-ladder");
    browser.type_text("[data-testid=why-input]", "a dog on a sofa");
    browser.press("[data-testid=why-ask]");
    browser.wait_for_id("verdict");
    browser.press("[data-testid=more-ways]");
    browser.press("[data-testid=own-tree] summary");
    browser.type_text("[data-testid=tree-search]", "dog");
    look("bench-all");
    browser.give_all(&[sample("cat"), sample("coffee"), letter.clone()]);
    browser.wait_for_words("[data-testid=folder-progress]", "All 3 read");
    look("bench-folder");
    let _ = browser.give(&letter).unwrap_err();
    look("bench-error");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn two_models_stand_side_by_side_by_a_link_of_the_page() {
    let (browser, site, _) = started("?model=tiny&backend=cpu&sample=coffee");
    browser.wait_for_id("both-models");
    let link = browser.evaluate("return document.querySelector('[data-testid=both-models]').href");
    let link = link.as_str().unwrap();
    assert!(
        link.contains("model=default,tiny") && link.contains("sample=coffee"),
        "{link}"
    );
    let query = link.strip_prefix(&site.url()).unwrap();
    let first = browser.open_sample(&site, query).unwrap();
    let photo = sample("coffee");
    let by_default = natively_by(&shipped(), &photo, &[]);
    assert_eq!(first.rungs, texts(&by_default.ladder));
    // The general captions may be shown first, so wait for those of the command line.
    let by_tiny = natively(&photo, &[]);
    let by_tiny = serde_json::to_string(&texts(&by_tiny.ladder)).unwrap();
    browser.wait_for(
        &format!("the ladder of tiny to be {by_tiny}"),
        &format!(
            "const column = '[data-testid=compare-column][data-model=tiny]';\
             const rungs = [...document.querySelectorAll(`${{column}} [data-testid=part-rung-text]`)];\
             return JSON.stringify(rungs.map((r) => r.textContent)) === JSON.stringify({by_tiny})"
        ),
    );
    assert_eq!(
        browser.count("[data-testid=both-models]"),
        0,
        "the link to both models is shown beside both models"
    );
}

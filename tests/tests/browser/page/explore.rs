//! The page after the first answer: the dial, a part of the photo, the tree, questions and the view
//! of the space, operated by keyboard.

use std::path::Path;

use espalier_core::caption::shown_rungs;
use espalier_tests::browser::{Browser, Gpu, Site, natively, sample, started};
use espalier_tests::photos::{jpeg, keep, landscape};
use espalier_tests::texts;

/// Returns the names of the rows of the tree, from top to bottom.
fn rows(browser: &Browser) -> Vec<String> {
    let rows = browser.evaluate(
        "return [...document.querySelectorAll('[data-testid=tree-row]')].map((r) => r.dataset.name)",
    );
    serde_json::from_value(rows).unwrap()
}

fn focused(browser: &Browser) -> String {
    let name = browser.evaluate("return document.activeElement.dataset.name ?? ''");
    name.as_str().unwrap().to_owned()
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_sample_is_read_as_the_command_line_reads_it_and_the_dial_cuts_its_path() {
    let (browser, _site, page) = started("?model=tiny&backend=cpu&sample=cat");
    let native = natively(&sample("cat"), &[]);
    assert_eq!(page.image, native.image);
    assert_eq!(texts(&page.ladder), texts(&native.ladder));

    let shown = || browser.count("[data-testid=rung]:not([hidden])");
    let likely = shown_rungs(&page.ladder, &page.taxonomy).len() as u64;
    assert_eq!(shown(), likely);
    let said = browser.text("stop-sentence");
    assert!(said.ends_with('.'), "{said}");
    browser.type_text("[data-testid=dial]", "0");
    let all = page.ladder.len() as u64;
    assert!(
        shown() < all,
        "the most general position of the dial hides no rung"
    );
    browser.keys("[data-testid=dial]", &["End"]);
    assert_eq!(shown(), all);
    let boldest = browser.text("stop-sentence");
    let leaf = &page.taxonomy.path.last().unwrap().name;
    assert!(boldest.contains(leaf.as_str()), "{boldest}: {leaf}");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_part_of_the_photo_is_read_as_the_command_line_reads_it() {
    let (browser, _site, _) = started("?model=tiny&backend=cpu&sample=raccoon");
    part_agrees(&browser, &sample("raccoon"));
    browser.key("Escape", false);
    browser.wait_for_end_of("part-ladder");
}

/// Chooses a part of the photo on the page, moves it by keys, and waits until its ladder equals
/// that of `trainer caption --region`.
pub(crate) fn part_agrees(browser: &Browser, photo: &Path) {
    browser.press("[data-testid=part-button]");
    browser.wait_for_id("part-ladder");
    // Moves it to the left and up, and then makes it wider.
    browser.keys("[data-testid=part-box]", &["ArrowLeft"; 5]);
    browser.keys("[data-testid=part-box]", &["ArrowUp"; 5]);
    for _ in 0..3 {
        browser.key("ArrowRight", true);
    }
    browser.wait_for(
        "the new position of the part",
        "return document.querySelector('[data-testid=part-box]').getAttribute('aria-label').startsWith('from 15 to 71')",
    );
    let native = natively(photo, &["--region", "0.15,0.15,0.71,0.65"]);
    let known = serde_json::to_string(&texts(&native.ladder)).unwrap();
    browser.wait_for(
        &format!("the part's ladder to be {known}"),
        &format!(
            "return JSON.stringify([...document.querySelectorAll('[data-testid=part-rung-text]')]\
             .map((r) => r.textContent)) === JSON.stringify({known})"
        ),
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_part_of_a_large_photo_on_its_side_is_cut_from_all_of_its_pixels() {
    let folder = tempfile::tempdir().unwrap();
    // Stored rotated by 90 degrees, so that the box must be applied to the upright photo.
    let stored = image::imageops::rotate270(&landscape(2_400, 1_600));
    let photo = keep(folder.path(), "large.jpg", &jpeg(&stored, 6));
    let (browser, site) = (Browser::start(Gpu::None), Site::built());
    browser.open(&site, "?model=tiny&backend=cpu");
    let answer = browser.give(&photo).unwrap();
    let size = (answer.result.image.width, answer.result.image.height);
    assert_eq!(size, (2_400, 1_600));
    part_agrees(&browser, &photo);
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_tree_is_walked_by_keys_searched_and_narrowed() {
    let (browser, _site, page) = started("?model=tiny&backend=cpu&sample=cat");
    let path: Vec<&str> = page.taxonomy.path.iter().map(|s| s.name.as_str()).collect();
    browser.wait_for(
        "the photo's path in the tree",
        "return document.querySelectorAll('.tree-row.on-path').length > 2",
    );
    let seen = rows(&browser);
    assert!(
        path.iter().all(|name| seen.iter().any(|row| row == name)),
        "{path:?} {seen:?}"
    );

    let first = "[data-testid=tree-row][tabindex='0']";
    browser.keys(first, &["Home"]);
    browser.wait_for(
        "the focus on the root",
        "return document.activeElement.getAttribute('aria-level') === '1'",
    );
    assert_eq!(focused(&browser), path[0]);
    let _ = browser.evaluate("window.rootRow = document.activeElement");
    browser.key("ArrowLeft", false);
    browser.wait_for(
        "a folded tree",
        "return document.querySelectorAll('[data-testid=tree-row]').length === 1",
    );
    // Keys that are pressed while no row has the focus would be lost.
    let kept = browser.evaluate("return document.activeElement === window.rootRow");
    assert_eq!(kept, true, "expected the folded row to keep the focus");
    browser.key("ArrowRight", false);
    browser.wait_for(
        "an unfolded tree",
        "return document.querySelectorAll('[data-testid=tree-row]').length > 1",
    );
    browser.key("ArrowDown", false);
    browser.wait_for(
        "the focus on the second row",
        "return document.activeElement.getAttribute('aria-level') === '2'",
    );
    assert_eq!(
        browser.count(first),
        1,
        "expected one row that the tab key reaches"
    );

    browser.type_text("[data-testid=tree-search]", "tabby");
    browser.wait_for_id("hits");
    browser.key("Enter", false);
    browser.wait_for(
        "the card of the concept that was searched for",
        "return document.querySelector('[data-testid=node-card]')?.textContent.toLowerCase().includes('tabby')",
    );

    browser.type_text("[data-testid=tree-search]", "vehicle");
    browser.key("Enter", false);
    browser.wait_for_id("search-below");
    browser.press("[data-testid=search-below]");
    browser.wait_for_id("narrowed");
    browser.wait_for(
        "a path through the chosen node",
        "return [...document.querySelectorAll('.tree-row.on-path')].some((r) => r.dataset.name === 'vehicle')",
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_space_is_shown_a_phrase_is_weighed_and_an_own_tree_is_planted() {
    let (browser, _site, _) = started("?model=tiny&backend=cpu&sample=coffee");
    the_space_shows_the_photo_and_the_walk_ends_at_the_root(&browser);
    let fetched = || browser.asked("text.safetensors");
    assert_eq!(
        fetched(),
        0,
        "the text encoder was fetched before it was needed"
    );
    let button = browser.text("why-ask");
    assert!(button.contains("MB"), "{button}");
    weigh_a_phrase(&browser);
    assert!(fetched() > 0);

    plant_a_tree(&browser);
}

/// Types a phrase, and asserts that the verdict has its three parts.
pub(crate) fn weigh_a_phrase(browser: &Browser) {
    browser.type_text("[data-testid=why-input]", "a vehicle");
    browser.press("[data-testid=why-ask]");
    browser.wait_for_id("verdict");
    let verdict = browser.text("verdict");
    for word in ["captions I know", "a vehicle"] {
        assert!(verdict.contains(word), "{verdict}: {word}");
    }
    // The browser's tables of Unicode's normal forms serve the tokenizer: full-width letters are the same word.
    let wide = "a \u{ff56}\u{ff45}\u{ff48}\u{ff49}\u{ff43}\u{ff4c}\u{ff45}";
    browser.type_text("[data-testid=why-input]", wide);
    browser.press("[data-testid=why-ask]");
    let same = format!("“{wide}”; the closest one is a vehicle");
    browser.wait_for_words("[data-testid=verdict]", &same);
    browser.type_text("[data-testid=why-input]", "asdfgh");
    browser.press("[data-testid=why-ask]");
    browser.wait_for_words("[data-testid=verdict]", "know what “asdfgh” means");
}

/// Types a taxonomy, which replaces that of the bundle, and then one with a syntax error, which is
/// reported.
fn plant_a_tree(browser: &Browser) {
    browser.press("[data-testid=own-tree] summary");
    browser.type_text(
        "[data-testid=own-tree-text]",
        "drink\n  coffee\n  tea\nanimal\n  cat\n",
    );
    browser.press("[data-testid=plant]");
    browser.wait_for(
        "the visitor's own tree",
        "return [...document.querySelectorAll('[data-testid=tree-row]')].some((r) => r.dataset.name === 'everything')",
    );
    browser.wait_for(
        "the photo's path in it",
        "return document.querySelectorAll('.tree-row.on-path').length >= 2",
    );
    browser.wait_for_words("[data-testid=answer]", "in your own tree");
    for (wrong, told) in [("animal\n    dog\n  cat\n", "line 3"), ("(a,b", "bracket")] {
        browser.type_text("[data-testid=own-tree-text]", wrong);
        browser.press("[data-testid=plant]");
        browser.wait_for_words("[data-testid=own-tree] [role=alert]", told);
    }
}

fn the_space_shows_the_photo_and_the_walk_ends_at_the_root(browser: &Browser) {
    browser.wait_for_id("disk");
    browser.wait_for_id("walk");
    let painted = "const c = document.querySelector('[data-testid=disk]');\
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;\
        let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n > 10000";
    browser.wait_for("a drawing in the disk", painted);
    assert!(browser.count("[data-testid=near] button") >= 1);
    browser.wait_for(
        "steps of the walk",
        "return Number(document.querySelector('[data-testid=walk-range]').max) > 10",
    );
    browser.keys("[data-testid=walk-range]", &["End"]);
    browser.wait_for_words("[data-testid=walk-said]", "the root");
}

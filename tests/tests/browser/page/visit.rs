//! A first visit: where the page scrolls to, what the first screen of a phone shows, and whether the
//! parts of an answer agree with each other.

use std::path::{Path, PathBuf};

use espalier_core::caption::{CaptionResult, shown_rungs};
use espalier_tests::browser::{Browser, Gpu, Look, Site, sample, started};
use espalier_tests::photos::{jpeg, keep, landscape, save};
use espalier_tests::wait_until;
use serde_json::Value;

/// Height in pixels of the windows that [`Browser::resize`] sets.
const HEIGHT: f64 = 900.0;

fn number(browser: &Browser, body: &str) -> f64 {
    browser.evaluate(body).as_f64().unwrap()
}

/// Waits until the page has stopped scrolling, and asserts that the answer is on the screen.
fn the_answer_is_in_view(browser: &Browser) {
    browser.wait_for(
        "the end of scrolling",
        "const before = window.scrolledTo; window.scrolledTo = scrollY;\
         return before === scrollY && !document.body.hasAttribute('data-settling')",
    );
    let top = number(
        browser,
        "return document.querySelector('[data-testid=stop-sentence]').getBoundingClientRect().top",
    );
    assert!((0.0..HEIGHT * 0.7).contains(&top), "{top}");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_answer_comes_into_view_at_every_width_however_a_photo_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let (browser, site) = (Browser::start(Gpu::None), Site::built());
    for (width, scrolled) in [(390, 400), (1440, 120)] {
        browser.resize(width, Look::Light);
        browser.open(&site, "?model=tiny&backend=cpu");
        let photo = save(folder.path(), &format!("{width}.png"), landscape(90, 120));
        let _ = browser.evaluate(&format!("scrollTo(0, {scrolled})"));
        let _ = browser.give(&photo).unwrap();
        the_answer_is_in_view(&browser);
        // The second photo is a sample, pressed far below the answer.
        let _ = browser.evaluate("document.querySelector('[data-sample=cat]').scrollIntoView()");
        browser.press("[data-sample=cat]");
        browser.wait_for(
            "the answer to the sample",
            "return document.querySelector('.photo img')?.alt === 'A cat' \
             && document.querySelector('[data-testid=stop-sentence]') !== null",
        );
        the_answer_is_in_view(&browser);
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_first_screen_of_a_phone_shows_every_way_to_begin() {
    let (browser, site) = (Browser::start(Gpu::None), Site::built());
    browser.resize(390, Look::Light);
    browser.open(&site, "?model=tiny&backend=cpu");
    browser.wait_for_id("file-input");
    for way in [".frame-actions .button", "[data-sample=raccoon]"] {
        let bottom = number(
            &browser,
            &format!("return document.querySelector('{way}').getBoundingClientRect().bottom"),
        );
        assert!(bottom < 844.0, "{way} ends at {bottom}");
    }
    for width in [320, 390, 768, 1440] {
        browser.resize(width, Look::Light);
        let wide = number(&browser, "return document.documentElement.scrollWidth");
        assert!(wide <= f64::from(width), "{wide} of {width} pixels");
    }
}

/// Cuts photos from the samples until there are `count` of them.
fn many_photos(folder: &Path, count: usize) -> Vec<PathBuf> {
    let names = [
        "cat", "car", "coffee", "canoes", "football", "barn", "raccoon",
    ];
    let open = |name: &&str| image::open(sample(name)).unwrap().to_rgb8();
    let samples: Vec<_> = names.iter().map(open).collect();
    let cut = |index: usize| {
        let picture = &samples[index % samples.len()];
        let (width, height) = picture.dimensions();
        let part = 2 + u32::try_from(index / samples.len()).unwrap() % 4;
        let side = width.min(height) * part / 5;
        let x = (width - side) * (u32::try_from(index).unwrap() * 7 % 10) / 10;
        let picture = image::imageops::crop_imm(picture, x, (height - side) / 2, side, side);
        let bytes = jpeg(&picture.to_image(), 1);
        keep(folder, &format!("{index}.jpg"), &bytes)
    };
    (0..count).map(cut).collect()
}

fn texts(browser: &Browser, selector: &str) -> Vec<String> {
    let body = format!(
        "return [...document.querySelectorAll('{selector}')].filter((e) => !e.closest('[hidden]'))\
         .map((e) => e.textContent.trim())"
    );
    serde_json::from_value(browser.evaluate(&body)).unwrap()
}

/// Asserts that the path shows no step that nobody would name until it is asked to, and that it calls nothing
/// beyond the stop more than possible.
fn steps_agree(browser: &Browser) {
    const UNNAMED: [&str; 6] = [
        "entity",
        "physical entity",
        "object",
        "whole",
        "instrumentality",
        "matter",
    ];
    let shown = || -> Vec<(String, String, bool)> {
        let steps = browser.evaluate(
            "return [...document.querySelectorAll('[data-testid=step]')]\
             .map((e) => [e.querySelector('.step-name').textContent,\
             e.querySelector('.step-sure').textContent, e.classList.contains('is-below')])",
        );
        serde_json::from_value(steps).unwrap()
    };
    for (name, sure, is_below) in shown() {
        assert!(!UNNAMED.contains(&name.as_str()), "{name} is shown");
        let is_modest = ["", "possibly", "unlikely"].contains(&sure.as_str());
        assert!(!is_below || is_modest, "{name}, beyond the stop: {sure}");
    }
    browser.press("[data-testid=every-step]");
    let all = shown();
    assert!(all.iter().any(|(name, ..)| name == "entity"), "{all:?}");
    browser.press("[data-testid=every-step]");
}

/// Asserts that ladder, path, tree, walk, likely concepts and sentence tell the same.
fn all_parts_agree(browser: &Browser, result: &CaptionResult) {
    let path = &result.taxonomy.path;
    let of = |id: &str| path.iter().find(|step| step.id == id);
    let stop = path.iter().position(|step| step.id == result.taxonomy.stop);
    let shown = shown_rungs(&result.ladder, &result.taxonomy);
    let ladder: Vec<&str> = shown.iter().map(|rung| rung.text.as_str()).collect();
    assert_eq!(
        texts(browser, "[data-testid=ladder] [data-testid=rung-text]"),
        ladder
    );
    // Every rung is on the path, and as likely as it looks, or the detectors tell it.
    for rung in &shown {
        let Some(node) = rung.node.as_deref() else {
            let is_told = rung.p >= Some(0.5) && !result.shows.is_empty();
            assert!(is_told, "{}", rung.text);
            continue;
        };
        let step = of(node).unwrap_or_else(|| panic!("{} is not on the path", rung.text));
        let index = path.iter().position(|other| other.id == step.id);
        assert!(index <= stop || step.p >= 0.25, "{}: {}", rung.text, step.p);
    }
    let root = "the root, which stands for everything";
    let last = ladder.last().copied().unwrap_or(root);
    wait_until("the walk is not that of this photo", || {
        browser.text("walk-said") == last
    });
    let in_tree = texts(browser, ".tree-row.is-stop .tree-name");
    let stop_name = stop.map(|stop| path[stop].name.clone());
    assert_eq!(in_tree.first(), stop_name.as_ref(), "the stop in the tree");
    steps_agree(browser);
    // The most likely label is not less likely than the end of the path.
    let likely = texts(browser, "[data-testid=near] button");
    let end = path.last().unwrap();
    if end.p > 0.5 {
        assert_eq!(likely.first(), Some(&end.name), "the most likely concept");
    }
}

/// Gives the page this many photos, and asserts after each that all parts of the answer agree.
pub(crate) fn all_answers_agree(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (browser, site) = (Browser::start(Gpu::None), Site::built());
    browser.open(&site, "?backend=cpu");
    for photo in many_photos(folder.path(), count) {
        let answer = browser.give(&photo).unwrap();
        browser.wait_for(
            "the place of this photo in the tree",
            "return document.querySelectorAll('.tree-row.is-stop').length === 1 \
             && document.querySelector('[data-testid=walk-said]') !== null",
        );
        all_parts_agree(&browser, &answer.result);
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn no_two_parts_of_an_answer_disagree() {
    // One of each sample; the nightly tests read 50.
    all_answers_agree(7);
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_search_leads_somewhere_for_synonyms_near_misses_and_nonsense() {
    let (browser, site) = (Browser::start(Gpu::None), Site::built());
    browser.open(&site, "?backend=cpu");
    browser.press("[data-testid=browse]");
    browser.wait_for_id("tree-search");
    for (typed, expected) in [
        ("thrush", "thrush"),
        ("robin", "robin"),
        ("kitty", "cat"),
        ("sofa", "sofa"),
        ("elefant", "elephant"),
        ("qxqxqx", ""),
    ] {
        browser.type_text("[data-testid=tree-search]", typed);
        browser.wait_for(
            &format!("hits for {typed}"),
            &format!(
                "const hits = [...document.querySelectorAll('.hit')].map((h) => h.textContent);\
                 return hits.length > 0 && hits.some((text) => text.includes('{expected}'))"
            ),
        );
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_button_promises_no_less_than_the_bar_counts() {
    let (browser, site) = (Browser::start(Gpu::None), Site::copy());
    browser.open(&site, "?backend=cpu");
    let megabytes = |text: &str| -> f64 {
        let words: Vec<&str> = text.split_whitespace().collect();
        let at = words.iter().rposition(|word| word.starts_with("MB"));
        words[at.unwrap() - 1]
            .trim_start_matches('(')
            .parse()
            .unwrap()
    };
    let label = browser.wait_for(
        "the size on the button",
        "const text = document.querySelector('[data-testid=load-button]')?.textContent;\
         return text?.includes('MB') && text",
    );
    browser.network().hold(".safetensors");
    browser.press("[data-testid=load-button]");
    let bar = browser.wait_for(
        "the size at the bar",
        "const text = document.querySelector('[data-testid=progress-bytes]')?.textContent;\
         return text?.includes('of') && text",
    );
    browser.network().release();
    let sizes = [&label, &bar].map(|text| megabytes(text.as_str().unwrap()));
    assert!((sizes[0] - sizes[1]).abs() < 0.06, "{label}, {bar}");
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_verdict_agrees_with_the_ladder_and_says_what_it_does_not_understand() {
    let (browser, _site, result) = started("?backend=cpu&sample=cat");
    let ask = |phrase: &str| {
        browser.type_text("[data-testid=why-input]", phrase);
        browser.press("[data-testid=why-ask]");
        let verdict = browser.wait_for(
            "the verdict",
            &format!(
                "const found = document.querySelector('[data-testid=verdict]');\
                 return found?.dataset.phrase === {} && found.innerText",
                Value::from(phrase)
            ),
        );
        verdict.as_str().unwrap().to_owned()
    };
    let unknown = ask("asdfgh");
    assert!(unknown.contains("know what “asdfgh” means"), "{unknown}");
    let wrong = ask("stingray");
    assert!(
        wrong.contains("unlikely to be a stingray") || wrong.contains("not a stingray"),
        "{wrong}"
    );
    assert!(!wrong.contains("may well"), "{wrong}");
    let mut path = result.taxonomy.path.iter();
    let stop = path.find(|step| step.id == result.taxonomy.stop).unwrap();
    let right = ask(&stop.name);
    assert!(right.starts_with("It fits"), "{right}");
}

/// Cuts a part of the sample of a barn, whose left and upper edge lie at this share of its sides.
fn barn_part(folder: &Path, at: f32) -> PathBuf {
    let picture = image::open(sample("barn")).unwrap().to_rgb8();
    let of_sides = |share: f32| {
        let (width, height) = picture.dimensions();
        [width, height].map(|length| (length as f32 * share) as u32)
    };
    let ([x, y], [width, height]) = (of_sides(at), of_sides(0.8));
    let cut = image::imageops::crop_imm(&picture, x, y, width, height);
    keep(folder, &format!("barn-{at}.jpg"), &jpeg(&cut.to_image(), 1))
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn a_taught_name_is_recognised_stays_after_a_reload_and_can_be_removed() {
    const NAME: &str = "Aunt Emma's barn";
    let folder = tempfile::tempdir().unwrap();
    let part = |at| barn_part(folder.path(), at);
    let (browser, site, _) = started("?backend=cpu&sample=barn");
    let end = |result: &CaptionResult| result.taxonomy.path.last().unwrap().name.clone();
    let is_named = |selector: &str| {
        let said = format!(
            "return [...document.querySelectorAll('{selector}')]\
             .some((e) => e.textContent.includes({}))",
            Value::from(NAME)
        );
        browser.evaluate(&said) == true
    };
    browser.type_text("[data-testid=teach-name]", NAME);
    browser.give_to("[data-testid=teach-photos]", &[part(0.0), part(0.1)]);
    browser.press("[data-testid=teach-send]");
    browser.wait_for_words("[data-testid=teach-said]", "Learned");
    // The answer that is shown knows the name at once, and so does the tree.
    wait_until("the name is not in the answer and in the tree", || {
        is_named("[data-testid=ladder] [data-testid=rung-text]") && is_named(".tree-row .tree-name")
    });
    let answer = browser.give(&part(0.15)).unwrap();
    assert_eq!(end(&answer.result), NAME);
    browser.open(&site, "?backend=cpu");
    let answer = browser.give(&part(0.2)).unwrap();
    wait_until("the stored name is not in the answer", || {
        browser.count("[data-testid=taught-name]") == 1 && is_named("[data-testid=step]")
    });
    assert!(!answer.rungs.is_empty());
    browser.press("[data-testid=taught-name] button");
    browser.wait_for(
        "the name to be forgotten",
        &format!(
            "return !document.querySelector('[data-testid=answer]').innerText.includes({})",
            Value::from(NAME)
        ),
    );
    assert_eq!(
        browser.evaluate(
            "return Object.keys(localStorage).filter((key) => key.startsWith('espalier-taught')).length"
        ),
        0
    );
}

#[test]
#[ignore = "needs Chromium: cargo xtask test"]
fn the_camera_is_read_live_and_the_shutter_keeps_a_picture() {
    let (browser, site) = (Browser::start(Gpu::None), Site::built());
    browser.open(&site, "?model=tiny&backend=cpu");
    browser.press("[data-testid=live-start]");
    browser.wait_for(
        "answers to the view",
        "return Number(document.querySelector('[data-testid=live]')?.dataset.count) >= 5",
    );
    let said = browser.text("live-sentence");
    assert!(said.ends_with('.') && !said.contains("camera"), "{said}");
    browser.has_no_serious_barrier("live camera");
    browser.press("[data-testid=live-keep]");
    browser.wait_for(
        "the answer to the kept picture",
        "return document.querySelector('[data-testid=live]') === null \
         && document.querySelector('[data-testid=stop-sentence]') !== null \
         && document.querySelector('.photo img')?.alt.includes('camera.jpg')",
    );
    // It can be stopped without a picture, too; the camera's light goes out.
    browser.press("[data-testid=live-start]");
    browser.wait_for_id("live-stop");
    browser.press("[data-testid=live-stop]");
    browser.wait_for(
        "the photo that was kept",
        "return document.querySelector('[data-testid=live]') === null && document.querySelector('.photo img') !== null",
    );
}

//! Named, versioned sets of prompts (notation 6.1). `{}` is a class name, `{a}` the name with its
//! article; `[x|y]` lists alternatives, and a pattern expands to one prompt per alternative.

use espalier_core::caption::prompts::prompt;
use espalier_io::exit::usage;

/// Selects the dataset's own set, or [`SIMPLE`] if it has none.
pub const AUTO: &str = "auto";
pub use espalier_core::caption::prompts::SIMPLE;
/// What a result names as its prompts where a bundle was judged with the labels that it stores.
pub const STORED: &str = "stored";

/// Patterns of the CIFAR sets.
const CIFAR: &[&str] = &[
    "a photo of [a|the] {}.",
    "a [blurry|black and white|low contrast|high contrast|bad|good] photo of [a|the] {}.",
    "a photo of [a|the] [small|big] {}.",
];

/// The 80 templates that OpenAI published for ImageNet.
const OPENAI_80: &[&str] = &[
    "a photo of [a|the|one|my|many] {}.",
    "a [bad|good|cropped|bright|close-up|blurry|pixelated|jpeg corrupted|black and white|low resolution] photo of [a|the] {}.",
    "a dark photo of [a|the] {}.",
    "a photo of [a|the] [clean|dirty|large|small|nice|cool|weird|hard to see] {}.",
    "a [painting|sculpture|sketch|tattoo|rendering|rendition|drawing|doodle] of [a|the] {}.",
    "[art|graffiti] of [a|the] {}.",
    "[a|the] [plastic|toy|embroidered|cartoon|plushie|origami] {}.",
    "[a|the] {} in a video game.",
    "itap of [a|the|my] {}.",
];

/// Prompt sets by name, with the datasets that use each set by default.
const SETS: &[(&str, &[&str], &[&str])] = &[
    (SIMPLE, &espalier_core::caption::prompts::PATTERNS, &[]),
    ("plain-1", &["{}"], &[]),
    ("photo-1", &["a photo of a {}."], &[]),
    ("openai-80", OPENAI_80, &[]),
    (
        "meru-imagenet",
        &[
            "i took a picture : itap of a {}.",
            "pics : a bad photo of the {}.",
            "pics : a origami {}.",
            "pics : a photo of the large {}.",
            "pics : a {} in a video game.",
            "pics : art of the {}.",
            "pics : a photo of the small {}.",
        ],
        &["imagenet"],
    ),
    (
        "meru-food101",
        &["food : {}.", "food porn : {}."],
        &["food101"],
    ),
    (
        "meru-cub2011",
        &["[bird pics|birding|birds|bird photography] : {}."],
        &["cub2011"],
    ),
    ("meru-flowers102", &["flowers : {}."], &["flowers102"]),
    (
        "meru-dtd",
        &["pics : [this |]{} [texture|pattern|thing]."],
        &["dtd"],
    ),
    (
        "meru-cars",
        &[
            "a photo of [a|the|my|my dirty|my clean|my new|my old] {}.",
            "i love my {}!",
        ],
        &["cars"],
    ),
    ("meru-cifar", CIFAR, &["cifar10", "cifar100"]),
    (
        "meru-sun397",
        &["a photo of [a|the] {}."],
        &["sun397", "stl10"],
    ),
    (
        "meru-aircraft",
        &["a photo of [a|the] {}, a type of aircraft."],
        &["aircraft"],
    ),
    ("meru-pets", &["a photo of a {}, a type of pet."], &["pets"]),
    (
        "meru-caltech101",
        &[
            "a [photo|painting|sculpture|sketch|tattoo|rendition|drawing|doodle] of [a|the] {}.",
            "[art|graffiti] of [a|the] {}.",
            "[a|the] [plastic|toy|embroidered|cartoon|plushie|origami] {}.",
            "[a|the] {} in a video game.",
        ],
        &["caltech101"],
    ),
    (
        "meru-eurosat",
        &["a centered satellite photo of [|a |the ]{}."],
        &["eurosat"],
    ),
    (
        "meru-resisc45",
        &[
            "[satellite imagery|aerial imagery|satellite photo|aerial photo|satellite view|aerial view] of [|a |the ]{}.",
        ],
        &["resisc45"],
    ),
    (
        "meru-country211",
        &[
            "a photo i took in {}.",
            "a photo i took while visiting {}.",
            "a photo from my home country of {}.",
            "a photo from my visit to {}.",
            "a photo showing the country of {}.",
        ],
        &["country211"],
    ),
    (
        "meru-mnist",
        &["a photo of the number: \"{}\"."],
        &["mnist"],
    ),
    ("meru-clevr", &["a photo of {} objects."], &["clevr"]),
    ("meru-pcam", &["this is a photo of {}."], &["pcam"]),
    ("meru-sst2", &["a {} review of a movie."], &["sst2"]),
];

/// Expands a pattern to all its prompts.
fn expand(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('[') else {
        return vec![pattern.to_owned()];
    };
    let (choices, after) = rest.split_once(']').unwrap_or((rest, ""));
    let ends = expand(after);
    let mut all = Vec::new();
    for choice in choices.split('|') {
        all.extend(ends.iter().map(|end| format!("{before}{choice}{end}")));
    }
    all
}

/// Resolves the name of a set; [`AUTO`] selects the dataset's own.
pub fn resolve<'a>(set: &'a str, dataset: Option<&str>) -> &'a str {
    if set != AUTO {
        return set;
    }
    let is_own = |of: &[&str]| dataset.is_some_and(|dataset| of.contains(&dataset));
    let own = SETS.iter().find(|(_, _, of)| is_own(of));
    own.map_or(SIMPLE, |(name, _, _)| name)
}

/// Returns the prompts of a set with their placeholders.
///
/// # Errors
/// Bad usage for an unknown set; the message lists the known sets.
pub fn templates(set: &str) -> anyhow::Result<Vec<String>> {
    let (_, patterns, _) = SETS.iter().find(|(n, _, _)| *n == set).ok_or_else(|| {
        let known: Vec<&str> = SETS.iter().map(|(name, _, _)| *name).collect();
        usage(format!(
            "--prompts: expected {AUTO} or one of {}, found `{set}`",
            known.join(", ")
        ))
    })?;
    let prompts = patterns.iter().flat_map(|pattern| expand(pattern));
    Ok(prompts.collect())
}

/// Returns the prompts of a set for one class name.
///
/// # Errors
/// Bad usage for an unknown set; the message lists the known sets.
pub fn fill(set: &str, name: &str) -> anyhow::Result<Vec<String>> {
    let patterns = templates(set)?;
    Ok(patterns.iter().map(|p| prompt(p, name)).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn templates_are_filled_with_the_name_and_its_article() {
        let filled = fill(SIMPLE, "umbrella").unwrap();
        let expected = ["umbrella", "an umbrella", "a photo of an umbrella"];
        assert_eq!(filled[..3], expected);
        let error = fill("simple-9", "x").unwrap_err().to_string();
        let start = "--prompts: expected auto or one of simple-1, plain-1";
        assert!(error.starts_with(start), "{error}");
        assert!(error.ends_with("found `simple-9`"), "{error}");
    }

    #[test]
    fn every_set_has_its_published_number_of_prompts() {
        // notation 6.1.
        let sizes = [
            ("openai-80", 80),
            ("meru-imagenet", 7),
            ("meru-food101", 2),
            ("meru-cub2011", 4),
            ("meru-flowers102", 1),
            ("meru-dtd", 6),
            ("meru-cars", 8),
            ("meru-cifar", 18),
            ("meru-sun397", 2),
            ("meru-aircraft", 2),
            ("meru-pets", 1),
            ("meru-caltech101", 34),
            ("meru-eurosat", 3),
            ("meru-resisc45", 18),
            ("meru-country211", 5),
            ("meru-mnist", 1),
            ("meru-clevr", 1),
            ("meru-pcam", 1),
            ("meru-sst2", 1),
        ];
        for (set, size) in sizes {
            let all = templates(set).unwrap();
            let different: BTreeSet<&String> = all.iter().collect();
            let counts = (all.len(), different.len());
            assert_eq!(counts, (size, size), "{set}: {all:#?}");
            let is_filled_in = |t: &String| t.contains("{}") && !t.contains(['[', ']', '|']);
            assert!(all.iter().all(is_filled_in), "{set}: {all:#?}");
        }
    }

    #[test]
    fn choices_expand_and_may_be_empty() {
        assert_eq!(
            templates("meru-dtd").unwrap()[..4],
            [
                "pics : this {} texture.",
                "pics : this {} pattern.",
                "pics : this {} thing.",
                "pics : {} texture."
            ]
        );
        let first = &templates("meru-eurosat").unwrap()[0];
        assert_eq!(first, "a centered satellite photo of {}.");
    }

    #[test]
    fn a_dataset_has_its_own_set() {
        assert_eq!(resolve(AUTO, Some("cifar100")), "meru-cifar");
        assert_eq!(resolve(AUTO, Some("stl10")), "meru-sun397");
        assert_eq!(resolve(AUTO, Some("my photos")), SIMPLE);
        assert_eq!(resolve(AUTO, None), SIMPLE);
        assert_eq!(resolve("openai-80", Some("cifar10")), "openai-80");
    }
}

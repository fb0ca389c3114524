//! The tokenizer against the reference values of notation 9.8, and properties of any text.

use espalier_core::input::{Tokenizer, TokenizerRules, merges_prefix};
use proptest::prelude::*;

const MERGES: &str = include_str!("../../../trainer/checkpoints/vocab/clip_bpe_merges.txt");
const CONTEXT: usize = 77;

thread_local! {
    static CLIP: Tokenizer = Tokenizer::from_merges(MERGES, 49_408).unwrap();
    static SMALL: Tokenizer = Tokenizer::from_merges(MERGES, 8192).unwrap();
}

fn clip(text: &str) -> Vec<u32> {
    CLIP.with(|t| t.encode(text, CONTEXT))
}

#[test]
fn reference_texts_get_reference_ids() {
    let cases: [(&str, &[u32]); 6] = [
        (
            "a photo of a cat.",
            &[49406, 320, 1125, 539, 320, 2368, 269, 49407],
        ),
        (
            "pics : a origami Tench, Tinca tinca.",
            &[
                49406, 2559, 281, 320, 31832, 1149, 634, 267, 1310, 1684, 1310, 1684, 269, 49407,
            ],
        ),
        (
            "I can&amp;#39;t   don't   see 12 cafés!",
            &[
                49406, 328, 753, 713, 847, 713, 862, 272, 273, 3471, 20507, 256, 49407,
            ],
        ),
        ("", &[49406, 49407]),
        ("你好 😀", &[49406, 47466, 254, 29290, 377, 7334, 49407]),
        // The literal marker becomes the end id.
        ("a<|endoftext|>cat", &[49406, 320, 49407, 2368, 49407]),
    ];
    for (text, expected) in cases {
        assert_eq!(clip(text), expected, "{text:?}");
    }
}

/// `golden/gen_tokens.py` writes the ids that each program gives.
#[test]
fn unusual_texts_get_the_ids_of_the_program_whose_rules_apply() {
    let golden = include_str!("../../../tests/golden/tokens.tsv");
    let mut differing = std::collections::BTreeMap::<String, Vec<Vec<u32>>>::new();
    for line in golden.lines().skip(2) {
        let fields: Vec<&str> = line.split('\t').collect();
        let rules: TokenizerRules = serde_json::from_value(fields[0].into()).unwrap();
        let text: String = serde_json::from_str(fields[1]).unwrap();
        let ids: Vec<u32> = fields[2].split(' ').map(|id| id.parse().unwrap()).collect();
        let found = CLIP.with(|t| t.clone().with_rules(rules).encode(&text, CONTEXT));
        assert_eq!(found, ids, "{rules:?}: {text:?}");
        differing.entry(text).or_default().push(ids);
    }
    assert!(differing.values().all(|rows| rows.len() == 3));
    let unequal = differing.values().filter(|rows| rows[0] != rows[2]);
    assert!(unequal.count() >= 6, "the rules must differ somewhere");
}

#[test]
fn the_vocabulary_is_that_of_clip() {
    CLIP.with(|t| {
        assert_eq!(
            (t.vocab_size(), t.start_token(), t.end_token()),
            (49408, 49406, 49407)
        );
    });
    let more = Tokenizer::from_merges(MERGES, 49_409).unwrap_err();
    let expected = "vocabulary: expected 48895 merges for a size of 49409, found 48894";
    assert_eq!(more.to_string(), expected);
}

#[test]
fn a_smaller_vocabulary_keeps_the_ids_of_common_words() {
    // Common words keep their ids; "origami" is rare and is split into more tokens.
    let small = SMALL.with(|t| t.encode("a photo of a cat.", CONTEXT));
    assert_eq!(small, [8190, 320, 1125, 539, 320, 2368, 269, 8191]);
    let rare = SMALL.with(|t| t.encode("origami", CONTEXT));
    assert!(
        rare.len() > 3 && rare.iter().all(|&id| id < 8192),
        "{rare:?}"
    );
}

#[test]
fn a_prefix_of_the_file_is_enough_for_its_vocabulary() {
    let prefix = merges_prefix(MERGES, 8192);
    assert!(prefix.len() < MERGES.len() / 5 && MERGES.starts_with(&prefix));
    let carried = Tokenizer::from_merges(&prefix, 8192).unwrap();
    for text in [
        "a red fox jumps over 7 lazy dogs",
        "Überraschung im Schrebergarten",
        "猫 🐈",
    ] {
        let expected = SMALL.with(|t| t.encode(text, CONTEXT));
        assert_eq!(carried.encode(text, CONTEXT), expected);
    }
    assert!(Tokenizer::from_merges(&prefix, 8193).is_err());
}

proptest! {
    #[test]
    fn any_text_is_start_ids_end(text in any::<String>(), context in 2_usize..80) {
        prop_assume!(!text.contains("<|"));
        for (tokenizer, size) in [(&CLIP, 49_408), (&SMALL, 8192)] {
            let ids = tokenizer.with(|t| t.encode(&text, context));
            prop_assert!((2..=context).contains(&ids.len()));
            prop_assert_eq!(ids[0], size - 2);
            prop_assert_eq!(ids[ids.len() - 1], size - 1);
            prop_assert!(ids[1..ids.len() - 1].iter().all(|&id| id < size - 2));
        }
    }

    #[test]
    fn truncating_changes_nothing_but_the_end(text in "[a-z ,.]{0,200}", context in 2_usize..40) {
        let whole = CLIP.with(|t| t.encode(&text, 1000));
        let cut = CLIP.with(|t| t.encode(&text, context));
        let kept = cut.len() - 1;
        prop_assert_eq!(&cut[..kept], &whole[..kept]);
        prop_assert_eq!(cut.len(), whole.len().min(context));
    }
}

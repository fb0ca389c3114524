//! Texts that visitors type, and the vocabulary that turns them into tokens.

use std::sync::LazyLock;

use espalier_core::input::{Tokenizer, TokenizerRules, clean, end_position, symbols};
use espalier_core::words::{one_of, plural, singulars, with_article};

/// Number of ids of a text, as in CLIP.
const CONTEXT: usize = 77;

/// Largest vocabulary that is built from a fuzzed merges file.
const MAX_VOCABULARY: usize = 1024;

/// The tokenizer of the shipped model.
static SHIPPED: LazyLock<Tokenizer> = LazyLock::new(|| {
    let merges = include_str!("../../../../static/models/default/vocab.txt");
    // The byte symbols, the start and the end of a text.
    let size = 2 * 256
        + 2
        + merges
            .lines()
            .filter(|line| !line.contains("#version"))
            .count();
    Tokenizer::from_merges(merges, size).unwrap_or_else(|e| panic!("{e}"))
});

static OPEN_CLIP: LazyLock<Tokenizer> =
    LazyLock::new(|| SHIPPED.clone().with_rules(TokenizerRules::OpenClip));
static TRANSFORMERS: LazyLock<Tokenizer> =
    LazyLock::new(|| SHIPPED.clone().with_rules(TokenizerRules::Transformers));

/// Tokenises a text by all rules, changes its grammatical form, and reads it as a merges file.
///
/// # Panics
/// If an id is not in the vocabulary, or if the ids do not begin and end with the markers.
pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    for tokenizer in [&*SHIPPED, &OPEN_CLIP, &TRANSFORMERS] {
        tokenise(tokenizer, text);
    }
    let cleaned = clean(text);
    assert!(!cleaned.contains("  ") && cleaned.trim() == cleaned);
    for name in [text, cleaned.as_str()] {
        let _ = (with_article(name), plural(name), one_of(name));
        let _ = singulars(name);
    }
    let _ = symbols(text, MAX_VOCABULARY);
    for size in [514, 515, 518, MAX_VOCABULARY] {
        if let Ok(own) = Tokenizer::from_merges(text, size) {
            assert_eq!(own.vocab_size(), size);
            tokenise(&own, text);
        }
    }
}

fn tokenise(tokenizer: &Tokenizer, text: &str) {
    for context in [0, 3, CONTEXT, usize::MAX] {
        let ids = tokenizer.encode(text, context);
        assert!(ids.len() <= context.max(2));
        assert_eq!(ids.first(), Some(&tokenizer.start_token()));
        assert_eq!(ids.last(), Some(&tokenizer.end_token()));
        assert!(ids.iter().all(|id| *id <= tokenizer.end_token()));
        assert_eq!(ids[end_position(&ids)], tokenizer.end_token());
    }
}

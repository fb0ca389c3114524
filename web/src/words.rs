//! Turns numbers into text, which the page shows before any number.

mod answer;
mod certainty;
mod verdict;

pub use answer::{
    also_sentence, answer_at, answer_guess, answer_sentence, guess_sentence, position, sentence,
    told, two_things,
};
pub use certainty::{certainty, format_duration, how_sure, how_sure_of};
pub use verdict::{part_sentences, verdict_sentences};

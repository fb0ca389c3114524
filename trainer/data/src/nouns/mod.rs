//! WordNet's nouns: their names, senses and generality.

pub mod concepts;
pub mod generality;
pub mod noun_senses;
pub mod wordnet;

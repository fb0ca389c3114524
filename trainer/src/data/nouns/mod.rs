//! WordNet's nouns: their names, senses, and how general they are.

pub mod generality;
pub mod noun_senses;
pub mod wordnet;

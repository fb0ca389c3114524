//! Statements about photos, made from parts: who or what, doing what, with what, and where.
//!
//! ```
//! use espalier_core::statements::{Number, Statement, Vocabulary};
//!
//! # fn main() -> espalier_core::Result<()> {
//! let words = Vocabulary::everyday()?;
//! let people = words.statement(["man", "eat", "table", "restaurant"], Number::Group)?;
//! assert_eq!(people.text(&words), "a group of men eating at a table in a restaurant");
//!
//! // From general to specific: each says one thing more than the one before it.
//! let texts = people.growth(&words).into_iter().map(|s| s.text(&words));
//! let texts: Vec<String> = texts.collect();
//! assert_eq!(texts[0], "one or more people");
//! assert_eq!(texts[1], "people");
//!
//! // The same parts, found in a caption of somebody's own words.
//! let found = words.mentions("Some guys are having dinner at a restaurant.");
//! assert_eq!(found.statement().text(&words), "men eating in a restaurant");
//! # Ok(())
//! # }
//! ```
//!
//! A [`Vocabulary`] lists the parts, each below more general ones, and is a file of its own, so that users can
//! bring another. A [`Statement`] takes at most one part of each role. It is more general than another if it
//! leaves parts out or has more general ones; hence general-to-specific holds by construction, and the order of
//! statements is the product of the orders of their parts (the products of hierarchies of PHyCLIP; the chains of
//! captions of Radial Embeddings).

mod english;
mod mentions;
mod number;
mod parse;
mod part;
mod statement;
mod vocabulary;

pub use mentions::Mentions;
pub use number::Number;
pub use part::{PERSON, Part, PartIx, Role, SEVERAL};
pub use statement::{Noun, Statement};
pub use vocabulary::{EVERYDAY, Vocabulary};

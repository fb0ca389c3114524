//! Images with several captions each, as published: COCO's caption JSON and Karpathy's split files, tables of
//! image names and captions, and folders of photos with text files (notation 5.7).

mod beside;
mod files;
mod images;
mod json;
mod open;
mod table;

pub use images::{Captioned, EXPECTED, Splits};

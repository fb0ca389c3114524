//! Published dataset formats, each read into [records](super::records).

pub mod arrays;
pub mod class_tars;
pub mod coco_boxes;
pub mod coco_split;
pub(crate) mod companions;
pub mod folders;
pub mod format;
pub mod grit;
pub mod hierarcaps;
pub mod inat;
pub mod labels;
pub mod listed;
pub mod metadata_csv;
pub mod open;
pub mod open_images;
pub(crate) mod parquet_chunks;
mod parquet_pages;
pub(crate) mod parquet_records;
pub(crate) mod parquet_shard;
pub mod picture_index;
pub mod published_order;
pub mod registry;
pub(crate) mod split_lists;
pub mod splits;
pub mod synthetic;
pub(crate) mod tar_index;
pub(crate) mod tar_shard;

//! Files and folders: atomic writes, strict reading of tensor files, and the names in the folder of
//! a run.

pub mod cache;
pub mod content;
pub mod dtype;
pub mod gzip;
pub mod nearby;
pub mod read;
pub mod run_folder;
pub mod safetensors_file;
pub mod temporary;
pub mod weights_file;
pub mod write;

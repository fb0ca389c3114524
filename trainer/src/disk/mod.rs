//! Files and folders: what is written whole, what is read strictly, and how a run's folder is named.

pub mod cache;
pub mod dtype;
pub mod run_folder;
pub mod safetensors_file;
pub mod weights_file;
pub mod write;

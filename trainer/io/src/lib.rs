//! What the program reads and writes besides its own data formats: files, object storage, the terminal,
//! exit codes, and messages between the processes of one run.

pub mod disk;
pub mod exit;
pub mod output;
pub mod ranks;
pub mod run_metrics;
pub mod storage;

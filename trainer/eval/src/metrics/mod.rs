//! Metrics of ranks, radii and histograms, independent of models, files and devices.

pub mod average_precision;
pub mod correlation;
pub mod curve;
pub mod pairs;
pub mod recall;
pub mod steps;
pub mod summary;
pub mod transport;

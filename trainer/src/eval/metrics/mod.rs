//! Numbers from ranks, radii and histograms: no model, no file, no device.

pub mod average_precision;
pub mod correlation;
pub mod curve;
pub mod pairs;
pub mod recall;
pub mod steps;
pub mod summary;
pub mod transport;

//! The library and the program `trainer`, without a browser: from data to a trained model, a bundle,
//! and what it says about a photo.

#![allow(clippy::unwrap_used)]

// For tests that change what is global to a process.
mod alone;

// What a model says about photos.
mod heat_maps_and_subjects;
mod images;
mod receipts;
mod taught;

// Training: every method, on any data, and the same after an interruption.
mod captions;
mod data;
mod every_method;
mod interrupted;
mod locked_image;
mod micro_batches;
mod own_operations;
mod own_photos;
mod sentences;
mod training;

// Measuring: benchmarks, and figures of what was learned.
mod evaluation;
mod plots;

// Models of others: published checkpoints, and the encoder EfficientNet-Lite.
mod efficientnet;
mod import;

// What is published: bundles, and a site with one.
mod arithmetic;
mod bundles;
mod detectors;
mod imagenet_taxonomy;
mod site;

// Against accidents and strangers: wrong computation, kills, full disks, harmful files.
mod faults;
mod security;

//! The targets, one per file.

mod checkpoint;
mod csv;
mod folds;
mod gif;
mod image;
mod job;
mod model;
mod npy;
mod parquet;
mod partial_result;
mod rows;

use crate::target::Target;

/// All targets.
pub const TARGETS: [Target; 9] = [
    Target { name: "npy", seeds: npy::seeds, mutate: npy::mutate, run: npy::run },
    Target { name: "csv", seeds: csv::seeds, mutate: csv::mutate, run: csv::run },
    Target { name: "parquet", seeds: parquet::seeds, mutate: parquet::mutate, run: parquet::run },
    Target { name: "model", seeds: model::seeds, mutate: model::mutate, run: model::run },
    Target { name: "job", seeds: job::seeds, mutate: job::mutate, run: job::run },
    Target { name: "partial", seeds: partial_result::seeds, mutate: partial_result::mutate, run: partial_result::run },
    Target { name: "checkpoint", seeds: checkpoint::seeds, mutate: checkpoint::mutate, run: checkpoint::run },
    Target { name: "image", seeds: image::seeds, mutate: image::mutate, run: image::run },
    Target { name: "gif", seeds: gif::seeds, mutate: gif::mutate, run: gif::run },
];

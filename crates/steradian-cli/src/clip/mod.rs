//! Common parts of the commands about clips: training, separation of frames, ground truth, videos, the report.

pub mod apart;
pub mod faces;
pub mod learn;
pub mod movies;
mod page;
pub mod pursuit;
pub mod report;
pub mod shown;
pub mod truth;

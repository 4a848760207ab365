//! Common parts of the commands for clips: training, separation of frames, ground truth, videos and reports.

pub mod faces;
pub mod frame_renderer;
pub mod ground_truth;
mod html;
pub mod pursuit;
pub mod report;
pub mod separate_frames;
pub mod train;
pub mod videos;

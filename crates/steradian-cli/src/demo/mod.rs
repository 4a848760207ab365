//! Parts of the demo: a scene, methods applied to it, images and a report.

pub mod gray_image;
pub mod report;
pub mod scene;
pub mod trial;

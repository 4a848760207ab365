//! Parts of the demo: the scene, the methods applied to it, images and the report.

pub mod gray_image;
pub mod report;
pub mod scene;
pub mod trial;

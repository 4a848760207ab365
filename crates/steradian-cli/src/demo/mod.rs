//! What the demo is made of: a scene, methods tried on it, pictures and a report.

pub mod picture;
pub mod report;
pub mod scene;
pub mod trial;

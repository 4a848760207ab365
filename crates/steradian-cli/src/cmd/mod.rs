//! The commands, one per file.

pub mod background;
pub mod completions;
pub mod demo;
pub mod export;
pub mod fill;
pub mod fit;
pub mod inspect;
pub mod manpages;
pub mod outliers;
pub mod plan;
pub mod reconstruct;
pub mod shadows;
pub mod transform;

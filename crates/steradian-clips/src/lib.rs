//! Background models of clips, foreground masks, and removal of cast shadows from images of faces.
//!
//! [`fit_scene`] fits a background model that adapts to the illumination; [`with_clip_statistics`] turns a model of any
//! other method into a background model. A [`Separator`] separates frames with such a model, in any order, into a
//! background image at the illumination of the frame and a foreground mask. [`ConfusionCounts`] and [`BackgroundError`]
//! compare both with ground truth. A [`Palette`] adds colors to gray background images.
//!
//! [`remove_shadows`] removes cast shadows from images of one face under different illumination.
//!
//! The crate reads and writes no files and prints nothing.

mod evaluation;
mod filter;
mod level;
mod mode;
mod palette;
mod pixels;
mod range;
mod scene;
mod scores;
mod separate;
mod shadows;
mod statistics;
mod training;

pub use evaluation::{BackgroundError, ConfusionCounts};
pub use level::gray_level;
pub use palette::{Palette, PaletteSums};
pub use range::FrameRange;
pub use scene::{COMPONENTS, SCENE, fit_scene, scene_config};
pub use separate::{Separated, Separator};
pub use shadows::{DarkPixelStatistics, FACE_COMPONENTS, confident_reconstruction, remove_shadows};
pub use statistics::{ClipStatistics, with_clip_statistics};
pub use training::{TRAINING_FRAMES, frame_pixels};

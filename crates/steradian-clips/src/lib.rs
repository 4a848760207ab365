//! Background models of clips, foreground masks, and faces without cast shadows.
//!
//! [`fit_scene`] finds a background that follows the light; [`with_clip_statistics`] makes a model of any other method
//! fit for clips. A [`Separator`] then takes frames apart, one by one, in any order, with such a model: the empty scene at
//! the light of that frame, and a mask of what is not part of it. [`ConfusionCounts`] and [`BackgroundError`] compare both with truth.
//! A [`Palette`] gives the empty scene its colours back.
//!
//! [`remove_shadows`] is for faces: pictures of one thing under many lights, as they would be without cast shadows.
//!
//! The crate knows no file format and prints nothing.

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
pub use shadows::{Darkness, FACE_COMPONENTS, remove_shadows, trusted_reconstruction};
pub use statistics::{ClipStatistics, with_clip_statistics};
pub use training::{TRAINING_FRAMES, frame_pixels};

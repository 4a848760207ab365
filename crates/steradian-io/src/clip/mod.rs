//! Clips: frames of folders of images, videos and arrays as sources, and videos as output.

pub(crate) mod clip_limits;
pub(crate) mod clip_options;
pub(crate) mod clip_source;
pub(crate) mod container;
#[cfg(feature = "video")]
pub(crate) mod decoder_process;
#[cfg(feature = "images")]
pub(crate) mod gif;
pub(crate) mod image;
#[cfg(feature = "images")]
pub(crate) mod image_file;
#[cfg(feature = "images")]
pub(crate) mod image_folder;
pub(crate) mod spool;
#[cfg(feature = "images")]
pub(crate) mod tiff_tags;
#[cfg(feature = "video")]
pub(crate) mod video_reader;
#[cfg(feature = "video")]
pub(crate) mod video_writer;

pub use clip_limits::ClipLimits;
pub use clip_options::ClipOptions;
pub use clip_source::Clip;

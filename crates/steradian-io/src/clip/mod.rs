//! Clips: frames from folders of images, videos and arrays, and videos as output.

pub(crate) mod clip_options;
pub(crate) mod clip_source;
pub(crate) mod gif;
pub(crate) mod image_file;
pub(crate) mod image_folder;
pub(crate) mod picture;
pub(crate) mod spool;
pub(crate) mod video_reader;
pub(crate) mod video_writer;

pub use clip_options::ClipOptions;
pub use clip_source::Clip;

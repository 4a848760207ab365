//! File names of images: the files of a folder that are read as frames.

use std::path::Path;

/// File name extensions of the supported image formats.
const EXTENSIONS: [&str; 10] = ["png", "jpg", "jpeg", "bmp", "pgm", "ppm", "pnm", "tif", "tiff", "gif"];

/// True if a file of this name is read as an image of its folder: hidden files are not.
pub(crate) fn is_image_name(path: &Path) -> bool {
    let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
    !hidden && EXTENSIONS.contains(&extension.as_str())
}

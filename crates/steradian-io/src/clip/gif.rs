//! GIF files as the frames of a clip.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use image::AnimationDecoder;
use image::codecs::gif::GifDecoder;
use steradian::{Error, Result};

use crate::clip::clip_options::ClipOptions;
use crate::clip::image_file::convert;
use crate::clip::spool::{DecodedFrames, Spool};

/// Decodes the selected frames of a GIF.
pub(crate) fn spool_gif(path: &Path, options: &ClipOptions) -> Result<DecodedFrames> {
    let corrupt = |e: image::ImageError| Error::corrupt_file(path, format!("the GIF cannot be decoded: {e}"));
    let file = BufReader::new(File::open(path).map_err(|e| Error::io(path, e))?);
    let mut spool = Spool::new(path, options)?;
    let mut count = 0;
    for frame in GifDecoder::new(file).map_err(corrupt)?.into_frames() {
        let image = frame.map_err(corrupt)?.into_buffer().into();
        if options.selects(count) {
            spool.add(&convert(path, &image, options)?, count as u64)?;
        }
        count += 1;
    }
    options.check_range(path, count)?;
    spool.finish()
}

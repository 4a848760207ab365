//! GIF files as the frames of a clip.

use std::io::BufReader;
use std::path::Path;

use image::codecs::gif::GifDecoder;
use image::{AnimationDecoder, ImageDecoder};
use steradian::Result;

use crate::clip::clip_limits::DecodedTotal;
use crate::clip::clip_options::ClipOptions;
use crate::clip::image_file::{check_size, convert, image_limits, not_decoded};
use crate::clip::spool::{DecodedFrames, Spool};
use crate::system::pread::open_regular;

/// Bytes per pixel in the buffers of the decoder, RGBA: the frames so far, the current one, and both composed.
const BYTES_PER_PIXEL: u64 = 3 * 4;

/// Decodes the selected frames of a GIF.
pub(crate) fn spool_gif(path: &Path, options: &ClipOptions) -> Result<DecodedFrames> {
    let failed = |e| not_decoded(path, "GIF", e);
    let (file, _) = open_regular(path)?;
    let mut decoder = GifDecoder::new(BufReader::new(file)).map_err(failed)?;
    let (width, height) = decoder.dimensions();
    check_size(path, (height, width), u64::from(width) * u64::from(height) * BYTES_PER_PIXEL)?;
    decoder.set_limits(image_limits()).map_err(failed)?;
    let mut spool = Spool::new(path, options)?;
    let mut total = DecodedTotal::new(path, &options.limits);
    let mut count = 0;
    for frame in decoder.into_frames() {
        let image = frame.map_err(failed)?.into_buffer().into();
        let images = convert(path, image, options)?;
        total.add(1, images.iter().map(|image| image.pixels.len() as u64).sum())?;
        if options.selects(count) {
            spool.add(&images, count as u64)?;
        }
        count += 1;
    }
    options.check_range(path, count)?;
    spool.finish()
}

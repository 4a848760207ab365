//! All frames of a clip taken apart, in order.

use std::borrow::Cow;
use std::time::Instant;

use rayon::prelude::*;
use steradian::{Local, Result, Source};
use steradian_clips::{Separated, frame_pixels};

/// Frames that are in memory at a time, taken apart.
const TOGETHER: usize = 32;

/// Takes every frame apart by `separate` and hands it, its parts and what `prepare` made of them (both on all threads) to `each`,
/// in order. Returns the seconds that taking apart took, without `prepare` and `each`.
pub fn separate_all<T: Send>(
    clip: &dyn Source,
    runner: &Local,
    separate: impl Fn(usize, &[u8]) -> Separated + Sync,
    prepare: impl Fn(&Separated) -> Result<T> + Sync,
    mut each: impl FnMut(usize, &[u8], &Separated, T) -> Result<()> + Send,
) -> Result<f64> {
    let mut seconds = 0.0;
    runner.for_each_block("frames apart", clip, TOGETHER, |block| {
        let frames = (0..block.rows()).map(|row| frame_pixels(block, row)).collect::<Result<Vec<_>>>()?;
        let start = Instant::now();
        let apart = |(i, frame): (usize, &Cow<'_, [u8]>)| separate(block.first() + i, frame);
        let parts: Vec<Separated> = frames.par_iter().enumerate().map(apart).collect();
        seconds += start.elapsed().as_secs_f64();
        let prepared = parts.par_iter().map(&prepare).collect::<Result<Vec<T>>>()?;
        for (i, (parts, prepared)) in parts.iter().zip(prepared).enumerate() {
            each(block.first() + i, &frames[i], parts, prepared)?;
        }
        Ok(())
    })?;
    Ok(seconds)
}

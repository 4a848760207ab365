//! Frames of a clip separated into background and foreground, in order.

use std::time::Instant;

use rayon::prelude::*;
use steradian::{Local, Result, Source};
use steradian_clips::{Separated, frame_pixels};

/// Frames that are in memory at a time, taken apart.
const TOGETHER: usize = 32;

/// Takes every wanted frame apart by `separate` and hands it, its parts and what `prepare` made of them (both on all threads) to `each`,
/// in order. Returns the seconds that taking apart took, without `prepare` and `each`.
pub fn separate_all<T: Send>(
    clip: &dyn Source,
    name: &'static str,
    wanted: impl Fn(usize) -> bool + Sync,
    runner: &Local,
    separate: impl Fn(usize, &[u8]) -> Separated + Sync,
    prepare: impl Fn(&Separated) -> Result<T> + Sync,
    mut each: impl FnMut(usize, &[u8], &Separated, T) -> Result<()> + Send,
) -> Result<f64> {
    let mut seconds = 0.0;
    runner.for_each_block(name, clip, TOGETHER, |block| {
        let rows = (0..block.rows()).filter(|row| wanted(block.first() + row));
        let frame = |row: usize| Ok((block.first() + row, frame_pixels(block, row)?));
        let frames = rows.map(frame).collect::<Result<Vec<_>>>()?;
        let start = Instant::now();
        let parts: Vec<Separated> = frames.par_iter().map(|(frame, pixels)| separate(*frame, pixels)).collect();
        seconds += start.elapsed().as_secs_f64();
        let prepared = parts.par_iter().map(&prepare).collect::<Result<Vec<T>>>()?;
        for (((frame, pixels), parts), prepared) in frames.iter().zip(&parts).zip(prepared) {
            each(*frame, pixels, parts, prepared)?;
        }
        Ok(())
    })?;
    Ok(seconds)
}

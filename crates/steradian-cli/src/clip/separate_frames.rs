//! Separation of the frames of a clip into background and foreground, in order.

use std::time::Instant;

use rayon::prelude::*;
use steradian::{Local, Result, Source};
use steradian_clips::{Separated, frame_pixels};

/// Number of frames in memory at a time.
const BATCH_FRAMES: usize = 32;

/// Separates every frame that `selected` accepts. `separate` and `prepare` run on all threads; `each` receives the frame, its
/// parts and the output of `prepare` in order. Returns the seconds of `separate` alone.
pub fn separate_all<T: Send>(
    clip: &dyn Source,
    name: &'static str,
    selected: impl Fn(usize) -> bool + Sync,
    runner: &Local,
    separate: impl Fn(usize, &[u8]) -> Separated + Sync,
    prepare: impl Fn(&Separated) -> Result<T> + Sync,
    mut each: impl FnMut(usize, &[u8], &Separated, T) -> Result<()> + Send,
) -> Result<f64> {
    let mut seconds = 0.0;
    runner.for_each_block(name, clip, BATCH_FRAMES, |block| {
        let rows = (0..block.rows()).filter(|row| selected(block.first() + row));
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

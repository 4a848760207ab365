//! Clips: identical frames in every format; corrupt or mixed files are rejected.

mod arrays;
#[cfg(feature = "images")]
mod images;
#[cfg(feature = "video")]
mod untrusted;
#[cfg(feature = "video")]
mod video;

use std::path::Path;

use steradian::Error;
use steradian_io::{Clip, ClipOptions};

use crate::common::{Dice, numbers};

const HEIGHT: usize = 21;
const WIDTH: usize = 33;
const PIXELS: usize = HEIGHT * WIDTH;

/// Distinct frames with odd height and width.
fn frames(count: usize) -> Vec<u8> {
    let mut dice = Dice(7);
    (0..count * PIXELS).map(|at| (at / PIXELS * 7 + at % WIDTH * 3 + dice.below(60)) as u8).collect()
}

fn open(path: &Path) -> steradian::Result<Clip> {
    Clip::open(path, &ClipOptions::default())
}

fn bytes(clip: &Clip) -> Vec<u8> {
    numbers(clip, 3).unwrap().into_iter().map(|x| x as u8).collect()
}

/// The error of a clip that cannot be opened.
fn open_error(path: &Path, options: &ClipOptions) -> Error {
    Clip::open(path, options).expect_err("an error")
}

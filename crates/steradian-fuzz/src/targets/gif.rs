//! GIF files as clips.

use image::codecs::gif::GifEncoder;
use image::{Delay, Frame, RgbaImage};
use steradian_io::{Clip, ClipOptions};

use super::rows::read_all;
use crate::dice::Dice;
use crate::mutate;
use crate::target::{TargetVerdict, Workplace};

pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let clip = |frames: u32, width: u32, height: u32| {
        let mut bytes = Vec::new();
        let mut encoder = GifEncoder::new(&mut bytes);
        for t in 0..frames {
            let level = |x: u32, y: u32| ((x * 13 + y * 29 + t * 41) % 251) as u8;
            let image = RgbaImage::from_fn(width, height, |x, y| image::Rgba([level(x, y), level(y, x), 7, 255]));
            encoder.encode_frame(Frame::from_parts(image, 0, 0, Delay::from_numer_denom_ms(40, 1))).ok()?;
        }
        drop(encoder);
        Some(bytes)
    };
    [("one.gif", clip(1, 6, 4)), ("three.gif", clip(3, 6, 4)), ("tall.gif", clip(2, 1, 9))]
        .into_iter()
        .filter_map(|(name, bytes)| Some((name.to_owned(), bytes?)))
        .collect()
}

pub fn mutate(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = mutate::start_from(dice, inputs);
    if dice.below(3) == 0 && input.len() > 10 {
        // The size of the screen.
        let at = 6 + 2 * dice.below(2);
        mutate::overwrite(&mut input, at, &(dice.pick(&mutate::NUMBERS) as u16).to_le_bytes());
    }
    // Without the magic bytes it is no GIF: the program would run ffmpeg.
    mutate::bytes(dice, &mut input, 4);
    input
}

pub fn run(place: &Workplace, input: &[u8]) -> TargetVerdict {
    if !input.starts_with(b"GIF8") {
        return TargetVerdict::Rejected;
    }
    let path = place.file("input.gif", input);
    TargetVerdict::of(Clip::open(&path, &ClipOptions::default()).and_then(|clip| read_all(&clip)))
}

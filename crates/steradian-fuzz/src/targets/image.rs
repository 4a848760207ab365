//! Image files of all formats that are read.

use image::{DynamicImage, GrayImage, ImageFormat, RgbImage, RgbaImage};
use steradian_io::Image;

use crate::dice::Dice;
use crate::mutate;
use crate::target::{TargetVerdict, Workplace};

pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let (width, height) = (7u32, 5u32);
    let level = |i: u32| (i * 37 % 251) as u8;
    let gray = GrayImage::from_fn(width, height, |x, y| image::Luma([level(x + width * y)]));
    let color = RgbImage::from_fn(width, height, |x, y| image::Rgb([level(x), level(y), level(x + y)]));
    let alpha = RgbaImage::from_fn(width, height, |x, y| image::Rgba([level(x), level(y), 9, level(x * y)]));
    let kinds = [
        ("gray", DynamicImage::from(gray)),
        ("color", DynamicImage::from(color)),
        ("alpha", DynamicImage::from(alpha)),
    ];
    let formats = [
        ("png", ImageFormat::Png),
        ("jpg", ImageFormat::Jpeg),
        ("bmp", ImageFormat::Bmp),
        ("pnm", ImageFormat::Pnm),
        ("tiff", ImageFormat::Tiff),
        ("gif", ImageFormat::Gif),
    ];
    let mut seeds = Vec::new();
    for (kind, image) in &kinds {
        for (extension, format) in formats {
            let mut bytes = std::io::Cursor::new(Vec::new());
            if image.write_to(&mut bytes, format).is_ok() {
                seeds.push((format!("{kind}.{extension}"), bytes.into_inner()));
            }
        }
    }
    seeds
}

const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// The chunks of a PNG file: type and content.
fn chunks(input: &[u8]) -> Vec<([u8; 4], Vec<u8>)> {
    let (mut chunks, mut at) = (Vec::new(), PNG.len());
    while let Some(head) = input.get(at..at + 8) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(content) = input.get(at + 8..(at + 8).saturating_add(length)) else { break };
        chunks.push(([head[4], head[5], head[6], head[7]], content.to_vec()));
        at += 12 + length;
    }
    chunks
}

pub fn mutate(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = mutate::start_from(dice, inputs);
    if !input.starts_with(&PNG) || dice.below(4) == 0 {
        // Most sizes are in the first bytes.
        let reach = if dice.below(2) == 0 { input.len() } else { input.len().min(64) };
        let rest = input.split_off(reach);
        mutate::bytes(dice, &mut input, 0);
        input.extend(rest);
        return input;
    }
    // A PNG chunk with a right checksum.
    let mut parts = chunks(&input);
    if !parts.is_empty() {
        let chosen = dice.below(parts.len()) * usize::from(dice.below(2) == 0);
        match dice.below(6) {
            0 => {
                let copy = parts[chosen].clone();
                parts.insert(dice.below(parts.len() + 1), copy);
            }
            1 => drop(parts.remove(chosen)),
            _ => {
                let content = &mut parts[chosen].1;
                let place = dice.below(content.len().max(1));
                match dice.below(3) {
                    0 if !content.is_empty() => {
                        mutate::overwrite(content, place, &(dice.pick(&mutate::NUMBERS) as u32).to_be_bytes());
                    }
                    _ => mutate::bytes(dice, content, 0),
                }
            }
        }
    }
    let mut out = PNG.to_vec();
    for (kind, content) in parts {
        let mut checked = kind.to_vec();
        checked.extend(&content);
        out.extend((content.len() as u32).to_be_bytes());
        out.extend(&checked);
        out.extend(crc32fast::hash(&checked).to_be_bytes());
    }
    out
}

pub fn run(place: &Workplace, input: &[u8]) -> TargetVerdict {
    TargetVerdict::of(Image::read_gray(place.file("input.image", input)))
}

//! Folders of images as the frames of a clip: files, order and frame numbers.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use steradian::{Error, Result};

use crate::clip::clip_limits::DecodedTotal;
use crate::clip::clip_options::ClipOptions;
use crate::clip::image_file::{convert, decode};
use crate::clip::spool::{DecodedFrames, Spool};
use crate::system::image_name::is_image_name;

/// The image files of a folder, in the natural order of their names: 2 is before 10.
pub fn image_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |e| Error::io(folder, e);
    let (mut images, mut others) = (Vec::new(), 0usize);
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_image_name(&path) && path.is_file() {
            images.push(path);
        } else {
            others += 1;
        }
    }
    if images.is_empty() {
        return Err(Error::invalid_data(format!(
            "{}: the folder contains no images (and {others} other entries); pass a folder of PNG, JPEG, BMP, PGM, TIFF or GIF files",
            folder.display()
        )));
    }
    images.sort_by(|a, b| natural_order(&name(a), &name(b)));
    Ok(images)
}

/// Decodes the selected images of a folder.
pub(crate) fn spool_folder(path: &Path, options: &ClipOptions) -> Result<DecodedFrames> {
    let files = image_files(path)?;
    options.check_range(path, files.len())?;
    let numbers = frame_numbers(&files);
    let mut spool = Spool::new(path, options)?;
    let mut total = DecodedTotal::new(path, &options.limits);
    let mut first: Option<(&Path, (usize, usize))> = None;
    for (frame, file) in files.iter().enumerate().filter(|(frame, _)| options.selects(*frame)) {
        let images = convert(file, decode(file)?, options)?;
        total.add(1, images.iter().map(|image| image.pixels.len() as u64).sum())?;
        let (first_file, size) = *first.get_or_insert((file, images[0].dimensions()));
        if size != images[0].dimensions() {
            let ((h, w), (y, x)) = (size, images[0].dimensions());
            return Err(Error::invalid_data(format!(
                "{} is {h} x {w} (height x width) but {} is {y} x {x}; all frames of a clip must have one size",
                first_file.display(),
                file.display()
            )));
        }
        spool.add(&images, numbers[frame])?;
    }
    spool.finish()
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The last number in the name of a file without its extension: 470 for `in000470.jpg`.
pub fn number_in_name(path: &Path) -> Option<u64> {
    let stem = path.file_stem()?.to_string_lossy().into_owned();
    let end = stem.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = stem[..end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    // The character before the digits may have several bytes.
    let start = (start..end).find(|&at| stem.is_char_boundary(at))?;
    stem[start..end].parse().ok()
}

/// The number of each file: the one in its name if all names have one and all differ, else its index.
fn frame_numbers(files: &[PathBuf]) -> Vec<u64> {
    let named: Option<Vec<u64>> = files.iter().map(|file| number_in_name(file)).collect();
    let distinct = |numbers: &Vec<u64>| {
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    };
    named.filter(distinct).unwrap_or_else(|| (0..files.len() as u64).collect())
}

/// Natural order: digit sequences compare as numbers, other characters one by one.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(x), Some(y)) = (left.first(), right.first()) {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, n) = (digits(left), digits(right));
            // Without leading zeros the longer sequence is the larger number.
            let (p, q) = (without_zeros(&left[..m]), without_zeros(&right[..n]));
            let order = p.len().cmp(&q.len()).then_with(|| p.cmp(q));
            if order != Ordering::Equal {
                return order;
            }
            (left, right) = (&left[m..], &right[n..]);
        } else if x != y {
            return x.cmp(y);
        } else {
            (left, right) = (&left[1..], &right[1..]);
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn without_zeros(digits: &[u8]) -> &[u8] {
    &digits[digits.iter().take_while(|digit| **digit == b'0').count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_natural_order() {
        let sorted = ["a.png", "f1.png", "f2.png", "f02b.png", "f10.png", "f010b.png", "g1.png"];
        for i in 0..sorted.len() {
            for j in 0..sorted.len() {
                assert_eq!(natural_order(sorted[i], sorted[j]), i.cmp(&j), "{} {}", sorted[i], sorted[j]);
            }
        }
    }

    #[test]
    fn files_are_numbered_by_name_or_else_by_index() {
        let of = |names: &[&str]| frame_numbers(&names.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["in000470.jpg", "in000473.jpg"]), [470, 473]);
        assert_eq!(of(&["curtain_633.mask_22.png"]), [22]);
        assert_eq!(of(&["P00A+000E+20.pgm", "P00A+005E+20.pgm"]), [0, 1], "the same number twice");
        assert_eq!(of(&["left.png", "right.png"]), [0, 1]);
        assert_eq!(of(&["b\u{e9}2.png"]), [2]);
        assert_eq!(of(&["99999999999999999999999.png"]), [0], "exceeds u64");
    }
}

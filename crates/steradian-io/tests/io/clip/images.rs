//! Clips in folders of images and in GIF files.

use std::path::PathBuf;

use image::{DynamicImage, ImageFormat};
use steradian::{Config, Error, Local, Method, SliceSource, Source};
use steradian_io::{Clip, ClipLimits, ClipOptions, Data, TableOptions};

use super::{HEIGHT, PIXELS, WIDTH, bytes, frames, open, open_error};
use crate::common::Folder;

fn gray_image(frame: &[u8]) -> DynamicImage {
    image::GrayImage::from_raw(WIDTH as u32, HEIGHT as u32, frame.to_vec()).unwrap().into()
}

fn save(folder: &Folder, name: &str, image: &DynamicImage, format: ImageFormat) -> PathBuf {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    folder.file(name, bytes.into_inner())
}

/// Saves color frames as 0.png, 1.png, ...; returns the RGB bytes of each.
pub fn save_colored(folder: &Folder, count: usize) -> Vec<Vec<u8>> {
    let pixel = |(at, level): (usize, &u8)| std::array::from_fn::<u8, 3, _>(|part| level / (1 + (at + part) % 3) as u8);
    let frames: Vec<Vec<u8>> =
        frames(count).chunks(PIXELS).map(|frame| frame.iter().enumerate().flat_map(pixel).collect()).collect();
    for (i, frame) in frames.iter().enumerate() {
        let image = image::RgbImage::from_raw(WIDTH as u32, HEIGHT as u32, frame.clone()).unwrap();
        save(folder, &format!("{i}.png"), &image.into(), ImageFormat::Png);
    }
    frames
}

pub const IN_COLOR: ClipOptions =
    ClipOptions { start: 0, end: None, stride: 1, resize: 1.0, color: true, limits: ClipLimits::DEFAULT };

#[test]
fn a_folder_is_read_in_the_order_of_its_numbers() {
    let data = frames(12);
    for (ending, format) in
        [("png", ImageFormat::Png), ("bmp", ImageFormat::Bmp), ("pgm", ImageFormat::Pnm), ("tiff", ImageFormat::Tiff)]
    {
        let folder = Folder::new();
        for (i, frame) in data.chunks(PIXELS).enumerate() {
            save(&folder, &format!("shot{}.{ending}", i + 3), &gray_image(frame), format);
        }
        folder.file("notes.txt", "not a frame");
        folder.file(".hidden.png", "also not a frame");
        let clip = open(folder.path()).unwrap();
        assert_eq!((clip.shape().samples, clip.dimensions()), (12, (HEIGHT, WIDTH)), "{ending}");
        assert_eq!(bytes(&clip), data, "{ending}");
        assert_eq!((clip.number(0), clip.number(11)), (3, 14));
        assert_eq!(clip.temporary_bytes(), data.len() as u64);
    }
}

#[test]
fn jpeg_and_gif_are_supported() {
    let (folder, data) = (Folder::new(), frames(1));
    save(&folder, "a.jpg", &gray_image(&data), ImageFormat::Jpeg);
    let mean_difference = |clip: &Clip| {
        let total = bytes(clip).iter().zip(&data).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>();
        total / (data.len() as f64)
    };
    let jpeg = mean_difference(&open(folder.path()).unwrap());
    assert!(jpeg < 12.0, "mean difference {jpeg}");
    // Gray levels of a GIF are colors of a palette; it represents two levels accurately.
    let two: Vec<u8> = data.iter().map(|x| if *x > 100 { 255 } else { 0 }).collect();
    let gif = folder.path().join("moving.gif");
    {
        let file = std::fs::File::create(&gif).unwrap();
        let mut encoder = image::codecs::gif::GifEncoder::new(file);
        for frame in [&two, &two.iter().map(|x| 255 - x).collect()] {
            encoder.encode_frame(image::Frame::new(gray_image(frame).to_rgba8())).unwrap();
        }
    }
    let clip = open(&gif).unwrap();
    assert_eq!((clip.shape().samples, clip.dimensions()), (2, (HEIGHT, WIDTH)));
    let decoded = bytes(&clip);
    assert!(decoded[..PIXELS].iter().zip(&two).all(|(a, b)| a.abs_diff(*b) < 8));
    assert!(decoded[PIXELS..].iter().zip(&two).all(|(a, b)| (255 - a).abs_diff(*b) < 8));
}

#[test]
fn sixteen_bit_and_transparent_images_are_converted() {
    let folder = Folder::new();
    let deep = image::ImageBuffer::<image::Luma<u16>, _>::from_raw(2, 1, vec![0u16, 65535]).unwrap();
    save(&folder, "1.png", &DynamicImage::ImageLuma16(deep), ImageFormat::Png);
    let clear = image::RgbaImage::from_raw(2, 1, vec![255, 255, 255, 255, 255, 255, 255, 0]).unwrap();
    save(&folder, "2.png", &DynamicImage::ImageRgba8(clear), ImageFormat::Png);
    let red = image::RgbImage::from_raw(2, 1, vec![255, 0, 0, 0, 0, 255]).unwrap();
    save(&folder, "3.png", &DynamicImage::ImageRgb8(red), ImageFormat::Png);
    assert_eq!(bytes(&open(folder.path()).unwrap()), [0, 255, 255, 0, 76, 29]);
}

#[test]
fn the_model_of_a_clip_is_the_model_of_its_bytes() {
    let (folder, data) = (Folder::new(), frames(20));
    for (i, frame) in data.chunks(PIXELS).enumerate() {
        save(&folder, &format!("{i}.png"), &gray_image(frame), ImageFormat::Png);
    }
    let runner = Local::new(2).unwrap();
    let config = Config::new(Method::Ae, 2);
    let memory = SliceSource::new(&data, 20, PIXELS).unwrap().with_image(HEIGHT, WIDTH).unwrap();
    let expected = steradian::fit(&config, &memory, &runner).unwrap().to_bytes().unwrap();
    let opened = steradian_io::open(folder.path(), &TableOptions::default()).unwrap();
    assert!(matches!(opened, Data::Clip(_)));
    assert_eq!(steradian::fit(&config, &opened, &runner).unwrap().to_bytes().unwrap(), expected);
    let table = TableOptions { row_names: true, ..TableOptions::default() };
    assert!(matches!(steradian_io::open(folder.path(), &table), Err(Error::InvalidArgument { .. })));
}

#[test]
fn invalid_clips_are_rejected() {
    let folder = Folder::new();
    let error = open_error(folder.path(), &ClipOptions::default());
    assert!(matches!(error, Error::InvalidData(_)) && error.to_string().contains("contains no images"), "{error}");

    let one = save(&folder, "a1.png", &gray_image(&frames(1)), ImageFormat::Png);
    assert!(open_error(&one, &ClipOptions::default()).to_string().contains("got a single image"));
    let wide = DynamicImage::new_luma8(40, 21);
    save(&folder, "a2.png", &wide, ImageFormat::Png);
    let error = open_error(folder.path(), &ClipOptions::default()).to_string();
    for part in ["a1.png is 21 x 33", "a2.png is 21 x 40", "one size"] {
        assert!(error.contains(part), "{error}");
    }
    for (name, content) in [("a2.png", &b"text"[..]), ("a2.jpg", b"\xff\xd8\xff\xe0 no end")] {
        std::fs::remove_file(folder.path().join("a2.png")).ok();
        let file = folder.file(name, content);
        let error = open_error(folder.path(), &ClipOptions::default());
        assert!(matches!(error, Error::CorruptFile { .. }) && error.to_string().contains(name), "{error}");
        std::fs::remove_file(file).unwrap();
    }
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Tiff] {
        let whole = save(&folder, "a2.png", &gray_image(&frames(1)), format);
        let short = std::fs::read(&whole).unwrap();
        folder.file("a2.png", &short[..short.len() * 6 / 10]);
        let error = open_error(folder.path(), &ClipOptions::default());
        assert!(matches!(error, Error::CorruptFile { .. }), "{format:?}: {error}");
    }
}

#[test]
fn colors_do_not_change_the_gray_levels() {
    let folder = Folder::new();
    let frames_rgb = save_colored(&folder, 3);
    let (plain, clip) = (open(folder.path()).unwrap(), Clip::open(folder.path(), &IN_COLOR).unwrap());
    assert_eq!(bytes(&clip), bytes(&plain));
    assert_eq!((plain.colors(0), plain.temporary_bytes()), (None, 3 * PIXELS as u64));
    assert_eq!((clip.colors(1).as_ref(), clip.temporary_bytes()), (Some(&frames_rgb[1]), 12 * PIXELS as u64));
    let small = Clip::open(folder.path(), &ClipOptions { resize: 1.0 / 3.0, start: 2, ..IN_COLOR }).unwrap();
    assert_eq!(small.colors(0).map(|pixels| pixels.len()), Some(PIXELS / 9 * 3));

    // A gray image has its level in each channel, and a transparent image is composited over black.
    let (gray, data) = (Folder::new(), frames(1));
    save(&gray, "a.png", &gray_image(&data), ImageFormat::Png);
    let levels: Vec<u8> = data.iter().flat_map(|level| [*level; 3]).collect();
    assert_eq!(Clip::open(gray.path(), &IN_COLOR).unwrap().colors(0), Some(levels));
    let transparent = Folder::new();
    let image = image::RgbaImage::from_pixel(2, 1, image::Rgba([200, 100, 50, 128]));
    save(&transparent, "a.png", &image.into(), ImageFormat::Png);
    assert_eq!(Clip::open(transparent.path(), &IN_COLOR).unwrap().colors(0), Some([100, 50, 25].repeat(2)));
}

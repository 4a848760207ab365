//! Clips in folders of images and in GIF files.

use std::path::PathBuf;

use image::{DynamicImage, ImageFormat};
use steradian::{Config, Error, Local, Method, SliceSource, Source};
use steradian_io::{Clip, ClipOptions, Data, TableOptions};

use super::{HEIGHT, PIXELS, WIDTH, bytes, frames, open, refused};
use crate::common::Folder;

fn picture(frame: &[u8]) -> DynamicImage {
    image::GrayImage::from_raw(WIDTH as u32, HEIGHT as u32, frame.to_vec()).unwrap().into()
}

fn save(folder: &Folder, name: &str, picture: &DynamicImage, format: ImageFormat) -> PathBuf {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    folder.file(name, bytes.into_inner())
}

/// Frames in colour as images 0.png and so on; red, green and blue of each.
pub fn save_colored(folder: &Folder, count: usize) -> Vec<Vec<u8>> {
    let pixel = |(at, level): (usize, &u8)| std::array::from_fn::<u8, 3, _>(|part| level / (1 + (at + part) % 3) as u8);
    let shots: Vec<Vec<u8>> =
        frames(count).chunks(PIXELS).map(|frame| frame.iter().enumerate().flat_map(pixel).collect()).collect();
    for (i, shot) in shots.iter().enumerate() {
        let image = image::RgbImage::from_raw(WIDTH as u32, HEIGHT as u32, shot.clone()).unwrap();
        save(folder, &format!("{i}.png"), &image.into(), ImageFormat::Png);
    }
    shots
}

pub const IN_COLOR: ClipOptions = ClipOptions { from: 0, to: None, every: 1, scale: 1.0, color: true };

#[test]
fn a_folder_is_read_in_the_order_of_its_numbers() {
    let data = frames(12);
    for (ending, format) in
        [("png", ImageFormat::Png), ("bmp", ImageFormat::Bmp), ("pgm", ImageFormat::Pnm), ("tiff", ImageFormat::Tiff)]
    {
        let folder = Folder::new();
        for (i, frame) in data.chunks(PIXELS).enumerate() {
            save(&folder, &format!("shot{}.{ending}", i + 3), &picture(frame), format);
        }
        folder.file("notes.txt", "not a frame");
        folder.file(".hidden.png", "not a frame either");
        let clip = open(folder.path()).unwrap();
        assert_eq!((clip.shape().samples, clip.size()), (12, (HEIGHT, WIDTH)), "{ending}");
        assert_eq!(bytes(&clip), data, "{ending}");
        assert_eq!((clip.number(0), clip.number(11)), (3, 14));
        assert_eq!(clip.temporary_bytes(), data.len() as u64);
    }
}

#[test]
fn jpeg_and_gif_are_read_too() {
    let (folder, data) = (Folder::new(), frames(1));
    save(&folder, "a.jpg", &picture(&data), ImageFormat::Jpeg);
    let near = |clip: &Clip| {
        let apart = bytes(clip).iter().zip(&data).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>();
        apart / (data.len() as f64)
    };
    let jpeg = near(&open(folder.path()).unwrap());
    assert!(jpeg < 12.0, "mean difference {jpeg}");
    // Gray levels of a GIF are colours of a table; two levels survive it.
    let two: Vec<u8> = data.iter().map(|x| if *x > 100 { 255 } else { 0 }).collect();
    let gif = folder.path().join("moving.gif");
    {
        let file = std::fs::File::create(&gif).unwrap();
        let mut encoder = image::codecs::gif::GifEncoder::new(file);
        for frame in [&two, &two.iter().map(|x| 255 - x).collect()] {
            encoder.encode_frame(image::Frame::new(picture(frame).to_rgba8())).unwrap();
        }
    }
    let clip = open(&gif).unwrap();
    assert_eq!((clip.shape().samples, clip.size()), (2, (HEIGHT, WIDTH)));
    let seen = bytes(&clip);
    assert!(seen[..PIXELS].iter().zip(&two).all(|(a, b)| a.abs_diff(*b) < 8));
    assert!(seen[PIXELS..].iter().zip(&two).all(|(a, b)| (255 - a).abs_diff(*b) < 8));
}

#[test]
fn deep_and_transparent_images_have_a_stated_meaning() {
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
fn a_clip_gives_the_model_of_its_bytes() {
    let (folder, data) = (Folder::new(), frames(20));
    for (i, frame) in data.chunks(PIXELS).enumerate() {
        save(&folder, &format!("{i}.png"), &picture(frame), ImageFormat::Png);
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
fn what_cannot_be_a_clip_is_refused() {
    let folder = Folder::new();
    let error = refused(folder.path(), &ClipOptions::default());
    assert!(matches!(error, Error::InvalidData(_)) && error.to_string().contains("holds no images"), "{error}");

    let one = save(&folder, "a1.png", &picture(&frames(1)), ImageFormat::Png);
    assert!(refused(&one, &ClipOptions::default()).to_string().contains("this is one image"));
    let wide = DynamicImage::new_luma8(40, 21);
    save(&folder, "a2.png", &wide, ImageFormat::Png);
    let error = refused(folder.path(), &ClipOptions::default()).to_string();
    for part in ["a1.png is 21 x 33", "a2.png is 21 x 40", "one size"] {
        assert!(error.contains(part), "{error}");
    }
    for (name, content) in [("a2.png", &b"text"[..]), ("a2.jpg", b"\xff\xd8\xff\xe0 no end")] {
        std::fs::remove_file(folder.path().join("a2.png")).ok();
        let file = folder.file(name, content);
        let error = refused(folder.path(), &ClipOptions::default());
        assert!(matches!(error, Error::CorruptFile { .. }) && error.to_string().contains(name), "{error}");
        std::fs::remove_file(file).unwrap();
    }
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Tiff] {
        let whole = save(&folder, "a2.png", &picture(&frames(1)), format);
        let short = std::fs::read(&whole).unwrap();
        folder.file("a2.png", &short[..short.len() * 6 / 10]);
        let error = refused(folder.path(), &ClipOptions::default());
        assert!(matches!(error, Error::CorruptFile { .. }), "{format:?}: {error}");
    }
}

#[test]
fn colours_are_kept_beside_the_same_gray_levels() {
    let folder = Folder::new();
    let shots = save_colored(&folder, 3);
    let (plain, clip) = (open(folder.path()).unwrap(), Clip::open(folder.path(), &IN_COLOR).unwrap());
    assert_eq!(bytes(&clip), bytes(&plain));
    assert_eq!((plain.colors(0), plain.temporary_bytes()), (None, 3 * PIXELS as u64));
    assert_eq!((clip.colors(1).as_ref(), clip.temporary_bytes()), (Some(&shots[1]), 12 * PIXELS as u64));
    let small = Clip::open(folder.path(), &ClipOptions { scale: 1.0 / 3.0, from: 2, ..IN_COLOR }).unwrap();
    assert_eq!(small.colors(0).map(|pixels| pixels.len()), Some(PIXELS / 9 * 3));

    // A gray image is its level in each colour, and what is transparent is seen before black.
    let (gray, data) = (Folder::new(), frames(1));
    save(&gray, "a.png", &picture(&data), ImageFormat::Png);
    let levels: Vec<u8> = data.iter().flat_map(|level| [*level; 3]).collect();
    assert_eq!(Clip::open(gray.path(), &IN_COLOR).unwrap().colors(0), Some(levels));
    let veiled = Folder::new();
    let image = image::RgbaImage::from_pixel(2, 1, image::Rgba([200, 100, 50, 128]));
    save(&veiled, "a.png", &image.into(), ImageFormat::Png);
    assert_eq!(Clip::open(veiled.path(), &IN_COLOR).unwrap().colors(0), Some([100, 50, 25].repeat(2)));
}

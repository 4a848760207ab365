//! Clips: the same frames, whatever they are kept in; what is damaged or mixed is refused.

mod common;
#[path = "common/ffmpeg.rs"]
mod ffmpeg;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Dice, Folder, npy, numbers};
use image::{DynamicImage, ImageFormat};
use steradian::{Config, Error, Local, Memory, Method, Source};
use steradian_io::{Clip, ClipOptions, Data, TableOptions};

const HEIGHT: usize = 21;
const WIDTH: usize = 33;
const PIXELS: usize = HEIGHT * WIDTH;

/// Frames that differ, of odd sides.
fn frames(count: usize) -> Vec<u8> {
    let mut dice = Dice(7);
    (0..count * PIXELS).map(|at| (at / PIXELS * 7 + at % WIDTH * 3 + dice.below(60)) as u8).collect()
}

fn picture(frame: &[u8]) -> DynamicImage {
    image::GrayImage::from_raw(WIDTH as u32, HEIGHT as u32, frame.to_vec()).unwrap().into()
}

fn save(folder: &Folder, name: &str, picture: &DynamicImage, format: ImageFormat) -> PathBuf {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    folder.file(name, bytes.into_inner())
}

fn open(path: &Path) -> steradian::Result<Clip> {
    Clip::open(path, &ClipOptions::default())
}

fn bytes(clip: &Clip) -> Vec<u8> {
    numbers(clip, 3).unwrap().into_iter().map(|x| x as u8).collect()
}

/// What a refusal says, and of which kind it is.
fn refused(path: &Path, options: &ClipOptions) -> Error {
    Clip::open(path, options).expect_err("a refusal")
}

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
fn an_array_is_read_in_place_and_frames_are_chosen() {
    let (folder, data) = (Folder::new(), frames(9));
    let path = folder.file("clip.npy", npy("|u1", false, &[9, HEIGHT, WIDTH], &data));
    let whole = open(&path).unwrap();
    assert_eq!((bytes(&whole), whole.temporary_bytes()), (data.clone(), 0));
    let some = ClipOptions { from: 2, to: Some(7), ..ClipOptions::default() };
    let part = Clip::open(&path, &some).unwrap();
    assert_eq!(bytes(&part), data[2 * PIXELS..7 * PIXELS]);
    assert_eq!((part.number(0), part.temporary_bytes()), (2, 0));
    let sparse = Clip::open(&path, &ClipOptions { every: 2, ..some }).unwrap();
    assert_eq!((0..3).map(|i| sparse.number(i)).collect::<Vec<_>>(), [2, 4, 6]);
    let wanted: Vec<u8> = [2, 4, 6].iter().flat_map(|&i| data[i * PIXELS..(i + 1) * PIXELS].to_vec()).collect();
    assert_eq!(bytes(&sparse), wanted);
    let small = Clip::open(&path, &ClipOptions { scale: 1.0 / 3.0, ..ClipOptions::default() }).unwrap();
    assert_eq!(small.size(), (7, 11));
    let mean = |bytes: &[u8]| bytes.iter().map(|&x| f64::from(x)).sum::<f64>() / bytes.len() as f64;
    assert!((mean(&bytes(&small)) - mean(&data)).abs() < 0.1);
}

#[test]
fn a_clip_gives_the_model_of_its_bytes() {
    let (folder, data) = (Folder::new(), frames(20));
    for (i, frame) in data.chunks(PIXELS).enumerate() {
        save(&folder, &format!("{i}.png"), &picture(frame), ImageFormat::Png);
    }
    let runner = Local::new(2).unwrap();
    let config = Config::new(Method::Ae, 2);
    let memory = Memory::new(&data, 20, PIXELS).unwrap().with_image(HEIGHT, WIDTH).unwrap();
    let expected = steradian::fit(&config, &memory, &runner).unwrap().to_bytes().unwrap();
    let opened = steradian_io::open(folder.path(), &TableOptions::default()).unwrap();
    assert!(matches!(opened, Data::Clip(_)));
    assert_eq!(steradian::fit(&config, &opened, &runner).unwrap().to_bytes().unwrap(), expected);
    let table = TableOptions { row_names: true, ..TableOptions::default() };
    assert!(matches!(steradian_io::open(folder.path(), &table), Err(Error::Asked(_))));
}

#[test]
fn what_cannot_be_a_clip_is_refused() {
    let folder = Folder::new();
    let error = refused(folder.path(), &ClipOptions::default());
    assert!(matches!(error, Error::Data(_)) && error.to_string().contains("holds no images"), "{error}");

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
        assert!(matches!(error, Error::Broken { .. }) && error.to_string().contains(name), "{error}");
        std::fs::remove_file(file).unwrap();
    }
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Tiff] {
        let whole = save(&folder, "a2.png", &picture(&frames(1)), format);
        let short = std::fs::read(&whole).unwrap();
        folder.file("a2.png", &short[..short.len() * 6 / 10]);
        let error = refused(folder.path(), &ClipOptions::default());
        assert!(matches!(error, Error::Broken { .. }), "{format:?}: {error}");
    }

    let arrays = Folder::new();
    let float = arrays.file("f.npy", npy("<f4", false, &[2, 2, 2], &[0; 32]));
    assert!(refused(&float, &ClipOptions::default()).to_string().contains("astype('uint8')"));
    let flat = arrays.file("2d.npy", npy("|u1", false, &[4, 4], &[0; 16]));
    assert!(refused(&flat, &ClipOptions::default()).to_string().contains("without an image size"));
    let clip = arrays.file("clip.npy", npy("|u1", false, &[4, 2, 2], &[0; 16]));
    for (options, words) in [
        (ClipOptions { from: 4, ..ClipOptions::default() }, "--from 4 lies outside the clip, which has 4 frames"),
        (ClipOptions { to: Some(5), ..ClipOptions::default() }, "--to 5 lies outside the clip"),
        (ClipOptions { from: 2, to: Some(2), ..ClipOptions::default() }, "holds no frame"),
        (ClipOptions { every: 0, ..ClipOptions::default() }, "--every 0"),
        (ClipOptions { scale: 1.5, ..ClipOptions::default() }, "--scale 1.5"),
    ] {
        let error = refused(&clip, &options);
        assert!(matches!(error, Error::Asked(_)) && error.to_string().contains(words), "{error}");
    }
    assert!(matches!(refused(&arrays.path().join("none.mp4"), &ClipOptions::default()), Error::Io { .. }));
}

/// A video of these frames.
fn encode(folder: &Folder, name: &str, data: &[u8], arguments: &[&str]) -> PathBuf {
    let raw = folder.file("raw.gray", data);
    let path = folder.path().join(name);
    let size = format!("{WIDTH}x{HEIGHT}");
    let status = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "gray", "-r", "10", "-s", &size, "-i"])
        .arg(raw)
        .args(arguments)
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    path
}

#[test]
fn a_lossless_video_is_its_frames() {
    if !ffmpeg::is_there("a_lossless_video_is_its_frames") {
        return;
    }
    let (folder, data) = (Folder::new(), frames(30));
    let path = encode(&folder, "clip.mkv", &data, &["-c:v", "ffv1"]);
    let clip = open(&path).unwrap();
    assert_eq!((clip.shape().samples, clip.size(), clip.rate()), (30, (HEIGHT, WIDTH), Some(10.0)));
    assert_eq!(bytes(&clip), data);
    let part = Clip::open(&path, &ClipOptions { from: 4, to: Some(10), every: 3, ..ClipOptions::default() }).unwrap();
    assert_eq!(
        (bytes(&part), part.number(1)),
        ([&data[4 * PIXELS..5 * PIXELS], &data[7 * PIXELS..8 * PIXELS]].concat(), 7)
    );
    let beyond = refused(&path, &ClipOptions { to: Some(31), ..ClipOptions::default() });
    assert!(beyond.to_string().contains("which has 30 frames"), "{beyond}");
    let single = encode(&folder, "one.mkv", &data[..PIXELS], &["-c:v", "ffv1"]);
    assert_eq!(open(&single).unwrap().shape().samples, 1);
    // Opened as data of any kind, it is the same samples.
    let opened = steradian_io::open(&path, &TableOptions::default()).unwrap();
    assert_eq!(opened.shape().samples, 30);
}

/// Frames in colour as images 0.png and so on; red, green and blue of each.
fn save_colored(folder: &Folder, count: usize) -> Vec<Vec<u8>> {
    let pixel = |(at, level): (usize, &u8)| std::array::from_fn::<u8, 3, _>(|part| level / (1 + (at + part) % 3) as u8);
    let shots: Vec<Vec<u8>> =
        frames(count).chunks(PIXELS).map(|frame| frame.iter().enumerate().flat_map(pixel).collect()).collect();
    for (i, shot) in shots.iter().enumerate() {
        let image = image::RgbImage::from_raw(WIDTH as u32, HEIGHT as u32, shot.clone()).unwrap();
        save(folder, &format!("{i}.png"), &image.into(), ImageFormat::Png);
    }
    shots
}

const IN_COLOR: ClipOptions = ClipOptions { from: 0, to: None, every: 1, scale: 1.0, color: true };

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

    let array = gray.file("clip.npy", npy("|u1", false, &[1, HEIGHT, WIDTH], &data));
    assert!(refused(&array, &IN_COLOR).to_string().contains("leave --color out"));
}

#[test]
fn a_lossless_video_is_its_colours() {
    if !ffmpeg::is_there("a_lossless_video_is_its_colours") {
        return;
    }
    let folder = Folder::new();
    let shots = save_colored(&folder, 5);
    let video = folder.path().join("clip.mkv");
    let status = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-i"])
        .arg(folder.path().join("%d.png"))
        .args(["-c:v", "ffv1", "-pix_fmt", "bgr0"])
        .arg(&video)
        .status()
        .unwrap();
    assert!(status.success());
    let (plain, clip) = (open(&video).unwrap(), Clip::open(&video, &IN_COLOR).unwrap());
    assert_eq!(bytes(&clip), bytes(&plain));
    for (i, shot) in shots.iter().enumerate() {
        assert_eq!(clip.colors(i).as_ref(), Some(shot), "frame {i}");
    }
    let part = Clip::open(&video, &ClipOptions { from: 1, to: Some(4), every: 2, ..IN_COLOR }).unwrap();
    assert_eq!((part.shape().samples, part.colors(1).as_ref()), (2, Some(&shots[3])));
}

#[test]
fn a_turned_video_stands_upright() {
    if !ffmpeg::is_there("a_turned_video_stands_upright") {
        return;
    }
    let (folder, data) = (Folder::new(), frames(4));
    let lying = encode(&folder, "lying.mp4", &data, &["-c:v", "mpeg4", "-pix_fmt", "yuv420p", "-vf", "scale=32:20"]);
    let turned = folder.path().join("turned.mp4");
    let status = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-i"])
        .arg(&lying)
        .args(["-c", "copy", "-metadata:s:v:0", "rotate=90"])
        .arg(&turned)
        .status()
        .unwrap();
    assert!(status.success());
    let side_data = Command::new("ffprobe").args(["-v", "error", "-show_streams"]).arg(&turned).output().unwrap();
    if !String::from_utf8_lossy(&side_data.stdout).contains("rotation=") {
        println!(
            "skipped: a_turned_video_stands_upright: this ffmpeg cannot write the rotation of a video by copying it"
        );
        return;
    }
    assert_eq!(open(&lying).unwrap().size(), (20, 32));
    assert_eq!(open(&turned).unwrap().size(), (32, 20));
}

#[test]
fn a_damaged_video_is_an_error_and_never_a_short_clip() {
    if !ffmpeg::is_there("a_damaged_video_is_an_error_and_never_a_short_clip") {
        return;
    }
    let (folder, data) = (Folder::new(), frames(120));
    let text = folder.file("text.mp4", "this is not a video\n".repeat(50));
    let error = refused(&text, &ClipOptions::default());
    assert!(
        matches!(error, Error::Broken { .. }) && error.to_string().contains("not a video that ffmpeg reads"),
        "{error}"
    );
    let mp4 = ["-c:v", "mpeg4", "-q:v", "2", "-movflags", "+faststart"];
    for (name, arguments) in [
        ("clip.mp4", &mp4[..]),
        ("late.mp4", &["-c:v", "mpeg4"]),
        ("clip.mkv", &["-c:v", "ffv1"]),
        ("clip.avi", &["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"]),
    ] {
        let whole = encode(&folder, name, &data, arguments);
        assert_eq!(open(&whole).unwrap().shape().samples, 120, "{name}");
        let content = std::fs::read(&whole).unwrap();
        for share in [9, 6, 3] {
            let short = folder.file(&format!("short-{name}"), &content[..content.len() * share / 10]);
            let error = refused(&short, &ClipOptions::default());
            assert!(matches!(error, Error::Broken { .. }), "{name} at {share}0 %: {error}");
        }
    }
    let sound = folder.path().join("sound.wav");
    let made = Command::new("ffmpeg")
        .args(["-loglevel", "error", "-f", "lavfi", "-i", "sine=duration=1"])
        .arg(&sound)
        .status()
        .unwrap();
    assert!(made.success());
    assert!(refused(&sound, &ClipOptions::default()).to_string().contains("no video stream"));
}

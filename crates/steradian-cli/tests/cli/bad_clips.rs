//! Clips, models, truth and outputs that are not what they should be: each is refused in words, and leaves nothing.

use crate::background::{self, HEIGHT, PIXELS, WIDTH, png};
use crate::ffmpeg;
use crate::lab::{Lab, npy, stderr};

/// Every way to find backgrounds that is not like another.
const METHODS: [&str; 5] = ["scene", "pca", "tae", "robust", "pcp"];

#[test]
fn folders_and_arrays() {
    let (lab, _) = background::lab();
    std::fs::create_dir(lab.path("empty")).unwrap();
    for command in ["background", "shadows"] {
        lab.refuse(3, &format!("{command} empty -o out"), &["holds no images"]);
        lab.refuse(4, &format!("{command} none.mp4 -o out"), &["none.mp4"]);
    }
    lab.write("frames/in200.png", png(&[0; 6], 2, 3));
    for command in ["background", "shadows"] {
        lab.refuse(3, &format!("{command} frames -o out"), &["in100.png is 24 x 32", "in200.png is 2 x 3"]);
    }
    lab.write("float.npy", npy("<f4", &[2, 2, 2], &[0; 32]));
    lab.refuse(3, "background float.npy -o out", &["uint8"]);
    lab.refuse(2, "background clip.npy -o deep/er/out --from 41", &["--from 41"]);
    lab.refuse(2, "background clip.npy -o out --from 40", &["--from 40", "40 frames"]);
}

#[test]
fn frames_that_tell_nothing_apart() {
    let lab = Lab::new();
    lab.write("one.npy", npy("|u1", &[1, 4, 4], &[7; 16]));
    lab.write("same.npy", npy("|u1", &[5, 4, 4], &[7; 80]));
    lab.write("black.npy", npy("|u1", &[5, 4, 4], &[0; 80]));
    lab.refuse(3, "background one.npy -o out", &["1 frame", "--model"]);
    for clip in ["same.npy", "black.npy"] {
        lab.refuse(3, &format!("background {clip} -o out"), &["all 5 frames are equal"]);
    }
    for method in METHODS {
        for clip in ["one.npy", "same.npy", "black.npy"] {
            lab.refuse(3, &format!("background {clip} -o out -d 1 --method {method}"), &[]);
        }
    }
    lab.refuse(3, "shadows one.npy -o out", &["1 picture", "comparing lights"]);
    for faces in ["same.npy", "black.npy"] {
        lab.refuse(3, &format!("shadows {faces} -o out"), &["all 5 pictures are equal"]);
        lab.refuse(3, &format!("shadows {faces} -o out --method pcp"), &["equal to the center"]);
        lab.refuse(3, &format!("shadows {faces} -o out --method pca -d 1"), &["equal to the center"]);
    }
}

#[test]
fn options_that_do_not_fit_the_clip() {
    let (lab, _) = background::lab();
    for method in METHODS {
        lab.refuse(2, &format!("background clip.npy -o out --train 30:41 --method {method}"), &["30:41", "has 40"]);
        lab.refuse(2, &format!("background clip.npy -o out -d 0 --method {method}"), &["at least 1"]);
    }
    lab.refuse(2, "background clip.npy -o out --train 9:9", &["A below B"]);
    lab.refuse(2, "background clip.npy -o out --angle 50", &["--angle", "--method tae"]);

    lab.ok("background --no-videos clip.npy -o good");
    lab.refuse(2, "background clip.npy -o out --scale 0.5 --model good/model.safetensors", &["24 x 32", "12 x 16"]);
    lab.refuse(2, "background clip.npy -o out --model good/model.safetensors --train 0:5", &["--train"]);
    lab.ok("fit clip.npy -o plain");
    lab.refuse(2, "background clip.npy -o out --model plain", &["not fitted to a clip"]);
    lab.refuse(3, "background clip.npy -o out --model clip.npy", &["not a steradian model"]);
}

#[test]
fn truth_of_another_clip() {
    let (lab, _) = background::lab();
    lab.refuse(2, "background clip.npy -o out --truth truth", &["0 to 39", "last number"]);
    lab.write("small.png", png(&[0; 6], 2, 3));
    lab.refuse(2, "background clip.npy -o out --truth small.png", &["2 x 3", "24 x 32"]);
    // A mask in the middle of the clip: what was written by then is gone.
    lab.write("truth/gt000120.png", png(&[0; 6], 2, 3));
    lab.refuse(2, "background frames -o out --no-videos --truth truth", &["gt000120.png", "2 x 3", "24 x 32"]);
    lab.write("truth/gt000120.png", "no picture");
    lab.refuse(3, "background frames -o out --no-videos --truth truth", &["gt000120.png"]);
}

#[test]
fn outputs_that_cannot_be_folders() {
    let (lab, _) = background::lab();
    lab.write("file", "");
    for command in ["background clip.npy", "shadows frames"] {
        lab.refuse(4, &format!("{command} -o file"), &["file"]);
        lab.refuse(4, &format!("{command} -o /proc/none"), &["/proc/none"]);
    }
}

#[test]
fn deep_and_transparent_pictures_become_gray() {
    let (lab, _) = background::lab();
    std::fs::create_dir(lab.path("kinds")).unwrap();
    let (frames, _) = background::clip();
    let encode = |color: png::ColorType, depth: png::BitDepth, data: &[u8]| {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, WIDTH as u32, HEIGHT as u32);
        encoder.set_color(color);
        encoder.set_depth(depth);
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        out
    };
    for (t, frame) in frames.chunks(PIXELS).enumerate() {
        // The same levels with 16 bits, with alpha that hides nothing, and in colours that are gray.
        let picture = match t % 3 {
            0 => encode(
                png::ColorType::Grayscale,
                png::BitDepth::Sixteen,
                &frame.iter().flat_map(|&x| [x, x]).collect::<Vec<_>>(),
            ),
            1 => encode(
                png::ColorType::GrayscaleAlpha,
                png::BitDepth::Eight,
                &frame.iter().flat_map(|&x| [x, 255]).collect::<Vec<_>>(),
            ),
            _ => encode(
                png::ColorType::Rgba,
                png::BitDepth::Eight,
                &frame.iter().flat_map(|&x| [x, x, x, 255]).collect::<Vec<_>>(),
            ),
        };
        lab.write(&format!("kinds/{t}.png"), picture);
    }
    lab.ok("background kinds -o kinds-out --no-videos");
    lab.ok("background clip.npy -o array-out --no-videos");
    assert_eq!(lab.read("kinds-out/model.safetensors"), lab.read("array-out/model.safetensors"));
    assert_eq!(lab.read("kinds-out/masks/000031.png"), lab.read("array-out/masks/000031.png"));
}

#[test]
fn videos_that_are_none_or_not_whole() {
    if !ffmpeg::is_there("videos_that_are_none_or_not_whole") {
        return;
    }
    let (lab, (frames, _)) = (Lab::new(), background::clip());
    lab.write("text.mp4", "not a video at all\n".repeat(20));
    lab.refuse(3, "background text.mp4 -o out", &["not a video that ffmpeg reads"]);
    background::video(&lab, "clip.mkv", &frames);
    let whole = lab.read("clip.mkv");
    lab.write("short.mkv", &whole[..whole.len() * 6 / 10]);
    lab.refuse(3, "background short.mkv -o out", &["short.mkv"]);
    background::video(&lab, "one.mkv", &frames[..PIXELS]);
    lab.refuse(3, "background one.mkv -o out", &["1 frame", "--model"]);
    // An earlier model takes it apart.
    lab.ok("background clip.mkv -o good --no-videos");
    lab.ok("background one.mkv -o one --no-videos --model good/model.safetensors");
    assert_eq!(lab.read("one/masks/000000.png"), lab.read("good/masks/000000.png"));
}

#[test]
fn a_video_needs_ffmpeg_and_says_so() {
    let lab = Lab::new();
    lab.write("clip.mp4", b"\0\0\0\x18ftypmp42");
    let output = lab.command("background clip.mp4 -o out").env("PATH", "").output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("ffprobe is not installed") && stderr(&output).contains("apt install ffmpeg"));
    assert_eq!(lab.listing(), ["clip.mp4"]);
}

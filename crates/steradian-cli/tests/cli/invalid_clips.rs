//! Invalid clips, models, ground truth and outputs: each is rejected with a message, and no file is created.

use crate::background::{self, HEIGHT, PIXELS, WIDTH, png};
use crate::ffmpeg;
use crate::lab::{Lab, npy, stderr};

/// One method of each kind.
const METHODS: [&str; 5] = ["scene", "pca", "tae", "robust", "pcp"];

#[test]
fn folders_and_arrays() {
    let (lab, _) = background::lab();
    std::fs::create_dir(lab.path("empty")).unwrap();
    for command in ["background", "shadows"] {
        lab.reject(3, &format!("{command} empty -o out"), &["contains no images"]);
        lab.reject(4, &format!("{command} none.mp4 -o out"), &["none.mp4"]);
    }
    lab.write("frames/in200.png", png(&[0; 6], 2, 3));
    for command in ["background", "shadows"] {
        lab.reject(3, &format!("{command} frames -o out"), &["in100.png is 24 x 32", "in200.png is 2 x 3"]);
    }
    lab.write("float.npy", npy("<f4", &[2, 2, 2], &[0; 32]));
    lab.reject(3, "background float.npy -o out", &["uint8"]);
    lab.reject(2, "background clip.npy -o deep/er/out --start 41", &["--start: ", "start frame 41", "40 frames"]);
    lab.reject(2, "background clip.npy -o out --start 40", &["--start: ", "start frame 40", "40 frames"]);
}

#[test]
fn clips_without_a_background() {
    let lab = Lab::new();
    lab.write("one.npy", npy("|u1", &[1, 4, 4], &[7; 16]));
    lab.write("same.npy", npy("|u1", &[5, 4, 4], &[7; 80]));
    lab.write("black.npy", npy("|u1", &[5, 4, 4], &[0; 80]));
    lab.reject(3, "background one.npy -o out", &["at least 2 frames, got 1"]);
    for clip in ["same.npy", "black.npy"] {
        lab.reject(3, &format!("background {clip} -o out"), &["all 5 frames are equal"]);
    }
    for method in METHODS {
        for clip in ["one.npy", "same.npy", "black.npy"] {
            lab.reject(3, &format!("background {clip} -o out -d 1 --method {method}"), &[]);
        }
    }
    lab.reject(3, "shadows one.npy -o out", &["at least 2 images", "got 1"]);
    for faces in ["same.npy", "black.npy"] {
        lab.reject(3, &format!("shadows {faces} -o out"), &["all 5 images are identical"]);
        lab.reject(3, &format!("shadows {faces} -o out --method pcp"), &["equal to the center"]);
        lab.reject(3, &format!("shadows {faces} -o out --method pca -d 1"), &["equal to the center"]);
    }
}

#[test]
fn options_that_do_not_match_the_clip() {
    let (lab, _) = background::lab();
    for method in METHODS {
        lab.reject(2, &format!("background clip.npy -o out --train 30:41 --method {method}"), &["30:41", "has 40"]);
        lab.reject(2, &format!("background clip.npy -o out -d 0 --method {method}"), &["at least 1"]);
    }
    lab.reject(2, "background clip.npy -o out --train 9:9", &["START < END"]);
    lab.reject(2, "background clip.npy -o out --max-angle 50", &["--max-angle applies only to --method tae"]);

    lab.ok("background --no-videos clip.npy -o good");
    lab.reject(2, "background clip.npy -o out --resize 0.5 --model good/model.safetensors", &["24 x 32", "12 x 16"]);
    lab.reject(2, "background clip.npy -o out --model good/model.safetensors --train 0:5", &["--train"]);
    lab.ok("fit clip.npy -o plain");
    lab.reject(2, "background clip.npy -o out --model plain", &["not fitted to a clip"]);
    lab.reject(3, "background clip.npy -o out --model clip.npy", &["not a steradian model"]);
}

#[test]
fn ground_truth_of_another_clip() {
    let (lab, _) = background::lab();
    lab.reject(2, "background clip.npy -o out --ground-truth truth", &["0 to 39", "last number"]);
    lab.write("small.png", png(&[0; 6], 2, 3));
    lab.reject(2, "background clip.npy -o out --ground-truth small.png", &["2 x 3", "24 x 32"]);
    // A mask in the middle of the clip: the masks written before it are removed.
    lab.write("truth/gt000120.png", png(&[0; 6], 2, 3));
    lab.reject(2, "background frames -o out --no-videos --ground-truth truth", &["gt000120.png", "2 x 3", "24 x 32"]);
    lab.write("truth/gt000120.png", "not an image");
    lab.reject(3, "background frames -o out --no-videos --ground-truth truth", &["gt000120.png"]);
}

#[test]
fn outputs_that_are_not_folders() {
    let (lab, _) = background::lab();
    lab.write("file", "");
    for command in ["background clip.npy", "shadows frames"] {
        lab.reject(4, &format!("{command} -o file"), &["file"]);
        lab.reject(4, &format!("{command} -o /proc/none"), &["/proc/none"]);
    }
}

#[test]
fn images_of_16_bits_with_alpha_or_in_color_become_gray() {
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
        // Equal levels with 16 bits, with opaque alpha, and as RGBA.
        let image = match t % 3 {
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
        lab.write(&format!("kinds/{t}.png"), image);
    }
    lab.ok("background kinds -o kinds-out --no-videos");
    lab.ok("background clip.npy -o array-out --no-videos");
    assert_eq!(lab.read("kinds-out/model.safetensors"), lab.read("array-out/model.safetensors"));
    assert_eq!(lab.read("kinds-out/masks/000031.png"), lab.read("array-out/masks/000031.png"));
}

#[test]
fn invalid_and_truncated_videos() {
    if !ffmpeg::is_available("invalid_and_truncated_videos") {
        return;
    }
    let (lab, (frames, _)) = (Lab::new(), background::clip());
    lab.write("text.mp4", "not a video at all\n".repeat(20));
    lab.reject(3, "background text.mp4 -o out", &["the file is not a video in a supported format"]);
    background::video(&lab, "clip.mkv", &frames);
    let complete = lab.read("clip.mkv");
    lab.write("short.mkv", &complete[..complete.len() * 6 / 10]);
    lab.reject(3, "background short.mkv -o out", &["short.mkv"]);
    background::video(&lab, "one.mkv", &frames[..PIXELS]);
    lab.reject(3, "background one.mkv -o out", &["at least 2 frames, got 1"]);
    // A saved model can be applied to it.
    lab.ok("background clip.mkv -o good --no-videos");
    lab.ok("background one.mkv -o one --no-videos --model good/model.safetensors");
    assert_eq!(lab.read("one/masks/000000.png"), lab.read("good/masks/000000.png"));
}

#[test]
fn a_video_without_ffmpeg_is_an_error_with_a_remedy() {
    let lab = Lab::new();
    lab.write("clip.mp4", b"\0\0\0\x18ftypmp42");
    let output = lab.command("background clip.mp4 -o out").env("PATH", "").output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("ffprobe is not installed") && stderr(&output).contains("apt install ffmpeg"));
    assert_eq!(lab.listing(), ["clip.mp4"]);
}

//! Clips as users meet them: folders, arrays and video in, a folder of results out.

use std::process::{Command, Stdio};

use crate::lab::{Lab, keys, names, npy, stderr, uniform};

const HEIGHT: usize = 24;
const WIDTH: usize = 32;
const PIXELS: usize = HEIGHT * WIDTH;
const FRAMES: usize = 40;

/// A wall with a white square that crosses it; the clip and where the square is.
fn clip() -> (Vec<u8>, Vec<u8>) {
    let noise = uniform(4, FRAMES * PIXELS);
    let inside = |t: usize, at: usize| {
        let (left, top) = (t * 3 % (WIDTH - 8), t * 2 % (HEIGHT - 8));
        (left..left + 8).contains(&(at % WIDTH)) && (top..top + 8).contains(&(at / WIDTH))
    };
    let level = |i: usize| {
        let (t, at) = (i / PIXELS, i % PIXELS);
        let wall = 60.0 + 3.0 * (at % WIDTH) as f64;
        (if inside(t, at) { 240.0 } else { wall } + 4.0 * noise[i]) as u8
    };
    let frames = (0..FRAMES * PIXELS).map(level).collect();
    (frames, (0..FRAMES * PIXELS).map(|i| 255 * u8::from(inside(i / PIXELS, i % PIXELS))).collect())
}

fn png(pixels: &[u8], height: usize, width: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(pixels).unwrap();
    out
}

fn read_png(bytes: &[u8]) -> (Vec<u8>, u32, u32) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Grayscale, png::BitDepth::Eight));
    (pixels, info.height, info.width)
}

/// The clip as clip.npy and as a folder of images, and its truth.
fn lab() -> (Lab, Vec<u8>) {
    let (lab, (frames, truth)) = (Lab::new(), clip());
    lab.write("clip.npy", npy("|u1", &[FRAMES, HEIGHT, WIDTH], &frames));
    for folder in ["frames", "truth"] {
        std::fs::create_dir(lab.path(folder)).unwrap();
    }
    for t in 0..FRAMES {
        let part = t * PIXELS..(t + 1) * PIXELS;
        lab.write(&format!("frames/in{}.png", 100 + t), png(&frames[part.clone()], HEIGHT, WIDTH));
        lab.write(&format!("truth/gt{:06}.png", 100 + t), png(&truth[part], HEIGHT, WIDTH));
    }
    (lab, truth)
}

fn summary(lab: &Lab, folder: &str) -> serde_json::Value {
    serde_json::from_slice(&lab.read(&format!("{folder}/summary.json"))).unwrap()
}

#[test]
fn a_folder_of_frames_becomes_a_background_and_masks() {
    let (lab, truth) = lab();
    let text = lab.ok("background frames -o out --truth truth --no-videos");
    for part in ["40 frames of 24 x 32", "temporary file", "scene, 3 components", "precision", "over 40 frames"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert_eq!(
        names(&lab.path("out")),
        ["background.png", "masks", "model.safetensors", "report.html", "summary.json"]
    );
    let masks = names(&lab.path("out/masks"));
    assert_eq!((masks.len(), masks[0].as_str(), masks[39].as_str()), (FRAMES, "000100.png", "000139.png"));
    let (mask, height, width) = read_png(&lab.read("out/masks/000107.png"));
    assert_eq!((height as usize, width as usize), (HEIGHT, WIDTH));
    assert!(mask.iter().all(|&level| level == 0 || level == 255));
    let wrong = mask.iter().zip(&truth[7 * PIXELS..]).filter(|(a, b)| a != b).count();
    assert!(wrong < 16, "{wrong} pixels of the mask are wrong");
    let (background, ..) = read_png(&lab.read("out/background.png"));
    let apart = |at: usize| (f64::from(background[at]) - (62.0 + 3.0 * (at % WIDTH) as f64)).abs();
    let worst = (0..PIXELS).map(apart).fold(0.0, f64::max);
    assert!(worst < 4.0, "{worst}");

    let told = summary(&lab, "out");
    let expected =
        ["apply_seconds", "fit_seconds", "frames", "height", "method", "n_components", "n_kept", "truth", "width"];
    assert_eq!(keys(&told), expected);
    assert_eq!((told["frames"].as_u64(), told["method"].as_str()), (Some(40), Some("scene")));
    assert!(told["truth"]["f1"].as_f64().unwrap() > 0.9, "{told}");
    lab.ok("inspect out/model.safetensors");

    // The same frames as an array: the same model; masks numbered from 0, and none left of an earlier run.
    lab.ok("background --no-videos clip.npy -o out");
    assert_eq!(names(&lab.path("out/masks"))[0], "000000.png");
    assert_eq!(names(&lab.path("out/masks")).len(), FRAMES);
    assert!(summary(&lab, "out")["truth"].is_null());
}

#[test]
fn an_earlier_model_is_applied_to_a_new_clip() {
    let (lab, _) = lab();
    lab.ok("background --no-videos frames -o first --train 0:30");
    let text =
        lab.ok("background --no-videos frames -o second --model first/model.safetensors --from 30 --truth truth");
    assert!(text.contains("earlier") && text.contains("10 frames"), "{text}");
    let told = summary(&lab, "second");
    assert!(told["fit_seconds"].is_null() && told["truth"]["f1"].as_f64().unwrap() > 0.9, "{told}");
    assert_eq!(lab.read("first/model.safetensors"), lab.read("second/model.safetensors"));
    assert_eq!(lab.read("first/masks/000135.png"), lab.read("second/masks/000135.png"));
    // One frame is enough to apply a model to.
    lab.ok("background --no-videos frames -o third --model first/model.safetensors --to 1");
    assert_eq!(names(&lab.path("third/masks")), ["000100.png"]);
}

#[test]
fn truth_is_masks_one_mask_or_the_empty_scene() {
    let (lab, truth) = lab();
    lab.write("mask_7.png", png(&truth[7 * PIXELS..8 * PIXELS], HEIGHT, WIDTH));
    lab.ok("background --no-videos clip.npy -o out --truth mask_7.png");
    assert!(summary(&lab, "out")["truth"]["recall"].as_f64().unwrap() > 0.8);
    let wall: Vec<u8> = (0..PIXELS).map(|at| 62 + 3 * (at % WIDTH) as u8).collect();
    lab.write("empty.png", png(&wall, HEIGHT, WIDTH));
    lab.ok("background --no-videos clip.npy -o out --truth empty.png");
    let told = summary(&lab, "out");
    assert_eq!(keys(&told["truth"]), ["mean_gray_error", "psnr", "share_off_20"]);
    assert!(told["truth"]["psnr"].as_f64().unwrap() > 40.0, "{told}");
    // What lies outside the region is not scored.
    lab.write("truth/ROI.bmp", png(&vec![0; PIXELS], HEIGHT, WIDTH));
    lab.ok("background --no-videos frames -o out --truth truth");
    assert_eq!(summary(&lab, "out")["truth"]["f1"].as_f64(), Some(0.0));
}

#[test]
fn the_report_stands_alone() {
    let (lab, _) = lab();
    lab.ok("background frames -o out --no-videos --method tae");
    let page = String::from_utf8(lab.read("out/report.html")).unwrap();
    assert_eq!(page.matches("data:image/jpeg;base64,").count(), 2 * FRAMES + 3, "two pictures a frame, and components");
    assert_eq!(page.matches("data:image/png;base64,").count(), FRAMES, "a mask a frame");
    for part in ["<h1>frames: scene and foreground</h1>", "\"cone\":60.0", "sine at most", "tae, 3 components"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("http").count(), 1, "nothing is fetched: the one address is the name of SVG");
    assert!(page.len() < 5 << 20);
}

#[test]
fn without_ffmpeg_videos_are_folders() {
    let (lab, _) = lab();
    let output = lab.command("background clip.npy -o out").env("PATH", "").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    for folder in ["backgrounds", "foreground", "overlay"] {
        assert_eq!(names(&lab.path(&format!("out/{folder}"))).len(), FRAMES);
    }
    let (foreground, ..) = read_png(&lab.read("out/foreground/000007.png"));
    let (mask, ..) = read_png(&lab.read("out/masks/000007.png"));
    let (frames, _) = clip();
    let expected = |at: usize| if mask[at] > 0 { frames[7 * PIXELS + at] } else { 0 };
    assert!((0..PIXELS).all(|at| foreground[at] == expected(at)));
}

#[test]
fn methods_and_threads() {
    let (lab, _) = lab();
    for method in ["ae", "tae", "robust", "cells", "pca", "tae --cosine abs --angle 50"] {
        lab.ok(&format!("background --no-videos clip.npy -o out -d 2 --method {method}"));
        assert_eq!(summary(&lab, "out")["method"].as_str(), method.split(' ').next());
        assert_eq!(names(&lab.path("out/masks")).len(), FRAMES);
    }
    let cone = lab.json("inspect out/model.safetensors --json");
    assert_eq!(cone["parameters"]["cosine"].as_str(), Some("abs"));
    lab.ok("background --no-videos clip.npy -o out --method tae");
    assert_eq!(lab.json("inspect out/model.safetensors --json")["parameters"]["cosine"].as_str(), Some("signed"));
    for threads in [1, 3] {
        lab.ok(&format!("background --no-videos clip.npy -o t{threads} --threads {threads}"));
    }
    assert_eq!(lab.read("t1/model.safetensors"), lab.read("t3/model.safetensors"));
    assert_eq!(lab.read("t1/masks/000009.png"), lab.read("t3/masks/000009.png"));
}

#[test]
fn bad_clips_are_refused_and_leave_nothing() {
    let (lab, _) = lab();
    std::fs::create_dir(lab.path("empty")).unwrap();
    lab.refuse(3, "background empty -o out", &["holds no images"]);
    lab.write("one.npy", npy("|u1", &[1, 4, 4], &[7; 16]));
    lab.refuse(3, "background one.npy -o out", &["1 frame", "--model"]);
    lab.write("same.npy", npy("|u1", &[5, 4, 4], &[7; 80]));
    lab.refuse(3, "background same.npy -o out", &["all 5 frames are equal"]);
    lab.write("black.npy", npy("|u1", &[5, 4, 4], &[0; 80]));
    lab.refuse(3, "background black.npy -o out", &["all 5 frames are equal"]);
    lab.write("frames/in200.png", png(&[0; 6], 2, 3));
    lab.refuse(3, "background frames -o out", &["in100.png is 24 x 32", "in200.png is 2 x 3"]);
    lab.refuse(2, "background clip.npy -o out --train 30:41", &["30:41", "has 40"]);
    lab.refuse(2, "background clip.npy -o out --train 9:9", &["A below B"]);
    lab.refuse(2, "background clip.npy -o deep/er/out --from 41", &["--from 41"]);
    lab.refuse(2, "background clip.npy -o out --from 40", &["--from 40", "40 frames"]);
    lab.refuse(2, "background clip.npy -o out -d 0", &["at least 1"]);
    lab.refuse(2, "background clip.npy -o out --angle 50", &["--angle", "--method tae"]);
    lab.refuse(4, "background none.mp4 -o out", &["none.mp4"]);

    lab.ok("background --no-videos clip.npy -o good");
    lab.refuse(2, "background clip.npy -o out --scale 0.5 --model good/model.safetensors", &["24 x 32", "12 x 16"]);
    lab.refuse(2, "background clip.npy -o out --model good/model.safetensors --train 0:5", &["--train"]);
    lab.ok("fit clip.npy -o plain");
    lab.refuse(2, "background clip.npy -o out --model plain", &["not fitted to a clip"]);
    lab.refuse(3, "background clip.npy -o out --model clip.npy", &["not a steradian model"]);
    lab.refuse(2, "background clip.npy -o out --truth truth", &["0 to 39", "last number"]);
    lab.write("small.png", png(&[0; 6], 2, 3));
    lab.refuse(2, "background clip.npy -o out --truth small.png", &["2 x 3", "24 x 32"]);
    lab.write("file", "");
    lab.refuse(4, "background clip.npy -o file", &["file"]);
    lab.refuse(4, "background clip.npy -o /proc/none", &["/proc/none"]);
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

#[test]
fn a_video_file_becomes_masks() {
    if Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        println!("skipped: a_video_file_becomes_masks needs the program ffmpeg (make ffmpeg installs it)");
        return;
    }
    let (lab, (frames, _)) = (Lab::new(), clip());
    lab.write("raw", &frames);
    let arguments = "-loglevel error -f rawvideo -pix_fmt gray -s 32x24 -r 10 -i raw -c:v ffv1 clip.mkv";
    let status = Command::new("ffmpeg").args(arguments.split(' ')).current_dir(lab.path("")).status().unwrap();
    assert!(status.success());
    lab.ok("background clip.mkv -o video");
    lab.write("clip.npy", npy("|u1", &[FRAMES, HEIGHT, WIDTH], &frames));
    lab.ok("background clip.npy -o array");
    assert_eq!(lab.read("video/model.safetensors"), lab.read("array/model.safetensors"));
    assert_eq!(lab.read("video/masks/000012.png"), lab.read("array/masks/000012.png"));
    for name in ["backgrounds.mp4", "foreground.mp4", "overlay.mp4"] {
        let probe = "-v error -count_frames -show_entries stream=width,height,nb_read_frames -of csv=p=0";
        let path = lab.path(&format!("video/{name}"));
        let output = Command::new("ffprobe").args(probe.split(' ')).arg(path).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "32,24,40", "{name}");
    }
    lab.write("text.mp4", "not a video at all\n".repeat(20));
    lab.refuse(3, "background text.mp4 -o out", &["not a video that ffmpeg reads"]);
}

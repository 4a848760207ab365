//! `background` on folders, arrays and video.

use std::process::Command;

use crate::ffmpeg;
use crate::lab::{Lab, keys, names, npy, read_npy, stderr, uniform};

pub const HEIGHT: usize = 24;
pub const WIDTH: usize = 32;
pub const PIXELS: usize = HEIGHT * WIDTH;
pub const FRAMES: usize = 40;

/// A clip of a wall with a moving white square, and the masks of the square.
pub fn clip() -> (Vec<u8>, Vec<u8>) {
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

pub fn png(pixels: &[u8], height: usize, width: usize) -> Vec<u8> {
    png_of(png::ColorType::Grayscale, pixels, height, width)
}

fn png_of(color: png::ColorType, pixels: &[u8], height: usize, width: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width as u32, height as u32);
    encoder.set_color(color);
    encoder.write_header().unwrap().write_image_data(pixels).unwrap();
    out
}

fn read_png(bytes: &[u8]) -> (Vec<u8>, u32, u32) {
    read_png_of(png::ColorType::Grayscale, bytes)
}

fn read_png_of(color: png::ColorType, bytes: &[u8]) -> (Vec<u8>, u32, u32) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (color, png::BitDepth::Eight));
    (pixels, info.height, info.width)
}

/// A lab with the clip as clip.npy, as a folder of images, and its ground truth.
pub fn lab() -> (Lab, Vec<u8>) {
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

/// Writes frames as a lossless video.
pub fn video(lab: &Lab, name: &str, frames: &[u8]) {
    lab.write("raw", frames);
    let arguments =
        format!("-loglevel error -f rawvideo -pix_fmt gray -s {WIDTH}x{HEIGHT} -r 10 -i raw -c:v ffv1 {name}");
    let status = Command::new("ffmpeg").args(arguments.split(' ')).current_dir(lab.path("")).status().unwrap();
    assert!(status.success());
}

/// Pixels of all images of a folder, in the order of their names.
fn images(lab: &Lab, folder: &str, color: png::ColorType) -> Vec<u8> {
    let read = |name: String| {
        let (pixels, height, width) = read_png_of(color, &lab.read(&format!("{folder}/{name}")));
        assert_eq!((height as usize, width as usize), (HEIGHT, WIDTH), "{folder}/{name}");
        pixels
    };
    names(&lab.path(folder)).into_iter().flat_map(read).collect()
}

/// The masks of a run; they are binary.
fn masks(lab: &Lab, folder: &str) -> Vec<u8> {
    let masks = images(lab, &format!("{folder}/masks"), png::ColorType::Grayscale);
    assert!(masks.iter().all(|&level| level == 0 || level == 255), "{folder}");
    masks
}

/// Precision, recall and F1 of masks against the ground truth.
fn scored(masks: &[u8], truth: &[u8]) -> [f64; 3] {
    assert_eq!(masks.len(), truth.len());
    let count = |found: u8, true_level: u8| {
        masks.iter().zip(truth).filter(|(a, b)| (**a, **b) == (found, true_level)).count() as f64
    };
    let (true_positives, false_positives, false_negatives) = (count(255, 255), count(255, 0), count(0, 255));
    let ratio = |part: f64, total: f64| if total == 0.0 { 0.0 } else { part / total };
    [
        ratio(true_positives, true_positives + false_positives),
        ratio(true_positives, true_positives + false_negatives),
        ratio(2.0 * true_positives, 2.0 * true_positives + false_positives + false_negatives),
    ]
}

/// Mean gray level of the wall of [`clip`]: noise in [0, 4), truncated, adds 2 - 1/2.
fn wall(at: usize) -> f64 {
    61.5 + 3.0 * (at % WIDTH) as f64
}

/// Largest absolute difference of an image from the wall.
fn max_wall_error(image: &[u8]) -> f64 {
    image.iter().enumerate().map(|(at, level)| (f64::from(*level) - wall(at)).abs()).fold(0.0, f64::max)
}

/// Mean absolute difference of two images.
fn mean_difference(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / a.len() as f64
}

/// Decodes base64.
fn base64_decoded(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sixes: Vec<u32> = text
        .bytes()
        .filter(|&letter| letter != b'=')
        .map(|letter| LETTERS.iter().position(|&known| known == letter).unwrap() as u32)
        .collect();
    let four = |part: &[u32]| {
        let bits = part.iter().fold(0, |bits, six| bits << 6 | six) << (6 * (4 - part.len()));
        bits.to_be_bytes()[1..part.len()].to_vec()
    };
    sixes.chunks(4).flat_map(four).collect()
}

fn summary(lab: &Lab, folder: &str) -> serde_json::Value {
    serde_json::from_slice(&lab.read(&format!("{folder}/summary.json"))).unwrap()
}

#[test]
fn a_folder_of_frames_becomes_a_background_and_masks() {
    let (lab, truth) = lab();
    let text = lab.ok("background frames -o out --ground-truth truth --no-videos");
    for part in ["40 frames of 24 x 32", "temporary file", "scene, 3 components", "precision", "over 40 frames"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert_eq!(
        names(&lab.path("out")),
        [".steradian-output", "background.png", "masks", "model.safetensors", "report.html", "summary.json"]
    );
    let files = names(&lab.path("out/masks"));
    assert_eq!((files.len(), files[0].as_str(), files[39].as_str()), (FRAMES, "000100.png", "000139.png"));
    let found = masks(&lab, "out");
    let figures = scored(&found, &truth);
    assert!(figures[2] > 0.98, "{figures:?}");
    let (background, ..) = read_png(&lab.read("out/background.png"));
    let worst = max_wall_error(&background);
    assert!(worst < 2.0, "{worst}");

    let report = summary(&lab, "out");
    let expected = [
        "apply_seconds",
        "fit_seconds",
        "frames",
        "ground_truth",
        "height",
        "method",
        "n_components",
        "n_support",
        "width",
    ];
    assert_eq!(keys(&report), expected);
    assert_eq!((report["frames"].as_u64(), report["method"].as_str()), (Some(40), Some("scene")));
    for (name, figure) in ["precision", "recall", "f1"].into_iter().zip(figures) {
        let reported = report["ground_truth"][name].as_f64().unwrap();
        assert!((reported - figure).abs() < 1e-9, "{name}: summary {reported}, masks {figure}");
    }
    let model = lab.read("out/model.safetensors");

    // The frames as an array give an equal model; masks are numbered from 0, and those of the earlier run are removed.
    lab.ok("background --no-videos clip.npy -o out");
    assert_eq!(names(&lab.path("out/masks"))[0], "000000.png");
    assert!(masks(&lab, "out") == found, "the masks of array and folder differ");
    assert!(lab.read("out/model.safetensors") == model, "the models of array and folder differ");
    assert!(summary(&lab, "out")["ground_truth"].is_null());
}

#[test]
fn color_output_does_not_change_the_masks() {
    let (lab, (frames, truth)) = (Lab::new(), clip());
    std::fs::create_dir(lab.path("frames")).unwrap();
    // A brown wall at half the illumination from frame 25 on, and a square that is always white.
    let tint = [1.2, 1.0, 0.5];
    let wall = |at: usize, light: f64| tint.map(|part| part * light * (62.0 + 3.0 * (at % WIDTH) as f64));
    let light = |t: usize| if t < 25 { 1.0 } else { 0.5 };
    for t in 0..FRAMES {
        let pixel = |at: usize| match truth[t * PIXELS + at] {
            255 => [frames[t * PIXELS + at]; 3],
            _ => wall(at, light(t)).map(|level| level.round() as u8),
        };
        let pixels: Vec<u8> = (0..PIXELS).flat_map(pixel).collect();
        lab.write(&format!("frames/{t}.png"), png_of(png::ColorType::Rgb, &pixels, HEIGHT, WIDTH));
    }
    lab.ok("background frames -o gray");
    let text = lab.ok("background frames -o out --color");
    assert!(text.contains(&format!("temporary file ({}", 4 * FRAMES * PIXELS / 1024)), "{text}");
    assert_eq!(names(&lab.path("out")), names(&lab.path("gray")));
    for mask in names(&lab.path("gray/masks")) {
        assert!(lab.read(&format!("gray/masks/{mask}")) == lab.read(&format!("out/masks/{mask}")), "{mask}");
    }
    let figures = scored(&masks(&lab, "out"), &truth);
    assert!(figures[2] > 0.98, "{figures:?}");
    assert!(lab.read("gray/model.safetensors") == lab.read("out/model.safetensors"), "the model depends on color");

    let (background, height, width) = read_png_of(png::ColorType::Rgb, &lab.read("out/background.png"));
    assert_eq!((height as usize, width as usize), (HEIGHT, WIDTH));
    let error = |light: f64, background: &[u8]| {
        let expected = (0..PIXELS).flat_map(|at| wall(at, light));
        expected.zip(background).map(|(wanted, found)| (wanted - f64::from(*found)).abs()).fold(0.0, f64::max)
    };
    let worst = error(1.0, &background);
    assert!(worst < 4.0, "{worst}");

    if !ffmpeg::is_available("color_output_does_not_change_the_masks, videos") {
        // Without ffmpeg, backgrounds are images.
        let (image, ..) = read_png_of(png::ColorType::Rgb, &lab.read("out/backgrounds/000030.png"));
        assert!(error(0.5, &image) < 4.0);
        return;
    }
    let decode = "-loglevel error -i out/backgrounds.mp4 -f rawvideo -pix_fmt rgb24 raw";
    assert!(Command::new("ffmpeg").args(decode.split(' ')).current_dir(lab.path("")).status().unwrap().success());
    let raw = lab.read("raw");
    // Video compression subsamples colors, so only the mean of each channel is compared.
    let decoded = &raw[30 * PIXELS * 3..31 * PIXELS * 3];
    for part in 0..3 {
        let mean = |levels: &mut dyn Iterator<Item = f64>| levels.sum::<f64>() / PIXELS as f64;
        let wanted = mean(&mut (0..PIXELS).map(|at| wall(at, 0.5)[part]));
        let found = mean(&mut decoded.iter().skip(part).step_by(3).map(|level| f64::from(*level)));
        assert!((wanted - found).abs() < 6.0, "{part}: {wanted} {found}");
    }
}

#[test]
fn a_saved_model_is_applied_to_a_new_clip() {
    let (lab, truth) = lab();
    lab.ok("background --no-videos frames -o first --train 0:30");
    let text = lab
        .ok("background --no-videos frames -o second --model first/model.safetensors --start 30 --ground-truth truth");
    assert!(text.contains("model loaded") && text.contains("10 frames"), "{text}");
    let report = summary(&lab, "second");
    let found = masks(&lab, "second");
    let figures = scored(&found, &truth[30 * PIXELS..]);
    assert!(figures[2] > 0.98, "{figures:?}");
    assert!(
        report["fit_seconds"].is_null() && (report["ground_truth"]["f1"].as_f64().unwrap() - figures[2]).abs() < 1e-9,
        "{report}"
    );
    assert!(lab.read("first/model.safetensors") == lab.read("second/model.safetensors"));
    assert!(found == masks(&lab, "first")[30 * PIXELS..]);
    // A model can be applied to a single frame.
    lab.ok("background --no-videos frames -o third --model first/model.safetensors --end 1");
    assert_eq!(names(&lab.path("third/masks")), ["000100.png"]);
    assert!(masks(&lab, "third") == masks(&lab, "first")[..PIXELS]);
}

#[test]
fn ground_truth_is_masks_one_mask_or_a_background_image() {
    let (lab, truth) = lab();
    lab.write("mask_7.png", png(&truth[7 * PIXELS..8 * PIXELS], HEIGHT, WIDTH));
    lab.ok("background --no-videos clip.npy -o out --ground-truth mask_7.png");
    let figures = scored(&masks(&lab, "out")[7 * PIXELS..8 * PIXELS], &truth[7 * PIXELS..8 * PIXELS]);
    assert!(figures[1] > 0.98, "{figures:?}");
    assert!((summary(&lab, "out")["ground_truth"]["recall"].as_f64().unwrap() - figures[1]).abs() < 1e-9);
    let wall: Vec<u8> = (0..PIXELS).map(|at| 62 + 3 * (at % WIDTH) as u8).collect();
    lab.write("empty.png", png(&wall, HEIGHT, WIDTH));
    lab.ok("background --no-videos clip.npy -o out --ground-truth empty.png");
    let report = summary(&lab, "out");
    assert_eq!(keys(&report["ground_truth"]), ["fraction_off_by_20", "mean_gray_error", "psnr"]);
    let (background, ..) = read_png(&lab.read("out/background.png"));
    let square =
        background.iter().zip(&wall).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum::<f64>() / PIXELS as f64;
    let psnr = 10.0 * (255.0 * 255.0 / square).log10();
    assert!(psnr > 45.0 && (report["ground_truth"]["psnr"].as_f64().unwrap() - psnr).abs() < 1e-6, "{psnr} {report}");
    assert!(
        (report["ground_truth"]["mean_gray_error"].as_f64().unwrap() - mean_difference(&background, &wall)).abs()
            < 1e-9,
        "{report}"
    );
    // Pixels outside the region of interest are not scored.
    lab.write("truth/ROI.bmp", png(&vec![0; PIXELS], HEIGHT, WIDTH));
    lab.ok("background --no-videos frames -o out --ground-truth truth");
    assert_eq!(summary(&lab, "out")["ground_truth"]["f1"].as_f64(), Some(0.0));
}

#[test]
fn the_report_is_self_contained() {
    let (lab, _) = lab();
    // Without ffmpeg, backgrounds are written as images.
    let output = lab.command("background frames -o out --method tae").env("PATH", "").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let page = String::from_utf8(lab.read("out/report.html")).unwrap();
    assert_eq!(
        page.matches("data:image/jpeg;base64,").count(),
        2 * FRAMES + 3,
        "two images per frame, and the components"
    );
    assert_eq!(page.matches("data:image/png;base64,").count(), FRAMES, "one mask per frame");
    let (frames, _) = clip();
    let found = masks(&lab, "out");
    let within = |key: &str| {
        let start = format!("\"{key}\":\"data:image/");
        let after = page.split(start.as_str()).skip(1);
        after
            .map(|text| base64_decoded(text.split_once("base64,").unwrap().1.split('"').next().unwrap()))
            .collect::<Vec<_>>()
    };
    for (t, bytes) in within("mask").iter().enumerate() {
        assert!(read_png(bytes).0 == found[t * PIXELS..(t + 1) * PIXELS], "the mask of frame {t}");
    }
    let decoded = |bytes: &[u8]| image::load_from_memory(bytes).unwrap().to_luma8().into_raw();
    let worst = |key: &str, expected: &dyn Fn(usize) -> Vec<u8>| {
        let images = within(key);
        assert_eq!(images.len(), FRAMES);
        images.iter().enumerate().map(|(t, bytes)| mean_difference(&decoded(bytes), &expected(t))).fold(0.0, f64::max)
    };
    // Within the error of JPEG compression.
    let frame = worst("frame", &|t| frames[t * PIXELS..(t + 1) * PIXELS].to_vec());
    let backgrounds = images(&lab, "out/backgrounds", png::ColorType::Grayscale);
    let background = worst("background", &|t| backgrounds[t * PIXELS..(t + 1) * PIXELS].to_vec());
    assert!(frame < 4.0 && background < 4.0, "frames {frame}, backgrounds {background}");
    for part in ["<h1>frames: background and foreground</h1>", "\"max_angle\":60.0", "sine bound", "tae, 3 components"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("http").count(), 1, "the only URL is the SVG namespace");
    assert!(page.len() < 5 << 20);
}

#[test]
fn without_ffmpeg_videos_are_folders_of_images() {
    let (lab, _) = lab();
    let output = lab.command("background clip.npy -o out").env("PATH", "").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let (frames, truth) = clip();
    let found = masks(&lab, "out");
    let figures = scored(&found, &truth);
    assert!(figures[2] > 0.98, "{figures:?}");
    let backgrounds = images(&lab, "out/backgrounds", png::ColorType::Grayscale);
    assert_eq!(backgrounds.len(), FRAMES * PIXELS);
    let worst = backgrounds.chunks(PIXELS).map(max_wall_error).fold(0.0, f64::max);
    assert!(worst < 3.0, "{worst}");
    let foreground: Vec<u8> = frames.iter().zip(&found).map(|(level, mask)| level & mask).collect();
    assert!(images(&lab, "out/foreground", png::ColorType::Grayscale) == foreground);
    let tint = |(&level, &mask): (&u8, &u8)| match mask {
        255 => [255u16, 96, 0].map(|part| ((u16::from(level) + part) / 2) as u8),
        _ => [level; 3],
    };
    let overlay: Vec<u8> = frames.iter().zip(&found).flat_map(tint).collect();
    assert!(images(&lab, "out/overlay", png::ColorType::Rgb) == overlay);
}

#[test]
fn methods_and_threads() {
    let (lab, truth) = lab();
    // Bounds a few hundredths below the F1 score of each method.
    for (method, least) in [
        ("ae", 0.58),
        ("tae", 0.87),
        ("robust", 0.53),
        ("cells", 0.99),
        ("pca", 0.56),
        ("tae --cosine abs --max-angle 50", 0.87),
    ] {
        lab.ok(&format!("background --no-videos clip.npy -o out -d 2 --method {method}"));
        assert_eq!(summary(&lab, "out")["method"].as_str(), method.split(' ').next());
        let figures = scored(&masks(&lab, "out"), &truth);
        assert!(figures[2] > least, "{method}: {figures:?}");
    }
    let cone = lab.json("inspect out/model.safetensors --json");
    assert_eq!(cone["parameters"]["cosine"].as_str(), Some("abs"));
    lab.ok("background --no-videos clip.npy -o out --method tae");
    assert_eq!(lab.json("inspect out/model.safetensors --json")["parameters"]["cosine"].as_str(), Some("signed"));
    for threads in [1, 3] {
        lab.ok(&format!("background --no-videos clip.npy -o t{threads} --threads {threads}"));
    }
    assert!(lab.read("t1/model.safetensors") == lab.read("t3/model.safetensors"));
    assert!(masks(&lab, "t1") == masks(&lab, "t3"));
}

#[test]
fn backgrounds_of_pcp_are_its_low_rank_part() {
    let (lab, _) = lab();
    // Without ffmpeg, backgrounds are written as images.
    let output = lab.command("background clip.npy -o out --method pcp").env("PATH", "").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("low-rank part  rank ") && text.contains("pcp, 3 components"), "{text}");
    assert!(!text.contains("other"), "all frames are training frames: {text}");
    lab.ok("fit clip.npy -o plain --method pcp -d 3 --low-rank low.npy");
    let (_, shape, low_rank) = read_npy(&lab.read("low.npy"));
    assert_eq!(shape, [FRAMES, HEIGHT, WIDTH]);
    for t in [0, 17, 39] {
        let (background, ..) = read_png(&lab.read(&format!("out/backgrounds/{t:06}.png")));
        let expected = low_rank[t * PIXELS..(t + 1) * PIXELS].iter().map(|level| (level + 0.5).clamp(0.0, 255.0) as u8);
        // The array is f32, so a rounded level may differ by one.
        assert!(background.iter().zip(expected).all(|(found, level)| found.abs_diff(level) <= 1), "frame {t}");
    }
    let page = String::from_utf8(lab.read("out/report.html")).unwrap();
    assert!(page.contains("none (baseline iteration)") && page.contains("converged: residual"), "no NaN in the report");

    for threads in [1, 3] {
        lab.ok(&format!("background --no-videos clip.npy -o t{threads} --method pcp --threads {threads}"));
    }
    assert!(lab.read("t1/model.safetensors") == lab.read("t3/model.safetensors"));
    assert!(masks(&lab, "t1") == masks(&lab, "t3"));
}

#[test]
fn frames_outside_the_training_of_pcp_are_reconstructed_from_its_components() {
    let (lab, _) = lab();
    let text = lab.ok("background frames -o out --method pcp --train 0:30 --ground-truth truth --no-videos");
    assert!(text.contains("the other 10 frames are reconstructed from its first 3 components"), "{text}");
    let text =
        lab.ok("background frames -o next --model out/model.safetensors --start 30 --ground-truth truth --no-videos");
    assert!(text.contains("pcp, 3 components") && !text.contains("low-rank part"), "{text}");
    assert_eq!(lab.read("out/masks/000135.png"), lab.read("next/masks/000135.png"));
    // The components of PCA contain the square; those of the low-rank part contain less of it.
    lab.ok("background frames -o pca --method pca --train 0:30 --ground-truth truth --no-videos");
    lab.ok("background frames -o pca-next --model pca/model.safetensors --start 30 --ground-truth truth --no-videos");
    let f1 = |folder: &str| summary(&lab, folder)["ground_truth"]["f1"].as_f64().unwrap();
    assert!(f1("out") > 0.8 && f1("out") > f1("pca") + 0.2, "{} against {}", f1("out"), f1("pca"));
    assert!(f1("next") > f1("pca-next") + 0.1, "{} against {}", f1("next"), f1("pca-next"));
}

#[test]
fn pcp_respects_the_memory_limit() {
    let (lab, _) = lab();
    let needles =
        ["pcp needs about", "40 images of 768 pixels", "may use 10.0 KiB", "--train", "--resize", "--method scene"];
    lab.reject(2, "background clip.npy -o out --method pcp --memory 10K", &needles);
    lab.ok("background --no-videos clip.npy -o out --method pcp --memory 1G");
    lab.reject(2, "background clip.npy -o none --memory 1G", &["--memory", "--method scene", "--method pcp"]);
    lab.reject(2, "background clip.npy -o none --model out/model.safetensors --memory 1G", &["--memory"]);
}

#[test]
fn a_video_file_becomes_masks() {
    if !ffmpeg::is_available("a_video_file_becomes_masks") {
        return;
    }
    let (lab, (frames, _)) = (Lab::new(), clip());
    video(&lab, "clip.mkv", &frames);
    lab.ok("background clip.mkv -o video");
    lab.write("clip.npy", npy("|u1", &[FRAMES, HEIGHT, WIDTH], &frames));
    lab.ok("background clip.npy -o array");
    assert!(lab.read("video/model.safetensors") == lab.read("array/model.safetensors"));
    assert!(masks(&lab, "video") == masks(&lab, "array"));
    // The videos equal the images that are written without ffmpeg, within the error of the codec.
    let output = lab.command("background clip.npy -o images").env("PATH", "").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    for (name, color) in [
        ("backgrounds", png::ColorType::Grayscale),
        ("foreground", png::ColorType::Grayscale),
        ("overlay", png::ColorType::Rgb),
    ] {
        let format = if color == png::ColorType::Rgb { "rgb24" } else { "gray" };
        let decode = format!("-loglevel error -y -i video/{name}.mp4 -f rawvideo -pix_fmt {format} raw");
        assert!(Command::new("ffmpeg").args(decode.split(' ')).current_dir(lab.path("")).status().unwrap().success());
        let (decoded, expected) = (lab.read("raw"), images(&lab, &format!("images/{name}"), color));
        assert_eq!(decoded.len(), expected.len(), "{name}: 40 frames of 24 x 32");
        let frame = expected.len() / FRAMES;
        let worst =
            decoded.chunks(frame).zip(expected.chunks(frame)).map(|(a, b)| mean_difference(a, b)).fold(0.0, f64::max);
        assert!(worst < 8.0, "{name}: mean error of {worst} levels in a frame");
    }
}

//! Shadow removal on synthetic images with ground truth: a ball under different illumination, with the cast shadow of a
//! bar.

use steradian::{Config, Error, Local, Method, SliceSource};
use steradian_clips::{DarkPixelStatistics, FACE_COMPONENTS, confident_reconstruction, remove_shadows};

const SIDE: usize = 48;
const PIXELS: usize = SIDE * SIDE;
const IMAGES: usize = 40;

/// The images with the shadow, and the ground truth without it.
fn ball() -> (Vec<u8>, Vec<u8>) {
    let (mut images, mut ground_truth) = (Vec::new(), Vec::new());
    for image in 0..IMAGES {
        let angle = image as f64 * 2.4;
        let slant = 0.15 + 0.5 * image as f64 / IMAGES as f64;
        let (lx, ly) = (slant * angle.cos(), slant * angle.sin());
        let lz = (1.0 - lx * lx - ly * ly).sqrt();
        // The shadow of the bar falls on the side opposite to the light source.
        let middle = SIDE as f64 / 2.0 - 30.0 * lx;
        for at in 0..PIXELS {
            let place = |i: usize| (i as f64 + 0.5) / SIDE as f64 * 1.6 - 0.8;
            let (x, y) = (place(at % SIDE), place(at / SIDE));
            let nz = (1.0 - x * x - y * y).max(0.05).sqrt();
            let albedo = 150.0 + 40.0 * ((at % SIDE) as f64 / 3.0).sin() * ((at / SIDE) as f64 / 4.0).cos();
            let level = albedo * (x * lx + y * ly + nz * lz).max(0.0) + 25.0;
            let shadow = ((at % SIDE) as f64 - middle).abs() < 4.0;
            ground_truth.push(level.round().min(249.0) as u8);
            images.push(if shadow { 2 } else { level.round().min(249.0) as u8 });
        }
    }
    (images, ground_truth)
}

/// The mean absolute error inside the shadow, in gray levels.
fn error_in_shadow(images: &[u8], ground_truth: &[u8], found: &[u8]) -> f64 {
    let errors: Vec<f64> =
        (0..images.len()).filter(|&i| images[i] == 2).map(|i| f64::from(ground_truth[i].abs_diff(found[i]))).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

#[test]
fn pixels_inside_a_shadow_are_reconstructed() {
    let (images, ground_truth) = ball();
    let source = SliceSource::new(&images, IMAGES, PIXELS).unwrap().with_image(SIDE, SIDE).unwrap();
    let runner = Local::new(2).unwrap();
    let filled = remove_shadows(&source, FACE_COMPONENTS, &runner).unwrap();
    let mut pca = Vec::new();
    let model = steradian::fit(&Config::new(Method::Pca, FACE_COMPONENTS), &source, &runner).unwrap();
    runner
        .for_each_block("reconstruct", &source, 8, |block| {
            pca.extend(model.reconstruct_block(block)?.iter().map(|x| x.round().clamp(0.0, 255.0) as u8));
            Ok(())
        })
        .unwrap();
    let error = |found: &[u8]| error_in_shadow(&images, &ground_truth, found);
    let (filled_error, pca_error) = (error(&filled), error(&pca));
    assert!(filled_error < 10.0 && filled_error < 0.2 * pca_error, "{filled_error}, PCA {pca_error}");
    let mut darkness = DarkPixelStatistics::default();
    darkness.add(&images, &filled);
    assert!(darkness.lit_fraction() > 0.9 && darkness.lit_error() < 4.0, "{darkness:?}");
    // The result is bitwise identical for any number of threads.
    assert_eq!(remove_shadows(&source, FACE_COMPONENTS, &Local::new(1).unwrap()).unwrap(), filled);

    // Components of another method, with scores that down-weight the shadow.
    let robust = steradian::fit(&Config::new(Method::Robust, FACE_COMPONENTS), &source, &runner).unwrap();
    let trusted = confident_reconstruction(&robust, &source, &runner).unwrap();
    assert!(error(&trusted) < pca_error);
}

#[test]
fn too_few_images_and_zero_components_are_rejected() {
    let runner = Local::new(1).unwrap();
    let image = vec![100u8; PIXELS];
    let one = SliceSource::new(&image, 1, PIXELS).unwrap().with_image(SIDE, SIDE).unwrap();
    assert!(matches!(remove_shadows(&one, 3, &runner), Err(Error::InvalidData(_))));
    let (images, _) = ball();
    let source = SliceSource::new(&images, IMAGES, PIXELS).unwrap().with_image(SIDE, SIDE).unwrap();
    assert!(matches!(remove_shadows(&source, 0, &runner), Err(Error::InvalidArgument { .. })));
}

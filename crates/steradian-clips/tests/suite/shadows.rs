//! A ball under many lights, with a bar that casts a shadow: what is below the shadow is known.

use steradian::{Config, Error, Local, Method, SliceSource};
use steradian_clips::{Darkness, FACE_COMPONENTS, remove_shadows, trusted_reconstruction};

const SIDE: usize = 48;
const PIXELS: usize = SIDE * SIDE;
const LIGHTS: usize = 40;

/// Pictures with the shadow, and without.
fn ball() -> (Vec<u8>, Vec<u8>) {
    let (mut seen, mut true_levels) = (Vec::new(), Vec::new());
    for light in 0..LIGHTS {
        let angle = light as f64 * 2.4;
        let slant = 0.15 + 0.5 * light as f64 / LIGHTS as f64;
        let (lx, ly) = (slant * angle.cos(), slant * angle.sin());
        let lz = (1.0 - lx * lx - ly * ly).sqrt();
        // The bar's shadow falls to the other side of the light.
        let middle = SIDE as f64 / 2.0 - 30.0 * lx;
        for at in 0..PIXELS {
            let place = |i: usize| (i as f64 + 0.5) / SIDE as f64 * 1.6 - 0.8;
            let (x, y) = (place(at % SIDE), place(at / SIDE));
            let nz = (1.0 - x * x - y * y).max(0.05).sqrt();
            let albedo = 150.0 + 40.0 * ((at % SIDE) as f64 / 3.0).sin() * ((at / SIDE) as f64 / 4.0).cos();
            let level = albedo * (x * lx + y * ly + nz * lz).max(0.0) + 25.0;
            let shadow = ((at % SIDE) as f64 - middle).abs() < 4.0;
            true_levels.push(level.round().min(249.0) as u8);
            seen.push(if shadow { 2 } else { level.round().min(249.0) as u8 });
        }
    }
    (seen, true_levels)
}

/// The mean error below the shadow.
fn below_shadow(seen: &[u8], truth: &[u8], found: &[u8]) -> f64 {
    let errors: Vec<f64> =
        (0..seen.len()).filter(|&i| seen[i] == 2).map(|i| f64::from(truth[i].abs_diff(found[i]))).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

#[test]
fn what_is_below_a_shadow_is_found() {
    let (seen, truth) = ball();
    let source = SliceSource::new(&seen, LIGHTS, PIXELS).unwrap().with_image(SIDE, SIDE).unwrap();
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
    let (ours, theirs) = (below_shadow(&seen, &truth, &filled), below_shadow(&seen, &truth, &pca));
    assert!(ours < 10.0 && ours < 0.2 * theirs, "{ours} against {theirs} of PCA");
    let mut darkness = Darkness::default();
    darkness.add(&seen, &filled);
    assert!(darkness.lit_share() > 0.9 && darkness.lit_error() < 4.0, "{darkness:?}");
    // Threads do not change a bit of it.
    assert_eq!(remove_shadows(&source, FACE_COMPONENTS, &Local::new(1).unwrap()).unwrap(), filled);

    // Components of another method, with scores that distrust the shadow.
    let robust = steradian::fit(&Config::new(Method::Robust, FACE_COMPONENTS), &source, &runner).unwrap();
    let trusted = trusted_reconstruction(&robust, &source, &runner).unwrap();
    assert!(below_shadow(&seen, &truth, &trusted) < theirs);
}

#[test]
fn too_few_pictures_and_no_components_are_refused() {
    let runner = Local::new(1).unwrap();
    let picture = vec![100u8; PIXELS];
    let one = SliceSource::new(&picture, 1, PIXELS).unwrap().with_image(SIDE, SIDE).unwrap();
    assert!(matches!(remove_shadows(&one, 3, &runner), Err(Error::InvalidData(_))));
    let (seen, _) = ball();
    let source = SliceSource::new(&seen, LIGHTS, PIXELS).unwrap().with_image(SIDE, SIDE).unwrap();
    assert!(matches!(remove_shadows(&source, 0, &runner), Err(Error::InvalidArgument { .. })));
}

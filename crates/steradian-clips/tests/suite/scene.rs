//! Scenes whose truth is known: a textured wall, light that changes, a square that crosses or rests.

use steradian::{Config, Error, Local, Method, Model, SliceSource};
use steradian_clips::{
    BackgroundError, COMPONENTS, ConfusionCounts, FrameRange, Separator, TRAINING_FRAMES, fit_scene,
    with_clip_statistics,
};

const HEIGHT: usize = 40;
const WIDTH: usize = 56;
const PIXELS: usize = HEIGHT * WIDTH;
const SIDE: usize = 12;

/// A clip and its truth.
struct MadeClip {
    frames: Vec<u8>,
    count: usize,
    /// 255 where the square is.
    truth: Vec<u8>,
    wall: Vec<f64>,
}

/// How a clip is made.
#[derive(Clone, Copy)]
struct ClipSpec {
    count: usize,
    /// Gray levels of noise, at most.
    noise: f64,
    /// What the light is multiplied by from the middle on.
    switch: f64,
    /// The share of the clip for which the square rests in the middle instead of crossing.
    rests: f64,
}

const PLAIN: ClipSpec = ClipSpec { count: 60, noise: 3.0, switch: 1.0, rests: 0.0 };

fn noise(index: usize) -> f64 {
    let mut z = (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn make(recipe: ClipSpec) -> MadeClip {
    let wall: Vec<f64> = (0..PIXELS)
        .map(|at| 110.0 + 40.0 * ((at % WIDTH) as f64 / 5.0).sin() + 30.0 * ((at / WIDTH) as f64 / 7.0).cos())
        .collect();
    let (mut frames, mut truth) = (Vec::new(), Vec::new());
    for t in 0..recipe.count {
        let light = if t >= recipe.count / 2 { recipe.switch } else { 1.0 };
        let rests = (t as f64 / recipe.count as f64 - 0.5).abs() < recipe.rests / 2.0;
        let left = if rests { WIDTH / 2 } else { t * 5 % (WIDTH - SIDE) };
        let top = if rests { HEIGHT / 3 } else { t * 3 % (HEIGHT - SIDE) };
        for (at, bare) in wall.iter().enumerate() {
            let (y, x) = (at / WIDTH, at % WIDTH);
            let inside = (top..top + SIDE).contains(&y) && (left..left + SIDE).contains(&x);
            let level = if inside { 250.0 } else { *bare } * light + recipe.noise * noise(t * PIXELS + at);
            frames.push(level.round().clamp(0.0, 255.0) as u8);
            truth.push(255 * u8::from(inside));
        }
    }
    MadeClip { frames, count: recipe.count, truth, wall }
}

impl MadeClip {
    fn source(&self) -> SliceSource<'_, u8> {
        SliceSource::new(&self.frames, self.count, PIXELS).unwrap().with_image(HEIGHT, WIDTH).unwrap()
    }

    fn frame(&self, t: usize) -> &[u8] {
        &self.frames[t * PIXELS..(t + 1) * PIXELS]
    }

    fn f1(&self, model: &Model) -> f64 {
        let separator = Separator::new(model).unwrap();
        let mut tally = ConfusionCounts::default();
        for t in 0..self.count {
            tally.add(&separator.separate(self.frame(t)).mask, &self.truth[t * PIXELS..(t + 1) * PIXELS], None);
        }
        tally.f1()
    }

    /// How far the typical background is from the wall at some light.
    fn psnr(&self, model: &Model, light: f64) -> f64 {
        let wall: Vec<u8> = self.wall.iter().map(|level| (level * light).round() as u8).collect();
        BackgroundError::between(&Separator::new(model).unwrap().typical_background(), &wall).psnr
    }
}

fn scene(made: &MadeClip) -> Model {
    fit_scene(&made.source(), COMPONENTS, &Local::new(2).unwrap()).unwrap()
}

#[test]
fn what_crosses_is_found_and_the_wall_is_whole() {
    for recipe in [PLAIN, ClipSpec { noise: 0.0, ..PLAIN }, ClipSpec { noise: 8.0, ..PLAIN }] {
        let made = make(recipe);
        let model = scene(&made);
        let (f1, psnr) = (made.f1(&model), made.psnr(&model, 1.0));
        assert!(f1 > 0.93 && psnr > 36.0, "noise {}: F1 {f1}, PSNR {psnr}", recipe.noise);
    }
}

#[test]
fn a_switched_light_is_light_and_not_foreground() {
    for switch in [0.6, 1.2, 0.35] {
        for (rests, least) in [(0.0, 0.9), (0.2, 0.8)] {
            let made = make(ClipSpec { switch, rests, ..PLAIN });
            let f1 = made.f1(&scene(&made));
            assert!(f1 > least, "light times {switch}, rests for {rests}: F1 {f1}");
        }
    }
}

#[test]
fn who_rests_does_not_become_furniture() {
    let made = make(ClipSpec { rests: 0.3, ..PLAIN });
    let model = scene(&made);
    let (f1, psnr) = (made.f1(&model), made.psnr(&model, 1.0));
    assert!(f1 > 0.9 && psnr > 32.0, "F1 {f1}, PSNR {psnr}");
}

#[test]
fn a_scene_learnt_from_some_frames_serves_others() {
    let made = make(ClipSpec { count: 90, ..PLAIN });
    let source = made.source();
    let runner = Local::new(1).unwrap();
    let model = fit_scene(&FrameRange::new(&source, 10..50).unwrap(), COMPONENTS, &runner).unwrap();
    assert_eq!((model.shape.samples, model.support.len(), model.n_support()), (40, 40, 40));
    let f1 = made.f1(&model);
    assert!(f1 > 0.93, "{f1}");
    for range in [0..91, 5..5, 95..99] {
        assert!(matches!(FrameRange::new(&source, range), Err(Error::InvalidArgument { .. })));
    }
}

#[test]
fn threads_and_files_do_not_change_the_answer() {
    let made = make(ClipSpec { switch: 0.7, ..PLAIN });
    let fits: Vec<Vec<u8>> = [1, 2, 7]
        .map(|threads| {
            let model = fit_scene(&made.source(), COMPONENTS, &Local::new(threads).unwrap()).unwrap();
            model.to_bytes().unwrap()
        })
        .to_vec();
    assert!(fits[0] == fits[1] && fits[0] == fits[2]);
    let read = Model::from_bytes(&fits[0]).unwrap();
    assert_eq!((read.method(), read.shape.image), (steradian_clips::SCENE, Some((HEIGHT, WIDTH))));
    assert_eq!(steradian_clips::ClipStatistics::of(&read).unwrap().unwrap().pixel_scale.len(), PIXELS);
    let again = scene(&made);
    let (one, other) = (Separator::new(&read).unwrap(), Separator::new(&again).unwrap());
    assert_eq!(one.separate(made.frame(7)), other.separate(made.frame(7)));
    assert_eq!(read.to_bytes().unwrap(), fits[0]);
}

#[test]
fn long_clips_are_learnt_from_frames_spread_over_them() {
    let made = make(ClipSpec { count: 2 * TRAINING_FRAMES + 30, ..PLAIN });
    let model = scene(&made);
    assert_eq!((model.support.len(), model.n_support()), (made.count, TRAINING_FRAMES));
    let (first, last) = (&model.support[..made.count / 2], &model.support[made.count / 2..]);
    let count = |kept: &[bool]| kept.iter().filter(|&&k| k).count();
    assert!(count(first).abs_diff(count(last)) <= 1);
}

#[test]
fn every_method_takes_frames_apart() {
    let made = make(PLAIN);
    let runner = Local::new(2).unwrap();
    // Bounds a few hundredths below what each method reaches.
    for (method, least) in [
        (Method::Robust, 0.65),
        (Method::Cells, 0.99),
        (Method::Angular, 0.69),
        (Method::Ae, 0.69),
        (Method::Tae, 0.88),
        (Method::Pca, 0.7),
    ] {
        let fitted = steradian::fit(&Config::new(method, 2), &made.source(), &runner).unwrap();
        assert!(Separator::new(&fitted).is_err());
        let model = with_clip_statistics(fitted, &made.source(), &runner).unwrap();
        let f1 = made.f1(&model);
        assert!(f1 > least, "{}: {f1}", method.name());
        // The background of a frame is center + scores times components, in levels.
        let separated = Separator::new(&model).unwrap().separate(made.frame(3));
        assert_eq!(separated.scores.len(), 2);
        for at in 0..PIXELS {
            let along: f64 = (0..2).map(|k| separated.scores[k] * model.components[(k, at)]).sum();
            let level = (model.center[at] + along).clamp(0.0, 255.0);
            let found = f64::from(separated.background[at]);
            assert!((level - found).abs() < 0.51, "{} at {at}: {level} {found}", method.name());
        }
        let bytes = model.to_bytes().unwrap();
        assert_eq!(Model::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes, "{}", method.name());
    }
}

#[test]
fn a_known_background_is_taken_as_it_is() {
    let made = make(PLAIN);
    let separator = Separator::new(&scene(&made)).unwrap();
    let background: Vec<u8> = made.wall.iter().map(|level| level.round() as u8).collect();
    let mut tally = ConfusionCounts::default();
    for t in 0..made.count {
        let separated = separator.separate_from(made.frame(t), &made.wall);
        assert_eq!(separated.background, background);
        tally.add(&separated.mask, &made.truth[t * PIXELS..(t + 1) * PIXELS], None);
    }
    assert!(tally.f1() > 0.93, "{}", tally.f1());
    // What the model itself expects of a frame has the scores that the model found.
    let usual = separator.separate(made.frame(9));
    let levels: Vec<f64> = usual.background.iter().map(|&level| f64::from(level)).collect();
    let again = separator.separate_from(made.frame(9), &levels);
    assert_eq!((&again.background, again.scores.len()), (&usual.background, usual.scores.len()));
    // Rounding to levels moves a score by a third of a level, at most, in each pixel.
    let allowed = 0.3 * (PIXELS as f64).sqrt();
    assert!(again.scores.iter().zip(&usual.scores).all(|(a, b)| (a - b).abs() < allowed), "{:?}", again.scores);
}

#[test]
fn clips_without_a_scene_are_refused() {
    let runner = Local::new(1).unwrap();
    let mut same = make(PLAIN);
    let first = same.frame(0).to_vec();
    same.frames = first.repeat(same.count);
    let error = fit_scene(&same.source(), COMPONENTS, &runner).unwrap_err();
    assert!(matches!(error, Error::InvalidData(_)) && error.to_string().contains("all 60 frames are equal"), "{error}");
    let black = vec![0u8; 5 * PIXELS];
    let black = SliceSource::new(&black, 5, PIXELS).unwrap().with_image(HEIGHT, WIDTH).unwrap();
    assert!(matches!(fit_scene(&black, COMPONENTS, &runner), Err(Error::InvalidData(_))));
    let one = SliceSource::new(&first, 1, PIXELS).unwrap().with_image(HEIGHT, WIDTH).unwrap();
    let error = fit_scene(&one, COMPONENTS, &runner).unwrap_err();
    assert!(error.to_string().contains("1 frame"), "{error}");
    let flat = SliceSource::new(&same.frames, same.count, PIXELS).unwrap();
    assert!(fit_scene(&flat, COMPONENTS, &runner).unwrap_err().to_string().contains("no clip"));
    assert!(matches!(fit_scene(&same.source(), 0, &runner), Err(Error::InvalidArgument { .. })));
}

#[test]
fn two_frames_are_a_clip() {
    let mut made = make(ClipSpec { count: 2, ..PLAIN });
    made.truth.truncate(2 * PIXELS);
    let model = scene(&made);
    assert!(model.n_components() <= 2);
    // Bounds just below what is found: F1 0.726, PSNR 24.7.
    let (f1, psnr) = (made.f1(&model), made.psnr(&model, 1.0));
    assert!(f1 > 0.7 && psnr > 24.0, "F1 {f1}, PSNR {psnr}");
}

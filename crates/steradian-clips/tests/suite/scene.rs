//! Background models of synthetic clips with ground truth: a textured wall, a change of illumination, a moving or
//! stationary square.

use steradian::{Config, Error, Local, Method, Model, SliceSource};
use steradian_clips::{
    BackgroundError, COMPONENTS, ConfusionCounts, FrameRange, Separator, TRAINING_FRAMES, fit_scene,
    with_clip_statistics,
};

const HEIGHT: usize = 40;
const WIDTH: usize = 56;
const PIXELS: usize = HEIGHT * WIDTH;
const SIDE: usize = 12;

/// A synthetic clip and its ground truth.
struct SyntheticClip {
    frames: Vec<u8>,
    count: usize,
    /// Ground-truth masks: 255 inside the square.
    ground_truth: Vec<u8>,
    /// The background.
    wall: Vec<f64>,
}

/// Parameters of a synthetic clip.
#[derive(Clone, Copy)]
struct ClipSpec {
    count: usize,
    /// Largest absolute noise, in gray levels.
    noise: f64,
    /// Factor of the illumination in the second half of the clip.
    switch: f64,
    /// Fraction of the frames in which the square is stationary, in the middle of the clip.
    stationary: f64,
}

const PLAIN: ClipSpec = ClipSpec { count: 60, noise: 3.0, switch: 1.0, stationary: 0.0 };

fn noise(index: usize) -> f64 {
    let mut z = (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn make(spec: ClipSpec) -> SyntheticClip {
    let wall: Vec<f64> = (0..PIXELS)
        .map(|at| 110.0 + 40.0 * ((at % WIDTH) as f64 / 5.0).sin() + 30.0 * ((at / WIDTH) as f64 / 7.0).cos())
        .collect();
    let (mut frames, mut ground_truth) = (Vec::new(), Vec::new());
    for t in 0..spec.count {
        let illumination = if t >= spec.count / 2 { spec.switch } else { 1.0 };
        let stationary = (t as f64 / spec.count as f64 - 0.5).abs() < spec.stationary / 2.0;
        let left = if stationary { WIDTH / 2 } else { t * 5 % (WIDTH - SIDE) };
        let top = if stationary { HEIGHT / 3 } else { t * 3 % (HEIGHT - SIDE) };
        for (at, background) in wall.iter().enumerate() {
            let (y, x) = (at / WIDTH, at % WIDTH);
            let inside = (top..top + SIDE).contains(&y) && (left..left + SIDE).contains(&x);
            let level = if inside { 250.0 } else { *background } * illumination + spec.noise * noise(t * PIXELS + at);
            frames.push(level.round().clamp(0.0, 255.0) as u8);
            ground_truth.push(255 * u8::from(inside));
        }
    }
    SyntheticClip { frames, count: spec.count, ground_truth, wall }
}

impl SyntheticClip {
    fn source(&self) -> SliceSource<'_, u8> {
        SliceSource::new(&self.frames, self.count, PIXELS).unwrap().with_image(HEIGHT, WIDTH).unwrap()
    }

    fn frame(&self, t: usize) -> &[u8] {
        &self.frames[t * PIXELS..(t + 1) * PIXELS]
    }

    fn f1(&self, model: &Model) -> f64 {
        let separator = Separator::new(model).unwrap();
        let mut counts = ConfusionCounts::default();
        for t in 0..self.count {
            counts.add(&separator.separate(self.frame(t)).mask, &self.ground_truth[t * PIXELS..(t + 1) * PIXELS], None);
        }
        counts.f1()
    }

    /// PSNR of the typical background against the wall, at some illumination.
    fn psnr(&self, model: &Model, illumination: f64) -> f64 {
        let wall: Vec<u8> = self.wall.iter().map(|level| (level * illumination).round() as u8).collect();
        BackgroundError::between(&Separator::new(model).unwrap().typical_background(), &wall).psnr
    }
}

fn scene(clip: &SyntheticClip) -> Model {
    fit_scene(&clip.source(), COMPONENTS, &Local::new(2).unwrap()).unwrap()
}

#[test]
fn a_moving_square_is_foreground_and_the_background_is_complete() {
    for spec in [PLAIN, ClipSpec { noise: 0.0, ..PLAIN }, ClipSpec { noise: 8.0, ..PLAIN }] {
        let clip = make(spec);
        let model = scene(&clip);
        let (f1, psnr) = (clip.f1(&model), clip.psnr(&model, 1.0));
        assert!(f1 > 0.93 && psnr > 36.0, "noise {}: F1 {f1}, PSNR {psnr}", spec.noise);
    }
}

#[test]
fn a_change_of_illumination_is_not_foreground() {
    for switch in [0.6, 1.2, 0.35] {
        for (stationary, least) in [(0.0, 0.9), (0.2, 0.8)] {
            let clip = make(ClipSpec { switch, stationary, ..PLAIN });
            let f1 = clip.f1(&scene(&clip));
            assert!(f1 > least, "illumination times {switch}, stationary for {stationary}: F1 {f1}");
        }
    }
}

#[test]
fn a_stationary_object_does_not_become_background() {
    let clip = make(ClipSpec { stationary: 0.3, ..PLAIN });
    let model = scene(&clip);
    let (f1, psnr) = (clip.f1(&model), clip.psnr(&model, 1.0));
    assert!(f1 > 0.9 && psnr > 32.0, "F1 {f1}, PSNR {psnr}");
}

#[test]
fn a_model_trained_on_some_frames_separates_others() {
    let clip = make(ClipSpec { count: 90, ..PLAIN });
    let source = clip.source();
    let runner = Local::new(1).unwrap();
    let model = fit_scene(&FrameRange::new(&source, 10..50).unwrap(), COMPONENTS, &runner).unwrap();
    assert_eq!((model.shape.samples, model.report.support.len(), model.n_support()), (40, 40, 40));
    let f1 = clip.f1(&model);
    assert!(f1 > 0.93, "{f1}");
    for range in [0..91, 5..5, 95..99] {
        assert!(matches!(FrameRange::new(&source, range), Err(Error::InvalidArgument { .. })));
    }
}

#[test]
fn models_are_byte_identical_for_any_number_of_threads_and_after_a_round_trip() {
    let clip = make(ClipSpec { switch: 0.7, ..PLAIN });
    let fits: Vec<Vec<u8>> = [1, 2, 7]
        .map(|threads| {
            let model = fit_scene(&clip.source(), COMPONENTS, &Local::new(threads).unwrap()).unwrap();
            model.to_bytes().unwrap()
        })
        .to_vec();
    assert!(fits[0] == fits[1] && fits[0] == fits[2]);
    let read = Model::from_bytes(&fits[0]).unwrap();
    assert_eq!((read.method(), read.shape.image), (steradian_clips::SCENE, Some((HEIGHT, WIDTH))));
    assert_eq!(steradian_clips::ClipStatistics::of(&read).unwrap().unwrap().pixel_scale.len(), PIXELS);
    let again = scene(&clip);
    let (one, other) = (Separator::new(&read).unwrap(), Separator::new(&again).unwrap());
    assert_eq!(one.separate(clip.frame(7)), other.separate(clip.frame(7)));
    assert_eq!(read.to_bytes().unwrap(), fits[0]);
}

#[test]
fn long_clips_are_trained_on_evenly_spread_frames() {
    let clip = make(ClipSpec { count: 2 * TRAINING_FRAMES + 30, ..PLAIN });
    let model = scene(&clip);
    assert_eq!((model.report.support.len(), model.n_support()), (clip.count, TRAINING_FRAMES));
    let (first, last) = (&model.report.support[..clip.count / 2], &model.report.support[clip.count / 2..]);
    let count = |support: &[bool]| support.iter().filter(|&&k| k).count();
    assert!(count(first).abs_diff(count(last)) <= 1);
}

#[test]
fn every_method_separates_frames() {
    let clip = make(PLAIN);
    let runner = Local::new(2).unwrap();
    // Bounds a few hundredths below the F1 of each method.
    for (method, least) in [
        (Method::Robust, 0.65),
        (Method::Cells, 0.99),
        (Method::Rows, 0.65),
        (Method::Angular, 0.69),
        (Method::Ae, 0.69),
        (Method::Tae, 0.88),
        (Method::Pca, 0.7),
    ] {
        let fitted = steradian::fit(&Config::new(method, 2), &clip.source(), &runner).unwrap();
        assert!(Separator::new(&fitted).is_err());
        let model = with_clip_statistics(fitted, &clip.source(), &runner).unwrap();
        let f1 = clip.f1(&model);
        assert!(f1 > least, "{}: {f1}", method.name());
        // The background of a frame is center + scores times components, in gray levels.
        let separated = Separator::new(&model).unwrap().separate(clip.frame(3));
        assert_eq!(separated.scores.len(), 2);
        for at in 0..PIXELS {
            let along: f64 = (0..2).map(|k| separated.scores[k] * model.subspace.components[(k, at)]).sum();
            let level = (model.subspace.center[at] + along).clamp(0.0, 255.0);
            let found = f64::from(separated.background[at]);
            assert!((level - found).abs() < 0.51, "{} at {at}: {level} {found}", method.name());
        }
        let bytes = model.to_bytes().unwrap();
        assert_eq!(Model::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes, "{}", method.name());
    }
}

#[test]
fn a_known_background_is_used_unchanged() {
    let clip = make(PLAIN);
    let separator = Separator::new(&scene(&clip)).unwrap();
    let background: Vec<u8> = clip.wall.iter().map(|level| level.round() as u8).collect();
    let mut counts = ConfusionCounts::default();
    for t in 0..clip.count {
        let separated = separator.separate_from(clip.frame(t), &clip.wall);
        assert_eq!(separated.background, background);
        counts.add(&separated.mask, &clip.ground_truth[t * PIXELS..(t + 1) * PIXELS], None);
    }
    assert!(counts.f1() > 0.93, "{}", counts.f1());
    // The expected background of a frame has the scores of the frame.
    let expected = separator.separate(clip.frame(9));
    let levels: Vec<f64> = expected.background.iter().map(|&level| f64::from(level)).collect();
    let again = separator.separate_from(clip.frame(9), &levels);
    assert_eq!((&again.background, again.scores.len()), (&expected.background, expected.scores.len()));
    // Rounding to gray levels changes a score by at most a third of a level per pixel.
    let allowed = 0.3 * (PIXELS as f64).sqrt();
    assert!(again.scores.iter().zip(&expected.scores).all(|(a, b)| (a - b).abs() < allowed), "{:?}", again.scores);
}

#[test]
fn clips_without_a_background_are_rejected() {
    let runner = Local::new(1).unwrap();
    let mut equal = make(PLAIN);
    let first = equal.frame(0).to_vec();
    equal.frames = first.repeat(equal.count);
    let error = fit_scene(&equal.source(), COMPONENTS, &runner).unwrap_err();
    assert!(matches!(error, Error::InvalidData(_)) && error.to_string().contains("all 60 frames are equal"), "{error}");
    let black = vec![0u8; 5 * PIXELS];
    let black = SliceSource::new(&black, 5, PIXELS).unwrap().with_image(HEIGHT, WIDTH).unwrap();
    assert!(matches!(fit_scene(&black, COMPONENTS, &runner), Err(Error::InvalidData(_))));
    let one = SliceSource::new(&first, 1, PIXELS).unwrap().with_image(HEIGHT, WIDTH).unwrap();
    let error = fit_scene(&one, COMPONENTS, &runner).unwrap_err();
    assert!(error.to_string().contains("at least 2 frames, got 1"), "{error}");
    let flat = SliceSource::new(&equal.frames, equal.count, PIXELS).unwrap();
    assert!(fit_scene(&flat, COMPONENTS, &runner).unwrap_err().to_string().contains("are not a clip"));
    assert!(matches!(fit_scene(&equal.source(), 0, &runner), Err(Error::InvalidArgument { .. })));
}

#[test]
fn two_frames_are_a_clip() {
    let mut clip = make(ClipSpec { count: 2, ..PLAIN });
    clip.ground_truth.truncate(2 * PIXELS);
    let model = scene(&clip);
    assert!(model.n_components() <= 2);
    // Bounds just below the measured values: F1 0.726, PSNR 24.7.
    let (f1, psnr) = (clip.f1(&model), clip.psnr(&model, 1.0));
    assert!(f1 > 0.7 && psnr > 24.0, "F1 {f1}, PSNR {psnr}");
}

#[test]
fn tampered_statistics_are_rejected_before_a_frame_is_separated() {
    let frames: Vec<u8> = (0..12 * 6).map(|i| (i * i % 97) as u8).collect();
    let source = SliceSource::new(&frames, 12, 6).unwrap().with_image(2, 3).unwrap();
    let runner = Local::new(1).unwrap();
    let model = steradian::fit(&Config::new(Method::Ae, 1), &source, &runner).unwrap();
    let model = with_clip_statistics(model, &source, &runner).unwrap();
    Separator::new(&model).unwrap().separate(&frames[..6]);
    for (name, values) in [
        ("score_range", vec![f64::NAN, 1.0]),
        ("score_range", vec![2.0, 1.0]),
        ("pixel_scale", vec![1.0, 1.0, f64::NAN, 1.0, 1.0, 1.0]),
        ("pixel_scale", vec![-1.0; 6]),
        ("typical_scores", vec![f64::INFINITY]),
    ] {
        let mut tampered = model.clone();
        tampered.extras.get_mut(name).unwrap().values = values;
        let read = Model::from_bytes(&tampered.to_bytes().unwrap()).unwrap();
        let error = Separator::new(&read).map(drop).expect_err(name);
        assert!(matches!(&error, Error::InvalidData(what) if what.contains(name)), "{error}");
    }
    let mut short = model.clone();
    short.extras.insert("typical_scores".to_owned(), steradian::model::Extra::vector(vec![0.0; 2]));
    assert!(Separator::new(&short).is_err());
}

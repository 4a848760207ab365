//! People of the built-in scene: five who cross the room, and one who stands still for a while.

use super::{PIXELS, POINT, WIDTH, over_pixel};

/// A person: path, distance and gray levels.
struct Person {
    /// Frames and x coordinates; linear in between, absent before and after.
    path: &'static [(f64, f64)],
    /// The y coordinate of the feet; a person lower in the image is nearer and larger.
    feet: f64,
    /// Gray levels of coat, trousers and skin.
    coat: f64,
    trousers: f64,
    skin: f64,
}

const PEOPLE: [Person; 6] = [
    Person { path: &[(4.0, -12.0), (74.0, 140.0)], feet: 86.0, coat: 46.0, trousers: 30.0, skin: 118.0 },
    Person { path: &[(34.0, 140.0), (102.0, -12.0)], feet: 78.0, coat: 214.0, trousers: 62.0, skin: 120.0 },
    // Stands still for a quarter of the clip.
    Person {
        path: &[(58.0, -12.0), (90.0, 58.0), (150.0, 58.0), (188.0, 140.0)],
        feet: 90.0,
        coat: 196.0,
        trousers: 44.0,
        skin: 128.0,
    },
    Person { path: &[(112.0, 140.0), (178.0, -12.0)], feet: 82.0, coat: 28.0, trousers: 58.0, skin: 150.0 },
    Person { path: &[(140.0, -12.0), (214.0, 140.0)], feet: 76.0, coat: 176.0, trousers: 226.0, skin: 96.0 },
    Person { path: &[(180.0, 140.0), (238.0, -12.0)], feet: 92.0, coat: 70.0, trousers: 186.0, skin: 176.0 },
];

/// Coverage of a pixel by people, and their gray level.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cover {
    /// Covered fraction of the pixel.
    pub cover: f64,
    /// Gray level, weighted by the covered fraction.
    pub gray: f64,
}

/// Coverage of all pixels of a frame, the nearest person in front.
pub fn draw(t: usize) -> Vec<Cover> {
    let mut out = vec![Cover::default(); PIXELS];
    let mut present: Vec<Figure> = PEOPLE.iter().filter_map(|person| Figure::at(person, t as f64)).collect();
    present.sort_by(|a, b| b.person.feet.total_cmp(&a.person.feet));
    for (pixel, out) in out.iter_mut().enumerate() {
        let near: Vec<&Figure> = present.iter().filter(|figure| figure.may_cover(pixel)).collect();
        if !near.is_empty() {
            over_pixel(pixel, |x, y| {
                if let Some(gray) = near.iter().find_map(|figure| figure.gray(x, y)) {
                    out.cover += POINT;
                    out.gray += POINT * gray;
                }
            });
        }
    }
    out
}

/// A person at one frame.
struct Figure {
    person: &'static Person,
    x: f64,
    height: f64,
    /// Spread of the legs, from -1 to 1.
    stride: f64,
}

impl Figure {
    fn at(person: &'static Person, t: f64) -> Option<Self> {
        let leg = person.path.windows(2).find(|leg| leg[0].0 <= t && t <= leg[1].0)?;
        let ((t0, x0), (t1, x1)) = (leg[0], leg[1]);
        let x = x0 + (x1 - x0) * (t - t0) / (t1 - t0);
        let height = 0.78 * (person.feet - 30.0);
        // One step is half the height; a person who stands still has a fixed spread.
        let stride = if x0 == x1 { 0.15 } else { (std::f64::consts::TAU * x / height).sin() };
        Some(Self { person, x, height, stride })
    }

    /// True if a pixel lies in the bounding box of the figure.
    fn may_cover(&self, pixel: usize) -> bool {
        let (x, y) = ((pixel % WIDTH) as f64, (pixel / WIDTH) as f64);
        (x - self.x).abs() < 0.35 * self.height && (self.person.feet - self.height - 2.0..self.person.feet).contains(&y)
    }

    /// Gray level of the figure at a point; `None` outside.
    fn gray(&self, x: f64, y: f64) -> Option<f64> {
        // In units of the height, from the feet upwards.
        let (u, v) = ((x - self.x) / self.height, (self.person.feet - y) / self.height);
        let swing = 0.13 * self.stride;
        if (u / 0.062).powi(2) + ((v - 0.92) / 0.08).powi(2) < 1.0 {
            return Some(self.person.skin);
        }
        if capsule(u, v, (0.0, 0.78), (0.0, 0.52), 0.095) || capsule(u, v, (0.05, 0.78), (0.06 - swing, 0.5), 0.035) {
            return Some(self.person.coat);
        }
        if capsule(u, v, (-0.05, 0.78), (-0.06 + swing, 0.5), 0.035) {
            return Some(0.85 * self.person.coat);
        }
        let leg = |side: f64| capsule(u, v, (0.03 * side, 0.48), (side * (0.03 + swing), 0.04), 0.045);
        (leg(1.0) || leg(-1.0)).then_some(self.person.trousers)
    }
}

/// True if a point is within `radius` of the segment from `a` to `b`.
fn capsule(u: f64, v: f64, a: (f64, f64), b: (f64, f64), radius: f64) -> bool {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let along = (((u - a.0) * dx + (v - a.1) * dy) / (dx * dx + dy * dy)).clamp(0.0, 1.0);
    (u - a.0 - along * dx).hypot(v - a.1 - along * dy) < radius
}

//! Background of the built-in scene: a room with walls, a window, a door and furniture, from a fixed camera.

use super::{HEIGHT, PIXELS, POINT, WIDTH, over_pixel};

/// The far wall: left, top, right, bottom.
const FAR: [f64; 4] = [26.0, 15.0, 102.0, 61.0];
/// The window in it.
const WINDOW: [f64; 4] = [34.0, 23.0, 57.0, 45.0];

/// Reflectance of the room for each illumination, in gray levels at strength 1.
pub struct Room {
    /// Gray levels under the lamps.
    pub surface: Vec<f64>,
    /// Gray levels under daylight from the window.
    pub daylight: Vec<f64>,
}

impl Room {
    /// Renders the room with antialiasing.
    pub fn render() -> Self {
        let mut room = Self { surface: vec![0.0; PIXELS], daylight: vec![0.0; PIXELS] };
        for pixel in 0..PIXELS {
            over_pixel(pixel, |x, y| {
                let (surface, daylight) = point(x, y);
                room.surface[pixel] += POINT * surface;
                room.daylight[pixel] += POINT * daylight;
            });
        }
        room
    }
}

/// Gray levels under lamps and daylight at one point.
fn point(x: f64, y: f64) -> (f64, f64) {
    let surface = furniture(x, y).or_else(|| fittings(x, y)).unwrap_or_else(|| wall(x, y));
    if pane(x, y) {
        // The sky is bright and hardly lit by the lamps.
        return (60.0, 165.0 - 1.2 * (y - WINDOW[1]));
    }
    // Daylight decreases with the distance to the window; the floor in front of it has a sunlit patch.
    let (dx, dy) = (x - 45.0, y - 40.0);
    let glow = 0.16 * surface / (1.0 + (dx * dx + dy * dy) / 900.0);
    let patch = quad(x, y, [(44.0, 66.0), (66.0, 66.0), (84.0, 86.0), (54.0, 86.0)]);
    (surface, glow + if patch { 0.22 * surface } else { 0.0 })
}

/// Gray level of walls, ceiling and floor.
fn wall(x: f64, y: f64) -> f64 {
    let [left, top, right, bottom] = FAR;
    let (w, h) = (WIDTH as f64, HEIGHT as f64);
    if inside(x, y, FAR) {
        // A skirting board, then paint that darkens towards the ceiling.
        return if y > bottom - 2.0 { 92.0 } else { 148.0 + 0.45 * (y - top) };
    }
    // Distance from the far wall on each side: 0 at the wall, 1 at the edge of the image.
    let out = [(left - x) / left, (top - y) / top, (x - right) / (w - right), (y - bottom) / (h - bottom)];
    let side = (0..4).max_by(|&a, &b| out[a].total_cmp(&out[b])).expect("four sides");
    let depth = out[side];
    match side {
        0 => 122.0 - 30.0 * depth,
        1 => 182.0 + 18.0 * depth,
        2 => 134.0 - 38.0 * depth,
        _ => floor(x, y, depth),
    }
}

/// Gray level of the floor: boards towards the camera, and a round rug.
fn floor(x: f64, y: f64, depth: f64) -> f64 {
    let rug = ((x - 66.0) / 27.0).powi(2) + ((y - 81.0) / 7.5).powi(2);
    if rug < 1.0 {
        return if rug > 0.72 { 74.0 } else { 116.0 + 12.0 * (1.0 - rug) };
    }
    let board = (x - 64.0) / (y - 34.0) * 7.0;
    let seam = (board - board.round()).abs() < 0.05;
    96.0 - 22.0 * depth - if seam { 18.0 } else { 4.0 * (board.floor() as i64).rem_euclid(2) as f64 }
}

/// Gray level of the window frame, the door and the painting on the far wall.
fn fittings(x: f64, y: f64) -> Option<f64> {
    let [left, top, right, bottom] = WINDOW;
    if inside(x, y, [left - 2.0, top - 2.0, right + 2.0, bottom + 2.0]) {
        return Some(205.0);
    }
    if inside(x, y, [77.0, 27.0, 94.0, 61.0]) {
        if !inside(x, y, [78.5, 28.5, 92.5, 61.0]) {
            return Some(196.0);
        }
        let panel = inside(x, y, [81.0, 31.0, 90.0, 42.0]) || inside(x, y, [81.0, 46.0, 90.0, 57.0]);
        let handle = (x - 80.2).hypot(y - 45.0) < 0.9;
        return Some(if handle {
            220.0
        } else if panel {
            82.0
        } else {
            98.0
        });
    }
    if inside(x, y, [62.0, 24.0, 73.0, 38.0]) {
        let inner = inside(x, y, [63.2, 25.2, 71.8, 36.8]);
        let hill = y > 33.0 - 2.5 * (0.7 * (x - 62.0)).sin();
        return Some(if !inner {
            54.0
        } else if hill {
            88.0
        } else {
            176.0
        });
    }
    None
}

fn pane(x: f64, y: f64) -> bool {
    let cross = (x - 0.5 * (WINDOW[0] + WINDOW[2])).abs() < 0.9 || (y - 0.5 * (WINDOW[1] + WINDOW[3])).abs() < 0.9;
    inside(x, y, WINDOW) && !cross && furniture(x, y).is_none()
}

/// A sofa on the left, a table and a lamp on the right.
fn furniture(x: f64, y: f64) -> Option<f64> {
    if inside(x, y, [101.0, 60.5, 125.0, 63.5]) {
        return Some(150.0);
    }
    if inside(x, y, [103.0, 63.5, 105.0, 80.0]) || inside(x, y, [121.0, 63.5, 123.0, 80.0]) {
        return Some(84.0);
    }
    if quad(x, y, [(109.0, 38.0), (117.0, 38.0), (120.5, 48.0), (105.5, 48.0)]) {
        return Some(236.0 - 3.0 * (x - 113.0).abs());
    }
    if inside(x, y, [112.3, 48.0, 113.7, 60.5]) || inside(x, y, [109.5, 59.3, 116.5, 60.5]) {
        return Some(60.0);
    }
    let cushion = inside(x, y, [7.0, 62.0, 33.0, 69.0]);
    if cushion {
        return Some(if (x - 20.0).abs() < 0.6 { 58.0 } else { 112.0 - 1.6 * (y - 62.0) });
    }
    if inside(x, y, [4.0, 50.0, 36.0, 62.0]) {
        return Some(86.0 + 0.8 * (62.0 - y));
    }
    if inside(x, y, [1.0, 57.0, 39.0, 76.0]) {
        return Some(72.0);
    }
    None
}

fn inside(x: f64, y: f64, [left, top, right, bottom]: [f64; 4]) -> bool {
    x >= left && x < right && y >= top && y < bottom
}

/// True if a point lies in a convex quadrilateral whose corners are clockwise on the screen.
fn quad(x: f64, y: f64, corners: [(f64, f64); 4]) -> bool {
    (0..4).all(|i| {
        let ((ax, ay), (bx, by)) = (corners[i], corners[(i + 1) % 4]);
        (bx - ax) * (y - ay) - (by - ay) * (x - ax) >= 0.0
    })
}

//! Names beside points, placed so that none covers another.

use super::scene::{MARK, Place};

/// A box on the picture: left, top, right, bottom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// Least x.
    pub left: f64,
    /// Least y.
    pub top: f64,
    /// Largest x.
    pub right: f64,
    /// Largest y.
    pub bottom: f64,
}

impl Area {
    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn holds(&self, other: &Self) -> bool {
        self.left <= other.left && other.right <= self.right && self.top <= other.top && other.bottom <= self.bottom
    }
}

/// Finds room for labels, one after the other.
#[derive(Debug)]
pub struct Labels {
    frame: Area,
    taken: Vec<Area>,
}

/// Directions from a point in which its label is tried, the best first.
const AROUND: [Place; 8] =
    [[1.0, 0.0], [-1.0, 0.0], [1.0, -1.0], [1.0, 1.0], [-1.0, -1.0], [-1.0, 1.0], [0.0, -1.0], [0.0, 1.0]];
/// How far from the point, the nearest first.
const DISTANCES: [f64; 3] = [2.0, 9.0, 18.0];

impl Labels {
    /// Within a frame, beside things that are there already.
    pub fn new(frame: Area, taken: Vec<Area>) -> Self {
        Self { frame, taken }
    }

    /// The middle of the room for a label of this size beside a point; none when all is taken.
    pub fn place(&mut self, [x, y]: Place, width: f64, height: f64) -> Option<Place> {
        for distance in DISTANCES {
            for [across, down] in AROUND {
                let away = MARK + distance;
                let middle = [x + across * (away + width / 2.0), y + down * (away + height / 2.0) * slack(across)];
                let area = around(middle, width, height);
                if self.frame.holds(&area) && !self.taken.iter().any(|other| other.overlaps(&area)) {
                    self.taken.push(area);
                    return Some(middle);
                }
            }
        }
        None
    }
}

/// Labels to a side need to rise less than those above.
fn slack(across: f64) -> f64 {
    if across == 0.0 { 1.0 } else { 0.7 }
}

/// The box of some size around a place.
pub fn around([x, y]: Place, width: f64, height: f64) -> Area {
    Area { left: x - width / 2.0, top: y - height / 2.0, right: x + width / 2.0, bottom: y + height / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_heap_do_not_overlap() {
        let frame = Area { left: 0.0, top: 0.0, right: 300.0, bottom: 200.0 };
        let mut labels = Labels::new(frame, vec![around([150.0, 100.0], 8.0, 8.0)]);
        let placed: Vec<_> = (0..40).filter_map(|_| labels.place([150.0, 100.0], 30.0, 12.0)).collect();
        assert!((8..40).contains(&placed.len()), "{}", placed.len());
        for (i, area) in labels.taken.iter().enumerate() {
            assert!(frame.holds(area));
            assert!(labels.taken[..i].iter().all(|other| !other.overlaps(area)));
        }
    }

    #[test]
    fn a_corner_leaves_one_side() {
        let frame = Area { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };
        let [x, _] = Labels::new(frame, Vec::new()).place([98.0, 50.0], 30.0, 12.0).unwrap();
        assert!(x < 98.0);
        assert_eq!(Labels::new(frame, Vec::new()).place([50.0, 50.0], 300.0, 12.0), None);
    }
}

//! Names beside points, placed so that none covers another.

use super::drawing::{MARK, Place};

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
    /// What no label may cover; the labels placed so far are among it.
    taken: Vec<Area>,
    /// What a label covers only where there is no other room.
    avoided: Vec<Area>,
}

/// Directions from a point in which its label is tried, the best first.
const AROUND: [Place; 8] =
    [[1.0, 0.0], [-1.0, 0.0], [1.0, -1.0], [1.0, 1.0], [-1.0, -1.0], [-1.0, 1.0], [0.0, -1.0], [0.0, 1.0]];
/// How far from the point, the nearest first.
const DISTANCES: [f64; 3] = [2.0, 9.0, 18.0];

impl Labels {
    /// Within a frame, beside things that are there already: some must stay free, others had better.
    pub fn new(frame: Area, taken: Vec<Area>, avoided: Vec<Area>) -> Self {
        Self { frame, taken, avoided }
    }

    /// The middle of the room for a label of this size beside a point; none when all is taken.
    pub fn place(&mut self, point: Place, width: f64, height: f64) -> Option<Place> {
        let free = |area: &Area, others: &[Area]| !others.iter().any(|other| other.overlaps(area));
        let allowed = |area: &Area| self.frame.holds(area) && free(area, &self.taken);
        let found = candidates(point, width, height)
            .find(|&middle| {
                let area = around(middle, width, height);
                allowed(&area) && free(&area, &self.avoided)
            })
            .or_else(|| candidates(point, width, height).find(|&middle| allowed(&around(middle, width, height))))?;
        self.taken.push(around(found, width, height));
        Some(found)
    }
}

/// The middles of places for a label, the best first.
fn candidates([x, y]: Place, width: f64, height: f64) -> impl Iterator<Item = Place> {
    DISTANCES.into_iter().flat_map(move |distance| {
        AROUND.into_iter().map(move |[across, down]| {
            let away = MARK + distance;
            [x + across * (away + width / 2.0), y + down * (away + height / 2.0) * slack(across)]
        })
    })
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
        let mut labels = Labels::new(frame, vec![around([150.0, 100.0], 8.0, 8.0)], Vec::new());
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
        let [x, _] = Labels::new(frame, Vec::new(), Vec::new()).place([98.0, 50.0], 30.0, 12.0).unwrap();
        assert!(x < 98.0);
        assert_eq!(Labels::new(frame, Vec::new(), Vec::new()).place([50.0, 50.0], 300.0, 12.0), None);
    }

    #[test]
    fn other_marks_are_covered_only_when_there_is_no_other_room() {
        let frame = Area { left: 0.0, top: 0.0, right: 200.0, bottom: 100.0 };
        let to_the_right = around([130.0, 50.0], 40.0, 10.0);
        let [x, _] = Labels::new(frame, Vec::new(), vec![to_the_right]).place([100.0, 50.0], 30.0, 12.0).unwrap();
        assert!(x < 100.0);
        let [x, _] = Labels::new(frame, Vec::new(), vec![frame]).place([100.0, 50.0], 30.0, 12.0).unwrap();
        assert!(x > 100.0);
    }
}

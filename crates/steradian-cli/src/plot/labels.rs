//! Placement of labels beside points without overlaps.

use super::drawing::{MARK_RADIUS, Position};

/// A rectangle of the drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// Smallest x.
    pub left: f64,
    /// Smallest y.
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

    fn contains(&self, other: &Self) -> bool {
        self.left <= other.left && other.right <= self.right && self.top <= other.top && other.bottom <= self.bottom
    }
}

/// Placement of labels, one after the other.
#[derive(Debug)]
pub struct Labels {
    frame: Area,
    /// Areas that no label may cover, with the labels placed so far.
    taken: Vec<Area>,
    /// Areas that a label covers only if no other place is free.
    avoided: Vec<Area>,
}

/// Candidate directions of a label from its point, the best first.
const OFFSETS: [Position; 8] =
    [[1.0, 0.0], [-1.0, 0.0], [1.0, -1.0], [1.0, 1.0], [-1.0, -1.0], [-1.0, 1.0], [0.0, -1.0], [0.0, 1.0]];
/// Candidate distances from the point, the nearest first.
const DISTANCES: [f64; 3] = [2.0, 9.0, 18.0];

impl Labels {
    /// A placement within a frame; labels must not cover `taken` and preferably not `avoided`.
    pub fn new(frame: Area, taken: Vec<Area>, avoided: Vec<Area>) -> Self {
        Self { frame, taken, avoided }
    }

    /// Center of a label of the given size beside a point; `None` if no place is free.
    pub fn place(&mut self, point: Position, width: f64, height: f64) -> Option<Position> {
        let free = |area: &Area, others: &[Area]| !others.iter().any(|other| other.overlaps(area));
        let allowed = |area: &Area| self.frame.contains(area) && free(area, &self.taken);
        let center = candidates(point, width, height)
            .find(|&center| {
                let area = around(center, width, height);
                allowed(&area) && free(&area, &self.avoided)
            })
            .or_else(|| candidates(point, width, height).find(|&center| allowed(&around(center, width, height))))?;
        self.taken.push(around(center, width, height));
        Some(center)
    }
}

/// Candidate centers of a label, the best first.
fn candidates([x, y]: Position, width: f64, height: f64) -> impl Iterator<Item = Position> {
    DISTANCES.into_iter().flat_map(move |distance| {
        OFFSETS.into_iter().map(move |[across, down]| {
            let away = MARK_RADIUS + distance;
            [x + across * (away + width / 2.0), y + down * (away + height / 2.0) * slack(across)]
        })
    })
}

/// Factor of the vertical offset: labels beside a point need less of it than those above or below.
fn slack(across: f64) -> f64 {
    if across == 0.0 { 1.0 } else { 0.7 }
}

/// The rectangle of a given size around a point.
pub fn around([x, y]: Position, width: f64, height: f64) -> Area {
    Area { left: x - width / 2.0, top: y - height / 2.0, right: x + width / 2.0, bottom: y + height / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_equal_points_do_not_overlap() {
        let frame = Area { left: 0.0, top: 0.0, right: 300.0, bottom: 200.0 };
        let mut labels = Labels::new(frame, vec![around([150.0, 100.0], 8.0, 8.0)], Vec::new());
        let placed: Vec<_> = (0..40).filter_map(|_| labels.place([150.0, 100.0], 30.0, 12.0)).collect();
        assert!((8..40).contains(&placed.len()), "{}", placed.len());
        for (i, area) in labels.taken.iter().enumerate() {
            assert!(frame.contains(area));
            assert!(labels.taken[..i].iter().all(|other| !other.overlaps(area)));
        }
    }

    #[test]
    fn a_label_at_the_edge_is_inside_the_frame() {
        let frame = Area { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };
        let [x, _] = Labels::new(frame, Vec::new(), Vec::new()).place([98.0, 50.0], 30.0, 12.0).unwrap();
        assert!(x < 98.0);
        assert_eq!(Labels::new(frame, Vec::new(), Vec::new()).place([50.0, 50.0], 300.0, 12.0), None);
    }

    #[test]
    fn avoided_areas_are_covered_only_if_no_other_place_is_free() {
        let frame = Area { left: 0.0, top: 0.0, right: 200.0, bottom: 100.0 };
        let to_the_right = around([130.0, 50.0], 40.0, 10.0);
        let [x, _] = Labels::new(frame, Vec::new(), vec![to_the_right]).place([100.0, 50.0], 30.0, 12.0).unwrap();
        assert!(x < 100.0);
        let [x, _] = Labels::new(frame, Vec::new(), vec![frame]).place([100.0, 50.0], 30.0, 12.0).unwrap();
        assert!(x > 100.0);
    }
}

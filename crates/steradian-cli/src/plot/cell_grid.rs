//! Colors of the cells of a cell map: one color per cell, or the mean color of a block of cells.
//!
//! In a block, usable cells have the neutral color, so that its color comes from bad and missing cells alone.

use super::drawing::RgbColor;

/// Largest number of blocks of rows.
pub const MAX_ROWS: usize = 420;
/// Largest number of blocks of features.
pub const MAX_COLUMNS: usize = 480;

/// A cell that fits its expected value.
pub const NEUTRAL: RgbColor = [247, 247, 247];
/// A missing cell.
pub const MISSING: RgbColor = [178, 178, 178];
/// Bad cells below their expected value, from the smallest residual to the largest.
const LOW: [RgbColor; 3] = [[74, 144, 201], [33, 102, 172], [5, 48, 97]];
/// Bad cells above their expected value.
const HIGH: [RgbColor; 3] = [[227, 104, 90], [178, 24, 43], [103, 0, 31]];
/// Residual in standard deviations from which on colors of bad cells become darker.
pub const CELL_CUTOFF: f64 = 2.576;
/// Residual in standard deviations of the darkest color.
pub const LARGEST_RESIDUAL: f64 = 6.0;
/// Weight of the color of bad cells in that of the largest residual of another cell.
const TINT: f64 = 0.3;

/// The content of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MapCell {
    /// A usable cell: its residual in standard deviations.
    Usable(f64),
    /// A bad cell: its residual in standard deviations.
    Bad(f64),
    /// A missing cell.
    Missing,
}

impl MapCell {
    /// The color of the cell.
    pub fn color(self) -> RgbColor {
        let ramp = |residual: f64| if residual < 0.0 { LOW } else { HIGH };
        match self {
            Self::Missing => MISSING,
            Self::Usable(residual) => {
                let size = if residual.is_nan() { 0.0 } else { (residual.abs() / CELL_CUTOFF).min(1.0) };
                mixed(NEUTRAL, ramp(residual)[0], TINT * size)
            }
            Self::Bad(residual) => {
                let beyond = (residual.abs() - CELL_CUTOFF) / (LARGEST_RESIDUAL - CELL_CUTOFF);
                let along = if beyond.is_nan() { 2.0 } else { 2.0 * beyond.clamp(0.0, 1.0) };
                let [start, middle, end] = ramp(residual);
                if along <= 1.0 { mixed(start, middle, along) } else { mixed(middle, end, along - 1.0) }
            }
        }
    }
}

/// A color between two others.
fn mixed(from: RgbColor, to: RgbColor, part: f64) -> RgbColor {
    let mix = |i: usize| f64::from(from[i]) + part * (f64::from(to[i]) - f64::from(from[i]));
    [0, 1, 2].map(|i| mix(i).round() as u8)
}

/// The colors of a map, row by row; many rows or features are divided into blocks.
#[derive(Debug)]
pub struct CellGrid {
    /// Number of rows and of features.
    shape: [usize; 2],
    /// Rows and features per block.
    block: [usize; 2],
    /// Sum of the colors of the cells of each block, row-major.
    sums: Vec<[u64; 3]>,
    /// Number of missing cells and of bad cells.
    counts: [usize; 2],
    /// True for each row without a number.
    empty: Vec<bool>,
}

impl CellGrid {
    /// A map of this many rows and features.
    pub fn new(rows: usize, features: usize) -> Self {
        let block = [round_count(rows.div_ceil(MAX_ROWS)), round_count(features.div_ceil(MAX_COLUMNS))];
        let blocks = rows.div_ceil(block[0]) * features.div_ceil(block[1]);
        Self { shape: [rows, features], block, sums: vec![[0; 3]; blocks], counts: [0; 2], empty: vec![false; rows] }
    }

    /// Adds a row of the map.
    pub fn add(&mut self, row: usize, cells: impl Iterator<Item = MapCell>) {
        let columns = self.columns();
        let first = row / self.block[0] * columns;
        let is_single = self.block == [1, 1];
        self.empty[row] = true;
        for (feature, cell) in cells.enumerate() {
            self.empty[row] &= cell == MapCell::Missing;
            let sum = &mut self.sums[first + feature / self.block[1]];
            let color = if is_single || !matches!(cell, MapCell::Usable(_)) { cell.color() } else { NEUTRAL };
            sum.iter_mut().zip(color).for_each(|(sum, color)| *sum += u64::from(color));
            self.counts[0] += usize::from(cell == MapCell::Missing);
            self.counts[1] += usize::from(matches!(cell, MapCell::Bad(_)));
        }
    }

    /// Number of rows and of features.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// True for a row without a number.
    pub fn is_empty_row(&self, row: usize) -> bool {
        self.empty[row]
    }

    /// Rows and features per block.
    pub fn block(&self) -> [usize; 2] {
        self.block
    }

    /// Number of blocks of rows.
    pub fn rows(&self) -> usize {
        self.shape[0].div_ceil(self.block[0])
    }

    /// Number of blocks of features.
    pub fn columns(&self) -> usize {
        self.shape[1].div_ceil(self.block[1])
    }

    /// Number of missing cells and of bad cells.
    pub fn counts(&self) -> [usize; 2] {
        self.counts
    }

    /// Color of a block: the mean of its cells, with usable cells in the neutral color.
    pub fn color(&self, row: usize, column: usize) -> RgbColor {
        let side = |axis: usize, at: usize| {
            let start = at * self.block[axis];
            (start + self.block[axis]).min(self.shape[axis]) - start
        };
        let cells = (side(0, row) * side(1, column)).max(1) as f64;
        self.sums[row * self.columns() + column].map(|sum| (sum as f64 / cells).round() as u8)
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `least`.
pub fn round_count(least: usize) -> usize {
    let mut power = 1;
    loop {
        if let Some(step) = [1, 2, 5].map(|digit| digit * power).into_iter().find(|step| *step >= least) {
            return step;
        }
        power *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast ratio to white (WCAG 2).
    fn contrast(color: RgbColor) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let luminance = 0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2]);
        1.05 / (luminance + 0.05)
    }

    #[test]
    fn bad_cells_stand_out_and_become_darker() {
        for sign in [-1.0, 1.0] {
            let of = |size: f64| contrast(MapCell::Bad(sign * size).color());
            assert!(of(0.0) >= 3.0 && of(CELL_CUTOFF) >= 3.0, "{}", of(CELL_CUTOFF));
            let sizes = [2.6, 3.0, 4.0, 5.0, 6.0];
            assert!(sizes.windows(2).all(|pair| of(pair[0]) < of(pair[1])));
            assert_eq!(MapCell::Bad(sign * 6.0).color(), MapCell::Bad(sign * f64::INFINITY).color());
            assert!(contrast(MapCell::Usable(sign * 100.0).color()) < 1.6);
        }
        assert!(contrast(MISSING) > 1.8 && contrast(MISSING) < 3.0);
        let [low, high] = [MapCell::Bad(-4.0), MapCell::Bad(4.0)].map(MapCell::color);
        assert!(low[2] > low[0] && high[0] > high[2]);
        assert_eq!(MapCell::Usable(f64::NAN).color(), NEUTRAL);
    }

    #[test]
    fn a_block_has_the_mean_color_of_its_cells() {
        let (rows, features) = (2 * MAX_ROWS + 1, MAX_COLUMNS + 3);
        let mut grid = CellGrid::new(rows, features);
        assert_eq!((grid.block(), grid.rows(), grid.columns()), ([5, 2], 169, 242));
        for row in 0..rows {
            let cell = |feature| if row < 5 && feature == 1 { MapCell::Missing } else { MapCell::Usable(2.0) };
            grid.add(row, (0..features).map(cell));
        }
        assert_eq!(grid.counts(), [5, 0]);
        let mean = |a: u8, b: u8| ((f64::from(a) + f64::from(b)) / 2.0).round() as u8;
        assert_eq!(grid.color(0, 0), [0, 1, 2].map(|i| mean(NEUTRAL[i], MISSING[i])));
        // The last blocks are smaller.
        assert_eq!((grid.color(168, 0), grid.color(168, 241)), (NEUTRAL, NEUTRAL));
        assert_eq!(grid.color(1, 0), NEUTRAL);
        let mut single = CellGrid::new(MAX_ROWS, MAX_COLUMNS);
        assert_eq!(single.block(), [1, 1]);
        single.add(0, [MapCell::Usable(2.0), MapCell::Bad(-4.0)].into_iter());
        assert_eq!(
            (single.color(0, 0), single.color(0, 1)),
            (MapCell::Usable(2.0).color(), MapCell::Bad(-4.0).color())
        );
    }
}

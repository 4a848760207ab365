//! The cell map: the residual of every cell as a color, rows by features, with marks of flagged rows and a legend.

use std::collections::BTreeMap;

use steradian::model::Flag;

use super::cell_grid::{CELL_CUTOFF, CellGrid, LARGEST_RESIDUAL, MISSING, MapCell, NEUTRAL, round_count};
use super::drawing::{Anchor, Drawing, DrawingElement, Mark, Position, RgbColor, Text};
use super::font::Typeface;
use super::outlier_map::{FAINT, INK, label, line, style, truncated};

/// The mark of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowMark {
    /// The flag of a row with usable cells.
    Flag(Flag),
    /// A row without a usable cell.
    Empty,
}

impl RowMark {
    /// Shape, color and name; `None` for a regular row.
    fn style(self) -> Option<(Mark, RgbColor, &'static str)> {
        match self {
            Self::Flag(Flag::Regular) => None,
            Self::Flag(flag) => Some(style(flag)),
            Self::Empty => Some((Mark::Circle, EMPTY, "without a number")),
        }
    }
}

/// Content of a cell map.
pub struct CellMap<'a> {
    /// Colors of the rows of the map.
    pub grid: &'a CellGrid,
    /// Flag of each row of the map.
    pub rows: &'a [RowMark],
    /// Label of a row of the map.
    pub row_label: &'a dyn Fn(usize) -> String,
    /// Label of a feature.
    pub feature_label: &'a dyn Fn(usize) -> String,
    /// Title above the map.
    pub title: &'a str,
    /// Selection and order of the rows.
    pub selection: &'a str,
}

/// Largest width and height of the map without its labels.
const MAX_SIZE: [f64; 2] = [960.0, 840.0];
/// Largest width and height of a cell.
const MAX_CELL: [f64; 2] = [48.0, 20.0];
/// Smallest width of the drawing, which the legend needs.
const MIN_WIDTH: f64 = 760.0;
/// Space at the left, right and bottom.
const MARGIN: f64 = 24.0;
/// Width of the strip of row marks beside the map.
const STRIP: f64 = 16.0;
/// Height of a cell from which on its row has a mark.
const MARKED: f64 = 9.0;
/// Height of a cell from which on its row has a label.
const LABELED: f64 = 11.0;
/// Width of a cell from which on its feature has a label.
const NAMED: f64 = 13.0;
/// Sides of a cell from which on cells are apart.
const SEPARATED: f64 = 7.0;
/// Font size of labels.
const SIZE: f64 = 11.0;
/// Largest number of characters of a label.
const MAX_LABEL: usize = 26;
/// Largest number of missing cells that are hatched.
const MAX_HATCHED: usize = 4000;
/// Hatching of missing cells.
const HATCH: RgbColor = [120, 120, 120];
/// Rows without a number.
const EMPTY: RgbColor = [0, 0, 0];

/// Places of the parts of a map.
struct MapLayout {
    /// Left and top of the cells.
    origin: Position,
    /// Width and height of a cell.
    cell: [f64; 2],
    /// Labels of rows: the block, and its text.
    rows: Vec<(usize, String)>,
    /// Labels of features: the block, and its text.
    features: Vec<(usize, String)>,
    /// True if the labels of features run upwards.
    vertical: bool,
    width: f64,
    height: f64,
}

impl CellMap<'_> {
    /// The drawing.
    pub fn drawing(&self) -> Drawing {
        let typeface = Typeface::new();
        let (legend, top, legend_width) = self.heading(&typeface);
        let layout = self.layout(&typeface, top, legend_width);
        let mut elements = legend;
        elements.extend(self.cells(&layout));
        elements.extend(self.marks(&layout));
        elements.extend(self.labels(&layout));
        Drawing { width: layout.width, height: layout.height, title: self.title.to_string(), elements }
    }

    fn layout(&self, typeface: &Typeface, top: f64, legend_width: f64) -> MapLayout {
        let blocks = [self.grid.columns(), self.grid.rows()];
        let side = |axis: usize| {
            // Halves of a pixel are pixels of the PNG, so that neighbors meet without a seam.
            let fits = (2.0 * MAX_SIZE[axis] / blocks[axis].max(1) as f64).floor() / 2.0;
            fits.clamp(0.5, MAX_CELL[axis])
        };
        let cell = [side(0), side(1)];
        let [row_block, feature_block] = self.grid.block();
        let text = |full: String| truncated(&full, MAX_LABEL);
        let every_row =
            if cell[1] >= LABELED && row_block == 1 { 1 } else { round_count((18.0 / cell[1]).ceil() as usize) };
        let rows: Vec<(usize, String)> =
            (0..blocks[1]).step_by(every_row).map(|block| (block, text((self.row_label)(block * row_block)))).collect();
        let feature = |block: usize| (block, text((self.feature_label)(block * feature_block)));
        let widest =
            |labels: &[(usize, String)]| labels.iter().map(|(_, name)| typeface.width(name, SIZE)).fold(0.0, f64::max);
        let names: Vec<(usize, String)> = (0..blocks[0]).map(feature).collect();
        let width = widest(&names);
        let vertical = width + 8.0 > cell[0] && (cell[0] >= NAMED || width > 60.0);
        let every_feature = match vertical {
            _ if width + 8.0 <= cell[0] => 1,
            true if cell[0] >= NAMED => 1,
            true => round_count((NAMED / cell[0]).ceil() as usize),
            false => round_count(((width + 12.0) / cell[0]).ceil() as usize),
        };
        let features: Vec<(usize, String)> = names.into_iter().step_by(every_feature).collect();
        let above = if vertical { widest(&features) + 10.0 } else { SIZE + 10.0 };
        let origin = [MARGIN + SIZE + 8.0 + widest(&rows) + 8.0 + STRIP, top + 10.0 + above];
        let map = [cell[0] * blocks[0] as f64, cell[1] * blocks[1] as f64];
        // The label of the last tick of the features may be wider than its cells.
        let beyond = if vertical {
            0.0
        } else {
            features.last().map_or(0.0, |(block, name)| {
                ((*block as f64 + 0.5) * cell[0] + typeface.width(name, SIZE) / 2.0 - map[0]).max(0.0)
            })
        };
        let width = (origin[0] + map[0] + beyond + MARGIN).max(legend_width).max(MIN_WIDTH);
        MapLayout {
            origin,
            cell,
            rows,
            features,
            vertical,
            width: width.ceil(),
            height: (origin[1] + map[1] + MARGIN).ceil(),
        }
    }

    /// Title, subtitle and legend; the y below them, and their width.
    fn heading(&self, typeface: &Typeface) -> (Vec<DrawingElement>, f64, f64) {
        let mut elements = vec![label([MARGIN, 34.0], 17.0, INK, Anchor::Start, truncated(self.title, 90))];
        let [_, features] = self.grid.shape();
        let mut lines = vec![format!("{}; {features} features", self.selection)];
        let [row_block, feature_block] = self.grid.block();
        if row_block * feature_block > 1 {
            let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            lines.push(format!(
                "a block of {} x {} has the mean color of its cells; usable cells are neutral",
                count(row_block, "row"),
                count(feature_block, "feature")
            ));
        }
        let mut y = 38.0;
        let mut widest: f64 = typeface.width(&truncated(self.title, 90), 17.0);
        for text in lines {
            y += 18.0;
            widest = widest.max(typeface.width(&text, 12.5));
            elements.push(label([MARGIN, y], 12.5, FAINT, Anchor::Start, text));
        }
        y += 16.0;
        elements.extend(scale_bar([MARGIN, y]));
        let [missing, bad] = self.grid.counts();
        let mut x = MARGIN + BAR[0] + 22.0;
        let text = "residual in standard deviations of its feature and row; dark: bad cell".to_string();
        let (first, second) = (y + 10.0, y + 28.0);
        widest = widest.max(x + typeface.width(&text, 12.0));
        elements.push(label([x, first], 12.0, INK, Anchor::Start, text));
        for (color, name) in [(MapCell::Bad(-4.0).color(), "below"), (MapCell::Bad(4.0).color(), "above")] {
            elements.push(tiles([12.0, 12.0], color, vec![[x, second - 10.5]]));
            let name = format!("{name} its expected value");
            elements.push(label([x + 18.0, second], 12.0, INK, Anchor::Start, name.clone()));
            x += 18.0 + typeface.width(&name, 12.0) + 18.0;
        }
        elements.push(tiles([12.0, 12.0], MISSING, vec![[x, second - 10.5]]));
        elements.push(hatch([x, second - 10.5], [12.0, 12.0]));
        elements.push(label([x + 18.0, second], 12.0, INK, Anchor::Start, "missing".into()));
        widest = widest.max(x + 18.0 + typeface.width("missing", 12.0));
        y += 50.0;
        let (marks, right) = self.row_legend(typeface, y);
        elements.extend(marks);
        let counts = format!("{bad} bad and {missing} missing cells");
        elements.push(label([right, y + 4.0], 12.0, FAINT, Anchor::Start, counts.clone()));
        widest = widest.max(right + typeface.width(&counts, 12.0));
        (elements, y + 14.0, widest + MARGIN)
    }

    /// The marks of rows with their counts, and the x after them.
    fn row_legend(&self, typeface: &Typeface, y: f64) -> (Vec<DrawingElement>, f64) {
        let mut elements = vec![label([MARGIN, y + 4.0], 12.0, INK, Anchor::Start, "rows:".into())];
        let mut x = MARGIN + typeface.width("rows:", 12.0) + 14.0;
        let marks = Flag::ALL.map(RowMark::Flag).into_iter().chain([RowMark::Empty]);
        for (row, (mark, color, name)) in marks.filter_map(|row| Some((row, row.style()?))) {
            let count = self.rows.iter().filter(|other| **other == row).count();
            if count == 0 && row == RowMark::Empty {
                continue;
            }
            let (ink, opacity) = if count == 0 { (FAINT, 0.35) } else { (INK, 1.0) };
            let name = format!("{name} {count}");
            elements.push(DrawingElement::Marks { mark, color, opacity, points: vec![[x, y]] });
            elements.push(label([x + 9.0, y + 4.0], 12.0, ink, Anchor::Start, name.clone()));
            x += 9.0 + typeface.width(&name, 12.0) + 20.0;
        }
        (elements, x)
    }

    fn cells(&self, layout: &MapLayout) -> Vec<DrawingElement> {
        let MapLayout { origin, cell, .. } = layout;
        let [rows, columns] = [self.grid.rows(), self.grid.columns()];
        let apart = cell.iter().all(|side| *side >= SEPARATED);
        let gap = if apart { 1.0 } else { 0.0 };
        let mut by_color: BTreeMap<RgbColor, Vec<Position>> = BTreeMap::new();
        let mut missing = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let color = self.grid.color(row, column);
                let corner = [origin[0] + column as f64 * cell[0], origin[1] + row as f64 * cell[1]];
                if color == MISSING {
                    missing.push(corner);
                }
                if apart || color != NEUTRAL {
                    by_color.entry(color).or_default().push(corner);
                }
            }
        }
        let mut elements = Vec::new();
        if !apart && rows * columns > 0 {
            let size = [cell[0] * columns as f64, cell[1] * rows as f64];
            elements.push(tiles(size, NEUTRAL, vec![*origin]));
        }
        let size = cell.map(|side| side - gap);
        elements.extend(by_color.into_iter().map(|(color, corners)| tiles(size, color, corners)));
        if apart && missing.len() <= MAX_HATCHED {
            elements.extend(missing.into_iter().map(|corner| hatch(corner, size)));
        }
        elements
    }

    /// Marks of flagged rows at the left of the map; for low rows a strip whose darkness is the fraction of flagged rows.
    fn marks(&self, layout: &MapLayout) -> Vec<DrawingElement> {
        let MapLayout { origin, cell, .. } = layout;
        let [block, _] = self.grid.block();
        let mut elements = Vec::new();
        for (at, rows) in self.rows.chunks(block).enumerate() {
            let top = origin[1] + at as f64 * cell[1];
            let flagged: Vec<RowMark> = rows.iter().copied().filter(|row| row.style().is_some()).collect();
            // Of several flags in a block, that of the worst row.
            let worst = flagged.iter().max_by_key(|row| match row {
                RowMark::Flag(flag) => (flag.is_outlier(), *flag == Flag::BadLeverage),
                RowMark::Empty => (false, false),
            });
            let Some((mark, color, _)) = worst.and_then(|row| row.style()) else { continue };
            if cell[1] >= MARKED {
                let points = vec![[origin[0] - STRIP / 2.0 - 1.0, top + cell[1] / 2.0]];
                elements.push(DrawingElement::Marks { mark, color, opacity: 1.0, points });
            } else {
                let opacity = flagged.len() as f64 / rows.len() as f64;
                let corners = vec![[origin[0] - STRIP + 6.0, top]];
                elements.push(DrawingElement::Tiles { size: [7.0, cell[1]], color, opacity, corners });
            }
        }
        elements
    }

    fn labels(&self, layout: &MapLayout) -> Vec<DrawingElement> {
        let MapLayout { origin, cell, .. } = layout;
        let mut elements = Vec::new();
        for (block, name) in &layout.rows {
            let y = origin[1] + *block as f64 * cell[1] + cell[1] / 2.0;
            let at = [origin[0] - STRIP - 6.0, y + 0.36 * SIZE];
            elements.push(label(at, SIZE, INK, Anchor::End, name.clone()));
            if cell[1] < LABELED {
                elements.push(line([origin[0] - STRIP - 3.0, y], [origin[0] - STRIP + 4.0, y], 0.8, FAINT));
            }
        }
        for (block, name) in &layout.features {
            let x = origin[0] + *block as f64 * cell[0] + (cell[0] - 1.0).max(1.0) / 2.0;
            let (at, anchor) = match layout.vertical {
                true => ([x + 0.36 * SIZE, origin[1] - 6.0], Anchor::Start),
                false => ([x, origin[1] - 7.0], Anchor::Middle),
            };
            let text = Text { at, size: SIZE, color: INK, anchor, vertical: layout.vertical, content: name.clone() };
            elements.push(DrawingElement::Text(text));
            if layout.features.len() < self.grid.columns() {
                elements.push(line([x, origin[1] - 5.0], [x, origin[1] - 1.0], 0.8, FAINT));
            }
        }
        elements
    }
}

/// Width and height of the scale of colors.
const BAR: [f64; 2] = [240.0, 12.0];

/// The scale of colors with its numbers.
fn scale_bar([left, top]: Position) -> Vec<DrawingElement> {
    const STEPS: usize = 48;
    let range = LARGEST_RESIDUAL + 1.0;
    let width = BAR[0] / STEPS as f64;
    let color = |step: usize| {
        let residual = range * (2.0 * (step as f64 + 0.5) / STEPS as f64 - 1.0);
        if residual.abs() < CELL_CUTOFF { MapCell::Usable(residual).color() } else { MapCell::Bad(residual).color() }
    };
    let mut elements: Vec<_> =
        (0..STEPS).map(|step| tiles([width, BAR[1]], color(step), vec![[left + step as f64 * width, top]])).collect();
    for residual in [-LARGEST_RESIDUAL, -CELL_CUTOFF, 0.0, CELL_CUTOFF, LARGEST_RESIDUAL] {
        let x = left + BAR[0] * (residual / range + 1.0) / 2.0;
        elements.push(line([x, top + BAR[1]], [x, top + BAR[1] + 3.0], 0.8, FAINT));
        let text = format!("{}", (10.0 * residual).round() / 10.0).replace('-', "−");
        elements.push(label([x, top + BAR[1] + 14.0], SIZE, INK, Anchor::Middle, text));
    }
    elements
}

fn tiles(size: [f64; 2], color: RgbColor, corners: Vec<Position>) -> DrawingElement {
    DrawingElement::Tiles { size, color, opacity: 1.0, corners }
}

/// A diagonal line within a cell.
fn hatch([left, top]: Position, [width, height]: [f64; 2]) -> DrawingElement {
    let side = width.min(height) - 2.0;
    let (x, y) = (left + (width - side) / 2.0, top + (height - side) / 2.0);
    line([x, y + side], [x + side, y], 0.8, HATCH)
}

#[cfg(test)]
mod tests;

//! Elements of a plot (lines, marks, text), independent of the output format. Lengths are in SVG pixels; y grows downwards.

/// Red, green, blue.
pub type RgbColor = [u8; 3];
/// A point: x, then y.
pub type Position = [f64; 2];

/// A drawing: a size, a title and elements.
#[derive(Debug)]
pub struct Drawing {
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// Title for screen readers.
    pub title: String,
    /// Elements; later ones cover earlier ones.
    pub elements: Vec<DrawingElement>,
}

/// An element of a drawing.
#[derive(Debug)]
pub enum DrawingElement {
    /// A straight line.
    Line {
        /// Start.
        from: Position,
        /// End.
        to: Position,
        /// Line width.
        width: f64,
        /// Color.
        color: RgbColor,
        /// True for a dashed line.
        dashed: bool,
    },
    /// Text.
    Text(Text),
    /// One mark at many points.
    Marks {
        /// Shape of the mark.
        mark: Mark,
        /// Color.
        color: RgbColor,
        /// Opacity from 0 to 1.
        opacity: f64,
        /// Centers of the marks.
        points: Vec<Position>,
    },
    /// Rectangles of one size and color, such as the cells of a map.
    Tiles {
        /// Width and height.
        size: [f64; 2],
        /// Color.
        color: RgbColor,
        /// Opacity from 0 to 1.
        opacity: f64,
        /// Upper left corners.
        corners: Vec<Position>,
    },
}

/// Text at a point.
#[derive(Debug, Clone)]
pub struct Text {
    /// Point on the baseline, at the side that `anchor` names.
    pub at: Position,
    /// Font size.
    pub size: f64,
    /// Color.
    pub color: RgbColor,
    /// Alignment.
    pub anchor: Anchor,
    /// True for text that runs upwards.
    pub vertical: bool,
    /// Content.
    pub content: String,
}

/// Alignment of a text at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The text starts at the point.
    Start,
    /// The text is centered at the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// The shape of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Circle.
    Circle,
    /// Square.
    Square,
    /// Triangle that points up.
    Triangle,
    /// Square on a corner.
    Diamond,
}

/// Radius of a circle; other marks have about the same size.
pub const MARK_RADIUS: f64 = 3.2;

impl Mark {
    /// The corners relative to the center; a circle has none.
    pub fn corners(self) -> &'static [Position] {
        match self {
            Self::Circle => &[],
            Self::Square => &[[-2.8, -2.8], [2.8, -2.8], [2.8, 2.8], [-2.8, 2.8]],
            Self::Triangle => &[[0.0, -3.8], [3.6, 2.6], [-3.6, 2.6]],
            Self::Diamond => &[[0.0, -4.2], [4.2, 0.0], [0.0, 4.2], [-4.2, 0.0]],
        }
    }
}

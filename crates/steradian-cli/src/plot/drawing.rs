//! Elements of a plot (lines, marks, text), before it is SVG or pixels. Lengths are in SVG pixels; y grows downwards.

/// Red, green, blue.
pub type Color = [u8; 3];
/// Across and down.
pub type Place = [f64; 2];

/// A picture.
#[derive(Debug)]
pub struct Drawing {
    /// In pixels.
    pub width: f64,
    /// In pixels.
    pub height: f64,
    /// What it says to who cannot see it.
    pub title: String,
    /// Later ones cover earlier ones.
    pub shapes: Vec<Element>,
}

/// A part of a picture.
#[derive(Debug)]
pub enum Element {
    /// A straight line.
    Line {
        /// One end.
        from: Place,
        /// The other.
        to: Place,
        /// Its thickness.
        width: f64,
        /// Its color.
        color: Color,
        /// Whether it is broken.
        dashed: bool,
    },
    /// Words.
    Text(Text),
    /// The same mark at many places.
    Marks {
        /// Its form.
        mark: Mark,
        /// Its color.
        color: Color,
        /// From 0, unseen, to 1.
        opacity: f64,
        /// Where.
        places: Vec<Place>,
    },
    /// Squares that stand for many points each.
    Tiles {
        /// Their side.
        side: f64,
        /// Their color.
        color: Color,
        /// From 0, unseen, to 1.
        opacity: f64,
        /// Their upper left corners.
        corners: Vec<Place>,
    },
}

/// Words at a place.
#[derive(Debug, Clone)]
pub struct Text {
    /// On the base line, at the side that `anchor` names.
    pub at: Place,
    /// Height of the type.
    pub size: f64,
    /// Its color.
    pub color: Color,
    /// Which side is at the place.
    pub anchor: Anchor,
    /// Whether it reads upwards.
    pub upright: bool,
    /// The words.
    pub words: String,
}

/// Which side of the words is at their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// They begin there.
    Start,
    /// Their middle is there.
    Middle,
    /// They end there.
    End,
}

/// The form of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Round.
    Circle,
    /// With four sides.
    Square,
    /// On a side.
    Triangle,
    /// On a corner.
    Diamond,
}

/// Half the width of a mark, about.
pub const MARK: f64 = 3.2;

impl Mark {
    /// The corners around its middle; a circle has none.
    pub fn corners(self) -> &'static [Place] {
        match self {
            Self::Circle => &[],
            Self::Square => &[[-2.8, -2.8], [2.8, -2.8], [2.8, 2.8], [-2.8, 2.8]],
            Self::Triangle => &[[0.0, -3.8], [3.6, 2.6], [-3.6, 2.6]],
            Self::Diamond => &[[0.0, -4.2], [4.2, 0.0], [0.0, 4.2], [-4.2, 0.0]],
        }
    }
}

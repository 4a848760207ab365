//! The element types of data: u8, u16, f32 and f64, each read in place and converted block by block.

use serde::{Deserialize, Serialize};

/// The element type of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementType {
    /// u8, as in gray video.
    U8,
    /// u16.
    U16,
    /// f32.
    F32,
    /// f64.
    F64,
}

impl ElementType {
    /// Bytes per element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// True for the types that can be NaN or infinite.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// The element type of mapped samples: f64 for f64 data, f32 for the others.
    pub(crate) fn mapped(self) -> Self {
        if self.is_double() { Self::F64 } else { Self::F32 }
    }

    /// True for f64, whose working precision is f64; that of the others is f32.
    pub const fn is_double(self) -> bool {
        matches!(self, Self::F64)
    }

    /// The name of the dtype in NumPy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A type of the cells of data.
pub trait Element: Copy + Default + Send + Sync + PartialOrd + 'static {
    /// The element type at run time.
    const TYPE: ElementType;

    /// The value as f64, exactly.
    fn widen(self) -> f64;

    /// The nearest f32; exact for all types but f64.
    fn single(self) -> f32;

    /// True if 256 values sum to at most 16 bits.
    const SUMS_SHORT: bool = false;

    /// The value as u16, if [`Element::SUMS_SHORT`].
    fn short(self) -> u16 {
        0
    }

    /// True for a missing cell: NaN. Integers have none.
    #[inline(always)]
    fn is_missing(self) -> bool {
        false
    }

    /// An integer of `8 * TYPE.bytes()` bits whose order is that of the values.
    fn sort_key(self) -> u64;

    /// The value whose [`Element::sort_key`] is `key`, as f64.
    fn from_sort_key(key: u64) -> f64;
}

macro_rules! unsigned_element {
    ($type:ty, $name:ident, $sums_short:literal) => {
        impl Element for $type {
            const TYPE: ElementType = ElementType::$name;
            const SUMS_SHORT: bool = $sums_short;

            #[inline(always)]
            fn short(self) -> u16 {
                u16::from(self)
            }

            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn single(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn sort_key(self) -> u64 {
                u64::from(self)
            }

            fn from_sort_key(key: u64) -> f64 {
                key as f64
            }
        }
    };
}

macro_rules! float_element {
    ($type:ty, $bits:ty, $name:ident) => {
        impl Element for $type {
            const TYPE: ElementType = ElementType::$name;

            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn single(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn is_missing(self) -> bool {
                self.is_nan()
            }

            // Flipping all bits of negative values and the sign bit of the others maps the IEEE order to the integer
            // order.
            #[inline(always)]
            fn sort_key(self) -> u64 {
                let bits = self.to_bits();
                let sign = <$bits>::MAX ^ (<$bits>::MAX >> 1);
                u64::from(if bits & sign != 0 { !bits } else { bits | sign })
            }

            fn from_sort_key(key: u64) -> f64 {
                let key = key as $bits;
                let sign = <$bits>::MAX ^ (<$bits>::MAX >> 1);
                f64::from(<$type>::from_bits(if key & sign != 0 { key ^ sign } else { !key }))
            }
        }
    };
}

unsigned_element!(u8, U8, true);
unsigned_element!(u16, U16, false);
float_element!(f32, u32, F32);
float_element!(f64, u64, F64);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sort_keys_sort_and_return(a in proptest::num::f64::NORMAL, b in proptest::num::f64::NORMAL) {
            prop_assert_eq!(a < b, a.sort_key() < b.sort_key());
            prop_assert_eq!(f64::from_sort_key(a.sort_key()), a);
            let (x, y) = (a as f32, b as f32);
            prop_assert_eq!(x < y, x.sort_key() < y.sort_key());
            prop_assert_eq!(f32::from_sort_key(x.sort_key()), f64::from(x));
        }
    }
}

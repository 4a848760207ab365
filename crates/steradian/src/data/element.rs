//! The number types that data may have; each is read in place and never converted as a whole.

use serde::{Deserialize, Serialize};

/// The type of one number of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementType {
    /// Unsigned bytes, as in gray video.
    U8,
    /// Unsigned 16-bit integers.
    U16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl ElementType {
    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// Whether an element may be NaN or infinite.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// The type of samples that were mapped: f64 for f64 data, f32 for the others.
    pub(crate) fn mapped(self) -> Self {
        if self.is_double() { Self::F64 } else { Self::F32 }
    }

    /// Whether it is double precision, and work on it is too.
    pub const fn is_double(self) -> bool {
        matches!(self, Self::F64)
    }

    /// The name numpy users know.
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

/// A number that data may consist of.
pub trait Element: Copy + Default + Send + Sync + PartialOrd + 'static {
    /// Its run-time name.
    const TYPE: ElementType;

    /// The same number in double precision, exactly.
    fn widen(self) -> f64;

    /// The nearest number in single precision: the same one, but for f64.
    fn single(self) -> f32;

    /// Whether 256 of them sum up within sixteen bits.
    const SUMS_SHORT: bool = false;

    /// The number in sixteen bits, where [`Element::SUMS_SHORT`].
    fn short(self) -> u16 {
        0
    }

    /// An integer of `8 * TYPE.bytes()` bits that sorts as the number does.
    fn sort_key(self) -> u64;

    /// The number whose [`Element::sort_key`] is `key`, in double precision.
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

            // Flipping all bits of negatives and the sign bit of the others makes the IEEE order the integer order.
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

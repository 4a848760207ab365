//! Element types in files: their numpy names, and their bytes in either order.

use std::mem::size_of;

use steradian::BlockElement;

use sealed::AnyBits;

pub(crate) mod sealed {
    /// Types of which every bit pattern is a value; no crate outside can add one, which makes the cast in `mmap.rs` sound.
    pub trait AnyBits {}

    impl AnyBits for u8 {}
    impl AnyBits for u16 {}
    impl AnyBits for f32 {}
    impl AnyBits for f64 {}
}

/// A number type that files are read and written in: `u8`, `u16`, `f32` and `f64`, and no other.
pub trait FileElement: BlockElement + AnyBits {
    /// The type's name in a `.npy` header, little-endian.
    const DESCR: &'static str;

    /// The number whose bytes these are; `bytes` holds exactly one.
    fn decode(bytes: &[u8], big_endian: bool) -> Self;

    /// The nearest number of this type; integers end at their smallest and largest.
    fn narrow(number: f64) -> Self;

    /// Writes the number's little-endian bytes; `bytes` has room for exactly one.
    fn encode(self, bytes: &mut [u8]);
}

macro_rules! file_element {
    ($type:ty, $descr:literal, $narrow:expr) => {
        impl FileElement for $type {
            const DESCR: &'static str = $descr;

            #[inline]
            fn decode(bytes: &[u8], big_endian: bool) -> Self {
                let mut exact = [0; size_of::<$type>()];
                exact.copy_from_slice(bytes);
                if big_endian { Self::from_be_bytes(exact) } else { Self::from_le_bytes(exact) }
            }

            #[inline]
            fn narrow(number: f64) -> Self {
                $narrow(number)
            }

            #[inline]
            fn encode(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    };
}

file_element!(u8, "|u1", |number: f64| number.round() as u8);
file_element!(u16, "<u2", |number: f64| number.round() as u16);
file_element!(f32, "<f4", |number: f64| number as f32);
file_element!(f64, "<f8", |number: f64| number);

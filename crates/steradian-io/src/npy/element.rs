//! Element types of files: numpy names, and conversion from and to bytes of either byte order.

use std::mem::size_of;

use steradian::data::BlockElement;

use sealed::AnyBits;

pub(crate) mod sealed {
    /// Types for which every bit pattern is a value. Sealed: the cast in `mmap.rs` is sound only for such types.
    pub trait AnyBits {}

    impl AnyBits for u8 {}
    impl AnyBits for u16 {}
    impl AnyBits for f32 {}
    impl AnyBits for f64 {}
}

/// An element type of files: `u8`, `u16`, `f32` or `f64`.
pub trait FileElement: BlockElement + AnyBits {
    /// Name of the type in a `.npy` header, little-endian.
    const DESCR: &'static str;

    /// Decodes one element; the length of `bytes` is its size.
    fn decode(bytes: &[u8], big_endian: bool) -> Self;

    /// The nearest value of this type; integers saturate.
    fn narrow(number: f64) -> Self;

    /// Encodes the element as little-endian; the length of `bytes` is its size.
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

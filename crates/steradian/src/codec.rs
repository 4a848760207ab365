//! Serialization of folds and accumulators to bytes, for other processes and for files, and digests of the bytes.
//!
//! Floating-point values keep all their bits. Only the version that wrote the bytes can read them, so callers store the
//! version next to them.

use std::hash::Hasher;
use std::io::{self, Write};
use std::ops::Range;

use serde::de::{DeserializeOwned, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use twox_hash::XxHash64;

use crate::error::{Error, Result};

/// Serializes `value`.
pub(crate) fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|e| Error::invalid_argument(format!("cannot serialize a value: {e}")))
}

/// Writes the bytes of [`to_bytes`] in small pieces.
pub(crate) fn write_bytes<T: Serialize + ?Sized>(value: &T, to: &mut dyn Write) -> io::Result<()> {
    /// A writer that stores its error, because postcard drops it.
    struct ErrorKeeper<'a>(&'a mut dyn Write, Option<io::Error>);
    impl Write for ErrorKeeper<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.write_all(bytes).map(|()| bytes.len())
        }

        fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.write_all(bytes).map_err(|e| {
                let kind = e.kind();
                self.1 = Some(e);
                kind.into()
            })
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(()) // the caller flushes its writer
        }
    }
    let mut to = ErrorKeeper(to, None);
    match postcard::to_io(value, &mut to).map(drop) {
        Ok(()) => Ok(()),
        Err(other) => Err(to.1.unwrap_or_else(|| io::Error::other(other))),
    }
}

/// The hash function of digests: XXH64 with seed 0. Its specification fixes its values, while the standard library's
/// hasher may change with the compiler, and parquet already depends on the crate.
pub(crate) fn hasher() -> XxHash64 {
    XxHash64::with_seed(0)
}

/// The digest of some bytes.
pub(crate) fn digest_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// The digest of the bytes of [`to_bytes`]; 0 if the value cannot be serialized.
pub(crate) fn digest<T: Serialize + ?Sized>(value: &T) -> u64 {
    struct Hashing(XxHash64);
    impl Write for Hashing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hashing = Hashing(hasher());
    write_bytes(value, &mut hashing).map_or(0, |()| hashing.0.finish())
}

/// Number of bytes of [`to_bytes`]; 0 if the value cannot be serialized.
pub(crate) fn size_in_bytes<T: Serialize + ?Sized>(value: &T) -> usize {
    postcard::serialize_with_flavor(value, postcard::ser_flavors::Size::default()).unwrap_or(0)
}

/// Reads the bytes of [`to_bytes`]; `what` names the value in error messages.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    match split_bytes(bytes, what)? {
        (value, []) => Ok(value),
        (_, rest) => Err(invalid(bytes, what, format!("{} bytes are left over", rest.len()))),
    }
}

/// The value at the start of some bytes, and the bytes after it.
pub(crate) fn split_bytes<'a, T: DeserializeOwned>(bytes: &'a [u8], what: &str) -> Result<(T, &'a [u8])> {
    postcard::take_from_bytes(bytes).map_err(|e| invalid(bytes, what, e.to_string()))
}

/// The error for a value that was read from bytes, or that a caller passes, and does not agree with itself or the data.
pub(crate) fn inconsistent(what: impl std::fmt::Display) -> Error {
    Error::invalid_data(format!("the job or partial result is corrupt, or of other data: {what}"))
}

/// Rejects an array of another length.
pub(crate) fn require_length(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(inconsistent(format!("{what} has {found} values, expected {expected}")))
}

/// Rejects a list with one value per sample that ends before the samples do.
pub(crate) fn require_samples(what: &str, found: usize, samples: &Range<usize>) -> Result<()> {
    if found >= samples.end {
        return Ok(());
    }
    Err(inconsistent(format!("{what} has {found} values, but the samples are {samples:?}")))
}

/// Rejects numbers that are NaN or infinite.
pub(crate) fn require_finite(what: &str, numbers: &[f64]) -> Result<()> {
    match numbers.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(place) => Err(inconsistent(format!("{what} is {} at place {place}", numbers[place]))),
    }
}

/// Reads a list of at most `MOST` values. Without a limit, a list of small values in the bytes may need many times their
/// memory.
pub(crate) fn bounded<'de, const MOST: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Vec<T>, D::Error> {
    struct Bounded<T, const MOST: usize>(std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Bounded<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(to, "at most {MOST} values")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> std::result::Result<Vec<T>, A::Error> {
            let mut read = Vec::new();
            while let Some(value) = values.next_element()? {
                if read.len() == MOST {
                    return Err(A::Error::invalid_length(values.size_hint().unwrap_or(0) + MOST + 1, &self));
                }
                read.push(value);
            }
            Ok(read)
        }
    }
    from.deserialize_seq(Bounded::<T, MOST>(std::marker::PhantomData))
}

fn invalid(bytes: &[u8], what: &str, why: String) -> Error {
    Error::invalid_data(format!("{} bytes are not {what} of this version of the package: {why}", bytes.len()))
}

/// Serialization of long vectors as one byte string, which is several times as fast as value by value.
pub(crate) mod packed {
    use std::borrow::Cow;

    use pulp::bytemuck::{Pod, cast_slice, cast_slice_mut};
    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    /// Converts between native and little-endian byte order.
    fn swap_if_big_endian<T: Pod>(numbers: &mut [T]) {
        if cfg!(target_endian = "big") {
            cast_slice_mut::<T, u8>(numbers).chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
        }
    }

    pub(crate) fn serialize<T: Pod, S: Serializer>(numbers: &[T], to: S) -> Result<S::Ok, S::Error> {
        if cfg!(target_endian = "little") {
            return to.serialize_bytes(cast_slice(numbers));
        }
        let mut swapped = numbers.to_vec();
        swap_if_big_endian(&mut swapped);
        to.serialize_bytes(cast_slice(&swapped))
    }

    pub(crate) fn deserialize<'de, T: Pod, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
        struct Bytes<T>(std::marker::PhantomData<T>);
        impl<T: Pod> Visitor<'_> for Bytes<T> {
            type Value = Vec<T>;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(to, "values of {} bytes each", size_of::<T>())
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
                if !bytes.len().is_multiple_of(size_of::<T>()) {
                    return Err(E::invalid_length(bytes.len(), &self));
                }
                let mut numbers = crate::memory::filled(bytes.len() / size_of::<T>(), T::zeroed());
                cast_slice_mut(&mut numbers).copy_from_slice(bytes);
                swap_if_big_endian(&mut numbers);
                Ok(numbers)
            }
        }
        from.deserialize_bytes(Bytes(std::marker::PhantomData))
    }

    /// Serialization of vectors that are borrowed when written and owned when read.
    pub(crate) mod cow {
        use super::*;

        pub(crate) fn serialize<S: Serializer>(numbers: &[f64], to: S) -> Result<S::Ok, S::Error> {
            super::serialize(numbers, to)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'static, [f64]>, D::Error> {
            super::deserialize(from).map(Cow::Owned)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first three are test vectors of the XXH64 specification. Job ids and checkpoints store digests.
    #[test]
    fn digests_do_not_depend_on_the_compiler() {
        assert_eq!(digest_bytes(b""), 0xef46_db37_51d8_e999);
        assert_eq!(digest_bytes(b"a"), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(digest_bytes(b"abc"), 0x44bc_2cf5_ad77_0999);
        let value = (vec![1.5f64, -0.0], "steradian");
        assert_eq!(digest(&value), digest_bytes(&to_bytes(&value).unwrap()));
    }

    proptest! {
        #[test]
        fn numbers_keep_their_bits(bits in proptest::collection::vec(any::<u64>(), 0..50), flag in any::<Option<bool>>()) {
            let numbers: Vec<f64> = bits.iter().map(|b| f64::from_bits(*b)).collect();
            let bytes = to_bytes(&(&numbers, flag)).unwrap();
            let (back, same): (Vec<f64>, Option<bool>) = from_bytes(&bytes, "numbers").unwrap();
            prop_assert_eq!(back.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits);
            prop_assert_eq!(same, flag);
        }

        #[test]
        fn packed_numbers_keep_their_bits(bits in proptest::collection::vec(any::<u64>(), 0..50), more in any::<u32>()) {
            #[derive(serde::Serialize, serde::Deserialize)]
            struct PackedLists(#[serde(with = "packed")] Vec<f64>, #[serde(with = "packed")] Vec<f32>, u8);
            let sample = PackedLists(bits.iter().map(|b| f64::from_bits(*b)).collect(), vec![f32::from_bits(more)], 7);
            let bytes = to_bytes(&sample).unwrap();
            let back: PackedLists = from_bytes(&bytes, "a sample").unwrap();
            prop_assert_eq!(back.0.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits);
            prop_assert_eq!((back.1[0].to_bits(), back.2), (more, 7));
            prop_assert!(from_bytes::<PackedLists>(&bytes[..bytes.len() - 1], "a sample").is_err());
        }

        #[test]
        fn written_bytes_are_those_in_memory(numbers in proptest::collection::vec(any::<f64>(), 0..50), flag in any::<Option<u8>>()) {
            let mut written = Vec::new();
            write_bytes(&(&numbers, flag), &mut written).unwrap();
            prop_assert_eq!(&written, &to_bytes(&(&numbers, flag)).unwrap());
            let mut buffer = [0; 300];
            let fits = write_bytes(&(&numbers, flag), &mut &mut buffer[..]);
            prop_assert_eq!(fits.map_err(|e| e.kind()).err(), (written.len() > 300).then_some(io::ErrorKind::WriteZero));
        }

        #[test]
        fn truncated_and_extended_bytes_are_rejected(numbers in proptest::collection::vec(any::<f64>(), 1..50), cut in 1usize..9) {
            let mut bytes = to_bytes(&numbers).unwrap();
            let short = from_bytes::<Vec<f64>>(&bytes[..bytes.len() - cut], "numbers");
            prop_assert!(short.unwrap_err().to_string().contains("not numbers"));
            bytes.push(0);
            prop_assert!(from_bytes::<Vec<f64>>(&bytes, "numbers").unwrap_err().to_string().contains("1 bytes are left"));
        }
    }
}

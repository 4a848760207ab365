//! The encoding of folds and partial results as bytes, for other processes and for files, and digests of them.
//!
//! Numbers keep all their bits. Bytes are read by the version that wrote them; whoever keeps or ships bytes says which.

use std::hash::Hasher;
use std::io::{self, Write};

use serde::{Serialize, de::DeserializeOwned};
use twox_hash::XxHash64;

use crate::error::{Error, Result};

/// `value` as bytes.
pub(crate) fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|e| Error::invalid_argument(format!("cannot be written as bytes: {e}")))
}

/// Writes what [`to_bytes`] would return, piece by piece.
pub(crate) fn write_bytes<T: Serialize + ?Sized>(value: &T, to: &mut dyn Write) -> io::Result<()> {
    /// Remembers what the encoding forgets: why a writer failed.
    struct Remembering<'a>(&'a mut dyn Write, Option<io::Error>);
    impl Write for Remembering<'_> {
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
            Ok(()) // whoever gave the writer flushes it
        }
    }
    let mut to = Remembering(to, None);
    match postcard::to_io(value, &mut to).map(drop) {
        Ok(()) => Ok(()),
        Err(other) => Err(to.1.unwrap_or_else(|| io::Error::other(other))),
    }
}

/// The hash of digests: XXH64 with seed 0. Its values are fixed by its specification, where those of the standard library's
/// hasher may change with the compiler, and parquet depends on the crate already.
pub(crate) fn hasher() -> XxHash64 {
    XxHash64::with_seed(0)
}

/// A number that tells bytes from others.
pub(crate) fn digest_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// A number that tells the bytes of a value from those of others; 0 for what cannot be written.
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

/// How many bytes [`to_bytes`] would write; 0 for what it would refuse.
pub(crate) fn size_in_bytes<T: Serialize + ?Sized>(value: &T) -> usize {
    postcard::serialize_with_flavor(value, postcard::ser_flavors::Size::default()).unwrap_or(0)
}

/// What [`to_bytes`] wrote; `what` names it in the message when the bytes are something else.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    match split_bytes(bytes, what)? {
        (value, []) => Ok(value),
        (_, rest) => Err(broken(bytes, what, format!("{} bytes are left over", rest.len()))),
    }
}

/// The value that some bytes begin with, and the bytes after it.
pub(crate) fn split_bytes<'a, T: DeserializeOwned>(bytes: &'a [u8], what: &str) -> Result<(T, &'a [u8])> {
    postcard::take_from_bytes(bytes).map_err(|e| broken(bytes, what, e.to_string()))
}

fn broken(bytes: &[u8], what: &str, why: String) -> Error {
    Error::invalid_data(format!("{} bytes are not {what} of this version of the package: {why}", bytes.len()))
}

/// Long rows of numbers as one piece of bytes: several times as fast as number by number.
pub(crate) mod packed {
    use std::borrow::Cow;

    use pulp::bytemuck::{Pod, cast_slice, cast_slice_mut};
    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    /// Turns numbers of a processor that puts the highest byte first.
    fn lowest_byte_first<T: Pod>(numbers: &mut [T]) {
        if cfg!(target_endian = "big") {
            cast_slice_mut::<T, u8>(numbers).chunks_exact_mut(size_of::<T>()).for_each(<[u8]>::reverse);
        }
    }

    pub(crate) fn serialize<T: Pod, S: Serializer>(numbers: &[T], to: S) -> Result<S::Ok, S::Error> {
        if cfg!(target_endian = "little") {
            return to.serialize_bytes(cast_slice(numbers));
        }
        let mut turned = numbers.to_vec();
        lowest_byte_first(&mut turned);
        to.serialize_bytes(cast_slice(&turned))
    }

    pub(crate) fn deserialize<'de, T: Pod, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
        struct Bytes<T>(std::marker::PhantomData<T>);
        impl<T: Pod> Visitor<'_> for Bytes<T> {
            type Value = Vec<T>;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(to, "numbers of {} bytes", size_of::<T>())
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
                if !bytes.len().is_multiple_of(size_of::<T>()) {
                    return Err(E::invalid_length(bytes.len(), &self));
                }
                let mut numbers = vec![T::zeroed(); bytes.len() / size_of::<T>()];
                cast_slice_mut(&mut numbers).copy_from_slice(bytes);
                lowest_byte_first(&mut numbers);
                Ok(numbers)
            }
        }
        from.deserialize_bytes(Bytes(std::marker::PhantomData))
    }

    /// The same for numbers that may be lent.
    pub(crate) mod lent {
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

    /// The first three are the vectors of the specification of XXH64. Job ids, and checkpoints on disk, hold such numbers.
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
            struct Sample(#[serde(with = "packed")] Vec<f64>, #[serde(with = "packed")] Vec<f32>, u8);
            let sum = Sample(bits.iter().map(|b| f64::from_bits(*b)).collect(), vec![f32::from_bits(more)], 7);
            let bytes = to_bytes(&sum).unwrap();
            let back: Sample = from_bytes(&bytes, "a sum").unwrap();
            prop_assert_eq!(back.0.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits);
            prop_assert_eq!((back.1[0].to_bits(), back.2), (more, 7));
            prop_assert!(from_bytes::<Sample>(&bytes[..bytes.len() - 1], "a sum").is_err());
        }

        #[test]
        fn written_bytes_are_those_in_memory(numbers in proptest::collection::vec(any::<f64>(), 0..50), flag in any::<Option<u8>>()) {
            let mut written = Vec::new();
            write_bytes(&(&numbers, flag), &mut written).unwrap();
            prop_assert_eq!(&written, &to_bytes(&(&numbers, flag)).unwrap());
            let mut room = [0; 300];
            let fits = write_bytes(&(&numbers, flag), &mut &mut room[..]);
            prop_assert_eq!(fits.map_err(|e| e.kind()).err(), (written.len() > 300).then_some(io::ErrorKind::WriteZero));
        }

        #[test]
        fn cut_and_prolonged_bytes_are_refused(numbers in proptest::collection::vec(any::<f64>(), 1..50), cut in 1usize..9) {
            let mut bytes = to_bytes(&numbers).unwrap();
            let short = from_bytes::<Vec<f64>>(&bytes[..bytes.len() - cut], "numbers");
            prop_assert!(short.unwrap_err().to_string().contains("not numbers"));
            bytes.push(0);
            prop_assert!(from_bytes::<Vec<f64>>(&bytes, "numbers").unwrap_err().to_string().contains("1 bytes are left"));
        }
    }
}

//! Sums and passes as bytes, for other processes and for files: the one place that names the encoding.
//!
//! Numbers keep all their bits. Bytes are read by the version that wrote them; whoever keeps or ships bytes says which.

use serde::{Serialize, de::DeserializeOwned};

use crate::error::{Error, Result};

/// `value` as bytes.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|e| Error::asked(format!("cannot be written as bytes: {e}")))
}

/// What [`to_bytes`] wrote; `what` names it in the message when the bytes are something else.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T> {
    let broken = |why: String| {
        Error::data(format!("{} bytes are not {what} of this version of the package: {why}", bytes.len()))
    };
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(broken(format!("{} bytes are left over", rest.len()))),
        Err(e) => Err(broken(e.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        fn cut_and_prolonged_bytes_are_refused(numbers in proptest::collection::vec(any::<f64>(), 1..50), cut in 1usize..9) {
            let mut bytes = to_bytes(&numbers).unwrap();
            let short = from_bytes::<Vec<f64>>(&bytes[..bytes.len() - cut], "numbers");
            prop_assert!(short.unwrap_err().to_string().contains("not numbers"));
            bytes.push(0);
            prop_assert!(from_bytes::<Vec<f64>>(&bytes, "numbers").unwrap_err().to_string().contains("1 bytes are left"));
        }
    }
}

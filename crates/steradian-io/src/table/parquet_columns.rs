//! Types of parquet columns, and conversion of their cells to numbers or names.

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

/// The type of a column, as far as conversion needs it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ColumnType {
    /// Floating-point numbers of at most 32 bits.
    Float32,
    /// Other numbers, which are converted to f64.
    Numeric(NumericEncoding),
    /// Any other type; its name for messages.
    Other(&'static str),
}

/// Encoding of numbers in the stored values of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NumericEncoding {
    /// The stored value is the number.
    Plain,
    /// Bits of an unsigned integer.
    Unsigned,
    /// An integer that is divided by this power of ten.
    Decimal(i32),
}

impl ColumnType {
    /// The type of a column of the schema.
    pub(crate) fn of(column: &ColumnDescriptor) -> Self {
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return Self::Other("nested");
        }
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        let physical = column.physical_type();
        let decimal = matches!(logical, Some(LogicalType::Decimal(_))) || converted == ConvertedType::DECIMAL;
        if decimal {
            return match physical {
                Type::INT32 | Type::INT64 => Self::Numeric(NumericEncoding::Decimal(column.type_scale())),
                // Longer decimals exceed 128 bits; common writers do not produce them.
                Type::FIXED_LEN_BYTE_ARRAY if column.type_length() <= 16 => {
                    Self::Numeric(NumericEncoding::Decimal(column.type_scale()))
                }
                _ => Self::Other("a decimal of variable length or over 128 bits"),
            };
        }
        match physical {
            Type::FLOAT => Self::Float32,
            Type::FIXED_LEN_BYTE_ARRAY if logical == Some(&LogicalType::Float16) => Self::Float32,
            Type::DOUBLE | Type::BOOLEAN => Self::Numeric(NumericEncoding::Plain),
            Type::INT32 | Type::INT64 => integer_type(logical, converted),
            Type::INT96 => Self::Other("a time"),
            Type::BYTE_ARRAY if is_text(logical, converted) => Self::Other("text"),
            Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => Self::Other("bytes"),
        }
    }
}

fn is_text(logical: Option<&LogicalType>, converted: ConvertedType) -> bool {
    use ConvertedType::{ENUM, JSON, UTF8};
    matches!(logical, Some(LogicalType::String | LogicalType::Enum | LogicalType::Json))
        || matches!(converted, UTF8 | ENUM | JSON)
}

fn integer_type(logical: Option<&LogicalType>, converted: ConvertedType) -> ColumnType {
    use ConvertedType::{
        DATE, TIME_MICROS, TIME_MILLIS, TIMESTAMP_MICROS, TIMESTAMP_MILLIS, UINT_8, UINT_16, UINT_32, UINT_64,
    };
    match (logical, converted) {
        (Some(LogicalType::Date), _) | (_, DATE) => ColumnType::Other("a date"),
        (Some(LogicalType::Time(_) | LogicalType::Timestamp(_)), _)
        | (_, TIME_MILLIS | TIME_MICROS | TIMESTAMP_MILLIS | TIMESTAMP_MICROS) => ColumnType::Other("a time"),
        (Some(LogicalType::Unknown), _) => ColumnType::Other("empty"),
        (Some(LogicalType::Integer(integer)), _) if !integer.is_signed => {
            ColumnType::Numeric(NumericEncoding::Unsigned)
        }
        (_, UINT_8 | UINT_16 | UINT_32 | UINT_64) => ColumnType::Numeric(NumericEncoding::Unsigned),
        _ => ColumnType::Numeric(NumericEncoding::Plain),
    }
}

/// The next cells of a column as numbers; a null becomes NaN.
pub(crate) fn numbers(reader: &mut ColumnReader, column_type: ColumnType, rows: usize) -> Result<Vec<f64>> {
    let encoding = match column_type {
        ColumnType::Numeric(encoding) => encoding,
        ColumnType::Float32 => NumericEncoding::Plain,
        ColumnType::Other(what) => {
            return Err(ParquetError::General(format!("a column of type {what} is not numeric")));
        }
    };
    let scaled = |integer: i128| match encoding {
        NumericEncoding::Decimal(scale) => integer as f64 / 10f64.powi(scale),
        _ => integer as f64,
    };
    let unsigned = encoding == NumericEncoding::Unsigned;
    let cells = match reader {
        ColumnReader::BoolColumnReader(r) => cells(r, rows, |&x| f64::from(u8::from(x))),
        ColumnReader::Int32ColumnReader(r) if unsigned => cells(r, rows, |&x| f64::from(x.cast_unsigned())),
        ColumnReader::Int64ColumnReader(r) if unsigned => cells(r, rows, |&x| x.cast_unsigned() as f64),
        ColumnReader::Int32ColumnReader(r) => cells(r, rows, |&x| scaled(x.into())),
        ColumnReader::Int64ColumnReader(r) => cells(r, rows, |&x| scaled(x.into())),
        ColumnReader::FloatColumnReader(r) => cells(r, rows, |&x| f64::from(x)),
        ColumnReader::DoubleColumnReader(r) => cells(r, rows, |&x| x),
        ColumnReader::FixedLenByteArrayColumnReader(r) if column_type == ColumnType::Float32 => {
            cells(r, rows, |x| x.data().try_into().map_or(f64::NAN, |bytes| half::f16::from_le_bytes(bytes).to_f64()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(r) => cells(r, rows, |x| scaled(big_endian(x.data()))),
        ColumnReader::ByteArrayColumnReader(_) | ColumnReader::Int96ColumnReader(_) => {
            Err(ParquetError::General("a column's type is not the one in the schema".to_string()))
        }
    }?;
    Ok(cells.into_iter().map(|cell| cell.unwrap_or(f64::NAN)).collect())
}

/// Largest total size in bytes of row names that are decoded at once.
const MAX_NAME_BYTES: usize = 64 << 20;

/// The next cells of a column as row names; a null has none.
pub(crate) fn names(reader: &mut ColumnReader, rows: usize) -> Result<Vec<Option<String>>> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match reader {
        ColumnReader::BoolColumnReader(r) => cells(r, rows, bool::to_string),
        ColumnReader::Int32ColumnReader(r) => cells(r, rows, i32::to_string),
        ColumnReader::Int64ColumnReader(r) => cells(r, rows, i64::to_string),
        ColumnReader::FloatColumnReader(r) => cells(r, rows, f32::to_string),
        ColumnReader::DoubleColumnReader(r) => cells(r, rows, f64::to_string),
        ColumnReader::ByteArrayColumnReader(r) => {
            // A dictionary repeats a long name for each row.
            let names = cells(r, rows, Clone::clone)?;
            let bytes: usize = names.iter().flatten().map(|name| name.data().len()).sum();
            if bytes > MAX_NAME_BYTES {
                let what = format!("{rows} row names take {bytes} bytes, more than the limit of {MAX_NAME_BYTES}");
                return Err(ParquetError::General(what));
            }
            Ok(names.into_iter().map(|name| name.map(|name| text(name.data()))).collect())
        }
        ColumnReader::FixedLenByteArrayColumnReader(r) => cells(r, rows, |x| text(x.data())),
        ColumnReader::Int96ColumnReader(r) => cells(r, rows, |x| x.to_nanos().to_string()),
    }
}

/// Skips the next cells of a column.
pub(crate) fn skip(reader: &mut ColumnReader, rows: usize) -> Result<()> {
    let skipped = match reader {
        ColumnReader::BoolColumnReader(r) => r.skip_records(rows),
        ColumnReader::Int32ColumnReader(r) => r.skip_records(rows),
        ColumnReader::Int64ColumnReader(r) => r.skip_records(rows),
        ColumnReader::Int96ColumnReader(r) => r.skip_records(rows),
        ColumnReader::FloatColumnReader(r) => r.skip_records(rows),
        ColumnReader::DoubleColumnReader(r) => r.skip_records(rows),
        ColumnReader::ByteArrayColumnReader(r) => r.skip_records(rows),
        ColumnReader::FixedLenByteArrayColumnReader(r) => r.skip_records(rows),
    }?;
    check_count(skipped, rows)
}

/// The next cells; a null is `None`.
fn cells<T: DataType, U>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    convert: impl Fn(&T::T) -> U,
) -> Result<Vec<Option<U>>> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (read, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    check_count(read, rows)?;
    if values.len() == rows {
        return Ok(values.iter().map(|value| Some(convert(value))).collect());
    }
    // Only flat columns are read: definition level 1 is a value, level 0 a null.
    let mut values = values.iter();
    Ok(levels.iter().map(|&level| if level > 0 { values.next().map(&convert) } else { None }).collect())
}

fn check_count(found: usize, rows: usize) -> Result<()> {
    match found == rows {
        true => Ok(()),
        false => Err(ParquetError::General(format!("a column has {} rows less than its row group", rows - found))),
    }
}

/// A signed big-endian integer of at most 16 bytes, as decimals are stored.
fn big_endian(bytes: &[u8]) -> i128 {
    let negative = bytes.first().is_some_and(|&first| first >= 0x80);
    bytes.iter().fold(if negative { -1 } else { 0 }, |integer, &byte| (integer << 8) | i128::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_any_length() {
        for integer in [0i128, 1, -1, 127, -128, 1 << 40, -(1 << 40), i128::MAX, i128::MIN] {
            assert_eq!(big_endian(&integer.to_be_bytes()), integer);
        }
        assert_eq!(big_endian(&[0xff, 0x38]), -200);
        assert_eq!(big_endian(&[0x00, 0xc8]), 200);
    }
}

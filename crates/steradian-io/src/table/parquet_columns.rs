//! Types of parquet columns, and their cells as numbers or names.

use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ColumnType {
    /// Numbers of at most single precision.
    Single,
    /// Other numbers, which are read in double precision.
    NumericEncoding(NumericEncoding),
    /// Something else, in a word for messages.
    Other(&'static str),
}

/// How a column's stored values are numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NumericEncoding {
    /// As they are.
    Plain,
    /// Bits of a whole number without sign.
    Unsigned,
    /// A whole number that is divided by this power of ten.
    Decimal(i32),
}

impl ColumnType {
    /// From the schema.
    pub(crate) fn of(column: &ColumnDescriptor) -> Self {
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return Self::Other("nested");
        }
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        let physical = column.physical_type();
        let decimal = matches!(logical, Some(LogicalType::Decimal(_))) || converted == ConvertedType::DECIMAL;
        if decimal {
            return match physical {
                Type::INT32 | Type::INT64 => Self::NumericEncoding(NumericEncoding::Decimal(column.type_scale())),
                // More bytes do not fit a whole number of 128 bits; no writer we know makes them.
                Type::FIXED_LEN_BYTE_ARRAY if column.type_length() <= 16 => {
                    Self::NumericEncoding(NumericEncoding::Decimal(column.type_scale()))
                }
                _ => Self::Other("a decimal of variable or great length"),
            };
        }
        match physical {
            Type::FLOAT => Self::Single,
            Type::FIXED_LEN_BYTE_ARRAY if logical == Some(&LogicalType::Float16) => Self::Single,
            Type::DOUBLE | Type::BOOLEAN => Self::NumericEncoding(NumericEncoding::Plain),
            Type::INT32 | Type::INT64 => whole(logical, converted),
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

fn whole(logical: Option<&LogicalType>, converted: ConvertedType) -> ColumnType {
    use ConvertedType::{
        DATE, TIME_MICROS, TIME_MILLIS, TIMESTAMP_MICROS, TIMESTAMP_MILLIS, UINT_8, UINT_16, UINT_32, UINT_64,
    };
    match (logical, converted) {
        (Some(LogicalType::Date), _) | (_, DATE) => ColumnType::Other("a date"),
        (Some(LogicalType::Time(_) | LogicalType::Timestamp(_)), _)
        | (_, TIME_MILLIS | TIME_MICROS | TIMESTAMP_MILLIS | TIMESTAMP_MICROS) => ColumnType::Other("a time"),
        (Some(LogicalType::Unknown), _) => ColumnType::Other("empty"),
        (Some(LogicalType::Integer(integer)), _) if !integer.is_signed => {
            ColumnType::NumericEncoding(NumericEncoding::Unsigned)
        }
        (_, UINT_8 | UINT_16 | UINT_32 | UINT_64) => ColumnType::NumericEncoding(NumericEncoding::Unsigned),
        _ => ColumnType::NumericEncoding(NumericEncoding::Plain),
    }
}

/// The next cells of a column as numbers; what is null is NaN.
pub(crate) fn numbers(reader: &mut ColumnReader, kind: ColumnType, rows: usize) -> Result<Vec<f64>> {
    let number = match kind {
        ColumnType::NumericEncoding(number) => number,
        ColumnType::Single => NumericEncoding::Plain,
        ColumnType::Other(what) => {
            return Err(ParquetError::General(format!("a column of {what} is not read as numbers")));
        }
    };
    let scaled = |whole: i128| match number {
        NumericEncoding::Decimal(scale) => whole as f64 / 10f64.powi(scale),
        _ => whole as f64,
    };
    let unsigned = number == NumericEncoding::Unsigned;
    let cells = match reader {
        ColumnReader::BoolColumnReader(r) => cells(r, rows, |&x| f64::from(u8::from(x))),
        ColumnReader::Int32ColumnReader(r) if unsigned => cells(r, rows, |&x| f64::from(x.cast_unsigned())),
        ColumnReader::Int64ColumnReader(r) if unsigned => cells(r, rows, |&x| x.cast_unsigned() as f64),
        ColumnReader::Int32ColumnReader(r) => cells(r, rows, |&x| scaled(x.into())),
        ColumnReader::Int64ColumnReader(r) => cells(r, rows, |&x| scaled(x.into())),
        ColumnReader::FloatColumnReader(r) => cells(r, rows, |&x| f64::from(x)),
        ColumnReader::DoubleColumnReader(r) => cells(r, rows, |&x| x),
        ColumnReader::FixedLenByteArrayColumnReader(r) if kind == ColumnType::Single => {
            cells(r, rows, |x| x.data().try_into().map_or(f64::NAN, |bytes| half::f16::from_le_bytes(bytes).to_f64()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(r) => cells(r, rows, |x| scaled(big_endian(x.data()))),
        ColumnReader::ByteArrayColumnReader(_) | ColumnReader::Int96ColumnReader(_) => {
            Err(ParquetError::General("a column's type is not the one in the schema".to_string()))
        }
    }?;
    Ok(cells.into_iter().map(|cell| cell.unwrap_or(f64::NAN)).collect())
}

/// The next cells of a column as names of rows; what is null has none.
pub(crate) fn names(reader: &mut ColumnReader, rows: usize) -> Result<Vec<Option<String>>> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match reader {
        ColumnReader::BoolColumnReader(r) => cells(r, rows, bool::to_string),
        ColumnReader::Int32ColumnReader(r) => cells(r, rows, i32::to_string),
        ColumnReader::Int64ColumnReader(r) => cells(r, rows, i64::to_string),
        ColumnReader::FloatColumnReader(r) => cells(r, rows, f32::to_string),
        ColumnReader::DoubleColumnReader(r) => cells(r, rows, f64::to_string),
        ColumnReader::ByteArrayColumnReader(r) => cells(r, rows, |x| text(x.data())),
        ColumnReader::FixedLenByteArrayColumnReader(r) => cells(r, rows, |x| text(x.data())),
        ColumnReader::Int96ColumnReader(r) => cells(r, rows, |x| x.to_nanos().to_string()),
    }
}

/// Leaves out the next cells of a column.
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
    complete(skipped, rows)
}

/// The next cells, none where null.
fn cells<T: DataType, U>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    convert: impl Fn(&T::T) -> U,
) -> Result<Vec<Option<U>>> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (read, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    complete(read, rows)?;
    if values.len() == rows {
        return Ok(values.iter().map(|value| Some(convert(value))).collect());
    }
    // Only flat columns are read, so a cell is there at level 1 and null at level 0.
    let mut values = values.iter();
    Ok(levels.iter().map(|&level| if level > 0 { values.next().map(&convert) } else { None }).collect())
}

fn complete(found: usize, rows: usize) -> Result<()> {
    match found == rows {
        true => Ok(()),
        false => Err(ParquetError::General(format!("a column ends {} rows early", rows - found))),
    }
}

/// A whole number with sign, as decimals store it; at most 16 bytes.
fn big_endian(bytes: &[u8]) -> i128 {
    let negative = bytes.first().is_some_and(|&first| first >= 0x80);
    bytes.iter().fold(if negative { -1 } else { 0 }, |whole, &byte| (whole << 8) | i128::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_any_length() {
        for whole in [0i128, 1, -1, 127, -128, 1 << 40, -(1 << 40), i128::MAX, i128::MIN] {
            assert_eq!(big_endian(&whole.to_be_bytes()), whole);
        }
        assert_eq!(big_endian(&[0xff, 0x38]), -200);
        assert_eq!(big_endian(&[0x00, 0xc8]), 200);
    }
}

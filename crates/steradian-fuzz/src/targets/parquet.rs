//! Parquet tables. The program does not write them; the seeds come from the library that it reads them with.

use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use steradian_io::ParquetSource;

use super::rows::{read_all, with_options};
use crate::dice::Dice;
use crate::mutate;
use crate::target::{TargetVerdict, Workplace};

const ROWS: usize = 9;

fn table(compression: Compression, dictionary: bool) -> Option<Vec<u8>> {
    let schema = "message t { REQUIRED DOUBLE d; REQUIRED FLOAT f; REQUIRED INT32 i; OPTIONAL INT64 l; }";
    let properties =
        WriterProperties::builder().set_compression(compression).set_dictionary_enabled(dictionary).build();
    let schema = Arc::new(parse_message_type(schema).ok()?);
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).ok()?;
    let numbers = || (0..ROWS).map(|i| (i * i % 7) as f64 + 0.5);
    for _ in 0..2 {
        let mut group = file.next_row_group().ok()?;
        let mut column = group.next_column().ok()??;
        column.typed::<DoubleType>().write_batch(&numbers().collect::<Vec<_>>(), None, None).ok()?;
        column.close().ok()?;
        let mut column = group.next_column().ok()??;
        let single: Vec<f32> = numbers().map(|x| x as f32).collect();
        column.typed::<FloatType>().write_batch(&single, None, None).ok()?;
        column.close().ok()?;
        let mut column = group.next_column().ok()??;
        let short: Vec<i32> = numbers().map(|x| x as i32).collect();
        column.typed::<Int32Type>().write_batch(&short, None, None).ok()?;
        column.close().ok()?;
        let mut column = group.next_column().ok()??;
        let long: Vec<i64> = numbers().map(|x| x as i64).collect();
        column.typed::<Int64Type>().write_batch(&long, Some(&[1; ROWS]), None).ok()?;
        column.close().ok()?;
        group.close().ok()?;
    }
    file.close().ok()?;
    Some(bytes)
}

pub fn seeds() -> Vec<(String, Vec<u8>)> {
    let kinds = [
        ("plain", Compression::UNCOMPRESSED, false),
        ("dictionary", Compression::UNCOMPRESSED, true),
        ("snappy", Compression::SNAPPY, false),
        ("zstd", Compression::ZSTD(ZstdLevel::default()), true),
        ("gzip", Compression::GZIP(Default::default()), false),
        ("lz4", Compression::LZ4_RAW, false),
    ];
    kinds
        .into_iter()
        .filter_map(|(name, kind, dictionary)| Some((format!("{name}.parquet"), table(kind, dictionary)?)))
        .collect()
}

pub fn mutate(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = mutate::start_from(dice, inputs);
    let length = input.len();
    let footer = length.checked_sub(8).and_then(|at| Some(u32::from_le_bytes(input.get(at..at + 4)?.try_into().ok()?)));
    let start = footer.and_then(|footer| (length - 8).checked_sub(footer as usize));
    match (dice.below(4), start) {
        (0, _) | (_, None) => mutate::bytes(dice, &mut input, 0),
        (1, Some(start)) if start > 0 => {
            // Pages and their headers, with the footer in place: the length of the pages does not change.
            let mut pages = input[..start].to_vec();
            for _ in 0..1 + dice.below(3) {
                let at = dice.below(start);
                match dice.below(3) {
                    0 => pages[at] = dice.roll() as u8,
                    1 => mutate::overwrite(&mut pages, at, &mutate::varint(dice.pick(&mutate::NUMBERS))),
                    _ => pages[at] ^= 1 << dice.below(8),
                }
            }
            input[..start].copy_from_slice(&pages);
        }
        (_, Some(start)) => {
            // The footer, with its length in place.
            let mut footer = input[start..length - 8].to_vec();
            mutate::bytes(dice, &mut footer, 0);
            input.truncate(start);
            input.extend_from_slice(&footer);
            input.extend((footer.len() as u32).to_le_bytes());
            input.extend(b"PAR1");
        }
    }
    input
}

pub fn run(place: &Workplace, input: &[u8]) -> TargetVerdict {
    let path = place.file("input.parquet", input);
    with_options(|options| ParquetSource::open(&path, options).and_then(|source| read_all(&source)))
}

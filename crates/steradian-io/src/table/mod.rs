//! Tables as streamed sources: text (CSV) and parquet.

#[cfg(feature = "csv")]
pub(crate) mod cell;
#[cfg(any(feature = "csv", feature = "parquet"))]
pub(crate) mod columns;
#[cfg(feature = "csv")]
pub(crate) mod csv;
#[cfg(feature = "csv")]
pub(crate) mod csv_layout;
#[cfg(feature = "csv")]
pub(crate) mod csv_records;
#[cfg(feature = "parquet")]
pub(crate) mod decode_cache;
#[cfg(feature = "csv")]
pub(crate) mod first_row;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
#[cfg(feature = "parquet")]
pub(crate) mod parquet_columns;
#[cfg(feature = "parquet")]
pub(crate) mod parquet_file;
#[cfg(feature = "parquet")]
pub(crate) mod parquet_pages;
#[cfg(feature = "parquet")]
pub(crate) mod parquet_schema;
pub(crate) mod table_options;
#[cfg(any(feature = "csv", feature = "parquet"))]
pub(crate) mod table_rows;

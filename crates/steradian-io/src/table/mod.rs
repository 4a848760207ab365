//! Tables as streamed sources: text (CSV) and parquet.

pub(crate) mod cell;
pub(crate) mod columns;
pub(crate) mod csv;
pub(crate) mod csv_layout;
pub(crate) mod csv_records;
pub(crate) mod decode_cache;
pub(crate) mod kept_rows;
pub(crate) mod parquet;
pub(crate) mod parquet_columns;
pub(crate) mod parquet_file;
pub(crate) mod table_options;

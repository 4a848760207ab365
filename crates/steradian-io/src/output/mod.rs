//! Output files and folders: the check before, atomic writes, and checkpoints.

pub(crate) mod atomic_file;
pub(crate) mod check_outputs;
pub(crate) mod checkpoint;
pub(crate) mod commit;
pub(crate) mod created_folders;
pub(crate) mod marker;
pub(crate) mod output_folder;
pub(crate) mod record;
#[cfg(any(feature = "csv", feature = "parquet"))]
pub(crate) mod table_writer;
pub(crate) mod temporary;
pub(crate) mod write;

/// Removes the temporary files and folders of this process. Call it before the process ends without unwinding, as after a
/// signal; outputs that are being written cannot be finished afterwards.
pub fn remove_temporary_files() {
    temporary::remove_all();
    created_folders::remove_empty();
}

/// Waits for the end of the process if another thread has called [`remove_temporary_files`], and returns at once otherwise.
/// Call it before errors are reported: they may be about the removed files.
pub fn wait_if_ending() {
    temporary::wait_if_ending();
}

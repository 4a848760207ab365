//! The check for the program that tests of video need.

/// True if the program ffmpeg is installed; otherwise prints that the test is skipped.
pub fn is_available(test: &str) -> bool {
    let available = steradian_io::MovieWriter::available().unwrap();
    if !available {
        println!("skipped: {test} requires the program ffmpeg (make ffmpeg installs it)");
    }
    available
}

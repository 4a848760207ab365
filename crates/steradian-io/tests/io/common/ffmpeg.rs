//! Whether tests of video can run here.

/// Whether video can be made and read; says which test skips where it cannot.
pub fn is_there(test: &str) -> bool {
    let there = steradian_io::MovieWriter::available();
    if !there {
        println!("skipped: {test} needs the program ffmpeg (make ffmpeg installs it)");
    }
    there
}

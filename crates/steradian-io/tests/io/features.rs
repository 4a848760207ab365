//! Files of a format that a build does not include: the error names the feature.

use std::path::PathBuf;

use steradian::Error;
use steradian_io::{Clip, ClipOptions, TableOptions, open};

use crate::common::{Folder, npy, numbers};

/// Files and folders, the required feature of each, and true if this build has it.
fn cases(folder: &Folder) -> Vec<(PathBuf, &'static str, bool)> {
    let images = folder.path().join("images");
    std::fs::create_dir(&images).unwrap();
    std::fs::write(images.join("1.png"), b"no image").unwrap();
    vec![
        (folder.file("t.csv", "a,b\n1,2\n"), "csv", cfg!(feature = "csv")),
        (folder.file("t.parquet", b"PAR1\0\0\0\0"), "parquet", cfg!(feature = "parquet")),
        (images, "images", cfg!(feature = "images")),
        (folder.file("a.gif", b"GIF89a\0\0\0\0"), "images", cfg!(feature = "images")),
        (folder.file("a.mkv", b"\x1a\x45\xdf\xa3\0\0\0\0"), "video", cfg!(feature = "video")),
    ]
}

fn names_feature(error: &Error, feature: &str) -> bool {
    error.to_string().contains(&format!("requires the feature `{feature}` of steradian-io"))
}

#[test]
fn a_file_that_needs_an_absent_feature_names_it() {
    let folder = Folder::new();
    for (path, feature, present) in cases(&folder) {
        let opened = open(&path, &TableOptions::default());
        match &opened {
            Err(error) if !present => {
                assert!(matches!(error, Error::InvalidData(_)) && names_feature(error, feature), "{error}");
                assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
                assert!(error.to_string().contains(".npy"), "{error}");
            }
            // All files but the table are corrupt, which only their readers detect.
            Err(error) => assert!(feature != "csv" && !names_feature(error, feature), "{error}"),
            Ok(_) => assert!(present && feature == "csv", "{}", path.display()),
        }
    }
}

#[test]
fn a_clip_that_needs_an_absent_feature_names_it() {
    let folder = Folder::new();
    for (path, feature, present) in cases(&folder) {
        if feature == "images" || feature == "video" {
            let error = Clip::open(&path, &ClipOptions::default()).unwrap_err();
            assert_eq!(names_feature(&error, feature), !present, "{error}");
        }
    }
    // A single image is not a clip, with or without a decoder for it.
    for (name, bytes) in
        [("a.png", &b"\x89PNG\r\n\x1a\n\0"[..]), ("a.jpg", b"\xff\xd8\xff\xe0"), ("a.pgm", b"P5 2 2 255\n")]
    {
        let error = Clip::open(folder.file(name, bytes), &ClipOptions::default()).unwrap_err();
        assert!(matches!(error, Error::InvalidData(_)) && error.to_string().contains("got a single image"), "{error}");
    }
}

#[test]
fn arrays_need_no_feature() {
    let folder = Folder::new();
    let path = folder.file("a.npy", npy("|u1", false, &[2, 1, 2], &[1, 2, 3, 4]));
    assert_eq!(numbers(&open(&path, &TableOptions::default()).unwrap(), 1).unwrap(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(numbers(&Clip::open(&path, &ClipOptions::default()).unwrap(), 1).unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

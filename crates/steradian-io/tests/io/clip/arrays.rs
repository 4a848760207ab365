//! Clips in `.npy` arrays, which need no codec.

use steradian::Error;
use steradian_io::{Clip, ClipOptions};

use super::{HEIGHT, PIXELS, WIDTH, bytes, frames, open, open_error};
use crate::common::{Folder, npy};

#[test]
fn an_array_is_read_in_place_and_frames_are_selected() {
    let (folder, data) = (Folder::new(), frames(9));
    let path = folder.file("clip.npy", npy("|u1", false, &[9, HEIGHT, WIDTH], &data));
    let whole = open(&path).unwrap();
    assert_eq!((bytes(&whole), whole.temporary_bytes()), (data.clone(), 0));
    let range = ClipOptions { start: 2, end: Some(7), ..ClipOptions::default() };
    let part = Clip::open(&path, &range).unwrap();
    assert_eq!(bytes(&part), data[2 * PIXELS..7 * PIXELS]);
    assert_eq!((part.number(0), part.temporary_bytes()), (2, 0));
    let sparse = Clip::open(&path, &ClipOptions { stride: 2, ..range }).unwrap();
    assert_eq!((0..3).map(|i| sparse.number(i)).collect::<Vec<_>>(), [2, 4, 6]);
    let expected: Vec<u8> = [2, 4, 6].iter().flat_map(|&i| data[i * PIXELS..(i + 1) * PIXELS].to_vec()).collect();
    assert_eq!(bytes(&sparse), expected);
    let small = Clip::open(&path, &ClipOptions { resize: 1.0 / 3.0, ..ClipOptions::default() }).unwrap();
    assert_eq!(small.dimensions(), (7, 11));
    let mean = |bytes: &[u8]| bytes.iter().map(|&x| f64::from(x)).sum::<f64>() / bytes.len() as f64;
    assert!((mean(&bytes(&small)) - mean(&data)).abs() < 0.1);
}

#[test]
fn an_array_that_is_not_a_clip_is_rejected() {
    let arrays = Folder::new();
    let float = arrays.file("f.npy", npy("<f4", false, &[2, 2, 2], &[0; 32]));
    assert!(open_error(&float, &ClipOptions::default()).to_string().contains("astype('uint8')"));
    let flat = arrays.file("2d.npy", npy("|u1", false, &[4, 4], &[0; 16]));
    assert!(open_error(&flat, &ClipOptions::default()).to_string().contains("got (4, 4) of uint8"));
    let clip = arrays.file("clip.npy", npy("|u1", false, &[4, 2, 2], &[0; 16]));
    let default = ClipOptions::default();
    for (options, name, words) in [
        (ClipOptions { start: 4, ..default.clone() }, "start", "start frame 4 is outside the clip, which has 4 frames"),
        (ClipOptions { end: Some(5), ..default.clone() }, "end", "end frame 5 exceeds the clip, which has 4 frames"),
        (ClipOptions { start: 2, end: Some(2), ..default.clone() }, "end", "empty frame range 2..2 (end is exclusive)"),
        (ClipOptions { stride: 0, ..default.clone() }, "stride", "stride must be at least 1, got 0"),
        (ClipOptions { resize: 1.5, ..default }, "resize", "resize factor must be in (0, 1], got 1.5"),
    ] {
        let error = open_error(&clip, &options);
        assert!(matches!(error, Error::InvalidArgument { parameter, .. } if parameter == Some(name)), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(matches!(open_error(&arrays.path().join("none.mp4"), &ClipOptions::default()), Error::Io { .. }));
}

#[test]
fn an_array_has_no_colors() {
    let folder = Folder::new();
    let array = folder.file("clip.npy", npy("|u1", false, &[1, HEIGHT, WIDTH], &frames(1)));
    let in_color = ClipOptions { color: true, ..ClipOptions::default() };
    let error = open_error(&array, &in_color);
    assert!(matches!(error, Error::InvalidArgument { parameter: Some("color"), .. }), "{error:?}");
    assert!(error.to_string().contains("gray levels only"), "{error}");
}

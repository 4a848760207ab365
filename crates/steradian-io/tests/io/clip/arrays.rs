//! Clips in `.npy` arrays, which need no codec.

use steradian::Error;
use steradian_io::{Clip, ClipOptions};

use super::{HEIGHT, PIXELS, WIDTH, bytes, frames, open, refused};
use crate::common::{Folder, npy};

#[test]
fn an_array_is_read_in_place_and_frames_are_chosen() {
    let (folder, data) = (Folder::new(), frames(9));
    let path = folder.file("clip.npy", npy("|u1", false, &[9, HEIGHT, WIDTH], &data));
    let whole = open(&path).unwrap();
    assert_eq!((bytes(&whole), whole.temporary_bytes()), (data.clone(), 0));
    let some = ClipOptions { from: 2, to: Some(7), ..ClipOptions::default() };
    let part = Clip::open(&path, &some).unwrap();
    assert_eq!(bytes(&part), data[2 * PIXELS..7 * PIXELS]);
    assert_eq!((part.number(0), part.temporary_bytes()), (2, 0));
    let sparse = Clip::open(&path, &ClipOptions { every: 2, ..some }).unwrap();
    assert_eq!((0..3).map(|i| sparse.number(i)).collect::<Vec<_>>(), [2, 4, 6]);
    let wanted: Vec<u8> = [2, 4, 6].iter().flat_map(|&i| data[i * PIXELS..(i + 1) * PIXELS].to_vec()).collect();
    assert_eq!(bytes(&sparse), wanted);
    let small = Clip::open(&path, &ClipOptions { scale: 1.0 / 3.0, ..ClipOptions::default() }).unwrap();
    assert_eq!(small.size(), (7, 11));
    let mean = |bytes: &[u8]| bytes.iter().map(|&x| f64::from(x)).sum::<f64>() / bytes.len() as f64;
    assert!((mean(&bytes(&small)) - mean(&data)).abs() < 0.1);
}

#[test]
fn an_array_that_cannot_be_a_clip_is_refused() {
    let arrays = Folder::new();
    let float = arrays.file("f.npy", npy("<f4", false, &[2, 2, 2], &[0; 32]));
    assert!(refused(&float, &ClipOptions::default()).to_string().contains("astype('uint8')"));
    let flat = arrays.file("2d.npy", npy("|u1", false, &[4, 4], &[0; 16]));
    assert!(refused(&flat, &ClipOptions::default()).to_string().contains("without an image size"));
    let clip = arrays.file("clip.npy", npy("|u1", false, &[4, 2, 2], &[0; 16]));
    for (options, words) in [
        (ClipOptions { from: 4, ..ClipOptions::default() }, "--from 4 lies outside the clip, which has 4 frames"),
        (ClipOptions { to: Some(5), ..ClipOptions::default() }, "--to 5 lies outside the clip"),
        (ClipOptions { from: 2, to: Some(2), ..ClipOptions::default() }, "holds no frame"),
        (ClipOptions { every: 0, ..ClipOptions::default() }, "--every 0"),
        (ClipOptions { scale: 1.5, ..ClipOptions::default() }, "--scale 1.5"),
    ] {
        let error = refused(&clip, &options);
        assert!(matches!(error, Error::InvalidArgument { .. }) && error.to_string().contains(words), "{error}");
    }
    assert!(matches!(refused(&arrays.path().join("none.mp4"), &ClipOptions::default()), Error::Io { .. }));
}

#[test]
fn an_array_has_no_colours() {
    let folder = Folder::new();
    let array = folder.file("clip.npy", npy("|u1", false, &[1, HEIGHT, WIDTH], &frames(1)));
    let in_color = ClipOptions { color: true, ..ClipOptions::default() };
    assert!(refused(&array, &in_color).to_string().contains("leave --color out"));
}

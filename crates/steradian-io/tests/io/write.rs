//! Atomic writes: complete or absent outputs, permissions, links, and errors.

use std::io::Write;

#[cfg(feature = "csv")]
use steradian::Matrix;
use steradian::data::ElementType;
use steradian::{Error, Source};
use steradian_io::{AtomicFile, NpySource, NpyWriter, commit, stage_file, write_atomic};
#[cfg(feature = "csv")]
use steradian_io::{CsvSource, TableOptions, write_csv};

use crate::common::{Folder, npy};

fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn arrays_have_the_bytes_that_numpy_writes() {
    let folder = Folder::new();
    let path = folder.path().join("a.npy");
    for (shape, length) in [(&[6][..], 6), (&[2, 3], 6), (&[2, 1, 3], 6), (&[100_000_000, 0], 0)] {
        let mut writer = NpyWriter::create(&path, ElementType::F32, shape).unwrap();
        writer.write(&vec![1.5f32; length]).unwrap();
        writer.finish().unwrap();
        let data: Vec<u8> = std::iter::repeat_n(1.5f32.to_le_bytes(), length).flatten().collect();
        assert_eq!(std::fs::read(&path).unwrap(), npy("<f4", false, shape, &data));
    }
    assert_eq!(names(&folder), ["a.npy"]);
}

#[test]
fn numbers_are_rounded_to_the_element_type() {
    let folder = Folder::new();
    let path = folder.path().join("a.npy");
    let numbers = [0.1, 1.5, -3.0, 70_000.0];
    for (element, expected) in [
        (ElementType::U8, [0.0, 2.0, 0.0, 255.0]),
        (ElementType::U16, [0.0, 2.0, 0.0, 65_535.0]),
        (ElementType::F32, [f64::from(0.1f32), 1.5, -3.0, 70_000.0]),
        (ElementType::F64, numbers),
    ] {
        let mut writer = NpyWriter::create(&path, element, &[2, 2]).unwrap();
        writer.write(&numbers).unwrap();
        writer.finish().unwrap();
        let source = NpySource::open(&path).unwrap();
        assert_eq!(source.shape().element, element);
        assert_eq!(crate::common::numbers(&source, 2).unwrap(), expected);
    }
}

#[test]
fn an_unfinished_output_leaves_no_file() {
    let folder = Folder::new();
    let path = folder.file("a.npy", b"old");
    let mut writer = NpyWriter::create(&path, ElementType::F64, &[3, 2]).unwrap();
    writer.write(&[1.0, 2.0]).unwrap();
    assert!(matches!(writer.write(&[1.0]), Err(Error::InvalidArgument { .. })));
    assert!(matches!(writer.write(&[1.0; 6]), Err(Error::InvalidArgument { .. })));
    let message = writer.finish().unwrap_err().to_string();
    assert!(message.contains("a.npy: the array is incomplete, 1 of 3 rows were written"), "{message}");
    drop(NpyWriter::create(folder.path().join("b.npy"), ElementType::U8, &[3, 2]).unwrap());
    assert_eq!(names(&folder), ["a.npy"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

#[test]
fn errors_name_paths_that_cannot_be_written() {
    let folder = Folder::new();
    for path in [folder.path().join("none/a.npy"), folder.path().to_path_buf()] {
        let error = write_atomic(&path, b"x").unwrap_err();
        assert!(matches!(error, Error::Io { .. }));
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
        assert!(!error.to_string().contains(".part"), "{error}");
    }
    #[cfg(unix)]
    assert!(write_atomic("/dev/null", b"x").unwrap_err().to_string().contains("a device or a pipe"));
    for shape in [&[][..], &[usize::MAX, 2]] {
        let writer = NpyWriter::create(folder.path().join("a"), ElementType::U8, shape);
        assert!(matches!(writer, Err(Error::InvalidArgument { .. })));
    }
    assert!(names(&folder).is_empty());
}

#[cfg(unix)]
#[test]
fn permissions_are_those_of_a_new_file_and_links_remain() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    folder.file("plain", b"");
    write_atomic(folder.path().join("atomic"), b"x").unwrap();
    assert_eq!(mode("atomic"), mode("plain"));

    std::os::unix::fs::symlink(folder.path().join("plain"), folder.path().join("link")).unwrap();
    write_atomic(folder.path().join("link"), b"through").unwrap();
    assert!(folder.path().join("link").is_symlink());
    assert_eq!(std::fs::read(folder.path().join("plain")).unwrap(), b"through");
}

#[test]
fn files_that_belong_together_are_put_into_place_together() {
    let folder = Folder::new();
    let stage = |name: &str| stage_file(folder.path().join(name), name.as_bytes()).unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    folder.file("old", "before");
    folder.file("last", "before");
    let files = vec![stage("old"), stage("new"), stage("blocked"), stage("last")];
    // The third file cannot be put into place: those before it are taken back.
    std::fs::create_dir(folder.path().join("blocked")).unwrap();
    let error = commit(files).unwrap_err();
    assert!(matches!(&error, Error::Io { path, .. } if path.ends_with("blocked")), "{error}");
    assert_eq!(names(&folder), ["blocked", "last", "old"]);
    assert_eq!((read("old").as_str(), read("last").as_str()), ("before", "before"));
    commit(vec![stage("old"), stage("new"), stage("last")]).unwrap();
    assert_eq!(names(&folder), ["blocked", "last", "new", "old"]);
    assert_eq!((read("old").as_str(), read("new").as_str(), read("last").as_str()), ("old", "new", "last"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_being_written_has_no_name() {
    let folder = Folder::new();
    let mut file = AtomicFile::create(folder.path().join("m")).unwrap();
    file.append(&[0; 1 << 20]).unwrap();
    file.complete().unwrap();
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
    file.finish().unwrap();
    assert_eq!(names(&folder), ["m"]);
}

#[test]
fn two_writers_of_one_file_do_not_disturb_each_other() {
    let folder = Folder::new();
    let path = folder.path().join("m");
    std::thread::scope(|threads| {
        for writer in 0..8u8 {
            let path = &path;
            threads.spawn(move || {
                for _ in 0..20 {
                    write_atomic(path, &[writer; 5000]).unwrap();
                    let read = std::fs::read(path).unwrap();
                    assert!(read.len() == 5000 && read.iter().all(|byte| *byte == read[0]), "a mixed file");
                }
            });
        }
    });
    assert_eq!(names(&folder), ["m"]);
}

#[test]
fn replacing_a_mapped_file_does_not_affect_its_readers() {
    let folder = Folder::new();
    let path = folder.file("a.npy", npy("|u1", false, &[2, 1], &[1, 2]));
    let source = NpySource::open(&path).unwrap();
    write_atomic(&path, b"x").unwrap();
    assert_eq!(crate::common::numbers(&source, 1).unwrap(), [1.0, 2.0]);
}

#[cfg(feature = "csv")]
#[test]
fn tables_are_read_back_unchanged() {
    let folder = Folder::new();
    let path = folder.path().join("t.csv");
    let header = ["plain".to_string(), "with, comma".to_string(), "with \"quote\"".to_string()];
    let numbers = [1.0, -0.1, 1e300, 5e-324, 0.30000000000000004, -7.0];
    write_csv(&path, Some(&header), &Matrix::from_vec(2, 3, numbers.to_vec())).unwrap();
    let source = CsvSource::open(&path, &TableOptions::default()).unwrap();
    assert_eq!(source.feature_names().unwrap(), header);
    assert_eq!(crate::common::numbers(&source, 1).unwrap(), numbers);
    let tall = Matrix::from_vec(3, 2, numbers.to_vec());
    write_csv(&path, None, &tall).unwrap();
    let source = CsvSource::open(&path, &TableOptions::default()).unwrap();
    assert_eq!((source.shape().samples, source.feature_names()), (3, None));
    assert!(matches!(write_csv(&path, Some(&header), &tall), Err(Error::InvalidArgument { .. })));
}

#[test]
fn an_atomic_file_is_a_writer() {
    let folder = Folder::new();
    let path = folder.path().join("flags.csv");
    let mut file = AtomicFile::create(&path).unwrap();
    writeln!(file, "sample,flag").unwrap();
    file.append(b"0,regular\n").unwrap();
    assert!(!path.exists());
    file.finish().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"sample,flag\n0,regular\n");
}

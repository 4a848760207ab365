//! Output folders: put into place as a whole, and restored after a kill at any moment.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use steradian::Error;
use steradian_io::{MARKER, OutputFolder, OutputPath, check_outputs};

use crate::common::Folder;

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Writes a folder with one file of this content.
fn write(path: &Path, content: &str) {
    let folder = OutputFolder::create(path).unwrap();
    folder.write("part/file", content.as_bytes()).unwrap();
    folder.finish().unwrap();
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path.join("part/file")).unwrap()
}

#[test]
fn a_folder_is_replaced_as_a_whole() {
    let root = Folder::new();
    let path = root.path().join("deep/out");
    let staged = OutputFolder::create(&path).unwrap();
    staged.write("other", b"1").unwrap();
    drop(staged);
    assert!(names(root.path()).is_empty(), "nothing is left of an unfinished folder");
    for content in ["first", "second"] {
        write(&path, content);
        assert_eq!((read(&path).as_str(), names(&path)), (content, vec![MARKER.to_owned(), "part".to_owned()]));
        assert_eq!(names(&root.path().join("deep")), ["out"]);
    }
    // A file of the user that appears while the folder is written is kept.
    let staged = OutputFolder::create(&path).unwrap();
    staged.write("part/file", b"third").unwrap();
    std::fs::write(path.join("mine"), "x").unwrap();
    assert!(matches!(staged.finish(), Err(Error::InvalidArgument { .. })));
    assert_eq!((read(&path).as_str(), names(&root.path().join("deep"))), ("second", vec!["out".to_owned()]));
}

/// The names beside a folder that this program uses for it.
fn own_names(path: &Path) -> [PathBuf; 2] {
    let checksum = crc32fast::hash(path.file_name().unwrap().as_encoded_bytes());
    ["part", "old"].map(|ending| path.with_file_name(format!(".steradian-{checksum:08x}-0.{ending}")))
}

#[test]
fn every_state_that_a_kill_leaves_is_restored() {
    // Which of the folder, its temporary name and the name aside exist, and what the folder then is.
    for (folder, temporary, aside, expected) in [
        (Some("old"), Some("incomplete"), None, "old"),
        (Some("new"), Some("old"), None, "new"),
        (None, Some("new"), Some("old"), "old"),
        (Some("new"), None, Some("old"), "new"),
    ] {
        let root = Folder::new();
        let path = root.path().join("out");
        let [part, old] = own_names(&path);
        for (name, content) in [(&part, temporary), (&old, aside), (&path, folder)] {
            if let Some(content) = content {
                write(&root.path().join("made"), content);
                std::fs::rename(root.path().join("made"), name).unwrap();
            }
        }
        OutputFolder::check(&path).unwrap();
        assert_eq!(read(&path), expected, "{folder:?} {temporary:?} {aside:?}");
        write(&path, "next");
        assert_eq!((read(&path).as_str(), names(root.path())), ("next", vec!["out".to_owned()]));
    }
}

fn is_rejected(inputs: &[&Path], outputs: &[OutputPath<'_>]) -> bool {
    matches!(check_outputs(inputs, outputs), Err(Error::InvalidArgument { .. }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Two spellings of one path are one file, however the path is written and whether or not it exists.
    #[cfg(unix)]
    #[test]
    fn every_spelling_of_a_path_is_the_same_file(
        steps in proptest::collection::vec(0usize..5, 0..6),
        exists in any::<bool>(),
        linked in any::<bool>(),
    ) {
        let root = Folder::new();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("..", root.path().join("a/up")).unwrap();
        std::os::unix::fs::symlink(root.path(), root.path().join("a/b/top")).unwrap();
        let target = root.path().join("x.npy");
        if exists {
            std::fs::write(&target, "x").unwrap();
        }
        let mut spelled = root.path().to_path_buf();
        for step in steps {
            spelled.push(["a/up", ".", "a/b/../..", "a/b/top", "a/b/top/a/up"][step]);
        }
        spelled.push("x.npy");
        if linked {
            std::os::unix::fs::symlink(&spelled, root.path().join("link")).unwrap();
            spelled = root.path().join("link");
        }
        for (input, output) in [(&target, &spelled), (&spelled, &target)] {
            prop_assert!(is_rejected(&[input], &[OutputPath::File(output)]), "{input:?} {output:?}");
            prop_assert!(is_rejected(&[], &[OutputPath::File(input), OutputPath::File(output)]));
            prop_assert!(is_rejected(&[input], &[OutputPath::Folder(root.path())]));
        }
        let other = root.path().join("a/b/top/y.npy");
        prop_assert!(check_outputs(&[&spelled], &[OutputPath::File(&other)]).is_ok());
        prop_assert_eq!(other.exists(), false);
        prop_assert_eq!(target.exists(), exists);
    }
}

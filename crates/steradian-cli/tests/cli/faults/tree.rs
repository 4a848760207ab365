//! A folder with all its content, in memory, for comparisons.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Folder,
    File { mode: u32, bytes: Vec<u8> },
    Other,
}

/// Files and folders below a folder, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// Reads everything below a folder.
    pub fn read(folder: &Path) -> Self {
        let mut tree = Self::default();
        tree.add(folder, "");
        tree
    }

    fn add(&mut self, folder: &Path, prefix: &str) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.metadata().unwrap());
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let mode = kind.permissions().mode() & 0o777;
            if kind.is_dir() {
                self.add(&path, &format!("{name}/"));
                self.0.insert(name, Entry::Folder);
            } else if kind.is_file() {
                self.0.insert(name, Entry::File { mode, bytes: std::fs::read(path).unwrap() });
            } else {
                self.0.insert(name, Entry::Other);
            }
        }
    }

    /// Makes this the content of a folder, which need not exist.
    pub fn write(&self, folder: &Path) {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).unwrap();
        for (name, entry) in &self.0 {
            let path = folder.join(name);
            match entry {
                Entry::Folder => std::fs::create_dir(path).unwrap(),
                Entry::File { mode, bytes } => {
                    std::fs::write(&path, bytes).unwrap();
                    std::fs::set_permissions(path, std::fs::Permissions::from_mode(*mode)).unwrap();
                }
                Entry::Other => panic!("{name} cannot be restored"),
            }
        }
    }

    /// The tree with a line added to its pages, as a former result of a command without inputs.
    pub fn with_changed_pages(&self) -> Self {
        let mut tree = self.clone();
        for (name, entry) in &mut tree.0 {
            if let (Entry::File { bytes, .. }, true) = (entry, name.ends_with(".html") || name.ends_with(".1")) {
                bytes.extend(b"former\n");
            }
        }
        tree
    }

    /// Paths of all entries.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Removes an entry and everything below it.
    pub fn remove(&mut self, path: &str) {
        self.0.retain(|name, _| !is_within(name, path));
    }

    /// The entry at a path, with everything below it.
    pub fn within(&self, path: &str) -> Self {
        Self(self.0.iter().filter(|(name, _)| is_within(name, path)).map(|(a, b)| (a.clone(), b.clone())).collect())
    }

    /// The first entry that is neither that of one tree nor that of another, each entry by itself.
    pub fn mixed(&self, old: &Tree, new: &Tree) -> Option<String> {
        let mut names = self.paths().chain(old.paths()).chain(new.paths());
        let same = |name: &str, other: &Tree| {
            let [a, b] = [self, other].map(|tree| tree.0.get(name).map(|entry| comparable(name, entry)));
            a == b
        };
        names.find(|name| !same(name, old) && !same(name, new)).map(|name| format!("{name} is neither old nor new"))
    }

    /// The entries that neither of two trees has, each without those below it.
    pub fn outside<'a>(&'a self, a: &Tree, b: &Tree) -> Vec<&'a str> {
        let mut found: Vec<&str> = Vec::new();
        for name in self.paths().filter(|&name| !a.0.contains_key(name) && !b.0.contains_key(name)) {
            if !found.iter().any(|above| is_within(name, above)) {
                found.push(name);
            }
        }
        found
    }

    /// The first difference from another tree, without regard to times that a command measures.
    pub fn difference(&self, other: &Tree) -> Option<String> {
        if let Some(name) = self.paths().find(|&name| !other.0.contains_key(name)) {
            return Some(format!("{name} should not exist"));
        }
        other.0.iter().find_map(|(name, expected)| {
            let found = self.0.get(name).map(|entry| comparable(name, entry));
            let Some(found) = found else { return Some(format!("{name} is missing")) };
            (found != comparable(name, expected)).then(|| format!("{name} differs: {}", sizes(&self.0[name], expected)))
        })
    }
}

fn is_within(name: &str, path: &str) -> bool {
    name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn sizes(found: &Entry, expected: &Entry) -> String {
    let text = |entry: &Entry| match entry {
        Entry::File { mode, bytes } => format!("{} bytes, mode {mode:o}", bytes.len()),
        other => format!("{other:?}"),
    };
    format!("{}, expected {}", text(found), text(expected))
}

/// An entry in which the numbers of files with measured times are replaced.
fn comparable(name: &str, entry: &Entry) -> Entry {
    match entry {
        Entry::File { mode, bytes }
            if ["summary.json", "report.html", "methods.json"].iter().any(|end| name.ends_with(end)) =>
        {
            Entry::File { mode: *mode, bytes: without_numbers(bytes) }
        }
        other => other.clone(),
    }
}

/// The text with every number replaced by one sign.
pub fn without_numbers(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut inside = false;
    for &byte in bytes {
        let digit = byte.is_ascii_digit() || (inside && matches!(byte, b'.' | b'e' | b'-' | b'+'));
        if !digit {
            text.push(byte);
        } else if !inside {
            text.push(b'#');
        }
        inside = digit;
    }
    text
}

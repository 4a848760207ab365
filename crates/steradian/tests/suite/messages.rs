//! Messages of the libraries name no option of a program: the command line and the Python package add their own names.

use std::path::{Path, PathBuf};

/// The crates whose messages are those of a library.
const LIBRARIES: [&str; 4] = ["steradian", "steradian-io", "steradian-clips", "steradian-baselines"];

/// All Rust files of a folder and its subfolders.
fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The string literals of Rust code with their line numbers, from 1. Comments and character literals are skipped.
fn string_literals(code: &str) -> Vec<(usize, &str)> {
    let bytes = code.as_bytes();
    let mut literals = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &code[at..];
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(hashes) = raw_string_hashes(code, at) {
            let close = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 2;
            let length = rest[start..].find(&close).expect("a raw string ends");
            literals.push((at, &rest[start..start + length]));
            start + length + close.len()
        } else if bytes[at] == b'"' {
            let length = string_length(&bytes[at + 1..]);
            literals.push((at, &rest[1..1 + length]));
            length + 2
        } else if bytes[at] == b'\'' {
            character(rest)
        } else {
            1
        };
        at += end;
        while !code.is_char_boundary(at) {
            at += 1;
        }
    }
    let line = |at: usize| 1 + code[..at].matches('\n').count();
    literals.into_iter().map(|(at, text)| (line(at), text)).collect()
}

/// The length of a block comment; block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match rest.as_bytes().get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The number of `#` of a raw string literal that starts here with `r`; `None` elsewhere.
fn raw_string_hashes(code: &str, at: usize) -> Option<usize> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = code.as_bytes();
    // The `r` of a name such as `for` starts no literal; the `r` after the `b` of a byte string does.
    let before = at.checked_sub(1).map(|i| bytes[i]);
    if bytes[at] != b'r' || before.is_some_and(|byte| is_name(byte) && byte != b'b') {
        return None;
    }
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    (bytes.get(at + 1 + hashes) == Some(&b'"')).then_some(hashes)
}

/// The number of bytes before the closing quote of a string literal.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

/// The length of a character literal, or 1 for the quote of a lifetime.
fn character(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => 4 + rest[3..].find('\'').expect("a character literal ends"),
        Some((start, first)) if rest[start + first.len_utf8()..].starts_with('\'') => start + first.len_utf8() + 1,
        _ => 1,
    }
}

/// True if a text contains an option such as `--exact`.
fn names_an_option(text: &str) -> bool {
    text.match_indices("--").any(|(at, _)| text[at + 2..].starts_with(|next: char| next.is_ascii_lowercase()))
}

#[test]
fn strings_of_the_libraries_name_no_option() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut found, mut literals) = (Vec::new(), 0);
    for library in LIBRARIES {
        let mut files = Vec::new();
        rust_files(&crates.join(library).join("src"), &mut files);
        assert!(files.len() > 5, "{library} has {} files", files.len());
        for file in files {
            let code = std::fs::read_to_string(&file).unwrap();
            for (line, text) in string_literals(&code) {
                literals += 1;
                if names_an_option(text) {
                    found.push(format!("{}:{line}: {text}", file.display()));
                }
            }
        }
    }
    assert!(literals > 500, "only {literals} string literals were read");
    assert!(found.is_empty(), "use words of the library instead of options:\n{}", found.join("\n"));
}

#[test]
fn string_literals_are_found_between_comments_and_characters() {
    let code = r####"
        // a comment with "--quotes"
        /* nested /* "--comment" */ still "--comment" */
        let quote = '"'; let escaped = '\''; let name: &'static str = "--first \" --second";
        let raw = r#"a "--raw" text"#; let for_r = attr("plain"); let bytes = br"--bytes";
    "####;
    let texts: Vec<&str> = string_literals(code).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, [r#"--first \" --second"#, r#"a "--raw" text"#, "plain", "--bytes"]);
    assert_eq!(string_literals(code).iter().map(|(line, _)| *line).collect::<Vec<_>>(), [4, 5, 5, 5]);
    assert!(names_an_option("use --exact") && !names_an_option("a -- b") && !names_an_option("-----"));
}

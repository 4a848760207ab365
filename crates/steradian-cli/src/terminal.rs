//! Text that a terminal would obey, escaped: names of files, columns and rows are chosen by others.
//!
//! An escape sequence in a name could move the cursor, change the title of the window or hide a part of a message; a line
//! break could forge a second message; a bidirectional control shows letters in another order. [`line`] escapes all of them.
//! [`lines`] leaves line breaks, for text that was composed of [`line`]s. [`json`] uses the escapes of JSON, so a program
//! that reads the output gets the name unchanged. Files (CSV, JSON, models) contain names unchanged.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// True if a terminal shows something else than the character: controls, line separators, bidirectional controls,
/// invisible operators and tags.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Text on one line: escapes such as `\n` and `\u{1b}` in place of characters that a terminal obeys.
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, is_obeyed, |c, out| out.extend(c.escape_default()))
}

/// A path on one line.
pub fn path(path: &Path) -> String {
    line(&path.to_string_lossy()).into_owned()
}

/// Text of several lines: every character that a terminal obeys is escaped, except line breaks.
pub fn lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| c != '\n' && is_obeyed(c), |c, out| out.extend(c.escape_default()))
}

/// Serialized JSON on one line: characters that a terminal obeys, which occur only in strings, as `\u` escapes.
pub fn json(text: &str) -> Cow<'_, str> {
    escape(text, is_obeyed, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool, write: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) { write(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped() {
        assert_eq!(line("a\x1b[31mb\nc\rd\te\x07"), "a\\u{1b}[31mb\\nc\\rd\\te\\u{7}");
        assert_eq!(line("\u{9b}2J\u{7f}\u{202e}gpj\u{2066}\u{200f}"), "\\u{9b}2J\\u{7f}\\u{202e}gpj\\u{2066}\\u{200f}");
        assert_eq!(line("\u{2028}\u{feff}\u{e0041}"), "\\u{2028}\\u{feff}\\u{e0041}");
        assert_eq!(lines("a\x1bb\nc\r\n"), "a\\u{1b}b\nc\\r\n");
    }

    #[test]
    fn other_text_is_unchanged() {
        for text in ["", "C:\\data\\x.npy", "na\u{ef}ve e\u{301} \u{3000}\u{4e2d}\u{6587} \u{1f469}\u{200d}\u{1f52c}"] {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn json_keeps_the_data() {
        let name = "a\x1b\u{9b}\u{202e}\u{e0041}\n\u{e9}\"\\";
        let text = serde_json::json!({ "name": name }).to_string();
        let safe = json(&text);
        assert!(!safe.contains(is_obeyed), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap()["name"], name);
    }
}

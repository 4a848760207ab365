//! Shows a piece of a file in a message: quoted, on one line, and short however long the piece is.

/// At most this many characters of a file appear in a message.
const LONGEST: usize = 40;

/// The text in quotes, control characters escaped, cut after 40 characters.
pub(crate) fn quote(bytes: &[u8]) -> String {
    // Four bytes are the most that a character takes, so the cut never costs a shown character.
    let head = &bytes[..bytes.len().min(4 * (LONGEST + 1))];
    let text = String::from_utf8_lossy(head);
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{:?}...", &text[..cut]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_odd_pieces_stay_on_one_short_line() {
        assert_eq!(quote(b"a\nb"), "\"a\\nb\"");
        assert_eq!(quote(&[b'x'; 40]), format!("{:?}", "x".repeat(40)));
        assert_eq!(quote(&[b'x'; 4000]), format!("{:?}...", "x".repeat(40)));
        assert!(quote(&[0xff; 4000]).chars().count() <= LONGEST + 5);
    }
}

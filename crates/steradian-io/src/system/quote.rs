//! File content in messages: quoted, on one line and truncated.

/// Largest number of characters of file content in a message.
const MAX_CHARACTERS: usize = 40;

/// The text in quotes, with control characters escaped, truncated after 40 characters.
pub(crate) fn quote(bytes: &[u8]) -> String {
    // A character has at most four bytes, so no character of the message is lost.
    let head = &bytes[..bytes.len().min(4 * (MAX_CHARACTERS + 1))];
    let text = String::from_utf8_lossy(head);
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_binary_content_gives_one_short_line() {
        assert_eq!(quote(b"a\nb"), "\"a\\nb\"");
        assert_eq!(quote(&[b'x'; 40]), format!("{:?}", "x".repeat(40)));
        assert_eq!(quote(&[b'x'; 4000]), format!("{:?}...", "x".repeat(40)));
        assert!(quote(&[0xff; 4000]).chars().count() <= MAX_CHARACTERS + 5);
    }
}

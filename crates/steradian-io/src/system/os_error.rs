//! Texts of operating system errors for messages: in lower case, without the error number.

use std::io;

/// The text of an I/O error, such as `no such file or directory`.
pub(crate) fn os_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    let Some(code) = error.raw_os_error() else { return text };
    let text = text.strip_suffix(&format!(" (os error {code})")).unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_numbers_are_removed() {
        let system = std::fs::File::open("no/such/file").unwrap_err();
        assert!(system.to_string().contains("(os error"), "{system}");
        let text = os_error_text(&system);
        assert!(!text.contains("(os error") && text.starts_with(char::is_lowercase), "{text}");
        assert_eq!(os_error_text(&io::Error::other("ffmpeg failed (os error 2)")), "ffmpeg failed (os error 2)");
    }
}

//! Frame of a self-contained HTML page: head, style and table of settings.

const STYLE: &str = include_str!("html/style.css");

/// A page with a title and a body.
pub fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
    )
}

/// A table of names and values.
pub fn key_value_table(lines: &[(&str, String)]) -> String {
    let row =
        |(name, value): &(&str, String)| format!("<tr><th>{}</th><td>{}</td></tr>\n", escape(name), escape(value));
    format!("<div class=\"scroll\"><table>\n{}</table></div>\n", lines.iter().map(row).collect::<String>())
}

/// Text with the special characters of HTML escaped.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_escaped() {
        assert_eq!(escape("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
    }
}

//! The demo's report: one html file that needs nothing else, pictures included.

use super::scene::{FRAMES, HEIGHT, WIDTH};
use super::trial::{COMPONENTS, THRESHOLD};
use crate::encode_image::base64;

/// A picture with its caption.
pub struct ReportFigure<'a> {
    /// What it shows.
    pub caption: String,
    /// The picture.
    pub png: &'a [u8],
}

/// A heading and its pictures.
pub struct Section<'a> {
    /// The heading.
    pub title: String,
    /// What to look for.
    pub text: String,
    /// The pictures.
    pub figures: Vec<ReportFigure<'a>>,
}

const STYLE: &str = "\
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { padding: .35rem .9rem; border-bottom: 1px solid #8886; text-align: right }
th:first-child, td:first-child { text-align: left }
figure { display: inline-block; margin: 0 1rem 1rem 0; max-width: 100% }
figure img { max-width: 100%; image-rendering: pixelated }
figcaption, .note { font-size: .9rem; opacity: .75 }";

/// The page: a table, then pictures.
pub fn html(header: &[&str], rows: &[Vec<String>], sections: &[Section<'_>]) -> String {
    let head: String = header.iter().map(|cell| format!("<th>{cell}</th>")).collect();
    let line = |row: &Vec<String>| {
        let cells: String = row.iter().map(|cell| format!("<td>{cell}</td>")).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let body: String = rows.iter().map(line).collect();
    let sections: String = sections.iter().map(section).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>steradian demo</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n\
         <h1>steradian demo: a room and the people in it</h1>\n\
         <p>{FRAMES} frames of {WIDTH} x {HEIGHT} gray pixels: slow light from lamps and window, sensor noise, five people \
         who cross and one who rests from frame 90 to 150. Each method finds {COMPONENTS} components; a frame's \
         reconstruction is its background, and what differs from it is foreground. Who rests for a quarter of the clip is \
         nearly furniture: look for them at frame 120.</p>\n\
         <table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n\
         <p class=\"note\">Background PSNR: reconstruction against the empty room at the same light, mean over frames. \
         Foreground F1: pixels that differ by more than {THRESHOLD} gray levels against those that people cover, over all \
         frames. Sine bound: upper bound on the sine of the largest angle between the found and the exact \
         subspace.</p>\n{sections}</body>\n</html>\n"
    )
}

fn section(section: &Section<'_>) -> String {
    let figures: String = section.figures.iter().map(figure).collect();
    format!("<h2>{}</h2>\n<p>{}</p>\n{figures}", section.title, section.text)
}

fn figure(figure: &ReportFigure<'_>) -> String {
    let (caption, png) = (&figure.caption, base64(figure.png));
    format!(
        "<figure><img alt=\"{caption}\" src=\"data:image/png;base64,{png}\"><figcaption>{caption}</figcaption></figure>\n"
    )
}

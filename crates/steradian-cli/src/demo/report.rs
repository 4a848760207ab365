//! Report of the demo: a self-contained HTML page.

use super::scene::{FRAMES, HEIGHT, WIDTH};
use super::trial::{COMPONENTS, THRESHOLD};
use crate::encode_image::base64;

/// An image with its caption.
pub struct ReportFigure<'a> {
    /// The caption.
    pub caption: String,
    /// The image as PNG.
    pub png: &'a [u8],
}

/// A heading, a text and images.
pub struct Section<'a> {
    /// The heading.
    pub title: String,
    /// The text below the heading.
    pub text: String,
    /// The images.
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

/// The page: a table, then sections of images.
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
         <p>{FRAMES} frames of {WIDTH} x {HEIGHT} gray pixels: slowly changing illumination, sensor noise, five people \
         who cross the room and one who stands still from frame 90 to 150. Each method computes {COMPONENTS} components. The \
         reconstruction of a frame is its background; pixels that differ from it are foreground. A person who stands still for \
         a quarter of the clip is close to static background: compare the methods at frame 120.</p>\n\
         <table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n\
         <p class=\"note\">Background PSNR: reconstruction against the background under the same illumination, mean over \
         frames. Foreground F1: pixels that differ by more than {THRESHOLD} gray levels against the pixels of people, over all \
         frames. Support: percentage of frames used in the final fit. Sine bound: upper bound on the sine of the largest angle \
         between the computed and the exact subspace.</p>\n{sections}</body>\n</html>\n"
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

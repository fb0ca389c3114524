//! A canvas that collects shapes and writes them as SVG.

use super::font::{self, Weight};
use super::number::number;
use super::paint::Paint;
use super::photo::Thumbnail;
use super::size::BODY;
use super::text::{Anchor, Text};
use super::theme::Theme;

/// Fallback fonts of a browser without the first ones; all have the same widths.
const FAMILIES: &str = "Arimo, 'Liberation Sans', Arial, Helvetica, sans-serif";

/// A figure under construction; y points downward.
#[derive(Clone, Debug)]
pub struct Canvas {
    width: f64,
    height: f64,
    theme: Theme,
    body: String,
    texts: String,
}

impl Canvas {
    /// Returns an empty figure; `title` is its description for screen readers.
    pub fn new(width: f64, height: f64, theme: Theme, title: &str) -> Self {
        let mut canvas = Self {
            width,
            height,
            theme,
            body: String::new(),
            texts: String::new(),
        };
        canvas.push(&format!("<title>{}</title>", escape(title)));
        canvas.rect([0.0, 0.0, width, height], Paint::fill(theme.paper()));
        canvas
    }

    /// Returns the width and height.
    pub fn size(&self) -> [f64; 2] {
        [self.width, self.height]
    }

    /// Colours.
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Returns all characters drawn so far.
    pub fn texts(&self) -> &str {
        &self.texts
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// A straight line.
    pub fn line(&mut self, a: [f64; 2], b: [f64; 2], paint: Paint) {
        let [x1, y1, x2, y2] = [a[0], a[1], b[0], b[1]].map(number);
        let paint = paint.attributes();
        self.push(&format!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"{paint}/>"
        ));
    }

    /// An open line through points.
    pub fn polyline(&mut self, points: &[[f64; 2]], paint: Paint) {
        let points = listed(points);
        let paint = paint.attributes();
        self.push(&format!(
            "<polyline points=\"{points}\" stroke-linejoin=\"round\"{paint}/>"
        ));
    }

    /// A closed polygon.
    pub fn polygon(&mut self, points: &[[f64; 2]], paint: Paint) {
        let points = listed(points);
        let paint = paint.attributes();
        self.push(&format!("<polygon points=\"{points}\"{paint}/>"));
    }

    /// The shorter arc of a circle of radius `r`, turning right or left.
    pub fn arc(&mut self, a: [f64; 2], b: [f64; 2], r: f64, right: bool, paint: Paint) {
        let [x1, y1, x2, y2] = [a[0], a[1], b[0], b[1]].map(number);
        let (r, sweep) = (number(r), u8::from(right));
        let paint = paint.attributes();
        self.push(&format!(
            "<path d=\"M{x1} {y1}A{r} {r} 0 0 {sweep} {x2} {y2}\"{paint}/>"
        ));
    }

    /// A rectangle: left, top, width, height.
    pub fn rect(&mut self, rect: [f64; 4], paint: Paint) {
        let [x, y, width, height] = rect.map(number);
        let paint = paint.attributes();
        self.push(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{paint}/>"
        ));
    }

    /// A disk or a circle.
    pub fn circle(&mut self, centre: [f64; 2], radius: f64, paint: Paint) {
        let [x, y] = centre.map(number);
        let radius = number(radius);
        let paint = paint.attributes();
        self.push(&format!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{paint}/>"
        ));
    }

    /// A photo filling a rectangle.
    pub fn photo(&mut self, rect: [f64; 4], photo: &Thumbnail) {
        let [x, y, width, height] = rect.map(number);
        let (data, name) = (photo.data_uri(), escape(photo.name()));
        self.push(&format!(
            "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             preserveAspectRatio=\"xMidYMid slice\" href=\"{data}\"><title>{name}</title></image>"
        ));
    }

    /// One line of text.
    pub fn text(&mut self, text: &Text) {
        // Half the height of small letters is 0.26 of the size.
        let (x, y) = (text.at[0], text.at[1]);
        let baseline = 0.34 * text.size;
        let place = if text.upward {
            format!(
                " transform=\"translate({} {}) rotate(-90)\"",
                number(x + baseline),
                number(y)
            )
        } else {
            format!(" x=\"{}\" y=\"{}\"", number(x), number(y + baseline))
        };
        let anchor = match text.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = match text.weight {
            Weight::Regular => "",
            Weight::Bold => " font-weight=\"700\"",
        };
        let halo = if text.halo {
            format!(
                " stroke=\"{}\" stroke-width=\"2.4\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
                self.theme.paper()
            )
        } else {
            String::new()
        };
        let colour = text.colour.unwrap_or(self.theme.ink());
        let size = number(text.size);
        let content = escape(&text.text);
        self.push(&format!(
            "<text{place} font-size=\"{size}\" fill=\"{colour}\"{anchor}{weight}{halo}>{content}</text>"
        ));
        self.texts.push_str(&text.text);
    }

    /// Returns the figure as an SVG document.
    pub fn svg(&self) -> String {
        let [width, height] = self.size().map(number);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FAMILIES}\">\n{}</svg>\n",
            self.body
        )
    }
}

/// Returns the width of a text of the canvas' body size.
pub fn body_width(text: &str) -> f64 {
    font::width(text, BODY, Weight::Regular)
}

fn listed(points: &[[f64; 2]]) -> String {
    let each: Vec<String> = points
        .iter()
        .map(|[x, y]| format!("{},{}", number(*x), number(*y)))
        .collect();
    each.join(" ")
}

/// Escapes a text for an element; characters that XML cannot contain are skipped.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_cannot_bring_elements_or_attributes_into_a_figure() {
        let hostile = "\"/><script>alert(1)</script><a href='javascript:x' onload=\"y\">]]>";
        let mut canvas = Canvas::new(100.0, 50.0, Theme::Dark, hostile);
        canvas.text(&Text::new([10.0, 20.0], hostile).bold());
        let svg = canvas.svg();
        assert!(svg.contains("&lt;script&gt;alert(1)"), "{svg}");
        for tag in svg.split('<').skip(1) {
            let name = tag.trim_start_matches('/');
            let own = ["svg ", "svg>", "title", "rect", "text"];
            assert!(own.iter().any(|own| name.starts_with(own)), "<{tag}");
            // What stands in the tag itself is the figure's own.
            let inside = tag.split('>').next().unwrap();
            assert!(
                !inside.contains("javascript") && !inside.contains("onload"),
                "<{tag}"
            );
        }
    }

    #[test]
    fn texts_are_escaped_and_numbers_are_short() {
        let mut canvas = Canvas::new(100.0, 50.0, Theme::Light, "a & b");
        canvas.text(&Text::new([10.0, 20.0], "1 < 2 \u{1} & \"x\"").bold());
        canvas.line(
            [0.0, 1.0 / 3.0],
            [-0.001, f64::NAN],
            Paint::stroke("#000000", 0.75),
        );
        let svg = canvas.svg();
        assert!(svg.contains("<title>a &amp; b</title>"));
        assert!(svg.contains(">1 &lt; 2  &amp; \"x\"</text>"), "{svg}");
        assert!(
            svg.contains("x1=\"0\" y1=\"0.33\" x2=\"0\" y2=\"0\""),
            "{svg}"
        );
    }
}

//! A canvas that collects shapes and writes them as SVG.

use super::font::Weight;
use super::paint::{Paint, number};
use super::photo::Thumbnail;
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

    /// An element without content: its name and attributes, to which the paint is added.
    fn shape(&mut self, shape: &str, paint: Paint) {
        self.push(&format!("<{shape}{}/>", paint.attributes()));
    }

    /// A straight line.
    pub fn line(&mut self, a: [f64; 2], b: [f64; 2], paint: Paint) {
        let [x1, y1, x2, y2] = [a[0], a[1], b[0], b[1]].map(number);
        let line = format!("line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"");
        self.shape(&line, paint);
    }

    /// An open line through points.
    pub fn polyline(&mut self, points: &[[f64; 2]], paint: Paint) {
        let points = listed(points);
        let line = format!("polyline points=\"{points}\" stroke-linejoin=\"round\"");
        self.shape(&line, paint);
    }

    /// A closed polygon.
    pub fn polygon(&mut self, points: &[[f64; 2]], paint: Paint) {
        let points = listed(points);
        self.shape(&format!("polygon points=\"{points}\""), paint);
    }

    /// The shorter arc of a circle of radius `r`, turning right or left.
    pub fn arc(&mut self, a: [f64; 2], b: [f64; 2], r: f64, right: bool, paint: Paint) {
        let [x1, y1, x2, y2] = [a[0], a[1], b[0], b[1]].map(number);
        let (r, sweep) = (number(r), u8::from(right));
        let path = format!("path d=\"M{x1} {y1}A{r} {r} 0 0 {sweep} {x2} {y2}\"");
        self.shape(&path, paint);
    }

    /// A rectangle: left, top, width, height.
    pub fn rect(&mut self, rect: [f64; 4], paint: Paint) {
        let [x, y, width, height] = rect.map(number);
        let rect = format!("rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
        self.shape(&rect, paint);
    }

    /// A disk or a circle.
    pub fn circle(&mut self, centre: [f64; 2], radius: f64, paint: Paint) {
        let [x, y] = centre.map(number);
        let circle = format!("circle cx=\"{x}\" cy=\"{y}\" r=\"{}\"", number(radius));
        self.shape(&circle, paint);
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
        let [x, y] = text.at;
        let baseline = 0.34 * text.size;
        let place = if text.upward {
            let (x, y) = (number(x + baseline), number(y));
            format!(" transform=\"translate({x} {y}) rotate(-90)\"")
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
        let halo = match text.halo {
            true => format!(
                " stroke=\"{}\" stroke-width=\"2.4\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
                self.theme.paper()
            ),
            false => String::new(),
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

fn listed(points: &[[f64; 2]]) -> String {
    let pair = |[x, y]: &[f64; 2]| format!("{},{}", number(*x), number(*y));
    points.iter().map(pair).collect::<Vec<_>>().join(" ")
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
        let paint = Paint::stroke("#000000", 0.75);
        canvas.line([0.0, 1.0 / 3.0], [-0.001, f64::NAN], paint);
        let svg = canvas.svg();
        assert!(svg.contains("<title>a &amp; b</title>"));
        assert!(svg.contains(">1 &lt; 2  &amp; \"x\"</text>"), "{svg}");
        let ends = "x1=\"0\" y1=\"0.33\" x2=\"0\" y2=\"0\"";
        assert!(svg.contains(ends), "{svg}");
    }
}

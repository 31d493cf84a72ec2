//! A page while it is written. Markup is written by us and known when the program is built; everything else is escaped.

#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup. Nothing from outside fits through here.
    pub(super) fn markup(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Anything, as text or as the value of an attribute.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        text.chars().for_each(|character| self.push_escaped(character));
        self
    }

    /// A number, in attributes of drawings.
    pub(super) fn number(&mut self, number: f64) -> &mut Self {
        let number = if number.is_finite() { number } else { 0.0 };
        self.0.push_str(&format!("{number:.1}"));
        self
    }

    /// ` name="12.0"` for each.
    pub(super) fn numbers(&mut self, numbers: &[(&'static str, f64)]) -> &mut Self {
        for (name, number) in numbers {
            self.markup(" ")
                .markup(name)
                .markup("=\"")
                .number(*number)
                .markup("\"");
        }
        self
    }

    /// `<name class="class">text</name>`.
    pub(super) fn element(&mut self, name: &'static str, class: &'static str, text: &str) -> &mut Self {
        self.markup("<").markup(name);
        if !class.is_empty() {
            self.markup(" class=\"").markup(class).markup("\"");
        }
        self.markup(">").text(text).markup("</").markup(name).markup(">")
    }

    /// A rectangle of a drawing, with words for whoever points at it.
    pub(super) fn rectangle(&mut self, class: &'static str, area: Area, words: &str) -> &mut Self {
        let Area { x, y, width, height } = area;
        self.markup("<rect class=\"").markup(class).markup("\" rx=\"3\"");
        self.numbers(&[("x", x), ("y", y), ("width", width), ("height", height)]);
        self.markup(">").element("title", "", words).markup("</rect>")
    }

    /// A straight line of a drawing.
    pub(super) fn line(&mut self, class: &'static str, from: (f64, f64), to: (f64, f64)) -> &mut Self {
        self.markup("<line class=\"").markup(class).markup("\"");
        self.numbers(&[("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)]);
        self.markup("/>")
    }

    /// Words in a drawing.
    pub(super) fn label(&mut self, class: &'static str, x: f64, y: f64, words: &str) -> &mut Self {
        self.markup("<text class=\"").markup(class).markup("\"");
        self.numbers(&[("x", x), ("y", y)]);
        self.markup(">").text(words).markup("</text>")
    }

    pub(super) fn finish(self) -> String {
        self.0
    }

    fn push_escaped(&mut self, character: char) {
        match character {
            '&' => self.0.push_str("&amp;"),
            '<' => self.0.push_str("&lt;"),
            '>' => self.0.push_str("&gt;"),
            '"' => self.0.push_str("&quot;"),
            '\'' => self.0.push_str("&#39;"),
            '\n' | '\t' => self.0.push(character),
            // What would move the cursor, or turn the direction of the text around.
            control if control.is_control() => self.0.push('\u{FFFD}'),
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' => {
                self.0.push('\u{FFFD}');
            }
            other => self.0.push(other),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        let mut html = Html::default();
        html.element("p", "", "</p><script>alert(\"1\" + '2')</script> & \u{202E}\u{7}");
        assert_eq!(
            html.finish(),
            "<p>&lt;/p&gt;&lt;script&gt;alert(&quot;1&quot; + &#39;2&#39;)&lt;/script&gt; &amp; \u{FFFD}\u{FFFD}</p>"
        );
    }

    #[test]
    fn numbers_that_are_none_are_drawn_at_the_edge() {
        let mut html = Html::default();
        html.number(f64::NAN).number(f64::INFINITY);
        assert_eq!(html.finish(), "0.00.0");
    }
}

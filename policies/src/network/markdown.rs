//! From HTML to text that a model reads.
//!
//! Tags are read by a tokenizer that follows the HTML standard, and written as they come: no tree is built, so
//! neither deep nesting nor tags that never end cost more than they are long. It works in steps, so that whoever
//! waits can stop.

use html5gum::{DefaultEmitter, EndTag, StartTag, StringReader, Token, Tokenizer};

/// How a page is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageForm {
    /// With headings, lists and links.
    #[default]
    Markdown,
    /// Words only.
    Text,
    /// As it came.
    Html,
}

impl PageForm {
    /// As a caller names them.
    pub const WORDS: [&'static str; 3] = ["markdown", "text", "html"];

    /// The form of this name.
    pub fn of(word: Option<&str>) -> Result<Self, String> {
        match word {
            None | Some("markdown") => Ok(Self::Markdown),
            Some("text") => Ok(Self::Text),
            Some("html") => Ok(Self::Html),
            Some(other) => Err(format!(
                "format must be one of markdown, text, html, got {other:?}."
            )),
        }
    }

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Html => "html",
        }
    }

    /// What a server is told about what is wanted.
    pub fn accept(self) -> &'static str {
        match self {
            Self::Markdown => {
                "text/markdown;q=1.0, text/x-markdown;q=0.9, text/plain;q=0.8, text/html;q=0.7, */*;q=0.1"
            }
            Self::Text => "text/plain;q=1.0, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1",
            Self::Html => {
                "text/html;q=1.0, application/xhtml+xml;q=0.9, text/plain;q=0.8, text/markdown;q=0.7, */*;q=0.1"
            }
        }
    }
}

/// More is not written, in bytes.
const WRITTEN_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Lists and quotes are indented so deep at most.
const DEPTH_MAX: usize = 8;
/// A longer link is left out, in bytes.
const LINK_BYTES_MAX: usize = 2_000;

/// What is inside is not for readers.
const UNREAD: [&str; 8] = [
    "script", "style", "noscript", "noframes", "iframe", "template", "svg", "title",
];

/// Where the words of a link lead; none for one that leads to no page.
pub type LinkOf<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a page.
pub struct PageReader<'a> {
    tokens: Tokenizer<StringReader<'a>, DefaultEmitter>,
    form: PageForm,
    link_of: LinkOf<'a>,
    page: Written,
    /// The element that is not read, and how many of its name are open.
    unread: Option<(String, u32)>,
    /// What lists are open: the number of the next item, or none where they are not counted.
    lists: Vec<Option<u32>>,
    /// Lists below [`DEPTH_MAX`].
    deeper: u32,
    preformatted: u32,
    /// The open link: where its words begin, and where it leads.
    link: Option<(usize, String)>,
    /// So many cells of the row were begun.
    cells: u32,
}

impl<'a> PageReader<'a> {
    /// Nothing is read yet. `link_of` makes links whole.
    pub fn new(html: &'a str, form: PageForm, link_of: LinkOf<'a>) -> Self {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        Self {
            tokens: Tokenizer::new_with_emitter(html, emitter),
            form,
            link_of,
            page: Written::default(),
            unread: None,
            lists: Vec::new(),
            deeper: 0,
            preformatted: 0,
            link: None,
            cells: 0,
        }
    }

    /// Reads so many tags and texts at most; false when there are no more.
    pub fn read_some(&mut self, tokens: usize) -> bool {
        for _ in 0..tokens {
            if self.page.text.len() >= WRITTEN_BYTES_MAX {
                return false;
            }
            match self.tokens.next() {
                None => return false,
                Some(Ok(token)) => self.take(token),
            }
        }
        true
    }

    /// What was read.
    pub fn into_text(mut self) -> String {
        self.end_link();
        self.page.text.trim_matches('\n').trim_end().to_string()
    }

    fn take(&mut self, token: Token) {
        match token {
            Token::StartTag(tag) => self.begin(&tag),
            Token::EndTag(tag) => self.end(&tag),
            Token::String(text) if self.unread.is_none() => {
                let text = String::from_utf8_lossy(&text);
                match self.preformatted {
                    0 => self.page.words(&text),
                    // The end of the line that the tag stands on is none of the text.
                    _ if !self.page.mark.is_empty() => self.page.as_it_is(text.trim_start_matches('\n')),
                    _ => self.page.as_it_is(&text),
                }
            }
            Token::String(_) | Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }

    fn begin(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        // Elements of HTML are not ended by a slash; a picture is.
        let is_whole = tag.self_closing && name == "svg";
        if let Some((unread, open)) = &mut self.unread {
            if *unread == name && !is_whole {
                *open = open.saturating_add(1);
            }
            return;
        }
        if UNREAD.contains(&&*name) {
            self.unread = (!is_whole).then(|| (name.into_owned(), 1));
            return;
        }
        let marks = self.form == PageForm::Markdown;
        match &*name {
            "br" => self.page.line(),
            "hr" if marks => self.page.block_of("---"),
            "p" | "table" | "blockquote" | "hr" | "dl" => self.page.paragraph(marks),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.page.paragraph(marks);
                let level = name.as_bytes()[1] - b'0';
                if marks {
                    self.page.mark(&format!("{} ", "#".repeat(usize::from(level))));
                }
            }
            "ul" | "ol" => self.begin_list(&name, marks),
            "li" => self.begin_item(marks),
            "tr" => {
                self.page.line();
                self.cells = 0;
            }
            "td" | "th" => {
                if self.cells > 0 {
                    self.page.words(if marks { " | " } else { " " });
                }
                self.cells += 1;
            }
            "pre" => {
                self.page.paragraph(marks);
                if marks && self.preformatted == 0 {
                    self.page.mark("```\n");
                }
                self.preformatted += 1;
            }
            "code" if marks && self.preformatted == 0 => self.page.words_next_to("`"),
            "a" if marks && self.preformatted == 0 => self.begin_link(tag),
            name if is_block(name) => self.page.line(),
            _ => {}
        }
    }

    fn end(&mut self, tag: &EndTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        if let Some((unread, open)) = &mut self.unread {
            if *unread == name {
                *open -= 1;
                if *open == 0 {
                    self.unread = None;
                }
            }
            return;
        }
        let marks = self.form == PageForm::Markdown;
        match &*name {
            "a" => self.end_link(),
            "p" | "table" | "blockquote" | "dl" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.page.paragraph(marks);
            }
            "ul" | "ol" => {
                match self.deeper {
                    0 => drop(self.lists.pop()),
                    _ => self.deeper -= 1,
                }
                match self.lists.is_empty() {
                    true => self.page.paragraph(marks),
                    false => self.page.line(),
                }
            }
            "pre" if self.preformatted > 0 => {
                self.preformatted -= 1;
                if marks && self.preformatted == 0 {
                    self.page.end_fence();
                }
                self.page.paragraph(marks);
            }
            "code" if marks && self.preformatted == 0 => self.page.as_it_is("`"),
            name if is_block(name) || name == "li" || name == "tr" => self.page.line(),
            _ => {}
        }
    }

    fn begin_list(&mut self, name: &str, marks: bool) {
        match self.lists.is_empty() {
            true => self.page.paragraph(marks),
            false => self.page.line(),
        }
        match self.lists.len() < DEPTH_MAX {
            true => self.lists.push((name == "ol").then_some(1)),
            false => self.deeper = self.deeper.saturating_add(1),
        }
    }

    fn begin_item(&mut self, marks: bool) {
        self.page.line();
        if !marks {
            return;
        }
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{indent}{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            Some(None) | None => format!("{indent}- "),
        };
        self.page.mark(&mark);
    }

    fn begin_link(&mut self, tag: &StartTag<()>) {
        // A link in a link ends the first, as in a browser.
        self.end_link();
        let target = tag.attributes.get(b"href".as_slice());
        let target = target.map(|target| String::from_utf8_lossy(target).into_owned());
        let leads = target
            .filter(|target| target.len() <= LINK_BYTES_MAX)
            .and_then(|target| (self.link_of)(&target));
        if let Some(leads) = leads {
            self.link = Some((self.page.place_of_next_words(), leads));
        }
    }

    fn end_link(&mut self) {
        let Some((from, leads)) = self.link.take() else {
            return;
        };
        self.page.wrap_link(from, &leads);
    }
}

fn is_block(name: &str) -> bool {
    [
        "address",
        "article",
        "aside",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hgroup",
        "legend",
        "main",
        "menu",
        "nav",
        "option",
        "search",
        "section",
        "summary",
        "tbody",
        "tfoot",
        "thead",
        "textarea",
    ]
    .contains(&name)
}

/// What is wanted before the next words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Gap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

/// The text so far. Space before words is remembered and written with them, so none is written twice.
#[derive(Debug, Default)]
struct Written {
    text: String,
    gap: Gap,
    /// What stands before the next words: the sign of a heading or an item.
    mark: String,
}

impl Written {
    fn want(&mut self, gap: Gap) {
        // A sign without words is none.
        if gap > Gap::Space {
            self.mark.clear();
        }
        self.gap = self.gap.max(gap);
    }

    fn line(&mut self) {
        self.want(Gap::Line);
    }

    fn paragraph(&mut self, blank: bool) {
        self.want(if blank { Gap::Paragraph } else { Gap::Line });
    }

    fn mark(&mut self, mark: &str) {
        self.mark = mark.to_string();
    }

    /// A line of its own.
    fn block_of(&mut self, line: &str) {
        self.want(Gap::Paragraph);
        self.as_it_is(line);
        self.want(Gap::Paragraph);
    }

    /// Writes the space and the sign that stand before what comes.
    fn open(&mut self) {
        if !self.text.is_empty() {
            self.text.push_str(match self.gap {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Line => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        self.gap = Gap::None;
        self.text.push_str(&self.mark);
        self.mark.clear();
    }

    /// Words of a text in which all space is one.
    fn words(&mut self, text: &str) {
        let begins = text.starts_with(char::is_whitespace);
        if begins && self.mark.is_empty() {
            self.want(Gap::Space);
        }
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            self.open();
            self.text.push_str(word);
            if words.peek().is_some() {
                self.gap = Gap::Space;
            }
        }
        if text.ends_with(char::is_whitespace) && self.mark.is_empty() {
            self.want(Gap::Space);
        }
    }

    /// A sign that belongs to the words behind it.
    fn words_next_to(&mut self, sign: &str) {
        self.open();
        self.text.push_str(sign);
    }

    /// A text whose space counts.
    fn as_it_is(&mut self, text: &str) {
        if !text.is_empty() {
            self.open();
            self.text.push_str(text);
        }
    }

    fn end_fence(&mut self) {
        // One without words has no beginning.
        if self.mark.is_empty() {
            if !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            self.gap = Gap::None;
            self.text.push_str("```");
        }
    }

    /// Where the next words will stand; what stands before them is written at once.
    fn place_of_next_words(&mut self) -> usize {
        self.open();
        self.text.len()
    }

    /// Makes a link of the words from there on; of none, nothing.
    fn wrap_link(&mut self, from: usize, leads: &str) {
        let Some(words) = self.text.get(from..).filter(|words| !words.is_empty()) else {
            return;
        };
        // A link over several blocks would be none.
        if words.contains('\n') {
            return;
        }
        let leads = leads
            .replace(' ', "%20")
            .replace(['\n', '\r', '\t'], "")
            .replace(')', "%29");
        let link = format!("[{words}]({leads})");
        self.text.truncate(from);
        self.text.push_str(&link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str, form: PageForm) -> String {
        let as_written = |target: &str| Some(target.to_string());
        let mut reader = PageReader::new(html, form, &as_written);
        while reader.read_some(7) {}
        reader.into_text()
    }

    fn check(html: &str, markdown: &str, text: &str) {
        assert_eq!(read(html, PageForm::Markdown), markdown, "{html}");
        assert_eq!(read(html, PageForm::Text), text, "{html}");
    }

    #[test]
    fn blocks_headings_lists_links_and_code_are_what_they_are() {
        check("<h1>T</h1><h2>U</h2><p>x</p>", "# T\n\n## U\n\nx", "T\nU\nx");
        check("<p>a <b>b</b>\n c</p>  <p>d</p>", "a b c\n\nd", "a b c\nd");
        check(
            "<ol><li>one<ul><li>in</li></ul><li>two</ol>after",
            "1. one\n  - in\n2. two\n\nafter",
            "one\nin\ntwo\nafter",
        );
        check(
            "see <a class='c' href='/y'>l2 m</a>, ok",
            "see [l2 m](/y), ok",
            "see l2 m, ok",
        );
        check(
            "<pre><code>fn a() {\n  b\n}</code></pre>x <code>y z</code>.",
            "```\nfn a() {\n  b\n}\n```\n\nx `y z`.",
            "fn a() {\n  b\n}\nx y z.",
        );
        check(
            "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>",
            "1 | 2\n3",
            "1 2\n3",
        );
    }

    #[test]
    fn scripts_and_the_like_are_not_read() {
        check("<script>alert('</p>')</script>ok<style>p{}</style>", "ok", "ok");
        check("<head><title>T</title><body>x", "x", "x");
        check("<svg><text>no</text><svg/></svg>yes", "yes", "yes");
        check("a<script>never ends <p>b", "a", "a");
        check("<!-- <p>no</p> -->yes<!-- never ends", "yes", "yes");
    }

    #[test]
    fn broken_html_is_read_as_a_browser_reads_it() {
        check(
            "&#99999999;&#x110000;&#0;&amp;lt; &#65;",
            "\u{FFFD}\u{FFFD}\u{FFFD}&lt; A",
            "\u{FFFD}\u{FFFD}\u{FFFD}&lt; A",
        );
        check("1 < 2 and 3 > 2", "1 < 2 and 3 > 2", "1 < 2 and 3 > 2");
        check("</p></ul></a></pre></li>x", "x", "x");
        check("<a href=u><a href=v>w</a></a>", "[w](v)", "w");
        check("<a href=u></a><h1></h1><li></li>x", "x", "x");
    }

    #[test]
    fn a_link_cannot_write_more_than_a_link() {
        check("<a href='u) [x](v'>w</a>", "[w](u%29%20[x](v)", "w");
        let page = read("<a href='javascript:x'>w</a>", PageForm::Markdown);
        assert_eq!(
            page, "[w](javascript:x)",
            "whoever makes links whole leaves it out"
        );
        let none = |_: &str| None;
        let mut reader = PageReader::new("<a href='javascript:x'>w</a>", PageForm::Markdown, &none);
        while reader.read_some(100) {}
        assert_eq!(reader.into_text(), "w");
    }

    /// Each in one pass: with a tree, or looking for the end of each tag again, these take minutes or the stack.
    #[test]
    fn hostile_pages_cost_no_more_than_they_are_long() {
        let times = 20_000;
        for part in [
            "<script>",
            "<",
            "<!--",
            "<div>",
            "<b><p>",
            "<ul><li>",
            "<blockquote>",
            "<a href=x>",
            "<pre>",
            "&",
            "&amp",
            "</",
            "<![CDATA[",
            "<svg>",
            "<table><tr><td>",
            "<a b=",
            "<h1>",
            "<code>",
            "</ul>",
            "<title>",
        ] {
            let html = part.repeat(times);
            for form in [PageForm::Markdown, PageForm::Text] {
                let text = read(&html, form);
                assert!(text.len() <= html.len() * 3, "{part}: {} bytes", text.len());
            }
        }
        let attributes: String = (0..times).map(|number| format!("a{number} ")).collect();
        assert_eq!(read(&format!("<a {attributes}>x"), PageForm::Markdown), "x");
    }

    #[test]
    fn what_is_written_has_an_end() {
        let long = "x ".repeat(WRITTEN_BYTES_MAX);
        assert!(read(&long, PageForm::Text).len() <= 2 * WRITTEN_BYTES_MAX);
    }
}

//! Where a file is cut, so that each passage is one thing a reader would point at.

use super::lines::{Line, Role, Syntax, read_lines, syntax_of};

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// First line, from 0.
    pub start: usize,
    /// One past the last line.
    pub end: usize,
    /// What it is part of, outermost first: `impl Pool`, `Installation`.
    pub within: Vec<String>,
    /// What checks rather than does: a test module inside a source file.
    pub is_test: bool,
}

/// A file with its lines read and its passages cut.
#[derive(Debug, Clone)]
pub struct CutFile<'a> {
    /// Every line.
    pub lines: Vec<Line<'a>>,
    /// In the order of the file, without overlap.
    pub passages: Vec<Passage>,
}

/// No passage is longer.
pub const PASSAGE_LINES_MAX: usize = 60;
/// Neighbours shorter than this are put together …
const SMALL_LINES: usize = 7;
/// … up to this length.
const MERGED_LINES_MAX: usize = 24;
/// A container up to this length stays in one piece.
const WHOLE_CONTAINER_LINES_MAX: usize = 24;
/// A section of prose is cut into pieces of about this length.
const PROSE_LINES: usize = 40;
/// Deeper nesting than this is not followed.
const NESTING_MAX: usize = 12;

/// Cuts a file.
pub fn cut_file<'a>(path: &str, text: &'a str) -> CutFile<'a> {
    let syntax = syntax_of(path);
    let lines = read_lines(text, syntax);
    let mut cutter = Cutter {
        lines: &lines,
        passages: Vec::new(),
    };
    match syntax {
        Syntax::Markdown => cutter.cut_sections(),
        Syntax::Plain => cutter.cut_blocks(0, lines.len(), &[], false, PROSE_LINES),
        Syntax::Slashes | Syntax::Hashes | Syntax::Dashes | Syntax::Semicolons => {
            cutter.cut_code(0, lines.len(), &[], false);
        }
    }
    let passages = cutter.passages;
    CutFile { lines, passages }
}

struct Cutter<'a, 'l> {
    lines: &'l [Line<'a>],
    passages: Vec<Passage>,
}

impl Cutter<'_, '_> {
    fn cut_sections(&mut self) {
        let mut headings: Vec<(usize, String)> = Vec::new();
        let mut start = 0;
        for index in 0..self.lines.len() {
            let line = self.lines[index];
            if line.role != Role::Heading {
                continue;
            }
            self.cut_section(start, index, &headings);
            headings.retain(|(depth, _)| *depth < line.depth);
            headings.push((line.depth, line.name.to_string()));
            start = index;
        }
        self.cut_section(start, self.lines.len(), &headings);
    }

    /// The last heading stands in the section itself; the ones above it are what it is part of.
    fn cut_section(&mut self, start: usize, end: usize, headings: &[(usize, String)]) {
        let own_heading = self
            .lines
            .get(start)
            .is_some_and(|line| line.role == Role::Heading);
        let above = if own_heading {
            headings.len().saturating_sub(1)
        } else {
            headings.len()
        };
        let within: Vec<String> = headings[..above].iter().map(|(_, title)| title.clone()).collect();
        self.cut_blocks(start, end, &within, false, PROSE_LINES);
    }

    fn cut_code(&mut self, start: usize, end: usize, within: &[String], is_test: bool) {
        let mut loose_start = start;
        let mut index = start;
        while index < end {
            let line = self.lines[index];
            if !matches!(line.role, Role::Definition | Role::Container) {
                index += 1;
                continue;
            }
            let block_end = self.block_end(index, end);
            let with_comment = self.comment_start(index, loose_start);
            self.cut_blocks(loose_start, with_comment, within, is_test, PASSAGE_LINES_MAX);
            let is_test_here = is_test || self.marks_a_test(with_comment, index);
            let splits = line.role == Role::Container
                && block_end - with_comment > WHOLE_CONTAINER_LINES_MAX
                && within.len() < NESTING_MAX;
            if splits {
                self.cut_container(with_comment, index, block_end, within, is_test_here);
            } else {
                self.cut_blocks(with_comment, block_end, within, is_test_here, PASSAGE_LINES_MAX);
            }
            loose_start = block_end;
            index = block_end;
        }
        self.cut_blocks(loose_start, end, within, is_test, PASSAGE_LINES_MAX);
    }

    /// The head of a container is a passage of its own; its members follow.
    fn cut_container(&mut self, start: usize, head: usize, end: usize, within: &[String], is_test: bool) {
        let first_member = (head + 1..end)
            .find(|index| matches!(self.lines[*index].role, Role::Definition | Role::Container));
        let members = first_member.map_or(end, |member| self.comment_start(member, head + 1));
        self.cut_blocks(start, members, within, is_test, PASSAGE_LINES_MAX);
        let mut inner = within.to_vec();
        inner.push(self.lines[head].name.to_string());
        self.cut_code(members, end, &inner, is_test);
    }

    /// One past the last line of the block that begins at `index`: the body is indented deeper, a closing line is not.
    fn block_end(&self, index: usize, end: usize) -> usize {
        let indent = self.lines[index].indent;
        let mut last = index;
        let mut position = index + 1;
        while position < end {
            let line = self.lines[position];
            if line.role == Role::Blank {
                position += 1;
                continue;
            }
            let closes = line.indent == indent && continues_block(line.text);
            if line.indent <= indent && !closes {
                break;
            }
            last = position;
            if closes && ends_block(line.text) {
                break;
            }
            position += 1;
        }
        last + 1
    }

    /// Where the comments and attributes above a definition begin.
    fn comment_start(&self, index: usize, floor: usize) -> usize {
        let indent = self.lines[index].indent;
        let mut start = index;
        while start > floor {
            let above = self.lines[start - 1];
            let belongs = matches!(above.role, Role::Prose | Role::Attribute) && above.indent + 1 >= indent;
            if !belongs || index - start >= PASSAGE_LINES_MAX {
                break;
            }
            start -= 1;
        }
        start
    }

    fn marks_a_test(&self, start: usize, definition: usize) -> bool {
        let by_attribute = self.lines[start..definition].iter().any(|line| {
            line.role == Role::Attribute
                && (line.text.contains("test]")
                    || line.text.contains("(test)")
                    || line.text.starts_with("@Test"))
        });
        let name = self.lines[definition].name;
        by_attribute || name == "tests" || name.starts_with("test_")
    }

    /// Cuts a range into passages no longer than allowed, at blank lines and shallow ones where possible.
    fn cut_blocks(&mut self, start: usize, end: usize, within: &[String], is_test: bool, lines_max: usize) {
        let mut start = start;
        let mut end = end;
        while start < end && self.lines[start].role == Role::Blank {
            start += 1;
        }
        while end > start && self.lines[end - 1].role == Role::Blank {
            end -= 1;
        }
        if start == end || self.only_closes(start, end) {
            return;
        }
        let fits = end - start <= lines_max + lines_max / 3;
        if fits && end - start <= PASSAGE_LINES_MAX {
            self.push(start, end, within, is_test);
            return;
        }
        let cut = self.best_cut(start, end, lines_max);
        self.push(start, cut, within, is_test);
        self.cut_blocks(cut, end, within, is_test, lines_max);
    }

    fn only_closes(&self, start: usize, end: usize) -> bool {
        self.lines[start..end]
            .iter()
            .all(|line| !line.text.contains(char::is_alphanumeric))
    }

    /// The shallowest line that begins a paragraph in the second half of what may be taken.
    fn best_cut(&self, start: usize, end: usize, lines_max: usize) -> usize {
        let furthest = (start + lines_max).min(end - 1);
        let earliest = start + lines_max / 2;
        let mut best = furthest;
        let mut best_cost = usize::MAX;
        for index in (earliest..=furthest).rev() {
            let after_blank = self.lines[index - 1].role == Role::Blank;
            let cost = self.lines[index].indent * 2 + if after_blank { 0 } else { 9 };
            let is_start = self.lines[index].role != Role::Blank;
            if is_start && cost < best_cost {
                best = index;
                best_cost = cost;
            }
        }
        best.max(start + 1)
    }

    /// Adds a passage, or lengthens the one before when both are small neighbours of one kind.
    fn push(&mut self, start: usize, end: usize, within: &[String], is_test: bool) {
        let heading = self.lines[start].role == Role::Heading;
        if let Some(before) = self.passages.last_mut() {
            let near = start - before.end <= 1;
            let small =
                end - start < SMALL_LINES && before.end - before.start < MERGED_LINES_MAX - SMALL_LINES;
            let alike = before.within == within && before.is_test == is_test;
            let both_small =
                end - before.start <= MERGED_LINES_MAX && before.end - before.start < 3 * SMALL_LINES;
            if near && small && alike && both_small && !heading {
                before.end = end;
                return;
            }
        }
        self.passages.push(Passage {
            start,
            end,
            within: within.to_vec(),
            is_test,
        });
    }
}

/// A line at the indentation of the block's first line that is still part of it: a brace, a closer, `where`.
fn continues_block(text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    "{})]>".contains(first)
        || text.starts_with("where")
        || text.starts_with("end")
        || text.starts_with("else")
}

fn ends_block(text: &str) -> bool {
    let closes = text.starts_with('}')
        || text.starts_with("end")
        || (text.starts_with(')') && !text.ends_with(['{', ':']));
    closes && !text.ends_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(path: &str, text: &str) -> Vec<(usize, usize)> {
        cut_file(path, text)
            .passages
            .iter()
            .map(|passage| (passage.start + 1, passage.end))
            .collect()
    }

    #[test]
    fn a_function_keeps_its_comment_and_ends_at_its_brace() {
        let text = "use a::b;\n\n\n/// Opens.\n#[inline]\nfn open() {\n    one();\n\n    two();\n    three();\n    four();\n}\n\nfn close() {\n    a();\n    b();\n    c();\n    d();\n    e();\n    f();\n}\n";
        assert_eq!(ranges("a.rs", text), [(1, 1), (4, 12), (14, 21)]);
    }

    #[test]
    fn members_of_a_long_class_are_passages_within_it() {
        let body: String = (0..12).map(|at| format!("        step({at})\n")).collect();
        let text = format!(
            "class Pool:\n    \"\"\"Keeps.\"\"\"\n\n    def open(self):\n{body}\n    def close(self):\n{body}"
        );
        let cut = cut_file("a.py", &text);
        let within: Vec<usize> = cut.passages.iter().map(|passage| passage.within.len()).collect();
        assert_eq!(within, [0, 1, 1]);
        assert_eq!(cut.passages[1].within, ["Pool"]);
    }

    #[test]
    fn sections_know_the_headings_above_them() {
        let cut = cut_file(
            "a.md",
            "# One\n\nfirst\n\n## Two\n\nsecond\n\n### Three\n\nthird\n",
        );
        let within: Vec<&[String]> = cut
            .passages
            .iter()
            .map(|passage| passage.within.as_slice())
            .collect();
        assert_eq!(
            within,
            [
                &[] as &[String],
                &["One".to_string()],
                &["One".to_string(), "Two".to_string()]
            ]
        );
    }

    #[test]
    fn tests_inside_a_source_file_are_known() {
        let text = "fn open() {\n    a();\n    b();\n    c();\n    d();\n    e();\n    f();\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn opens() {\n        open();\n    }\n}\n";
        let cut = cut_file("a.rs", text);
        assert_eq!(
            cut.passages
                .iter()
                .map(|passage| passage.is_test)
                .collect::<Vec<_>>(),
            [false, true]
        );
    }

    #[test]
    fn no_passage_is_too_long_and_none_overlaps() {
        let long: String = (0..700).map(|at| format!("    step({at});\n")).collect();
        for path in ["a.rs", "a.py", "a.md", "a.txt", "Makefile"] {
            let text = format!("# heading\nfn long() {{\n{long}}}\n{long}");
            let mut before = 0;
            for passage in cut_file(path, &text).passages {
                assert!(
                    passage.start >= before && passage.end - passage.start <= PASSAGE_LINES_MAX,
                    "{path} {passage:?}"
                );
                before = passage.end;
            }
        }
    }
}

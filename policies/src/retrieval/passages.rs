//! Where a file is cut, so that each passage is one thing a reader would point at.

use super::languages::Sort;
use super::outline::{Definition, Outline, Role};

/// A piece of a file. Lines count from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// First line.
    pub start: usize,
    /// One past the last line.
    pub end: usize,
    /// What it is part of, outermost first: `Pool`, `Installation`.
    pub within: Vec<String>,
    /// What is defined in it.
    pub names: Vec<String>,
    /// What checks rather than does: a test module inside a source file.
    pub is_test: bool,
}

/// No passage is longer.
pub const PASSAGE_LINES_MAX: usize = 60;
/// Neighbours shorter than this are put together …
const SMALL_LINES: usize = 7;
/// … up to this length.
const MERGED_LINES_MAX: usize = 24;
/// What holds definitions stays in one piece up to this length.
const WHOLE_LINES_MAX: usize = 24;
/// What no definition holds is cut into pieces of about this length.
const LOOSE_LINES: usize = 40;

pub fn cut_file(outline: &Outline<'_>) -> Vec<Passage> {
    let cut: Vec<&Definition<'_>> = outline
        .definitions
        .iter()
        .filter(|each| each.sort != Sort::Declaration)
        .collect();
    let mut cutter = Cutter {
        outline,
        passages: Vec::new(),
    };
    cutter.cut(0, outline.lines.len(), &cut, &[], false);
    let mut passages = cutter.passages;
    for passage in &mut passages {
        let defined = outline
            .definitions
            .iter()
            .filter(|each| (passage.start..passage.end).contains(&each.line));
        passage.names = defined.map(|each| each.name.to_string()).collect();
    }
    passages
}

/// Takes whole neighbours into a range, the nearer end first, up to a length; `room` is not left. The passages are those of the
/// file, in order.
pub fn widen(
    passages: &[Passage],
    range: (usize, usize),
    room: (usize, usize),
    lines_max: usize,
) -> (usize, usize) {
    let (mut start, mut end) = range;
    loop {
        let above = passages
            .iter()
            .rfind(|each| each.end <= start && each.start >= room.0);
        let below = passages
            .iter()
            .find(|each| each.start >= end && each.end <= room.1);
        let wider = [
            above.map(|each| (each.start, end)),
            below.map(|each| (start, each.end)),
        ];
        let fitting = wider
            .into_iter()
            .flatten()
            .filter(|(start, end)| end - start <= lines_max);
        match fitting.min_by_key(|(start, end)| end - start) {
            Some(range) => (start, end) = range,
            None => return (start, end),
        }
    }
}

struct Cutter<'o, 'a> {
    outline: &'o Outline<'a>,
    passages: Vec<Passage>,
}

impl Cutter<'_, '_> {
    /// Cuts the lines from `start` to `end`, in which these definitions stand.
    fn cut(
        &mut self,
        start: usize,
        end: usize,
        inside: &[&Definition<'_>],
        within: &[String],
        is_test: bool,
    ) {
        let mut position = start;
        let mut rest = inside;
        while let [first, others @ ..] = rest {
            let held = others.iter().take_while(|other| other.line < first.end).count();
            let (members, following) = others.split_at(held);
            rest = following;
            let first_line = first.start.max(position);
            let first_end = first.end.min(end);
            if first_line >= first_end {
                continue;
            }
            self.push_pieces(position, first_line, within, is_test, LOOSE_LINES);
            let is_test = is_test || self.checks(first);
            let splits = !members.is_empty() && first_end - first_line > WHOLE_LINES_MAX;
            if splits {
                let mut inner = within.to_vec();
                inner.push(first.name.to_string());
                self.cut(first_line, first_end, members, &inner, is_test);
            } else {
                self.push_pieces(first_line, first_end, within, is_test, PASSAGE_LINES_MAX);
            }
            position = first_end;
        }
        self.push_pieces(position, end, within, is_test, LOOSE_LINES);
    }

    fn checks(&self, definition: &Definition<'_>) -> bool {
        let above = &self.outline.lines[definition.start..definition.line];
        let marked = above.iter().any(|line| {
            let is_mark = line.text.starts_with("#[") || line.text.starts_with('@');
            is_mark
                && (line.text.contains("test]")
                    || line.text.contains("(test)")
                    || line.text.starts_with("@Test"))
        });
        marked || definition.name == "tests" || definition.name.starts_with("test_")
    }

    /// Adds a range in pieces no longer than allowed, cut at blank lines and shallow ones where possible.
    fn push_pieces(&mut self, start: usize, end: usize, within: &[String], is_test: bool, lines_max: usize) {
        let lines = &self.outline.lines;
        let (mut start, mut end) = (start, end);
        loop {
            while start < end && lines[start].role == Role::Blank {
                start += 1;
            }
            while end > start && lines[end - 1].role == Role::Blank {
                end -= 1;
            }
            let says_nothing = |line: &super::outline::Line<'_>| !line.text.contains(char::is_alphanumeric);
            if start == end || lines[start..end].iter().all(says_nothing) {
                return;
            }
            if end - start <= PASSAGE_LINES_MAX.min(lines_max + lines_max / 3) {
                return self.push(start, end, within, is_test);
            }
            let cut = self.best_cut(start, end, lines_max);
            self.push(start, cut, within, is_test);
            start = cut;
        }
    }

    /// The shallowest line that begins a paragraph in the second half of what may be taken.
    fn best_cut(&self, start: usize, end: usize, lines_max: usize) -> usize {
        let lines = &self.outline.lines;
        let furthest = (start + lines_max).min(end - 1);
        let candidates = (start + lines_max / 2..=furthest)
            .rev()
            .filter(|index| lines[*index].role != Role::Blank);
        let cost = |index: &usize| {
            let after_blank = lines[index - 1].role == Role::Blank;
            lines[*index].indent * 2 + if after_blank { 0 } else { 9 }
        };
        candidates.min_by_key(cost).unwrap_or(furthest).max(start + 1)
    }

    /// Adds a passage, or lengthens the one before when both are small neighbours.
    fn push(&mut self, start: usize, end: usize, within: &[String], is_test: bool) {
        if let Some(before) = self.passages.last_mut() {
            let near = start - before.end <= 1 && before.within == within && before.is_test == is_test;
            let small =
                end - start < SMALL_LINES && before.end - before.start < MERGED_LINES_MAX - SMALL_LINES;
            if near && small && end - before.start <= MERGED_LINES_MAX {
                before.end = end;
                return;
            }
        }
        self.passages.push(Passage {
            start,
            end,
            within: within.to_vec(),
            names: Vec::new(),
            is_test,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::read_outline;
    use super::*;

    fn passages(path: &str, text: &str) -> Vec<Passage> {
        cut_file(&read_outline(path, text))
    }

    fn ranges(path: &str, text: &str) -> Vec<(usize, usize)> {
        let passages = passages(path, text);
        passages
            .iter()
            .map(|passage| (passage.start + 1, passage.end))
            .collect()
    }

    #[test]
    fn a_function_keeps_its_comment_and_ends_at_its_brace() {
        let body = "    step();\n".repeat(7);
        let text = format!(
            "use a::b;\n\n\n/// Opens.\n#[inline]\nfn open() {{\n{body}}}\n\nfn close() {{\n{body}}}\n"
        );
        assert_eq!(ranges("a.rs", &text), [(1, 1), (4, 14), (16, 24)]);
    }

    #[test]
    fn members_of_a_long_class_are_passages_within_it() {
        let body: String = (0..12).map(|at| format!("        step({at})\n")).collect();
        let text = format!(
            "class Pool:\n    \"\"\"Keeps.\"\"\"\n\n    def open(self):\n{body}\n    def close(self):\n{body}"
        );
        let cut = passages("a.py", &text);
        let within: Vec<&[String]> = cut.iter().map(|passage| passage.within.as_slice()).collect();
        let pool = &["Pool".to_string()] as &[String];
        assert_eq!(within, [pool, pool, pool]);
        assert_eq!(cut[1].names, ["open"]);
    }

    #[test]
    fn tests_inside_a_source_file_are_known() {
        let body = "    a();\n".repeat(7);
        let text = format!(
            "fn open() {{\n{body}}}\n\n#[cfg(test)]\nmod tests {{\n    #[test]\n    fn opens() {{\n{body}    }}\n}}\n"
        );
        let tests: Vec<bool> = passages("a.rs", &text)
            .iter()
            .map(|passage| passage.is_test)
            .collect();
        assert_eq!(tests, [false, true]);
    }

    #[test]
    fn a_range_takes_whole_neighbours_up_to_a_length() {
        let passages: Vec<Passage> = [(0, 4), (5, 25), (26, 46), (50, 60)]
            .into_iter()
            .map(|(start, end)| Passage {
                start,
                end,
                within: Vec::new(),
                names: Vec::new(),
                is_test: false,
            })
            .collect();
        let wide = |room, lines_max| widen(&passages, (26, 46), room, lines_max);
        assert_eq!(wide((0, 99), 34), (26, 60));
        assert_eq!(wide((0, 99), 60), (0, 60));
        assert_eq!(wide((5, 50), 60), (5, 46));
        assert_eq!(wide((0, 99), 20), (26, 46));
    }

    #[test]
    fn no_passage_is_too_long_and_none_overlaps() {
        let long: String = (0..700).map(|at| format!("    step({at});\n")).collect();
        for path in ["a.rs", "a.py", "a.md", "a.txt", "Makefile", "a.js", "a.c", "a.rb"] {
            let text =
                format!("# heading\nfn long() {{\n{long}}}\n{long}def a(b):\n  c\nclass D {{\n{long}}}");
            let mut before = 0;
            for passage in passages(path, &text) {
                assert!(
                    passage.start >= before && passage.end - passage.start <= PASSAGE_LINES_MAX,
                    "{path} {passage:?}"
                );
                before = passage.end;
            }
        }
    }
}

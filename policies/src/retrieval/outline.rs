//! What a file defines, and from which line to which: found with the patterns of its language, no grammar.
//!
//! A line misread costs a little rank, nothing else.

use super::languages::{Blocks, Comments, KEYWORDS, Language, Sort, language_of};

/// What a line is to a reader who searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Blank,
    /// A comment, a doc string, a paragraph.
    Prose,
    Code,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it begins in the file.
    pub offset: usize,
    /// Without its end and without spaces at both ends.
    pub text: &'a str,
    /// Columns of white space before it; a tab counts four.
    pub indent: usize,
    pub role: Role,
}

/// Something with a name, from its comment to its end. Lines count from 0, `end` is one past the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition<'a> {
    pub name: &'a str,
    /// Whether it is one, holds some, or only names something.
    pub sort: Sort,
    /// The line with the name.
    pub line: usize,
    /// The first line of the comments and attributes above.
    pub start: usize,
    /// One past its last line.
    pub end: usize,
}

impl Definition<'_> {
    pub fn holds(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end && self.line < other.line
    }
}

#[derive(Debug, Clone)]
pub struct Outline<'a> {
    pub lines: Vec<Line<'a>>,
    /// In the order of their lines; what holds comes before what it holds.
    pub definitions: Vec<Definition<'a>>,
}

/// No block is followed further.
const BLOCK_LINES_MAX: usize = 3_000;
/// A body begins within so many lines after its name.
const HEAD_LINES_MAX: usize = 24;
/// So many lines of comment belong to what stands below.
const COMMENT_LINES_MAX: usize = 50;
/// A list of parameters is followed so far.
const PARAMETERS_BYTES_MAX: usize = 4_000;

pub fn read_outline<'a>(path: &str, text: &'a str) -> Outline<'a> {
    let language = language_of(path);
    let lines = read_lines(path, text);
    let definitions = match language.comments() {
        Comments::Headings => read_headings(&lines),
        Comments::Prose => Vec::new(),
        _ => Reader {
            text,
            language,
            lines: &lines,
        }
        .definitions(),
    };
    Outline { lines, definitions }
}

/// Reads the lines of a file, or of a part of it that begins outside of comments and quotes.
pub fn read_lines<'a>(path: &str, text: &'a str) -> Vec<Line<'a>> {
    let comments = language_of(path).comments();
    let mut inside = None;
    let mut offset = 0;
    let mut lines = Vec::new();
    for raw in text.split_inclusive('\n') {
        let text = raw.trim();
        let role = match text.is_empty() {
            true => Role::Blank,
            false => role_of(text, comments, &mut inside),
        };
        lines.push(Line {
            offset,
            text,
            indent: indent_of(raw),
            role,
        });
        offset += raw.len();
    }
    lines
}

fn indent_of(raw: &str) -> usize {
    let white = raw.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    white.map(|byte| if byte == b'\t' { 4 } else { 1 }).sum()
}

/// The role of a line; `inside` is the sign that ends what an earlier line began.
fn role_of(text: &str, comments: Comments, inside: &mut Option<&'static str>) -> Role {
    if let Some(end) = *inside {
        if let Some((_, after)) = text.split_once(end) {
            *inside = opened(after, comments);
        }
        return Role::Prose;
    }
    *inside = opened(text, comments);
    let is_prose = match comments {
        Comments::Slashes => text.starts_with("//") || text.starts_with("/*"),
        Comments::Hashes => text.starts_with('#'),
        Comments::HashesAndQuotes => {
            let quoted = text.trim_start_matches(['r', 'R', 'b', 'B', 'u', 'f', '@']);
            text.starts_with('#') || quoted.starts_with("\"\"\"") || quoted.starts_with("'''")
        }
        Comments::Dashes => text.starts_with("--"),
        Comments::Percents => text.starts_with('%'),
        Comments::Semicolons => text.starts_with(';'),
        Comments::Headings | Comments::Prose => true,
    };
    if is_prose { Role::Prose } else { Role::Code }
}

/// What is open at the end of a line that began with nothing open.
fn opened(text: &str, comments: Comments) -> Option<&'static str> {
    let signs: &[(&str, &'static str)] = match comments {
        Comments::Slashes => &[("/*", "*/")],
        Comments::HashesAndQuotes => &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        Comments::Dashes => &[("--[[", "]]"), ("{-", "-}")],
        _ => &[],
    };
    let mut rest = text;
    loop {
        let first = signs
            .iter()
            .filter_map(|(begin, end)| Some((rest.find(begin)?, *begin, *end)))
            .min()?;
        let (position, begin, end) = first;
        if is_commented(&rest[..position], comments) {
            return None;
        }
        match rest[position + begin.len()..].split_once(end) {
            None => return Some(end),
            Some((_, after)) => rest = after,
        }
    }
}

/// A comment or a quote begins before: `// see a/*`, `"src/*.c"`, `# say """`.
fn is_commented(before: &str, comments: Comments) -> bool {
    let in_comment = match comments {
        Comments::Slashes => before.contains("//"),
        Comments::HashesAndQuotes => before.contains('#'),
        _ => false,
    };
    let quotes = |quote: char| before.chars().filter(|character| *character == quote).count() % 2 == 1;
    in_comment || quotes('"') || quotes('\'') || quotes('`')
}

/// Headings after `#` or `=`, or above a line of `=`, `-`, `~`, `^` or `*`; each holds the deeper ones below it.
fn read_headings<'a>(lines: &[Line<'a>]) -> Vec<Definition<'a>> {
    let mut headings: Vec<(usize, usize, &'a str)> = Vec::new();
    let mut underlines: Vec<char> = Vec::new();
    let mut in_fence = false;
    for (index, line) in lines.iter().enumerate() {
        if line.text.starts_with("```") || line.text.starts_with("~~~") {
            in_fence = !in_fence;
        }
        if in_fence || line.indent > 3 {
            continue;
        }
        if let Some((depth, title)) = marked_heading(line.text) {
            headings.push((index, depth, title));
        } else if let Some(sign) = underline_of(lines, index) {
            let known = underlines.iter().position(|each| *each == sign);
            let depth = known.unwrap_or_else(|| {
                underlines.push(sign);
                underlines.len() - 1
            });
            headings.push((index, depth + 1, line.text));
        }
    }
    let end_of = |at: usize, depth: usize| {
        let next = headings[at + 1..].iter().find(|(_, other, _)| *other <= depth);
        next.map_or(lines.len(), |(line, _, _)| *line)
    };
    let sections = headings
        .iter()
        .enumerate()
        .map(|(at, (line, depth, name))| Definition {
            name,
            sort: Sort::Definition,
            line: *line,
            start: *line,
            end: end_of(at, *depth),
        });
    sections.collect()
}

fn marked_heading(text: &str) -> Option<(usize, &str)> {
    let sign = text.chars().next().filter(|first| matches!(first, '#' | '='))?;
    let depth = text.chars().take_while(|character| *character == sign).count();
    let title = text[depth..].strip_prefix(' ')?.trim_end_matches(['#', '=', ' ']);
    (depth <= 6 && !title.is_empty()).then_some((depth, title))
}

fn underline_of(lines: &[Line<'_>], title: usize) -> Option<char> {
    let text = lines[title].text;
    let under = lines.get(title + 1)?.text;
    let sign = under.chars().next().filter(|first| "=-~^*\"+".contains(*first))?;
    let is_rule = under.len() >= 3 && under.chars().all(|each| each == sign);
    let is_title = text.contains(char::is_alphanumeric) && !text.starts_with(['|', '-', '*', '>']);
    let alone = title == 0 || lines[title - 1].role == Role::Blank || lines[title - 1].text == under;
    (is_rule && is_title && alone && text.chars().count() <= under.len() + 3).then_some(sign)
}

struct Reader<'a, 'l> {
    text: &'a str,
    language: &'static Language,
    lines: &'l [Line<'a>],
}

impl<'a> Reader<'a, '_> {
    fn definitions(&self) -> Vec<Definition<'a>> {
        let mut heads = self.heads();
        heads.sort_by_key(|(line, sort, _)| (*line, *sort));
        heads.dedup_by_key(|(line, _, _)| *line);
        let begins: Vec<usize> = heads
            .iter()
            .filter(|(_, sort, _)| *sort != Sort::Declaration)
            .map(|(line, _, _)| *line)
            .collect();
        let mut definitions: Vec<Definition<'a>> = Vec::with_capacity(heads.len());
        for (line, sort, name) in heads {
            let end = match sort {
                Sort::Declaration => line + 1,
                Sort::Definition | Sort::Container => self.end_of(line, &begins),
            };
            let floor = definitions.last().map_or(0, |before| before.line + 1);
            let start = self.start_of(line, floor);
            definitions.push(Definition {
                name,
                sort,
                line,
                start,
                end,
            });
        }
        definitions
    }

    /// The lines that patterns fit and that are code: line, sort, name.
    fn heads(&self) -> Vec<(usize, Sort, &'a str)> {
        let patterns = self.language.compiled();
        let mut heads = Vec::new();
        let all = [
            (&patterns.definitions, Sort::Definition, false),
            (&patterns.callables, Sort::Definition, true),
            (&patterns.containers, Sort::Container, false),
            (&patterns.declarations, Sort::Declaration, false),
        ];
        for (regex, sort, needs_body) in all {
            let Some(regex) = regex else { continue };
            for found in regex.captures_iter(self.text) {
                let Some(name) = found.iter().skip(1).flatten().next() else {
                    continue;
                };
                let line = self.lines.partition_point(|line| line.offset <= name.start()) - 1;
                let is_code = self.lines.get(line).is_some_and(|line| line.role == Role::Code);
                if !is_code || KEYWORDS.contains(&name.as_str()) {
                    continue;
                }
                let first_word = self.lines[line]
                    .text
                    .split(|each: char| !each.is_alphanumeric())
                    .next();
                if needs_body && first_word.is_some_and(|word| KEYWORDS.contains(&word)) {
                    continue;
                }
                let sort = match needs_body && !has_body(self.text, name.end()) {
                    true => Sort::Declaration,
                    false => sort,
                };
                heads.push((line, sort, name.as_str()));
            }
        }
        heads
    }

    /// One past the last line of what begins at `head`.
    fn end_of(&self, head: usize, begins: &[usize]) -> usize {
        match self.language.blocks() {
            Blocks::Braces => self.brace_end(head, begins),
            Blocks::Indentation => self.indented_end(head),
            Blocks::Ends => self.worded_end(head),
            Blocks::FullStops => self.stopped_end(head),
        }
    }

    fn brace_end(&self, head: usize, begins: &[usize]) -> usize {
        let Some(opened) = self.brace_after(head) else {
            return self.statement_end(head);
        };
        let indent = self.lines[head].indent;
        let count = |sign: char| {
            let heads = &self.lines[head..=opened];
            heads
                .iter()
                .map(|line| line.text.matches(sign).count())
                .sum::<usize>()
        };
        if count('{') <= count('}') {
            return self.statement_end(opened);
        }
        let last = self.lines.len().min(head + BLOCK_LINES_MAX);
        for index in opened + 1..last {
            let line = &self.lines[index];
            let is_passed_over =
                line.role != Role::Code || line.text.starts_with('#') || line.text.ends_with(':');
            if line.indent > indent || is_passed_over {
                continue;
            }
            if line.text.starts_with(['}', ')', ']']) {
                return index + 1;
            }
            if line.indent < indent || begins.binary_search(&index).is_ok() {
                return self.without_what_follows(opened + 1, index);
            }
        }
        last
    }

    /// The line with the brace that opens the body, unless something else ends the head first.
    fn brace_after(&self, head: usize) -> Option<usize> {
        if self.lines[head].text.starts_with('#') {
            return None;
        }
        for index in head..self.lines.len().min(head + HEAD_LINES_MAX) {
            let line = &self.lines[index];
            if line.role == Role::Prose {
                continue;
            }
            if line.text.contains('{') {
                return Some(index);
            }
            // Parameters of the old style end with `;` too, and stand before the brace.
            let old_style = index + 1 < self.lines.len() && index > head;
            if line.role == Role::Blank || (line.text.ends_with(';') && !old_style) {
                return None;
            }
        }
        None
    }

    /// One past a statement: where a line ends it, or where the lines stop being deeper.
    fn statement_end(&self, head: usize) -> usize {
        let indent = self.lines[head].indent;
        let mut index = head;
        if self.lines[head].text.starts_with('#') {
            while self.lines[index].text.ends_with('\\') && index + 1 < self.lines.len() {
                index += 1;
            }
            return index + 1;
        }
        while index + 1 < self.lines.len().min(head + HEAD_LINES_MAX * 4) {
            let next = &self.lines[index + 1];
            let goes_on = next.indent > indent || next.text.starts_with([')', ']', '}']);
            if self.lines[index].text.ends_with(';') || next.role == Role::Blank || !goes_on {
                break;
            }
            index += 1;
        }
        index + 1
    }

    fn indented_end(&self, head: usize) -> usize {
        let indent = self.lines[head].indent;
        let last = self.lines.len().min(head + BLOCK_LINES_MAX);
        for index in head + 1..last {
            let line = &self.lines[index];
            let closes = line.text.starts_with([')', ']', '}']);
            if line.role == Role::Code && line.indent <= indent && !closes {
                return self.without_what_follows(head + 1, index);
            }
        }
        self.without_what_follows(head + 1, last)
    }

    fn worded_end(&self, head: usize) -> usize {
        let indent = self.lines[head].indent;
        let last = self.lines.len().min(head + BLOCK_LINES_MAX);
        for index in head + 1..last {
            let line = &self.lines[index];
            if line.role != Role::Code || line.indent > indent {
                continue;
            }
            let closes = line.text.starts_with("end") || line.text.starts_with([')', ']', '}']);
            return if closes {
                index + 1
            } else {
                self.without_what_follows(head + 1, index)
            };
        }
        last
    }

    fn stopped_end(&self, head: usize) -> usize {
        let last = self.lines.len().min(head + BLOCK_LINES_MAX);
        let stop = (head..last).find(|index| {
            let line = &self.lines[*index];
            line.role == Role::Code
                && line
                    .text
                    .split('%')
                    .next()
                    .unwrap_or("")
                    .trim_end()
                    .ends_with('.')
        });
        stop.map_or(last, |index| index + 1)
    }

    /// Blank lines and comments before `end` belong to what follows.
    fn without_what_follows(&self, floor: usize, end: usize) -> usize {
        let mut end = end;
        let indent = self.lines.get(end).map_or(0, |line| line.indent);
        while end > floor {
            let line = &self.lines[end - 1];
            let is_comment = self.is_comment(line) && line.indent <= indent && end < self.lines.len();
            if line.role != Role::Blank && !is_comment {
                break;
            }
            end -= 1;
        }
        end
    }

    /// A comment, and no text in quotes, which is prose too.
    fn is_comment(&self, line: &Line<'_>) -> bool {
        let quotes = self.language.comments() == Comments::HashesAndQuotes;
        line.role == Role::Prose && (!quotes || line.text.starts_with('#'))
    }

    /// Where the comments and attributes above a definition begin; what a closing brace names begins at its type.
    fn start_of(&self, head: usize, floor: usize) -> usize {
        let indent = self.lines[head].indent;
        let mut start = head;
        if self.lines[head].text.starts_with('}') {
            let opens = |line: &Line<'_>| {
                line.role == Role::Code && line.indent == indent && line.text.starts_with(char::is_alphabetic)
            };
            start = (0..head)
                .rev()
                .find(|index| opens(&self.lines[*index]))
                .unwrap_or(head);
        }
        let floor = floor.min(start).max(start.saturating_sub(COMMENT_LINES_MAX));
        while start > floor {
            let above = &self.lines[start - 1];
            let is_attribute = above.text.starts_with(['@', '['])
                || above.text.starts_with("#[")
                || above.text.starts_with("-spec");
            let belongs = match above.role {
                Role::Prose => self.is_comment(above) && above.indent + 1 >= indent,
                Role::Code => is_attribute && above.indent == indent,
                Role::Blank => false,
            };
            if !belongs {
                break;
            }
            start -= 1;
        }
        start
    }
}

/// Whether a body follows the parentheses after a name, and no `;`.
fn has_body(text: &str, name_end: usize) -> bool {
    let Some(open) = text[name_end..].find('(').map(|position| name_end + position) else {
        return false;
    };
    let Some(close) = closing(text, open) else {
        return false;
    };
    let after = &text[close + 1..];
    let on_its_line = !after.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    let after = after.trim_start();
    match after.chars().next() {
        Some('{') => true,
        Some(';' | ',' | ')' | '=' | '.' | '?' | '+' | '|' | ']' | '}') | None => false,
        Some(_) => body_follows(after, on_its_line),
    }
}

/// Past return types, qualifiers, `throws`, or parameters of the old style, which end with `;`.
fn body_follows(after: &str, on_its_line: bool) -> bool {
    for (number, line) in after.lines().take(HEAD_LINES_MAX).enumerate() {
        let line = line.trim_end();
        let brace = line.find('{');
        let stop = line
            .find(';')
            .filter(|_| (number == 0 && on_its_line) || !line.ends_with(';'));
        match (brace, stop) {
            (Some(brace), Some(stop)) => return brace < stop,
            (Some(_), None) => return true,
            (None, Some(_)) => return false,
            (None, None) => {}
        }
        if line.is_empty() || line.starts_with(['}', '#']) {
            return false;
        }
    }
    false
}

fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let end = text.len().min(open + PARAMETERS_BYTES_MAX);
    for (position, byte) in text.as_bytes()[open..end].iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(open + position);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name first-last` of every definition, lines from 1.
    fn outline(path: &str, text: &str) -> Vec<String> {
        let outline = read_outline(path, text);
        let definitions = outline
            .definitions
            .iter()
            .filter(|each| each.sort != Sort::Declaration);
        definitions
            .map(|each| format!("{} {}-{}", each.name, each.start + 1, each.end))
            .collect()
    }

    #[test]
    fn rust() {
        let text = "/// Opens.\n#[inline]\npub(crate) async fn open(\n    a: u8,\n) -> u8 {\n    one()\n}\n\nimpl<T> Way for Pool<T> {\n    const MAX: u8 = 3;\n    fn close(&self);\n}\nmacro_rules! say {\n    () => {};\n}\n";
        assert_eq!(
            outline("a.rs", text),
            ["open 1-7", "Pool 9-12", "MAX 10-10", "close 11-11", "say 13-15"]
        );
    }

    #[test]
    fn python_and_a_closing_doc_string() {
        let text = "X = \"\"\"\ndef no(): pass\n\"\"\"\n\n@wraps\ndef open(\n    a,\n):\n    \"\"\"Opens.\n\n    class no: x\n    \"\"\"\n    return a\n\nclass Pool:\n    def close(self):\n        pass\n";
        assert_eq!(
            outline("a.py", text),
            ["X 1-3", "open 5-13", "Pool 15-17", "close 16-17"]
        );
    }

    #[test]
    fn javascript_in_all_its_ways() {
        let text = "exports.open = function () {\n  a();\n};\nconst close = async (\n  a\n) => {\n  b();\n};\nclass Pool {\n  /** Takes. */\n  take(a, { b }) {\n    if (a) {\n    }\n  }\n  get size() {\n    return 1;\n  }\n}\nPool.prototype.give = function give() {\n};\nmodule.exports = {\n  run: function () {\n  }\n};\ncompiler.hooks.done.tap(\"x\", () => {\n});\n";
        assert_eq!(
            outline("a.js", text),
            [
                "open 1-3",
                "close 4-8",
                "Pool 9-18",
                "take 10-14",
                "size 15-17",
                "give 19-20",
                "run 22-23"
            ]
        );
    }

    #[test]
    fn typescript() {
        let text = "export interface Options<T> {\n  a?: string;\n}\nexport type Way = 'a' | 'b';\nexport function pipe<A>(\n  a: A,\n): Observable<A> {\n  return a;\n}\nabstract class Pool {\n  protected async open<T>(a: T): Promise<{ b: T }> {\n  }\n}\n";
        assert_eq!(
            outline("a.ts", text),
            ["Options 1-3", "Way 4-4", "pipe 5-9", "Pool 10-13", "open 11-12"]
        );
    }

    #[test]
    fn c() {
        let text = "#define MAX(a) \\\n  (a)\nint open(int a);\n/* Opens. */\nstatic int\nopen (int a)\n{\n  if (a) {\nout:\n    x();\n  }\n}\nint old(a, b)\n    int a;\n    char *b;\n{\n}\ntypedef struct pool {\n  int size;\n} pool_t;\nstruct node {\n  struct node *next;\n};\n";
        assert_eq!(
            outline("a.c", text),
            [
                "MAX 1-2",
                "open 6-12",
                "old 13-17",
                "pool 18-20",
                "pool_t 18-20",
                "node 21-23"
            ]
        );
    }

    #[test]
    fn java() {
        let text = "public final class Pool<T> extends Base {\n  private static final int MAX = 3;\n\n  /** Opens. */\n  @Override\n  public <A> List<A> open(A a)\n      throws IOException {\n    return new Pool(a) {\n    };\n  }\n\n  Pool(int a) {\n  }\n}\n";
        assert_eq!(
            outline("A.java", text),
            ["Pool 1-14", "MAX 2-2", "open 4-10", "Pool 12-13"]
        );
    }

    #[test]
    fn go() {
        let text = "// Open opens.\nfunc (p *Pool) Open(a int) (int, error) {\n\treturn a, nil\n}\n\ntype Pool struct {\n\tsize int\n}\n\nvar ErrX = errors.New(\"x\")\n";
        assert_eq!(outline("a.go", text), ["Open 1-4", "Pool 6-8", "ErrX 10-10"]);
    }

    #[test]
    fn ruby_erlang_shell_and_lua() {
        let ruby =
            "module Rack\n  class Pool\n    def open?(a)\n      if a\n      end\n    end\n  end\nend\n";
        assert_eq!(outline("a.rb", ruby), ["Rack 1-8", "Pool 2-7", "open? 3-6"]);
        let erlang = "%% Opens.\n-spec open(a()) -> b().\nopen(A) ->\n    close(A),\n    {ok, A}.\n\n-record(pool, {size = 1}).\n";
        assert_eq!(outline("a.erl", erlang), ["open 1-5", "pool 7-7"]);
        let shell = "open() {\n  a\n}\nfunction close {\n  b\n}\n";
        assert_eq!(outline("a.sh", shell), ["open 1-3", "close 4-6"]);
        let lua = "local function open(a)\n  if a then\n  end\nend\nfunction M.close()\nend\nM.run = function(a)\nend\n";
        assert_eq!(outline("a.lua", lua), ["open 1-4", "close 5-6", "run 7-8"]);
    }

    #[test]
    fn sections_hold_the_deeper_ones() {
        let text = "Title\n=====\n\na\n\nPart\n----\n\nb\n\nNext\n====\n\nc\n";
        assert_eq!(outline("a.rst", text), ["Title 1-10", "Part 6-10", "Next 11-14"]);
        assert_eq!(
            outline("a.md", "# A\n\n```\n# no\n```\n\n## B\n\nx\n"),
            ["A 1-9", "B 7-9"]
        );
    }

    #[test]
    fn anything_can_be_read() {
        for path in ["a.rs", "a.py", "a.md", "a.txt", "a", "a.erl", "a.c"] {
            for text in ["", "\n", "}", "fn", "\"\"\"", "/*", "f(", "fn ü(", "} x;"] {
                let _ = read_outline(path, text);
            }
        }
    }
}

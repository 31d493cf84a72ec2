//! What an edited file is, told as plainly as possible and without a thought about speed.
//!
//! A file is a row of bytes and line ends. An edit marks some of them as gone and leaves something new before one of
//! them; at the end the row is written down.

/// An edit that names lines by their numbers, from 1.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// `replace`, `append`, `prepend` or `replace_text`.
    pub op: &'static str,
    pub pos: Option<usize>,
    pub end: Option<usize>,
    pub lines: Vec<String>,
    pub old: String,
    pub new: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Byte(u8),
    /// The end of a line.
    End(&'static [u8]),
}

#[derive(Debug, Clone, Default)]
struct Slot {
    /// What was there.
    part: Option<Part>,
    is_gone: bool,
    /// What is new before it: its rank, and the number of the edit.
    new: Vec<(u8, usize, Vec<Part>)>,
}

struct File {
    slots: Vec<Slot>,
    /// The slot in which each line begins, and how it ends.
    lines: Vec<(usize, &'static [u8])>,
    is_open: bool,
    is_empty: bool,
}

/// What the file comes to, or the code with which the edits are refused.
pub fn edited(file: &[u8], changes: &[Change]) -> Result<Vec<u8>, &'static str> {
    let (mark, text) = match file.strip_prefix(b"\xEF\xBB\xBF") {
        Some(text) => (3, text),
        None => (0, file),
    };
    let mut file_now = read(text);
    refuse(&file_now, changes)?;
    for (number, change) in changes.iter().enumerate() {
        file_now.mark(number, change);
    }
    Ok([&file[..mark], &file_now.written()].concat())
}

fn read(text: &[u8]) -> File {
    let is_open = text.last().is_some_and(|last| *last != b'\n');
    let (mut slots, mut lines) = (Vec::new(), Vec::new());
    let mut last_end: &'static [u8] = b"\n";
    let pieces: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    for (at, piece) in pieces.iter().enumerate() {
        let is_last = at + 1 == pieces.len();
        if is_last && !is_open && !text.is_empty() {
            break;
        }
        let (line, end): (&[u8], &'static [u8]) = match piece.strip_suffix(b"\r") {
            Some(line) if !is_last => (line, b"\r\n"),
            _ if is_last => (piece, last_end),
            _ => (piece, b"\n"),
        };
        last_end = end;
        lines.push((slots.len(), end));
        slots.extend(line.iter().map(|byte| slot(Part::Byte(*byte))));
        if !text.is_empty() {
            slots.push(slot(Part::End(end)));
        }
    }
    slots.push(Slot::default());
    File {
        slots,
        lines,
        is_open,
        is_empty: text.is_empty(),
    }
}

fn slot(part: Part) -> Slot {
    Slot {
        part: Some(part),
        ..Slot::default()
    }
}

impl File {
    /// As it is searched: every line end is a newline.
    fn plain(&self) -> Vec<u8> {
        let mut plain: Vec<u8> = self
            .slots
            .iter()
            .filter_map(|slot| match &slot.part {
                Some(Part::Byte(byte)) => Some(*byte),
                Some(Part::End(_)) => Some(b'\n'),
                None => None,
            })
            .collect();
        if self.is_open {
            plain.pop();
        }
        plain
    }

    fn places(&self, text: &str) -> Vec<usize> {
        let (plain, text) = (self.plain(), text.replace("\r\n", "\n"));
        if text.is_empty() {
            return Vec::new();
        }
        (0..plain.len())
            .filter(|at| plain[*at..].starts_with(text.as_bytes()))
            .collect()
    }

    /// The line of a slot, from 0.
    fn line_of(&self, slot: usize) -> usize {
        self.lines.iter().filter(|(begin, _)| *begin <= slot).count() - 1
    }

    fn begin(&self, line: usize) -> usize {
        self.lines
            .get(line)
            .map_or(self.slots.len() - 1, |(begin, _)| *begin)
    }

    /// The lines that a change is about, from 1.
    fn lines_of(&self, change: &Change) -> Option<(usize, usize)> {
        if change.op == "replace_text" {
            let at = *self.places(&change.old).first()?;
            let length = change.old.replace("\r\n", "\n").len();
            return Some((self.line_of(at) + 1, self.line_of(at + length - 1) + 1));
        }
        Some((change.pos?, change.end.unwrap_or(change.pos?)))
    }

    fn mark(&mut self, number: usize, change: &Change) {
        let lines = self.lines_of(change);
        let last = self.lines.len() - 1;
        match (change.op, lines) {
            ("replace_text", Some((first, last))) => {
                let at = self.places(&change.old)[0];
                let length = change.old.replace("\r\n", "\n").len();
                let new = self.text_parts(&change.new, first - 1, last - 1);
                self.exchange(number, at, at + length, 3, new);
            }
            ("replace", Some((first, last))) => {
                let new = self.line_parts(&change.lines, first - 1, last - 1);
                self.exchange(number, self.begin(first - 1), self.begin(last), 3, new);
            }
            ("append", Some((line, _))) => {
                let new = self.line_parts(&change.lines, line - 1, line - 1);
                let rank = if self.is_empty { 4 } else { 1 };
                self.exchange(number, self.begin(line), self.begin(line), rank, new);
            }
            ("append", None) => {
                let new = self.line_parts(&change.lines, last, last);
                self.exchange(number, self.begin(last + 1), self.begin(last + 1), 5, new);
            }
            ("prepend", Some((line, _))) => {
                let new = self.line_parts(&change.lines, line - 1, line - 1);
                self.exchange(number, self.begin(line - 1), self.begin(line - 1), 2, new);
            }
            ("prepend", None) => {
                let new = self.line_parts(&change.lines, 0, 0);
                self.exchange(number, 0, 0, 0, new);
            }
            other => panic!("no such change: {other:?}"),
        }
    }

    fn exchange(&mut self, number: usize, from: usize, to: usize, rank: u8, new: Vec<Part>) {
        for slot in &mut self.slots[from..to] {
            slot.is_gone = true;
        }
        self.slots[from].new.push((rank, number, new));
    }

    /// Whole lines, each with the end of the old line in whose place it stands, or of the last one.
    fn line_parts(&self, lines: &[String], first: usize, last: usize) -> Vec<Part> {
        let mut parts = Vec::new();
        for (at, line) in lines.iter().flat_map(|line| line.split('\n')).enumerate() {
            self.push_line(&mut parts, line, (first + at).min(last));
        }
        parts
    }

    fn text_parts(&self, text: &str, first: usize, last: usize) -> Vec<Part> {
        let mut parts = Vec::new();
        let pieces: Vec<&str> = text.split('\n').collect();
        for (at, line) in pieces.iter().enumerate() {
            match at + 1 == pieces.len() {
                true => parts.extend(line.bytes().map(Part::Byte)),
                false => self.push_line(&mut parts, line, (first + at).min(last)),
            }
        }
        parts
    }

    fn push_line(&self, parts: &mut Vec<Part>, line: &str, like: usize) {
        let end = self.lines[like].1;
        let line = if end == b"\r\n" {
            line.strip_suffix('\r').unwrap_or(line)
        } else {
            line
        };
        parts.extend(line.bytes().map(Part::Byte));
        parts.push(Part::End(end));
    }

    fn written(mut self) -> Vec<u8> {
        let mut parts = Vec::new();
        for slot in &mut self.slots {
            slot.new.sort_by_key(|(rank, number, _)| (*rank, *number));
            parts.extend(slot.new.drain(..).flat_map(|(_, _, new)| new));
            if !slot.is_gone {
                parts.extend(slot.part.take());
            }
        }
        if self.is_open && matches!(parts.last(), Some(Part::End(_))) {
            parts.pop();
        }
        let bytes = parts.into_iter().flat_map(|part| match part {
            Part::Byte(byte) => vec![byte],
            Part::End(end) => end.to_vec(),
        });
        bytes.collect()
    }
}

fn refuse(file: &File, changes: &[Change]) -> Result<(), &'static str> {
    let of = |is_text: bool| {
        changes
            .iter()
            .filter(move |change| (change.op == "replace_text") == is_text)
    };
    let shares = |one: (usize, usize), other: (usize, usize)| one.0 <= other.1 && other.0 <= one.1;
    for text in of(true) {
        for other in of(false) {
            if let (Some(one), Some(other)) = (file.lines_of(text), file.lines_of(other))
                && shares(one, other)
            {
                return Err("E_OVERLAP");
            }
        }
    }
    for text in of(true) {
        match file.places(&text.old).len() {
            0 => return Err("E_NO_MATCH"),
            1 => {}
            _ => return Err("E_MULTI_MATCH"),
        }
    }
    let count = file.lines.len();
    for change in of(false) {
        let named = change.pos.into_iter().chain(change.end);
        if named.into_iter().any(|line| !(1..=count).contains(&line)) {
            return Err("E_OUT_OF_RANGE");
        }
    }
    if of(false).any(|change| matches!((change.pos, change.end), (Some(pos), Some(end)) if end < pos)) {
        return Err("E_BAD_REF");
    }
    let mut taken: Vec<(usize, (usize, usize))> = Vec::new();
    for (number, change) in changes.iter().enumerate() {
        let slots = match (change.op, file.lines_of(change)) {
            ("replace_text", Some(_)) => {
                let at = file.places(&change.old)[0];
                (at, at + change.old.replace("\r\n", "\n").len())
            }
            ("replace", Some((first, last))) => (file.begin(first - 1), file.begin(last)),
            _ => continue,
        };
        if slots.0 < slots.1 || file.is_empty {
            taken.push((number, slots));
        }
    }
    let overlap = taken.iter().enumerate().any(|(at, (_, one))| {
        let shares =
            |other: &(usize, usize)| (one.0 < other.1 && other.0 < one.1) || (file.is_empty && one == other);
        taken[at + 1..].iter().any(|(_, other)| shares(other))
    });
    let inside = changes.iter().any(|change| {
        let Some((line, _)) = file.lines_of(change) else {
            return false;
        };
        let place = match change.op {
            // An insert of nothing is nowhere.
            "append" | "prepend" if change.lines.is_empty() => return false,
            "append" => file.begin(line),
            "prepend" => file.begin(line - 1),
            _ => return false,
        };
        taken.iter().any(|(_, (from, to))| *from < place && place < *to)
    });
    if overlap || inside {
        Err("E_OVERLAP")
    } else {
        Ok(())
    }
}

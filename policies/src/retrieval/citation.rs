//! How passages are shown to a model, and read back by one that is made of rules.

use std::fmt::Write;

/// A passage with the place it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// Relative to the workspace, `/` between the parts.
    pub path: String,
    /// First line, from 1.
    pub line_start: u32,
    /// Last line, inclusive.
    pub line_end: u32,
    /// Its lines, or the first of them.
    pub text: String,
}

impl Citation {
    /// `path#L10-L42`.
    pub fn place(&self) -> String {
        format!("{}#L{}-L{}", self.path, self.line_start, self.line_end)
    }
}

/// Shows passages one below the other, each under its place, every line with its number, within a size. Half of it is shared
/// out evenly, and what is not needed goes to the first ones.
pub fn render_citations(citations: &[Citation], bytes_max: usize) -> String {
    let mut shown = String::new();
    let share = bytes_max / citations.len().max(1) / 2;
    for (rank, citation) in citations.iter().enumerate() {
        let kept_for_others = share * (citations.len() - rank - 1);
        let end = bytes_max.saturating_sub(kept_for_others + 8);
        let _ = writeln!(shown, "{}", citation.place());
        for (number, line) in (citation.line_start..).zip(citation.text.lines()) {
            if shown.len() + line.len() + 12 > end {
                shown.push_str("   …\n");
                break;
            }
            let _ = writeln!(shown, "{number:>5}| {line}");
        }
        shown.push('\n');
    }
    shown
}

/// Reads what [`render_citations`] wrote; anything else between is skipped.
pub fn read_citations(shown: &str) -> Vec<Citation> {
    let mut citations: Vec<Citation> = Vec::new();
    for line in shown.lines() {
        if let Some(citation) = read_place(line) {
            citations.push(citation);
        } else if let Some(text) = read_numbered(line)
            && let Some(citation) = citations.last_mut()
        {
            citation.text.push_str(text);
            citation.text.push('\n');
        }
    }
    citations
}

/// The range stands at the very end, so a path may hold anything.
fn read_place(line: &str) -> Option<Citation> {
    let (before, end) = line.rsplit_once("-L")?;
    let (path, start) = before.rsplit_once("#L")?;
    let line_start = start.parse().ok()?;
    let line_end = end.parse().ok()?;
    let plausible = !path.is_empty() && !path.starts_with(' ') && line_start >= 1 && line_end >= line_start;
    plausible.then(|| Citation {
        path: path.to_string(),
        line_start,
        line_end,
        text: String::new(),
    })
}

fn read_numbered(line: &str) -> Option<&str> {
    let (number, text) = line.split_once('|')?;
    let is_number = !number.trim().is_empty() && number.trim().bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.strip_prefix(' ').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn citation(path: &str, text: &str) -> Citation {
        Citation {
            path: path.to_string(),
            line_start: 10,
            line_end: 12,
            text: text.to_string(),
        }
    }

    #[test]
    fn what_is_shown_is_read_back() {
        let citations = [
            citation("src/a b#c.rs", "fn a() {\n    | x#L1-L2\n}\n"),
            citation("b.md", "# B\n"),
        ];
        assert_eq!(read_citations(&render_citations(&citations, 4_000)), citations);
    }

    #[test]
    fn what_is_shown_keeps_its_size() {
        let long = "x = 1\n".repeat(3_000);
        let citations = [
            citation("a.rs", &long),
            citation("b.rs", &long),
            citation("c.rs", "short\n"),
        ];
        let shown = render_citations(&citations, 3_000);
        assert!(shown.len() <= 3_100, "{}", shown.len());
        assert_eq!(read_citations(&shown).len(), 3);
    }

    #[test]
    fn prose_is_no_citation() {
        assert!(read_citations("nothing was found for #L-L or a#L2-L1 | 3").is_empty());
    }
}

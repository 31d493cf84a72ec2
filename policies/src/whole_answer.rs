//! Which part of what a sub-agent said is kept where somebody who was given less can read on?
//!
//! An answer is cut for whoever asked, so that it does not fill the context of the main agent. All of it is kept in a
//! file beside the journal, and the cut answer says where: steps are read again and again, a long answer hardly ever.

use crate::compat::grouped;
use crate::domain::{RunId, WholeAnswer};
use crate::output_sanitizer::Sanitized;

/// Of what is said in an attempt, so many bytes are kept.
pub const KEPT_BYTES_MAX: usize = 8 << 20;

/// A host is offered an answer of at most so many bytes, however many characters an answer may have.
pub const OFFERED_BYTES_MAX: usize = 1 << 20;

/// What was said, at most [`KEPT_BYTES_MAX`] of it. `said_bytes` is more than the text has where the rest was not even
/// collected.
pub fn keep_what_was_said(mut said: String, said_bytes: usize) -> String {
    let said_bytes = said_bytes.max(said.len());
    if said_bytes <= KEPT_BYTES_MAX {
        return said;
    }
    said.truncate(said.floor_char_boundary(KEPT_BYTES_MAX));
    let (kept, said_bytes) = (grouped(said.len() as u64), grouped(said_bytes as u64));
    said.push_str(&format!(
        "\n\n[cut here: of {said_bytes} bytes the first {kept} are kept]"
    ));
    said
}

/// The text to keep in a file of its own; none where whoever asked is given all of it.
pub fn text_to_keep<'a>(answer: &'a Sanitized<'_>) -> Option<&'a str> {
    let too_long = || (answer.text.len() > OFFERED_BYTES_MAX).then_some(&*answer.text);
    answer.whole.as_deref().or_else(too_long)
}

/// For whoever reads the cut answer: where the rest is.
pub fn describe_whole_answer(run: &RunId, whole: &WholeAnswer) -> String {
    match whole {
        WholeAnswer::Kept { file, bytes } => format!(
            "This answer is cut. All {} bytes of it are in {}: read there what you need of it, or print it with \
             `impresario runs show {run} --answer`.",
            grouped(*bytes),
            file.display()
        ),
        WholeAnswer::Lost { bytes, why } => format!(
            "This answer is cut, and what is missing of its {} bytes is lost: they could not be written to a file: {why}",
            grouped(*bytes)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output_sanitizer::{Keeps, SanitizerSettings, sanitize_output};

    const SETTINGS: SanitizerSettings = SanitizerSettings {
        enabled: true,
        strip_tool_traces: true,
        units_max: 40,
        keeps: Keeps::BothEnds,
    };

    fn check_kept(text: &str, settings: &SanitizerSettings, expected: Option<&str>) {
        assert_eq!(text_to_keep(&sanitize_output(text, settings)), expected);
    }

    #[test]
    fn what_is_cut_is_kept_without_its_traces_and_what_is_not_stands_in_the_answer() {
        let long = "0123456789".repeat(5);
        check_kept("short", &SETTINGS, None);
        check_kept(&long, &SETTINGS, Some(&long));
        let traced = format!("```mcp\n{{}}\n```\n{long}");
        check_kept(&traced, &SETTINGS, Some(&long));
    }

    #[test]
    fn an_answer_without_a_limit_is_kept_where_a_host_could_not_take_it() {
        let off = SanitizerSettings {
            enabled: false,
            ..SETTINGS
        };
        let fits = "x".repeat(OFFERED_BYTES_MAX);
        check_kept(&fits, &off, None);
        let long = fits + "x";
        check_kept(&long, &off, Some(&long));
    }

    #[test]
    fn what_is_beyond_the_limit_is_cut_between_characters_and_says_so() {
        assert_eq!(keep_what_was_said("all".into(), 3), "all");
        let cut = keep_what_was_said("é".repeat(KEPT_BYTES_MAX / 2) + "é", 0);
        assert!(cut.ends_with("\n\n[cut here: of 8,388,610 bytes the first 8,388,608 are kept]"));
        let cut = keep_what_was_said("some".into(), KEPT_BYTES_MAX + 1);
        assert!(cut.starts_with("some\n\n[cut here: of 8,388,609 bytes"), "{cut}");
    }

    #[test]
    fn a_cut_answer_says_where_the_rest_is() {
        let run = RunId::new(1, 1);
        let kept = WholeAnswer::Kept {
            file: "/s/answers/a.md".into(),
            bytes: 2_000_000,
        };
        let line = describe_whole_answer(&run, &kept);
        assert!(
            line.contains("2,000,000 bytes of it are in /s/answers/a.md"),
            "{line}"
        );
        assert!(
            line.contains(&format!("`impresario runs show {run} --answer`")),
            "{line}"
        );
        let lost = WholeAnswer::Lost {
            bytes: 200_000,
            why: "No space left on device".into(),
        };
        let line = describe_whole_answer(&run, &lost);
        assert!(line.contains("200,000 bytes is lost") && line.ends_with("No space left on device"));
    }
}

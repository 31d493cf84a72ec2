//! What does a glob ask for, and what is said of what was found?

use std::fmt::Write;

/// So many files are shown.
const SHOWN_MAX: usize = 25;
/// A longer glob is no glob.
const PATTERN_BYTES_MAX: usize = 4_096;

/// Directories that are never looked into.
pub const NEVER_ENTERED: [&str; 4] = [".git", "node_modules", "dist", "build"];

/// A glob, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobAsked {
    /// How many directories above the base it begins.
    pub up: usize,
    /// The rest of it, relative to there.
    pub pattern: String,
    /// Its parts that name something that begins with a dot.
    pub dotted: Vec<String>,
}

/// Reads a glob; an error says what cannot be meant.
pub fn read_glob(pattern: &str) -> Result<GlobAsked, String> {
    if pattern.trim().is_empty() {
        return Err("The pattern is empty. Give one such as **/*.rs.".to_string());
    }
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!("The pattern is longer than {PATTERN_BYTES_MAX} bytes."));
    }
    if let Some(at) = pattern
        .find("(")
        .filter(|at| pattern[..*at].ends_with(['!', '@', '+', '?', '*']))
    {
        return Err(format!(
            "The pattern has {:?}, which is no part of a glob here. Alternatives are {{a,b}}; ask for more and leave out what you do not want.",
            &pattern[at - 1..=at]
        ));
    }
    let mut rest = pattern;
    let mut up = 0;
    loop {
        if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix("../") {
            (rest, up) = (after, up + 1);
        } else {
            break;
        }
    }
    let parts = rest.split('/');
    let dotted = parts.filter(|part| part.starts_with('.')).map(str::to_string);
    Ok(GlobAsked {
        up,
        pattern: rest.to_string(),
        dotted: dotted.collect(),
    })
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GlobFound {
    /// Whole paths, with when they were changed, in nanoseconds since 1970.
    pub files: Vec<(i64, String)>,
    /// Directories that hold tools' output or are kept by git, and were not looked into; so many.
    pub not_entered: usize,
    /// Why not everything was seen; none where it was.
    pub cut_short: Option<String>,
}

/// What the model reads, and the paths that are shown.
pub fn describe_found(pattern: &str, base: &str, mut found: GlobFound) -> (String, Vec<String>) {
    let mut not_seen = String::new();
    if found.files.is_empty() && found.not_entered > 0 {
        let _ = write!(
            not_seen,
            "\nNot looked into: {}, and what ignore files name.",
            NEVER_ENTERED.join(", ")
        );
    }
    if let Some(why) = &found.cut_short {
        let _ = write!(
            not_seen,
            "\nNot everything was seen ({why}); narrow the pattern or the path."
        );
    }
    if found.files.is_empty() {
        return (format!("(no matches){not_seen}"), Vec::new());
    }
    found
        .files
        .sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    let total = found.files.len();
    let shown = total.min(SHOWN_MAX);
    let at_least = if found.cut_short.is_some() {
        "at least "
    } else {
        ""
    };
    let files = if total == 1 { "file" } else { "files" };
    let mut text = format!(
        "Found {at_least}{total} {files}.\nPattern: {pattern}\nBase path: {base}\nShowing newest {shown} of {total}."
    );
    if total > shown {
        let _ = write!(
            text,
            "\nOmitted {} older match(es); narrow pattern/path for more.",
            total - shown
        );
    }
    text.push_str(&not_seen);
    text.push('\n');
    let paths: Vec<String> = found
        .files
        .into_iter()
        .take(shown)
        .map(|(_, path)| path)
        .collect();
    for path in &paths {
        text.push('\n');
        text.push_str(path);
    }
    (text, paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_may_begin_above_and_name_what_is_hidden() {
        let read = |pattern| read_glob(pattern).expect("a glob");
        assert_eq!(read("./../../src/*.rs").up, 2);
        assert_eq!(read("../src/*.rs").pattern, "src/*.rs");
        assert_eq!(read("**/.env/.x*").dotted, [".env", ".x*"]);
        assert!(read_glob("  ").is_err());
        assert!(read_glob(&"a".repeat(5_000)).is_err());
        let why = read_glob("!(a).ts").expect_err("no glob");
        assert!(why.contains("\"!(\""), "{why}");
    }

    #[test]
    fn the_newest_come_first_and_what_is_left_out_is_said() {
        let files = (0..27).map(|at| (i64::from(at), format!("/w/f{at}")));
        let found = GlobFound {
            files: files.collect(),
            ..GlobFound::default()
        };
        let (text, shown) = describe_found("f*", "/w", found);
        assert!(text.starts_with(
            "Found 27 files.\nPattern: f*\nBase path: /w\nShowing newest 25 of 27.\nOmitted 2 older match(es);"
        ));
        assert_eq!(shown.first().map(String::as_str), Some("/w/f26"));
        assert_eq!(shown.len(), 25);
        let nothing = GlobFound {
            not_entered: 1,
            cut_short: Some("it took 20 s".to_string()),
            ..GlobFound::default()
        };
        let (text, _) = describe_found("f*", "/w", nothing);
        assert_eq!(
            text,
            "(no matches)\nNot looked into: .git, node_modules, dist, build, and what ignore files name.\n\
             Not everything was seen (it took 20 s); narrow the pattern or the path."
        );
    }
}

//! `grep`: lines that match a regular expression. The engine is linear, so no pattern can hang it.

use super::find::{glob_set, is_below};
use crate::context::local::{SearchLimits, read_workspace};
use crate::tools::place::Workspace;
use impresario_policies::retrieval::left_out::LeftOut;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;

pub(super) const DESCRIPTION: &str = "Finds lines that match a regular expression in the text files of the workspace \
(ignored and hidden files are left out). Shows `path#Lline-Lline` above each hit.";

const HITS_DEFAULT: usize = 60;
const HITS_MAX: usize = 400;
const HITS_OF_A_FILE_MAX: usize = 20;
const SHOWN_BYTES_MAX: usize = 32_000;
const LINE_BYTES_MAX: usize = 300;
const PATTERN_BYTES_MAX: usize = 1_000;

pub(super) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": { "type": "string", "description": "A regular expression (Rust syntax), for one line." },
            "ignore_case": { "type": "boolean" },
            "glob": { "type": "string", "description": "Only files like this: `*.rs`, `src/**/*.ts`." },
            "path": { "type": "string", "description": "Only below this directory or file." },
            "hits_max": { "type": "integer", "minimum": 1, "maximum": HITS_MAX }
        },
        "required": ["pattern"],
        "additionalProperties": false
    })
}

#[derive(Debug, Deserialize)]
pub(super) struct GrepArguments {
    pattern: String,
    #[serde(default)]
    ignore_case: bool,
    glob: Option<String>,
    path: Option<String>,
    hits_max: Option<usize>,
}

pub(super) fn run(workspace: &Workspace, arguments: &GrepArguments) -> Result<String, String> {
    let pattern = compile(arguments)?;
    let globs = glob_set(arguments.glob.as_deref())?;
    let below = match &arguments.path {
        Some(path) => workspace.show(&workspace.resolve(path)?),
        None => String::new(),
    };
    let hits_max = arguments.hits_max.unwrap_or(HITS_DEFAULT).clamp(1, HITS_MAX);
    let mut shown = String::new();
    let mut hits = 0;
    let mut is_full = false;
    let left_out = read_workspace(workspace.root(), &SearchLimits::default(), |path, text| {
        if is_below(path, &below) && globs.is_match(path) {
            let matching = (1..).zip(text.lines()).filter(|(_, line)| pattern.is_match(line));
            for (number, line) in matching.take(HITS_OF_A_FILE_MAX) {
                is_full = hits == hits_max || shown.len() > SHOWN_BYTES_MAX;
                if is_full {
                    break;
                }
                let line: &str = &line[..line.floor_char_boundary(LINE_BYTES_MAX.min(line.len()))];
                let _ = writeln!(shown, "{path}#L{number}-L{number}\n{number:>5}| {line}");
                hits += 1;
            }
        }
        !is_full
    });
    let left_out = left_out.map_err(|error| error.to_string())?;
    if is_full {
        shown.push_str("(more lines match; narrow the pattern, the glob or the path)\n");
    } else if hits == 0 {
        shown.push_str("No line matches.");
    }
    let late = left_out.iter().filter(|(why, _)| *why == LeftOut::NoTime).count();
    if late > 0 {
        let _ = writeln!(
            shown,
            "\n({late} files were not reached in time; narrow the glob or the path)"
        );
    }
    Ok(shown)
}

fn compile(arguments: &GrepArguments) -> Result<Regex, String> {
    if arguments.pattern.is_empty() || arguments.pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!("A pattern has 1 to {PATTERN_BYTES_MAX} bytes."));
    }
    let built = RegexBuilder::new(&arguments.pattern)
        .case_insensitive(arguments.ignore_case)
        .size_limit(2_000_000)
        .build();
    built.map_err(|error| format!("The pattern cannot be used: {error}"))
}

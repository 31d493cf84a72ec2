//! A line of the log.

use crate::gateways::UnixMillis;
use crate::messages::prompts::LogPrompt;
use impresario_policies::prompt_log::PromptEntry;
use impresario_policies::utc_date::utc_moment;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    ts: String,
    source: &'a str,
    session_id: Option<&'a str>,
    session_file: Option<&'a Path>,
    cwd: &'a Path,
    model: Option<&'a str>,
    nested_depth: u32,
    chars: usize,
    sha256: &'a str,
    provider_shape: Option<&'a str>,
    prompt: &'a str,
}

/// The line, with its end.
pub(super) fn line(
    seen: &LogPrompt,
    entry: &PromptEntry,
    now: UnixMillis,
) -> Result<Vec<u8>, serde_json::Error> {
    let line = Line {
        ts: utc_moment(now.0),
        source: seen.source.word(),
        session_id: seen.session.as_ref().map(|session| session.0.as_str()),
        session_file: seen.session_file.as_deref(),
        cwd: &seen.workspace,
        model: seen.model.as_deref(),
        nested_depth: seen.nested_depth,
        chars: entry.chars,
        sha256: &entry.sha256,
        provider_shape: seen.shape,
        prompt: &entry.prompt,
    };
    let mut bytes = serde_json::to_vec(&line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

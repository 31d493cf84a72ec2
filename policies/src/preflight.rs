//! Is the retrieval engine there, before any money is spent?

use crate::compat::{collapse_spaces, cut_units, last_units, trim};
use crate::domain::WhatToRun;
use crate::redact::redact;

/// So much of what the check wrote to stderr is looked at.
pub const STDERR_UNITS_MAX: usize = 65_536;
/// So much of the detail is shown.
const SHOWN_UNITS_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreflightEnd {
    /// By itself; no code when a signal ended it.
    Exited(Option<i32>),
    /// It was stopped for taking too long.
    TimedOut,
    /// It never ran.
    NotStarted(String),
}

/// What the check says; an error holds the detail as it came.
pub fn review_preflight(end: &PreflightEnd, stderr: &str) -> Result<(), String> {
    match end {
        PreflightEnd::Exited(Some(0)) => Ok(()),
        PreflightEnd::TimedOut => Err("auggie account status timed out".to_string()),
        PreflightEnd::NotStarted(why) => Err(why.clone()),
        PreflightEnd::Exited(code) => {
            let said = trim(last_units(stderr, STDERR_UNITS_MAX));
            if !said.is_empty() {
                return Err(said.to_string());
            }
            let code = code.map_or_else(|| "null".to_string(), |code| code.to_string());
            Err(format!("auggie account status exited with code {code}"))
        }
    }
}

/// The line the user sees when auggie is not ready: one line, no secrets.
pub fn preflight_failed_line(what: &WhatToRun, detail: &str) -> String {
    failed_line(what, "Augment daemon is offline or unauthenticated.", detail)
}

/// The same for another MCP server.
pub fn server_failed_line(what: &WhatToRun, detail: &str) -> String {
    failed_line(what, "The retrieval server cannot be used.", detail)
}

fn failed_line(what: &WhatToRun, why: &str, detail: &str) -> String {
    let detail = collapse_spaces(detail);
    let detail = redact(&detail);
    let detail = cut_units(&detail, SHOWN_UNITS_MAX);
    let shown = if detail.is_empty() {
        String::new()
    } else {
        format!(" ({detail})")
    };
    let what = match what {
        WhatToRun::Skill(_) => "skill",
        WhatToRun::Agent(_) => "agent",
    };
    format!("[System Error]: Cannot execute {what}. {why}{shown}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_no_secret() {
        let line = preflight_failed_line(&WhatToRun::Skill("review".into()), "bad\n token=abc  here");
        assert!(line.ends_with("unauthenticated. (bad [REDACTED] here)"));
    }

    #[test]
    fn a_signal_is_no_exit_code() {
        let ended = review_preflight(&PreflightEnd::Exited(None), " ");
        assert_eq!(
            ended,
            Err("auggie account status exited with code null".to_string())
        );
    }
}

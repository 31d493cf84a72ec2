//! Is the nested session of a run kept when the run is over?

use crate::domain::TerminalState;

/// One that can be resumed is; so is one that a person may want to read, who asked for it in a host that shows it. A program
/// that embeds us has the journal, and may have very many runs in one life.
pub fn keeps_session(state: TerminalState, host: &str) -> bool {
    state == TerminalState::Parked || ["pi", "cli"].contains(&host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_resumed_or_read_is_kept() {
        for host in ["pi", "cli"] {
            assert!(keeps_session(TerminalState::Succeeded, host));
        }
        assert!(keeps_session(TerminalState::Parked, "embedder"));
        assert!(!keeps_session(TerminalState::Failed, "embedder"));
    }
}

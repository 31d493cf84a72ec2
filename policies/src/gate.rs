//! Does the answer of a run count?
//!
//! A gate is a command that says so by its exit code. What it changes is not known to us, so it begins a second time on
//! our own initiative only where somebody declared that it may.

use crate::domain::{Gate, GateEnding, Reason, ReasonCode};
use crate::fallback::full_stop_after;
use crate::projection::{GateFate, GateProjection};
use crate::redact::redact;

/// What is shown of a command.
const COMMAND_CHARS_MAX: usize = 200;
/// What a reason shows of the last line that a command printed.
const LINE_CHARS_MAX: usize = 200;

/// What is known of the gate of a run that has answered.
#[derive(Debug, Clone, PartialEq)]
pub struct GateFacts<'a> {
    /// The times that it was tried, in order; none of them is under way.
    pub tried: &'a [GateProjection],
}

/// When to give up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateSettings {
    /// So many times in a row it may be cut off before a person must look.
    pub lost_in_a_row_max: u32,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateDecision {
    /// The answer counts.
    Open,
    /// The answer does not count.
    Closed(Reason),
    /// Its command is run.
    Try {
        /// Which time, from 1.
        number: u32,
    },
    /// A person must look.
    Park(Reason),
}

/// Decides whether an answer counts, or what has to be done to know.
pub fn decide_gate(gate: &Gate, facts: &GateFacts<'_>, settings: &GateSettings) -> GateDecision {
    let Some(last) = facts.tried.last() else {
        return GateDecision::Try { number: 1 };
    };
    match &last.fate {
        GateFate::Ended { ending, .. } if ending.is_open() => GateDecision::Open,
        GateFate::Ended { ending, output, .. } => GateDecision::Closed(closed(gate, ending, output)),
        GateFate::InFlight | GateFate::Indeterminate { .. } if !gate.repeatable => {
            GateDecision::Park(indeterminate(gate))
        }
        GateFate::InFlight | GateFate::Indeterminate { .. } => again_or_park(gate, facts, settings),
    }
}

fn again_or_park(gate: &Gate, facts: &GateFacts<'_>, settings: &GateSettings) -> GateDecision {
    let tried = facts.tried.len() as u32;
    match tried < settings.lost_in_a_row_max.max(1) {
        true => GateDecision::Try { number: tried + 1 },
        false => GateDecision::Park(Reason {
            code: ReasonCode::NoProgress,
            message: format!(
                "The gate `{}` was cut off {tried} times in a row.",
                gate_words(gate)
            ),
        }),
    }
}

/// The command as a person reads it, in one line without secrets.
pub fn gate_words(gate: &Gate) -> String {
    let words = gate.command.iter().map(
        |word| match word.contains(char::is_whitespace) || word.is_empty() {
            true => format!("{word:?}"),
            false => word.clone(),
        },
    );
    let line = words.collect::<Vec<_>>().join(" ");
    let clean = redact(&line);
    let shown = clean.chars().filter(|one| !one.is_control());
    shown.take(COMMAND_CHARS_MAX).collect()
}

fn closed(gate: &Gate, ending: &GateEnding, output: &str) -> Reason {
    let seconds = gate.timeout.as_secs_f64();
    let how = match ending {
        GateEnding::Exited { code } => format!("ended with exit code {code}"),
        GateEnding::Signalled { signal } => format!("died of signal {signal}"),
        GateEnding::TimedOut => format!("did not end within {seconds} s and was killed"),
        GateEnding::TooManyProcesses { processes } => format!("had {processes} processes and was killed"),
        GateEnding::NotStarted { why } => format!("could not be started: {why}"),
    };
    let last = output.lines().rev().find(|line| !line.trim().is_empty());
    let last = last.map(|line| line.trim().chars().take(LINE_CHARS_MAX).collect::<String>());
    let said = match last {
        Some(line) => format!("{how}: {line}"),
        None => how,
    };
    Reason {
        code: ReasonCode::GateClosed,
        message: format!("The gate `{}` {said}{}", gate_words(gate), full_stop_after(&said)),
    }
}

fn indeterminate(gate: &Gate) -> Reason {
    Reason {
        code: ReasonCode::GateIndeterminate,
        message: format!(
            "The gate `{}` was cut off, and nobody knows what it did. Look at the workspace; who resumes the run has it \
             run again. A gate that is `repeatable` runs again by itself.",
            gate_words(gate)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Containment, Proof};

    const PROOF: Proof = Proof::NOTHING_STARTED;

    fn tried(fates: Vec<GateFate>) -> Vec<GateProjection> {
        let numbered = (1..).zip(fates);
        numbered
            .map(|(number, fate)| GateProjection {
                number,
                command: "check".into(),
                begun_at_ms: 0,
                fate,
            })
            .collect()
    }

    fn ended(ending: GateEnding) -> GateFate {
        GateFate::Ended {
            ending,
            output: "3 passed\nerror: one failed\n\n".into(),
            proof: Proof {
                method: Containment::Keeper,
                ..PROOF
            },
        }
    }

    fn decide(gate: &Gate, fates: Vec<GateFate>) -> GateDecision {
        let tried = tried(fates);
        decide_gate(
            gate,
            &GateFacts { tried: &tried },
            &GateSettings { lost_in_a_row_max: 3 },
        )
    }

    fn code_of(decision: &GateDecision) -> Option<ReasonCode> {
        match decision {
            GateDecision::Closed(reason) | GateDecision::Park(reason) => Some(reason.code),
            GateDecision::Open | GateDecision::Try { .. } => None,
        }
    }

    #[test]
    fn exit_code_0_and_nothing_else_opens_it() {
        let gate = Gate::command(["check", "a b"]);
        assert_eq!(decide(&gate, vec![]), GateDecision::Try { number: 1 });
        assert_eq!(
            decide(&gate, vec![ended(GateEnding::Exited { code: 0 })]),
            GateDecision::Open
        );
        let closing = [
            GateEnding::Exited { code: 1 },
            GateEnding::Signalled { signal: 9 },
            GateEnding::TimedOut,
            GateEnding::TooManyProcesses { processes: 5_000 },
            GateEnding::NotStarted {
                why: "nowhere".into(),
            },
        ];
        for ending in closing {
            assert_eq!(
                code_of(&decide(&gate, vec![ended(ending)])),
                Some(ReasonCode::GateClosed)
            );
        }
        let GateDecision::Closed(reason) = decide(&gate, vec![ended(GateEnding::Exited { code: 101 })])
        else {
            panic!("it is closed");
        };
        assert_eq!(
            reason.message,
            "The gate `check \"a b\"` ended with exit code 101: error: one failed."
        );
    }

    #[test]
    fn a_gate_that_was_cut_off_runs_again_only_where_it_may_and_not_for_ever() {
        let lost = |times| vec![GateFate::Indeterminate { proof: PROOF }; times];
        let once = Gate::command(["deploy"]);
        assert_eq!(
            code_of(&decide(&once, lost(1))),
            Some(ReasonCode::GateIndeterminate)
        );
        let often = Gate::command(["check"]).repeatable();
        assert_eq!(decide(&often, lost(2)), GateDecision::Try { number: 3 });
        assert_eq!(code_of(&decide(&often, lost(3))), Some(ReasonCode::NoProgress));
    }
}

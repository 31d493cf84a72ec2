//! Who is asked next while a brief is being written: the actor, the judge, or nobody any more?

use crate::compat::trim;
use crate::domain::{Brief, Route, Verdict};

/// What the user is asked when the judge gave no usable reply in time.
pub const TIMED_OUT_QUESTION: &str = "Routing model timed out. Could you restate the goal more specifically?";
/// What the user is asked when the judge's reply could not be used.
pub const UNUSABLE_QUESTION: &str = "Could you restate what you want this skill to do, and on which files?";
/// What the user is asked when the judge found something missing but did not say what.
pub const DEFAULT_QUESTION: &str = "Could you clarify what this skill should do?";

/// One pass as far as it went.
#[derive(Debug, Clone, PartialEq)]
pub struct PassSoFar {
    /// What the actor wrote; none when its reply could not be used.
    pub brief: Option<Brief>,
    /// What the judge said, once it was asked.
    pub verdict: Option<Verdict>,
}

/// What happens next.
#[derive(Debug, Clone, PartialEq)]
pub enum JudgeMove {
    /// Have the actor write a brief.
    WriteBrief {
        /// The pass this begins, from 1.
        pass: u32,
        /// The brief that was rejected, and why.
        revise: Option<(Brief, Verdict)>,
    },
    /// Have the judge look at it.
    Judge {
        /// The pass this ends, from 1.
        pass: u32,
        /// The brief; empty when the actor's reply could not be used.
        brief: Brief,
    },
    /// Enough.
    Settle(Settled),
}

/// The outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The last brief.
    pub brief: Brief,
    /// The last verdict.
    pub verdict: Verdict,
    /// The judge was asked so often; 0 where it was skipped.
    pub iterations: u32,
}

impl Settled {
    /// The brief can be worked on.
    pub fn passed(&self) -> bool {
        self.verdict.passed()
    }

    /// What to ask the user when it cannot.
    pub fn question(&self) -> &str {
        self.verdict
            .missing_requirement_question
            .as_deref()
            .unwrap_or(DEFAULT_QUESTION)
    }
}

/// Decides who is asked next; `passes_max` 0 skips the judge.
///
/// Passes are those since the user last said something: an answer is judged again.
pub fn decide_judge_move(passes: &[PassSoFar], passes_max: u32) -> JudgeMove {
    let count = passes.len() as u32;
    let Some(last) = passes.last() else {
        return JudgeMove::WriteBrief {
            pass: 1,
            revise: None,
        };
    };
    let brief = last.brief.clone().unwrap_or_default();
    let Some(verdict) = last.verdict.clone() else {
        if passes_max == 0 {
            let verdict = unjudged_verdict(last.brief.is_some());
            return JudgeMove::Settle(Settled {
                brief,
                verdict,
                iterations: 0,
            });
        }
        return JudgeMove::Judge { pass: count, brief };
    };
    if verdict.passed() || count >= passes_max {
        return JudgeMove::Settle(Settled {
            brief,
            verdict,
            iterations: count,
        });
    }
    JudgeMove::WriteBrief {
        pass: count + 1,
        revise: Some((brief, verdict)),
    }
}

/// The brief as a sub-agent may get it: without a goal of its own it has the task for one.
pub fn brief_with_goal(brief: Brief, task: &str) -> Brief {
    if trim(&brief.user_goal).is_empty() {
        return Brief {
            user_goal: trim(task).to_string(),
            ..brief
        };
    }
    brief
}

/// The verdict in place of a judge that gave none that could be used.
pub fn missing_verdict(timed_out: bool) -> Verdict {
    let question = if timed_out {
        TIMED_OUT_QUESTION
    } else {
        UNUSABLE_QUESTION
    };
    Verdict {
        missing_requirement_question: Some(question.to_string()),
        ..Verdict::default()
    }
}

/// Where no judge is asked, a usable brief passes; without one nothing starts.
pub fn unjudged_verdict(brief_usable: bool) -> Verdict {
    if !brief_usable {
        return missing_verdict(false);
    }
    Verdict {
        has_user_goal: true,
        has_required_inputs: true,
        has_scope_boundary: true,
        is_unambiguous: true,
        missing_requirement_question: None,
        execution_route: Route::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(verdict: Option<Verdict>) -> PassSoFar {
        PassSoFar {
            brief: Some(Brief::default()),
            verdict,
        }
    }

    #[test]
    fn a_rejected_brief_goes_back_with_its_verdict() {
        let rejected = missing_verdict(false);
        let next = decide_judge_move(&[pass(Some(rejected.clone()))], 2);
        assert_eq!(
            next,
            JudgeMove::WriteBrief {
                pass: 2,
                revise: Some((Brief::default(), rejected))
            }
        );
    }

    #[test]
    fn the_last_pass_settles_whatever_it_said() {
        let rejected = missing_verdict(true);
        let JudgeMove::Settle(settled) = decide_judge_move(&[pass(Some(rejected))], 1) else {
            panic!("goes on")
        };
        assert!(!settled.passed());
        assert_eq!(settled.question(), TIMED_OUT_QUESTION);
    }

    #[test]
    fn a_brief_without_a_goal_takes_the_task() {
        assert_eq!(brief_with_goal(Brief::default(), " do it ").user_goal, "do it");
    }

    #[test]
    fn without_a_judge_an_unusable_brief_starts_nothing() {
        let unusable = PassSoFar {
            brief: None,
            verdict: None,
        };
        let JudgeMove::Settle(settled) = decide_judge_move(&[unusable], 0) else {
            panic!("goes on")
        };
        assert!(!settled.passed());
    }
}

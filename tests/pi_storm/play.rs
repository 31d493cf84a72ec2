//! A storm is played: asked for, struck, and looked at when it is over.

use crate::edits::{TOOLS, check_edits, write_what_is_edited};
use crate::host::{PATIENCE, Stage, count, is_result, prompt, session_file, switch, talk, wait_for_file};
use crate::script::{
    CALL_TOKENS, HOLD, SLEEP, TELL, answer, effects_file, is_turn, marks, ordering, piece, rule_of,
    runs_named,
};
use crate::shown::{check_left_out, check_shown, write_what_is_shown};
use crate::storm::{Ill, Kind, Moment, PARKED, SUCCEEDED, Storm, Victim};
use impresario::chaos::JournalRow;
use impresario_model_server::{Call, Outcome};
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::processes::{command_line, has_environment, parent_of};
use impresario_test_support::waiting::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// What a sub-agent is told while it works.
const TOLD: &str = "Mind the lock, too.";

impl Storm {
    pub fn play(&self) {
        let name = format!("storm {}", self.seed);
        let Some(stage) = Stage::set_with(self.version, &name, self.script()) else {
            return;
        };
        write_what_is_shown(&stage);
        write_what_is_edited(self, &stage);
        // Pi makes one at its very first start; a worker that is older than it serves nobody else.
        fs::write(stage.sandbox.agent_directory().join("auth.json"), "{}").expect("written");
        stage.configure(self.settings());
        let mut play = Play {
            storm: self,
            stage: &stage,
            pi: match self.kind.is_of_a_person() {
                true => stage.rpc(),
                false => stage.ready_rpc(),
            },
            session: None,
        };
        play.until_it_is_struck();
        match self.victim() {
            Some(Victim::Host) => play.without_its_host(),
            _ => play.run_out(),
        }
        check_ends(self, &stage);
        check_fault_happened(self, &stage);
        check_effects(self, &stage);
        check_money(self, &stage);
        check_message(self, &stage);
        check_shown(&stage);
    }

    fn settings(&self) -> Value {
        let mut settings = json!({
            "fallbackModels": ["mocka/mocka-1", "mock/mock-other"], "inactivityTimeoutMs": 10000, "graceMs": 500,
            "capabilities": { "enabled": true }, "agents": { "general": { "allowedTools": TOOLS } },
        });
        if let Kind::Capped { tokens } = self.kind {
            settings["budget"] = json!({ "sessionTokens": tokens });
        }
        settings
    }

    fn is_in_background(&self) -> bool {
        matches!(self.kind, Kind::Background | Kind::Chain { in_background: true })
    }
}

struct Play<'a> {
    storm: &'a Storm,
    stage: &'a Stage,
    pi: JsonLines,
    /// The file of the session, where somebody comes back to it.
    session: Option<String>,
}

impl Play<'_> {
    fn until_it_is_struck(&mut self) {
        match self.storm.kind {
            Kind::Skill => prompt(&mut self.pi, &format!("/skill demo {}", piece(0))),
            Kind::Steered => {
                prompt(&mut self.pi, &format!("/skill demo {}", piece(0)));
                self.tell();
            }
            Kind::Warm => return self.one_after_the_other(),
            Kind::Tree | Kind::Capped { .. } | Kind::Background | Kind::Chain { .. } => {
                let ordered = self.order(0);
                if self.storm.is_in_background() {
                    self.wait_for_main(ordered);
                    self.session = Some(session_file(&mut self.pi));
                }
            }
        }
        self.strike();
    }

    /// The second is asked when the first is over, where its host lives to ask.
    fn one_after_the_other(&mut self) {
        let moment = self.storm.moment();
        let is_struck = |number| self.storm.struck == number && moment.is_some();
        let first = self.order(0);
        if is_struck(0) {
            self.strike();
            if self.storm.victim() == Some(Victim::Host) {
                return;
            }
        }
        self.wait_for_main(first);
        let waiting = nested_pis(self.stage, &self.pi);
        let is_unharmed = self.storm.struck == 1 || (self.storm.ill.is_none() && moment.is_none());
        assert!(
            !is_unharmed || waiting.len() == 1,
            "its worker waits: {:?}",
            self.stage.processes()
        );
        if moment == Some(Moment::Idle) {
            self.strike();
            if self.storm.victim() == Some(Victim::Host) {
                return;
            }
        }
        let second = self.order(1);
        if is_struck(1) && moment != Some(Moment::Idle) {
            let serves = || nested_pis(self.stage, &self.pi);
            let is_warm = self.storm.ill.is_none() && moment.is_some_and(Moment::is_held);
            self.wait_for(moment.expect("it is struck"));
            assert!(
                !is_warm || serves() == waiting,
                "another Pi serves the second: {waiting:?} {:?}",
                serves()
            );
            self.strike();
            if self.storm.victim() == Some(Victim::Host) {
                return;
            }
        }
        self.wait_for_main(second);
    }

    /// Tells the sub-agent something before its first call is answered.
    fn tell(&mut self) {
        self.stage.wait_for_calls_of(&rule_of(0), 1);
        let runs = self.stage.runs();
        let run = runs[0]["run"].as_str().expect("an id");
        let told = self.stage.impresario(&["steer", run, TOLD]);
        assert!(told.stdout.starts_with("queued m"), "{told:?}");
        self.stage.server.open_gate(TELL);
    }

    /// Has the main agent ask; from here on its end is to be waited for.
    fn order(&mut self, number: usize) -> usize {
        let said = self.pi.said().records.len();
        prompt(&mut self.pi, &ordering(number));
        said
    }

    fn wait_for_main(&mut self, said: usize) {
        self.pi
            .wait_for_behind(said, PATIENCE, |record| record["type"] == "agent_end");
    }

    fn strike(&self) {
        let Some((victim, moment)) = self.storm.kill else {
            return;
        };
        self.wait_for(moment);
        let pid = self.find(victim, moment);
        if victim == Victim::Keeper {
            self.stage.audit.kills_a_keeper();
        }
        kill_process(pid, Signal::KILL).expect("the victim runs");
        // Where another one's process was hit, who is held goes on.
        let is_another = self.storm.children.len() > 1 && matches!(victim, Victim::NestedPi | Victim::Keeper);
        if is_another || self.storm.is_capped() {
            self.stage.server.open_gate(HOLD);
        }
    }

    fn wait_for(&self, moment: Moment) {
        let (storm, stage) = (self.storm, self.stage);
        match moment {
            Moment::Judged => stage.wait_for_calls_of("judge", 1),
            Moment::Asked(_) | Moment::Answering(_) => {
                // Of several that share a cap, any may be the first.
                let held = (0..storm.children.len())
                    .map(|child| storm.turns(child).held)
                    .collect::<Vec<_>>();
                let ledger = stage.server.ledger();
                let came = ledger.wait_until(PATIENCE, |calls| {
                    let is_held =
                        |call: &Call| (0..held.len()).any(|child| is_turn(call, child, held[child]));
                    calls.iter().any(is_held)
                });
                assert!(
                    came,
                    "it never came to its moment: {:?} {:#?}",
                    stage.callers(),
                    steps(stage)
                );
            }
            Moment::InTool(place) => {
                let file = effects_file(storm.struck, place);
                wait_for_file(&stage.sandbox.work().join(file), "ran");
            }
            Moment::Ended => {
                // One after the other, the end of the one in question is the last so far.
                let before = match storm.kind {
                    Kind::Chain { .. } | Kind::Warm => storm.struck,
                    _ => 0,
                };
                until_steps(stage, "ended", before + 1);
            }
            Moment::Idle => {}
            Moment::HandOver => until(
                || runs_with(stage, "attempt_started").len() > 1,
                || format!("never handed over: {:#?}", steps(stage)),
            ),
        }
    }

    fn find(&self, victim: Victim, moment: Moment) -> Pid {
        let host = i32::try_from(self.pi.pid()).expect("a process id");
        let all = self.stage.processes();
        let runtime = || {
            let found = all
                .iter()
                .find(|(_, command)| command.contains("impresario bridge"));
            found.unwrap_or_else(|| panic!("no runtime among {all:#?}")).0
        };
        // Who holds the tool, where there is one; else whoever of them is found.
        let above_tool = match moment {
            Moment::InTool(_) => self.above_tool(),
            _ => Vec::new(),
        };
        let pid = match victim {
            Victim::Host => Some(host),
            Victim::Runtime => Some(runtime()),
            Victim::Keeper => {
                let runtime = runtime();
                let keepers = children_of(runtime)
                    .into_iter()
                    .filter(|pid| command_line(*pid).contains("keeper"));
                let mut keepers = keepers.filter(|pid| above_tool.is_empty() || above_tool.contains(pid));
                keepers.next()
            }
            Victim::NestedPi => {
                let mut nested = nested_pis(self.stage, &self.pi).into_iter();
                nested.find(|pid| above_tool.is_empty() || above_tool.contains(pid))
            }
        };
        let pid = pid.unwrap_or_else(|| panic!("no {victim:?} among {all:#?}"));
        Pid::from_raw(pid).expect("a process id")
    }

    /// The processes above the tool that does not end: nobody else sleeps so long.
    fn above_tool(&self) -> Vec<i32> {
        let sleeps = || {
            let all = self.stage.processes().into_iter();
            all.map(|(pid, command)| (command.contains(SLEEP), pid))
                .find(|(sleeps, _)| *sleeps)
        };
        // Between its line and its sleep it may be on its way from one program to the next.
        until(
            || sleeps().is_some(),
            || format!("nobody sleeps among {:#?}", self.stage.processes()),
        );
        let tool = sleeps().map(|(_, pid)| pid);
        std::iter::successors(tool.and_then(parent_of), |pid| parent_of(*pid)).collect()
    }

    /// Whoever asked is told once, the results are kept, Pi goes, and nothing is left.
    fn run_out(mut self) {
        let (storm, stage) = (self.storm, self.stage);
        match storm.kind {
            Kind::Skill | Kind::Steered => {
                let result = self.pi.wait_for(PATIENCE, is_result);
                let words = result["message"]["content"].to_string();
                let state = result["message"]["details"]["state"].as_str();
                assert!(state != Some(SUCCEEDED) || words.contains(&answer(0)), "{result}");
                talk(&mut self.pi, "Thank you.");
                until_steps(stage, "delivery_acknowledged", 1);
                assert_eq!(count(&self.pi, is_result), 1);
            }
            _ if storm.is_in_background() => {
                until_steps(stage, "delivery_acknowledged", storm.children.len());
                self.check_session();
            }
            _ => {
                // What the main agent waited for is in its turn.
                self.pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
                talk(&mut self.pi, "Thank you.");
                until_steps(stage, "delivery_acknowledged", storm.children.len());
                assert_eq!(count(&self.pi, is_result), 0, "the call brings the result");
                self.check_main_is_told();
            }
        }
        stage.server.set_script(marks()).expect("a script");
        talk(&mut self.pi, "Mark this place.");
        talk(&mut self.pi, "Thank you again.");
        check_left_out(stage, storm.kill.is_none());
        stage.end(self.pi);
    }

    /// The host is gone: so is everything. Who asked in the background comes back to the session and finds what there is.
    fn without_its_host(mut self) {
        self.stage.nothing_is_left();
        let Some(session) = &self.session else {
            return;
        };
        let mut pi = self.stage.rpc();
        switch(
            &mut pi,
            &json!({"type": "switch_session", "sessionPath": session}),
        );
        self.pi = pi;
        until_steps(self.stage, "delivery_acknowledged", self.storm.children.len());
        self.check_session();
        self.stage.end(self.pi);
    }

    /// In the session each result stands once; what a chain says, as one.
    fn check_session(&self) {
        let session = self.session.as_ref().expect("a session");
        let text = fs::read_to_string(session).expect("its file");
        let entries = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let results = entries.filter(|entry| entry["customType"] == "impresario-result");
        let named = results
            .map(|entry| runs_named(&entry["details"]))
            .collect::<Vec<_>>();
        let is_chain = matches!(self.storm.kind, Kind::Chain { .. });
        assert_eq!(
            named.len(),
            if is_chain { 1 } else { self.storm.children.len() },
            "{named:?}"
        );
        let mut all = named.concat();
        all.sort();
        let mut runs = self
            .stage
            .runs()
            .iter()
            .map(|run| run["run"].as_str().expect("an id").to_string())
            .collect::<Vec<_>>();
        runs.sort();
        assert_eq!(all, runs, "each run once");
        for (run, state, child) in ends(self.storm, self.stage) {
            let speaks = !is_chain || child + 1 == self.storm.children.len();
            assert!(
                state != SUCCEEDED || !speaks || text.contains(&answer(child)),
                "nothing of {run} in {text}"
            );
        }
    }

    fn check_main_is_told(&self) {
        let calls = self.stage.server.ledger().calls_of("main agent");
        let told = calls.last().expect("it was asked").body.to_string();
        let is_chain = matches!(self.storm.kind, Kind::Chain { .. });
        for (run, state, child) in ends(self.storm, self.stage) {
            let speaks = !is_chain || child + 1 == self.storm.children.len();
            assert!(
                state != SUCCEEDED || !speaks || told.contains(&answer(child)),
                "nothing of {run} in {told}"
            );
        }
    }
}

// ---- afterwards

/// The runs, how each ended, and which sub-agent it was.
fn ends(storm: &Storm, stage: &Stage) -> Vec<(String, String, usize)> {
    let runs = stage.runs().into_iter().map(|run| {
        let text = |field: &str| run[field].as_str().unwrap_or_default().to_string();
        let task = text("task");
        let child = (0..storm.children.len()).find(|child| task.contains(&piece(*child)));
        (
            text("run"),
            text("state"),
            child.unwrap_or_else(|| panic!("whose is {run}")),
        )
    });
    runs.collect()
}

fn check_ends(storm: &Storm, stage: &Stage) {
    let ends = ends(storm, stage);
    let story = || format!("{ends:?}\n{:#?}", steps(stage));
    let children = ends.iter().map(|(_, _, child)| *child).collect::<BTreeSet<_>>();
    assert_eq!(children.len(), ends.len(), "asked for once each: {}", story());
    assert!(
        !storm.asks_all() || children.len() == storm.children.len(),
        "{}",
        story()
    );
    let is_struck_there =
        storm.is_capped() || storm.moment() == Some(Moment::Idle) || children.contains(&storm.struck);
    assert!(is_struck_there, "{}", story());
    for (run, state, child) in &ends {
        let may = storm.may_end(*child);
        assert!(
            may.contains(&state.as_str()),
            "{run} of {child} is {state}, not {may:?}: {}",
            story()
        );
        if state == PARKED && storm.victim() != Some(Victim::Host) {
            let why = reason_of(stage, run);
            let is_right = match why.as_str() {
                "tool_indeterminate" => storm.kill.is_some(),
                "step_not_begun" => matches!(storm.kind, Kind::Chain { .. }),
                "over_budget" => storm.is_capped(),
                _ => false,
            };
            assert!(is_right, "{run} is parked because of {why}: {}", story());
        }
        if matches!(storm.kind, Kind::Chain { .. }) {
            let before = ends.iter().find(|(_, _, earlier)| earlier + 1 == *child);
            let is_behind = before.is_none_or(|(before, ..)| is_over_when_begins(stage, before, run));
            assert!(
                is_behind,
                "{run} did not wait for the step before it: {}",
                story()
            );
        }
        // What was over before anybody was killed did not run again.
        let is_over_before = matches!(storm.kind, Kind::Chain { .. } | Kind::Warm) && *child < storm.struck;
        let attempts = rows_of(stage, run, "attempt_started").len();
        assert!(
            !is_over_before || attempts == 1,
            "{run} was tried {attempts} times: {}",
            story()
        );
    }
}

fn is_over_when_begins(stage: &Stage, before: &str, run: &str) -> bool {
    let first = |run: &str, step: &str| rows_of(stage, run, step).first().map(|row| row.at_ms);
    let (over, begins) = (first(before, "ended"), first(run, "attempt_started"));
    begins.is_none_or(|begins| over.is_some_and(|over| over <= begins))
}

fn reason_of(stage: &Stage, run: &str) -> String {
    let ended = rows_of(stage, run, "ended");
    let reason = ended.first().map(|row| row.step["reason"]["code"].clone());
    reason
        .unwrap_or_default()
        .as_str()
        .unwrap_or_default()
        .to_string()
}

/// A storm without its fault proves nothing.
fn check_fault_happened(storm: &Storm, stage: &Stage) {
    let (Some((_, ill)), true) = (storm.ill, storm.meets_its_fault()) else {
        return;
    };
    let fault = storm.turns(storm.struck).fault;
    let calls = stage.server.ledger().calls();
    let call = calls.iter().find(|call| is_turn(call, storm.struck, fault));
    let end = call.and_then(|call| call.end);
    let happened = end.is_some_and(|end| match ill {
        Ill::Overloaded => end.status == Some(529),
        Ill::Unauthorized => end.status == Some(401),
        Ill::Cut => end.outcome == Outcome::CutByScript,
        Ill::Hang => end.outcome == Outcome::CutByClient,
        Ill::Garbage => end.status == Some(200) && end.bytes_sent > 0,
    });
    assert!(happened, "{ill:?} did not happen: {end:?}");
}

/// Of every line that a tool wrote the journal has a start, and of every end there is a line.
fn check_effects(storm: &Storm, stage: &Stage) {
    let rows = steps(stage);
    for (child, works) in storm.children.iter().enumerate() {
        for place in 0..works.len() {
            check_effects_in(&effects_file(child, place), stage, &rows);
        }
    }
    check_edits(storm, stage, &rows);
}

fn check_effects_in(file: &str, stage: &Stage, rows: &[JournalRow]) {
    let text = fs::read_to_string(stage.sandbox.work().join(file)).unwrap_or_default();
    let lines = text.lines().count();
    let is_about = |row: &&JournalRow| {
        let said = row.step["summary"].as_str();
        row.step["step"] == "tool_started" && said.is_some_and(|said| said.contains(file))
    };
    let started = rows.iter().filter(is_about).collect::<Vec<_>>();
    let ended = started.iter().filter(|start| {
        rows.iter().any(|row| {
            row.run == start.run
                && row.step["step"] == "tool_ended"
                && row.step["attempt"] == start.step["attempt"]
                && row.step["call"] == start.step["call"]
                && row.step["is_error"] == false
        })
    });
    let ended = ended.count();
    assert!(
        (ended..=started.len()).contains(&lines),
        "{file}: {} starts, {lines} effects, {ended} ends",
        started.len()
    );
}

/// What the models' server counted is what the journal has, and no more than a call of each above the cap. A call that was
/// cut off is reckoned with what was set aside for it; of one that was under way when the runtime was killed nobody knows.
fn check_money(storm: &Storm, stage: &Stage) {
    let Kind::Capped { tokens: cap } = storm.kind else {
        return;
    };
    let is_killed = |victim| storm.victim() == Some(victim);
    let unknown = match is_killed(Victim::Runtime) || is_killed(Victim::Host) {
        true => CALL_TOKENS * storm.children.len() as u64,
        false => 0,
    };
    let calls = stage.server.ledger().calls();
    let of_sub_agents = calls.iter().filter(|call| {
        call.rule
            .as_deref()
            .is_some_and(|rule| rule.starts_with("sub-agent"))
    });
    let charged = of_sub_agents.filter_map(|call| call.said.as_ref());
    let charged = charged
        .map(|said| said.usage.input + said.usage.output)
        .sum::<u64>();
    let rows = steps(stage);
    let called = rows.iter().filter(|row| row.step["step"] == "model_called");
    let called = called.map(|row| &row.step["call"]).collect::<Vec<_>>();
    let cut_off = called.iter().filter(|call| call["used"].is_null()).count() as u64;
    let unknown = unknown + CALL_TOKENS * cut_off;
    let counted = called.into_iter().map(tokens_of).sum::<u64>();
    assert!(
        charged <= counted + unknown,
        "{charged} tokens were charged and {counted} are in the journal"
    );
    let most = cap + CALL_TOKENS * storm.children.len() as u64;
    assert!(charged <= most + unknown, "{charged} tokens of {cap}");
    let stopped = ends(storm, stage)
        .into_iter()
        .filter(|(run, ..)| reason_of(stage, run) == "over_budget");
    let stopped = stopped.count();
    assert!(
        stopped == 0 || counted > cap / 2,
        "stopped long before: {counted} of {cap}"
    );
}

fn tokens_of(call: &Value) -> u64 {
    let took = match &call["used"] {
        Value::Null => &call["reserved"],
        used => used,
    };
    let kinds = ["input", "output", "cache_read", "cache_write"];
    kinds.iter().filter_map(|kind| took[kind].as_u64()).sum()
}

/// What was taken is heard once; of who succeeded, before its end.
fn check_message(storm: &Storm, stage: &Stage) {
    if storm.kind != Kind::Steered {
        return;
    }
    let rows = steps(stage);
    let of_kind = |step: &str| rows.iter().filter(|row| row.step["step"] == step).count();
    assert_eq!(of_kind("message_accepted"), 1);
    let delivered = rows.iter().filter(|row| row.step["step"] == "message_delivered");
    let attempts = delivered
        .map(|row| row.step["attempt"].to_string())
        .collect::<Vec<_>>();
    let once_each = attempts.iter().collect::<BTreeSet<_>>();
    assert_eq!(once_each.len(), attempts.len(), "once in an attempt: {rows:#?}");
    let calls = stage.server.ledger().calls_of(&rule_of(0));
    let heard = |call: &Call| call.body.to_string().matches(TOLD).count();
    assert!(calls.iter().all(|call| heard(call) <= 1), "it was told twice");
    if ends(storm, stage)[0].1 == SUCCEEDED {
        assert!(!attempts.is_empty(), "{rows:#?}");
        assert_eq!(calls.last().map(heard), Some(1), "it never heard it");
    }
}

// ---- where to look

/// Pis that work for the runtime or wait to, the oldest first.
fn nested_pis(stage: &Stage, pi: &JsonLines) -> Vec<i32> {
    let host = i32::try_from(pi.pid()).expect("a process id");
    let mut all = stage.processes();
    all.sort_by_key(|(pid, _)| *pid);
    let nested = all.into_iter().filter(|(pid, command)| {
        *pid != host && command.starts_with("pi") && has_environment(*pid, "IMPRESARIO_RUN=")
    });
    nested.map(|(pid, _)| pid).collect()
}

fn children_of(parent: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let children = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    children
        .flat_map(|line| {
            line.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

fn until_steps(stage: &Stage, step: &str, count: usize) {
    until(
        || runs_with(stage, step).len() >= count,
        || format!("never {count} times {step}: {:#?}", steps(stage)),
    );
}

/// The runs that have taken such a step.
fn runs_with(stage: &Stage, step: &str) -> BTreeSet<String> {
    let rows = steps(stage).into_iter().filter(|row| row.step["step"] == step);
    rows.map(|row| row.run).collect()
}

fn rows_of(stage: &Stage, run: &str, step: &str) -> Vec<JournalRow> {
    let rows = steps(stage).into_iter();
    rows.filter(|row| row.run == run && row.step["step"] == step)
        .collect()
}

fn steps(stage: &Stage) -> Vec<JournalRow> {
    stage.audit.rows_so_far()
}

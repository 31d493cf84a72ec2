//! Whole skills, played in the peer's order: the host, the models and the sub-agent are scripted, every decision
//! is a policy of ours.

use super::settings::resolve_as_peer;
use crate::vectors::{Answer, Case};
use impresario_policies::compat::Json;
use impresario_policies::context_budget::{budget_tier, choose_context_budget};
use impresario_policies::degradation::{DegradationFacts, decide_alert};
use impresario_policies::domain::{Brief, Route};
use impresario_policies::execution_route::{RouteFacts, choose_route, executing_line, tier_word};
use impresario_policies::judge_loop::{JudgeMove, PassSoFar, Settled, decide_judge_move, missing_verdict};
use impresario_policies::judge_reply::{read_brief, read_verdict};
use impresario_policies::output_sanitizer::sanitize_output;
use impresario_policies::overflow_memory::{KeepDecision, OverflowFacts, decide_keep};
use impresario_policies::overflow_review::{
    OverflowReview, ToolCeiling, ToolResultFacts, review_tool_result,
};
use impresario_policies::preflight::preflight_failed_line;
use impresario_policies::redact::redact;
use impresario_policies::render_brief::render_brief;
use impresario_policies::router_log::{self, LogEvent};
use impresario_policies::router_phase::{RouterEvent, RouterPhase, decide_phase};
use impresario_policies::settings::{NoticeKind, RouterSettings};
use impresario_policies::skill_command::{TypedInput, read_colon_form, read_skill_command};
use impresario_policies::skill_file::read_skill_file;
use impresario_policies::skill_lookup::SkillLookupError;
use impresario_policies::sub_agent_prompt::{fingerprint, system_prompt};
use impresario_policies::trace_classify::classify_trace;
use impresario_policies::trace_file::{
    Trace, TraceCall, files_of_skill, free_trace_file_name, is_safe_trace_name, result_preview,
};
use impresario_policies::trace_regression::detect_regression;
use impresario_policies::trace_report::{judge_traces, mini_report, report_traces};
use impresario_policies::trace_retention::{TraceEntry, choose_deletions};
use impresario_policies::trace_view::{ViewSettings, view_trace};
use impresario_policies::user_lines;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub fn router_scenario(case: &Case) -> Answer {
    let mut player = Player::new(case);
    let steps: Vec<Value> = case.list("steps").iter().map(|step| player.step(step)).collect();
    Answer::value(player.outcome(steps))
}

/// A skill that waits for an answer.
struct Waiting {
    skill: String,
    instructions: String,
    model: Option<String>,
    settled: Settled,
    waited_ms: f64,
}

struct Player<'a> {
    case: &'a Case,
    settings: RouterSettings,
    phase: RouterPhase,
    waiting: Option<Waiting>,
    detached: bool,
    now_ms: f64,
    calls: usize,
    runs: usize,
    messages: Vec<Value>,
    locks: Vec<Value>,
    logs: Vec<Value>,
    llm_calls: Vec<Value>,
    sub_agent_calls: Vec<Value>,
    /// The trace directory, with the age of what is in it by order of writing.
    files: BTreeMap<String, (usize, String)>,
    written: Vec<String>,
    seeded: Vec<String>,
    last_alerts: BTreeMap<String, f64>,
}

impl<'a> Player<'a> {
    fn new(case: &'a Case) -> Self {
        let text = match case.get("settings") {
            Json::Null => None,
            settings => {
                let root = Json::Object(vec![("auggieRouter".into(), settings.clone())]);
                Some(root.to_text())
            }
        };
        let resolved = resolve_as_peer(text.as_deref());
        let mut settings = RouterSettings::from(&resolved);
        // The peer has one window for both.
        settings.trace.report.trend_window = settings.trace.report.regression_window;
        let seeds = case.get("trace_files").as_object().unwrap_or_default();
        let files: BTreeMap<String, (usize, String)> = seeds
            .iter()
            .enumerate()
            .map(|(at, (name, content))| (name.clone(), (at, content.as_str().unwrap_or("").to_string())))
            .collect();
        let mut player = Self {
            case,
            settings,
            phase: RouterPhase::Idle,
            waiting: None,
            detached: false,
            now_ms: 0.0,
            calls: 0,
            runs: 0,
            messages: Vec::new(),
            locks: Vec::new(),
            logs: Vec::new(),
            llm_calls: Vec::new(),
            sub_agent_calls: Vec::new(),
            seeded: files.keys().cloned().collect(),
            files,
            written: Vec::new(),
            last_alerts: BTreeMap::new(),
        };
        for notice in &resolved.notices {
            if let NoticeKind::Invalid { key, why } = &notice.kind {
                let text = format!("pi-auggie-router: invalid setting ignored — auggieRouter.{key}: {why}");
                player.logs.push(json!({"level": "warn", "text": text}));
            }
        }
        player
    }

    fn step(&mut self, step: &Json) -> Value {
        let text = step.get("text").and_then(Json::as_str).unwrap_or("");
        if let Some(at) = step.get("at").and_then(Json::as_number) {
            self.now_ms = at;
        }
        match step.get("do").and_then(Json::as_str).unwrap_or("") {
            "input" | "before" if self.detached => json!("detached"),
            "input" => self.input(text),
            "before" => json!({"cancel": self.before(text)}),
            "trigger" => match read_skill_command(text) {
                None => json!({"error": "Not a /skill: command"}),
                Some(command) => {
                    self.start(&command.name);
                    json!("done")
                }
            },
            "wait" => {
                self.wait(step.get("ms").and_then(Json::as_number).unwrap_or(0.0));
                json!("ok")
            }
            _ => {
                self.dispose();
                json!("ok")
            }
        }
    }

    fn input(&mut self, text: &str) -> Value {
        match read_colon_form(text) {
            TypedInput::Pass => return json!("pass"),
            TypedInput::Skill(command) => self.start(&command.name),
            TypedInput::TraceReport { skill } => self.show_report(&skill),
            TypedInput::TraceView { file } => self.show_trace(&file),
            TypedInput::Usage { usage } => self.system(&user_lines::usage(usage)),
            TypedInput::PickSkill | TypedInput::Cancel => {}
        }
        json!({"cancel": true})
    }

    fn system(&mut self, text: &str) {
        self.messages.push(json!({"kind": "system", "text": text}));
    }

    fn log(&mut self, event: &LogEvent) {
        let mut fields = Value::from(&event.fields);
        let name = fields["event"]
            .as_str()
            .unwrap_or("")
            .replacen("impresario.", "auggie-router.", 1);
        fields["event"] = json!(name);
        self.logs
            .push(json!({"level": event.level.word(), "event": fields}));
    }

    fn move_on(&mut self, event: RouterEvent) {
        if let Ok(phase) = decide_phase(self.phase, event) {
            self.phase = phase;
        }
    }

    fn start(&mut self, name: &str) {
        if self.phase.is_busy() {
            return self.system(&user_lines::busy(self.phase));
        }
        let Some(content) = self.case.get("skills").get(name).and_then(Json::as_str) else {
            let error = SkillLookupError::NotFound(name.to_string());
            return self.system(&user_lines::skill_refused(&error.to_string()));
        };
        let skill = match read_skill_file(content) {
            Ok(skill) => skill,
            Err(error) => return self.system(&user_lines::skill_unreadable(name, &error.to_string())),
        };
        self.move_on(RouterEvent::BeginEvaluation);
        let settled = match self.judge() {
            Ok(settled) => settled,
            Err(why) => return self.fail(&why),
        };
        let waiting = Waiting {
            skill: name.to_string(),
            instructions: skill.instructions,
            model: skill.model,
            settled,
            waited_ms: 0.0,
        };
        if waiting.settled.passed() {
            return self.execute(waiting, None);
        }
        self.system(&user_lines::missing_context(waiting.settled.question()));
        self.move_on(RouterEvent::BeginWaitForUser);
        self.waiting = Some(waiting);
    }

    /// Scripted replies in order, over and over.
    fn call_model(&mut self, who: &str) -> Result<String, String> {
        let replies = self.case.list("llm");
        let reply = replies.get(self.calls % replies.len().max(1));
        self.calls += 1;
        self.llm_calls
            .push(json!({"who": who, "model": self.settings.routing_model}));
        match reply {
            Some(Json::String(text)) => Ok(text.clone()),
            Some(other) => Err(other
                .get("error")
                .and_then(Json::as_str)
                .unwrap_or("")
                .to_string()),
            None => Ok(String::new()),
        }
    }

    fn judge(&mut self) -> Result<Settled, String> {
        let mut passes: Vec<PassSoFar> = Vec::new();
        loop {
            match decide_judge_move(&passes, self.settings.judge_passes_max) {
                JudgeMove::Settle(settled) => return Ok(settled),
                JudgeMove::WriteBrief { .. } => {
                    let reply = self.call_model("actor")?;
                    passes.push(PassSoFar {
                        brief: read_brief(&reply),
                        verdict: None,
                    });
                }
                JudgeMove::Judge { .. } => {
                    let reply = self.call_model("judge")?;
                    let verdict = read_verdict(&reply).unwrap_or_else(|| missing_verdict(false));
                    if let Some(pass) = passes.last_mut() {
                        pass.verdict = Some(verdict);
                    }
                }
            }
        }
    }

    fn fail(&mut self, why: &str) {
        let why = redact(why).into_owned();
        self.logs
            .push(json!({"level": "error", "text": format!("pi-auggie-router: {why}")}));
        self.system(&user_lines::skill_refused(&why));
        self.move_on(RouterEvent::Reset);
    }

    fn before(&mut self, text: &str) -> bool {
        let Some(waiting) = self.waiting.take() else {
            return false;
        };
        self.move_on(RouterEvent::ConsumeUserAnswer);
        self.execute(waiting, Some(text));
        true
    }

    fn wait(&mut self, ms: f64) {
        let limit = self.settings.question_timeout.as_millis();
        let Some(mut waiting) = self.waiting.take() else {
            return;
        };
        waiting.waited_ms += ms;
        if waiting.waited_ms >= limit as f64 {
            self.system(&user_lines::question_timed_out(&waiting.skill, limit as u64));
            self.move_on(RouterEvent::RejectPending);
        } else {
            self.waiting = Some(waiting);
        }
    }

    fn dispose(&mut self) {
        self.detached = true;
        if let Some(waiting) = self.waiting.take() {
            self.system(&user_lines::question_reset(&waiting.skill));
        }
        self.move_on(RouterEvent::Reset);
    }

    fn execute(&mut self, waiting: Waiting, answer: Option<&str>) {
        let preflight = self.case.get("preflight");
        if preflight.get("ok") == Some(&Json::Bool(false)) {
            let detail = preflight.get("detail").and_then(Json::as_str).unwrap_or("");
            self.system(&preflight_failed_line(detail));
            return self.move_on(RouterEvent::Reset);
        }
        let judged = waiting.settled.verdict.execution_route.clone();
        let facts = RouteFacts {
            skill_model: waiting.model.as_deref(),
            default_model: None,
            route: judged.clone(),
            passed: waiting.settled.passed(),
        };
        let decision = match choose_route(&facts, &self.settings.route) {
            Ok(decision) => decision,
            Err(error) => return self.fail(&error.to_string()),
        };
        self.move_on(RouterEvent::BeginExecution);
        self.locks
            .push(json!({"locked": true, "reason": "pi-auggie-router: skill execution in progress"}));
        self.log(&router_log::route_chosen(&waiting.skill, &decision, &judged));
        let budget = choose_context_budget(budget_tier(&decision), &self.settings.budget);
        if let Some(event) = router_log::budget_chosen(&waiting.skill, &budget) {
            self.log(&event);
        }
        let prompt = system_prompt(
            &waiting.instructions,
            self.case.get("system_prompt_appendix").as_str(),
        );
        let print = fingerprint(&prompt);
        if self.settings.debug_prompt_hash {
            self.log(&router_log::prompt_prefix(&waiting.skill, &print));
        }
        self.system(&executing_line(
            &waiting.skill,
            &decision,
            self.settings.surface_decision,
        ));
        let brief = Brief {
            user_clarifications: answer.map(str::to_string).into_iter().collect(),
            ..waiting.settled.brief.clone()
        };
        let route = Route {
            tier: decision.effective_tier,
            ..judged
        };
        let run = Run {
            skill: waiting.skill,
            model: decision.model,
            brief,
            route,
        };
        self.run_sub_agent(&run, &print.sha256, budget.ceiling_bytes as usize);
        self.locks.push(json!({"locked": false}));
        self.move_on(RouterEvent::Reset);
    }

    fn run_sub_agent(&mut self, run: &Run, prompt_hash: &str, ceiling: usize) {
        let script = self.case.list("sub_agent");
        let script = script
            .get(self.runs.min(script.len().saturating_sub(1)))
            .cloned()
            .unwrap_or(Json::Null);
        self.runs += 1;
        let calls = script
            .get("tool_calls")
            .and_then(Json::as_array)
            .unwrap_or_default();
        let (tool_results, tool_calls) = self.use_tools(calls, ceiling);
        let memory = self.settings.overflow.enabled;
        let servers = if memory {
            json!(["auggie", "context-memory"])
        } else {
            json!(["auggie"])
        };
        self.sub_agent_calls.push(json!({
            "model": run.model, "temperature": self.settings.temperature,
            "system_prompt_sha256": prompt_hash, "user_prompt": render_brief(&run.brief), "mcp_servers": servers,
            "auggie_command": self.settings.auggie_program, "auggie_args": ["mcp"],
            "total_timeout_ms": self.settings.total_timeout.as_millis() as u64,
            "inactivity_timeout_ms": self.settings.inactivity_timeout.as_millis() as u64,
            "tool_results": tool_results,
        }));
        let word = |key: &str| script.get(key).and_then(Json::as_str).map(str::to_string);
        if let Some(error) = word("error") {
            self.system(&user_lines::sub_agent_failed(&redact(&error)));
            return self.trace(run, tool_calls, String::new(), "error".into());
        }
        let reason = word("stopped_reason").unwrap_or_else(|| "completed".into());
        let answer = word("final_text").unwrap_or_default();
        let sanitized = sanitize_output(&answer, &self.settings.sanitizer);
        if let Some(event) = router_log::output_sanitized(&run.skill, &sanitized) {
            self.log(&event);
        }
        let shown = sanitized.text.into_owned();
        self.messages.push(json!({"kind": "assistant", "text": shown}));
        if reason != "completed" {
            self.system(&user_lines::stopped_early(&reason));
        }
        self.trace(run, tool_calls, shown, reason);
    }

    fn use_tools(&self, calls: &[Json], ceiling: usize) -> (Vec<Value>, Vec<TraceCall>) {
        let ceilings = [ToolCeiling {
            server: Some("auggie".into()),
            tool: Some("codebase-retrieval".into()),
            bytes_max: Some(ceiling),
        }];
        let mut kept = OverflowFacts::default();
        let (mut results, mut traced) = (Vec::new(), Vec::new());
        for (index, call) in calls.iter().enumerate() {
            let text = |key: &str| call.get(key).and_then(Json::as_str).unwrap_or("");
            let payload = text("payload");
            let facts = ToolResultFacts {
                server: text("server"),
                tool: text("tool"),
                bytes: payload.len(),
            };
            let blocked = review_tool_result(&facts, &ceilings) != OverflowReview::Pass;
            results.push(match decide_keep(payload.len(), &kept, &self.settings.overflow) {
                _ if !blocked => json!({"block": false}),
                KeepDecision::Refuse(_) => json!({"block": true, "kind": "legacy"}),
                KeepDecision::Keep { .. } => {
                    kept.entries += 1;
                    kept.bytes += payload.len();
                    json!({"block": true, "kind": "stored"})
                }
            });
            traced.push(TraceCall {
                index: index as f64,
                server_name: facts.server.into(),
                tool_name: facts.tool.into(),
                args: call.get("args").cloned().unwrap_or(Json::Null),
                result_preview: result_preview(payload, self.settings.trace.preview_units_max),
                blocked,
                timestamp: self.now_ms,
            });
        }
        (results, traced)
    }

    fn trace(&mut self, run: &Run, tool_calls: Vec<TraceCall>, final_text: String, stopped_reason: String) {
        if !self.settings.trace.enabled {
            return;
        }
        let trace = Trace {
            skill_name: run.skill.clone(),
            timestamp: self.now_ms,
            model: run.model.clone(),
            brief: run.brief.clone(),
            route: run.route.clone(),
            tool_calls,
            final_text,
            stopped_reason,
            ours: None,
        };
        let history = self.traces_of(&run.skill);
        let name = free_trace_file_name(&run.skill, self.now_ms as u64, |name| {
            self.files.contains_key(name)
        });
        self.files
            .insert(name.clone(), (self.files.len(), trace.to_file_text()));
        self.written.push(name.clone());
        if self.settings.trace.observed {
            self.observe(&trace, &history);
        } else {
            let path = format!("{}/{name}", self.settings.trace.directory);
            self.log(&router_log::trace_written(&trace, &path));
        }
        self.clean_up();
    }

    fn observe(&mut self, trace: &Trace, history: &[Trace]) {
        let skill = trace.skill_name.clone();
        let window = self.settings.trace.report.regression_window;
        let verdict = detect_regression(classify_trace(trace), trace, history, window);
        self.log(&router_log::trace_classified(trace, &verdict));
        let verdicts = judge_traces(history, history.len(), window);
        let facts = DegradationFacts {
            current: &verdict,
            history,
            verdicts: Some(&verdicts),
            last_alert_ms: self.last_alerts.get(&skill).copied(),
            now_ms: self.now_ms,
        };
        if let Some(alert) = decide_alert(&facts, &self.settings.trace.degradation) {
            self.last_alerts.insert(skill.clone(), self.now_ms);
            self.log(&router_log::degradation_alert(&skill, alert.failures));
            self.system(&alert.lines(&skill).join("\n"));
        }
        if self.settings.trace.report_after_run {
            let mut traces = vec![trace.clone()];
            traces.extend(history.iter().cloned());
            self.system(&mini_report(&skill, &traces, window));
        }
    }

    fn traces_of(&self, skill: &str) -> Vec<Trace> {
        let names: Vec<&str> = self.files.keys().map(String::as_str).collect();
        let mine = files_of_skill(skill, &names);
        mine.iter()
            .filter_map(|name| Trace::read(&self.files.get(*name)?.1))
            .collect()
    }

    fn clean_up(&mut self) {
        let newest = self.files.len();
        let entries: Vec<TraceEntry<'_>> = self
            .files
            .iter()
            .map(|(name, (order, _))| TraceEntry {
                name,
                age_ms: (newest - order) as f64,
                is_file: true,
            })
            .collect();
        let deleted: Vec<String> = choose_deletions(&entries, &self.settings.trace.retention)
            .into_iter()
            .map(str::to_string)
            .collect();
        if deleted.is_empty() {
            return;
        }
        self.files.retain(|name, _| !deleted.contains(name));
        let text = format!("pi-auggie-router: cleaned up {} old trace file(s)", deleted.len());
        self.logs.push(json!({"level": "debug", "text": text}));
    }

    fn show_report(&mut self, skill: &str) {
        if !self.settings.trace.observed {
            return self.system(user_lines::OBSERVABILITY_OFF);
        }
        let traces = self.traces_of(skill);
        let report = report_traces(skill, &traces, &self.settings.trace.report);
        self.system(&report.text);
        self.log(&router_log::trace_report(skill, report.verdicts.len()));
    }

    fn show_trace(&mut self, file: &str) {
        if !self.settings.trace.observed {
            return self.system(user_lines::OBSERVABILITY_OFF);
        }
        let found = self.files.get(file).filter(|_| is_safe_trace_name(file));
        let Some(trace) = found.and_then(|(_, content)| Trace::read(content)) else {
            return self.system(&user_lines::trace_not_found(file));
        };
        let verdict = classify_trace(&trace);
        self.system(&view_trace(file, &trace, &verdict, &ViewSettings::default()));
        self.log(&router_log::trace_view(file, &trace, &verdict));
    }

    fn outcome(&self, steps: Vec<Value>) -> Value {
        let traces: Vec<Value> = self
            .written
            .iter()
            .filter_map(|name| Some((name, Trace::read(&self.files.get(name)?.1)?)))
            .map(|(name, trace)| trace_value(name, &trace))
            .collect();
        let remaining: Vec<&String> = self
            .seeded
            .iter()
            .filter(|name| self.files.contains_key(*name))
            .collect();
        json!({
            "steps": steps, "messages": self.messages, "locks": self.locks, "logs": self.logs,
            "llm_calls": self.llm_calls, "sub_agent_calls": self.sub_agent_calls, "traces": traces,
            "remaining_seed_traces": remaining,
        })
    }
}

/// What a run was decided to be.
struct Run {
    skill: String,
    model: String,
    brief: Brief,
    route: Route,
}

fn trace_value(name: &str, trace: &Trace) -> Value {
    let calls: Vec<Value> = trace
        .tool_calls
        .iter()
        .map(|call| {
            json!({
                "index": call.index, "server": call.server_name, "tool": call.tool_name,
                "blocked": call.blocked, "preview": call.result_preview,
            })
        })
        .collect();
    json!({
        "file": name, "tool_calls": calls, "model": trace.model, "route_tier": tier_word(trace.route.tier),
        "brief": trace.brief, "final_text": trace.final_text, "stopped_reason": trace.stopped_reason,
    })
}

//! Settings files of a home and a workspace, and what the binary makes of them.

use crate::audit::Audit;
use impresario::settings::{Settings, SettingsPlaces};
use impresario::skills::{SpawnSettings, resolve};
use impresario_actors::messages::session::SkillOrder;
use impresario_policies::domain::{
    AdmissionTerms, AnswerTerms, Briefing, Budget, CacheTerms, Cap, CoolDownSettings, DegradationSettings,
    HistorySettings, HistoryStrategy, HistoryTerms, MiddleMode, ObservationSettings, PromptMode, Reason,
    ReasonCode, RunRequest, RunTerms, ShortNewest, TierCeilings, TraceTerms,
};

use impresario_policies::model_choice::{ChoiceDecision, choose_models};
use impresario_policies::settings::settings_schema_text;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const IMPRESARIO: &str = env!("CARGO_BIN_EXE_impresario");

/// A home and a workspace of our own.
struct Scene {
    _audit: Audit,
    directory: TempDir,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let scene = Self {
            _audit: Audit::of(directory.path().join("state")),
            directory,
        };
        fs::create_dir_all(scene.home().join(".pi/agent")).unwrap();
        fs::create_dir_all(scene.workspace().join(".pi")).unwrap();
        scene
    }

    fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    fn workspace(&self) -> PathBuf {
        self.directory.path().join("workspace")
    }

    fn with_home(self, text: &str) -> Self {
        fs::write(self.home().join(".pi/agent/settings.json"), text).unwrap();
        self
    }

    fn with_workspace(self, text: &str) -> Self {
        fs::write(self.workspace().join(".pi/settings.json"), text).unwrap();
        self
    }

    /// A skill of the home or the workspace.
    fn with_skill(self, below: &str, model: &str) -> Self {
        let skill = self.directory.path().join(below).join("skills/look");
        fs::create_dir_all(&skill).unwrap();
        let file = format!("---\nname: look\ndescription: Looks.\n{model}---\nLook.\n");
        fs::write(skill.join("SKILL.md"), file).unwrap();
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(IMPRESARIO);
        command
            .args(arguments)
            .current_dir(self.workspace())
            .env("HOME", self.home())
            .env("IMPRESARIO_STATE_DIRECTORY", self.directory.path().join("state"))
            .env_remove("PI_CODING_AGENT_DIR")
            .env_remove("IMPRESARIO_RUNNER")
            .stdin(Stdio::null());
        command
    }

    fn says(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What `config show` says of a key.
    fn shown(&self, key: &str, arguments: &[&str]) -> Value {
        let output = self.says(&[&["config", "show", "--json"], arguments].concat());
        let lines = text(&output.stdout);
        let values = lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        values.into_iter().find(|value| value["key"] == key).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What `config check` says: exit code and lines.
fn check(scene: &Scene, arguments: &[&str], code: i32, lines: &[&str]) {
    let output = scene.says(&[&["config", "check"], arguments].concat());
    assert_eq!(text(&output.stdout).lines().collect::<Vec<_>>(), lines);
    assert_eq!(output.status.code(), Some(code));
}

const NOTHING_OF_IT: &str = "nothing of it, so what the other file says, else the defaults";

#[test]
fn no_files_are_no_problem() {
    check(&Scene::new(), &[], 0, &[]);
}

#[test]
fn a_problem_has_file_line_key_what_was_expected_and_what_is_used() {
    let scene = Scene::new()
        .with_home(
            "{\n \"impresario\": {\n  \"totalTimeoutMs\": 90000,\n  \"fallbackModels\": [\"a/b\", 5]\n }\n}",
        )
        .with_workspace("{\"impresario\": {\n\"totalTimeoutMs\": \"soon\",\n\n\"histroyWindow\": 3}}");
    check(
        &scene,
        &[],
        1,
        &[
            "~/.pi/agent/settings.json:4:3: impresario.fallbackModels[1]: expected string, got number; used instead: \
             [] (default)",
            ".pi/settings.json:2:1: impresario.totalTimeoutMs: expected number, got string; used instead: \
             90000 (home, impresario)",
            ".pi/settings.json:4:1: impresario.histroyWindow: expected a setting that is known; did you mean \
             historyWindow?; used instead: nothing",
        ],
    );
}

#[test]
fn broken_json_names_its_line() {
    let scene = Scene::new().with_workspace("{\n\"impresario\": {\n\"runner\" \"pi\"}}");
    let output = scene.says(&["config", "check"]);
    let line = text(&output.stdout);
    assert!(line.starts_with(".pi/settings.json:3: expected JSON ("), "{line}");
    assert!(line.trim_end().ends_with(NOTHING_OF_IT), "{line}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_is_no_file_is_said_and_a_pipe_is_not_waited_for() {
    let scene = Scene::new();
    fs::create_dir(scene.workspace().join(".pi/settings.json")).unwrap();
    let pipe = scene.home().join(".pi/agent/settings.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let home = format!(
        "~/.pi/agent/settings.json: expected a file that can be read (invalid input parameter); used instead: \
         {NOTHING_OF_IT}"
    );
    let workspace = format!(
        ".pi/settings.json: expected a file that can be read (is a directory); used instead: {NOTHING_OF_IT}"
    );
    check(&scene, &[], 1, &[&home, &workspace]);
}

#[test]
fn a_file_that_is_too_large_is_not_used() {
    let long = "x".repeat(1_100_000);
    let scene = Scene::new().with_workspace(&format!("{{\"impresario\":{{\"runner\":\"{long}\"}}}}"));
    let output = scene.says(&["config", "check"]);
    let line = text(&output.stdout);
    assert!(line.contains("more than 1048576 bytes"), "{line}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_workspace_wins_where_it_is_trusted() {
    let scene = Scene::new()
        .with_home(r#"{"impresario":{"runner":"embedded","maxQuestions":1}}"#)
        .with_workspace(r#"{"impresario":{"runner":"pi"},"auggieRouter":{"historyWindow":7}}"#);
    let runner = scene.shown("runner", &[]);
    assert_eq!(runner["value"], "pi");
    assert_eq!(runner["from"], "workspace, impresario");
    assert_eq!(scene.shown("maxQuestions", &[])["from"], "home, impresario");
    let window = scene.shown("historyWindow", &[]);
    assert_eq!(
        (&window["value"], &window["from"]),
        (&json!(7), &json!("workspace, auggieRouter"))
    );
    assert_eq!(scene.shown("graceMs", &[])["from"], "default");

    assert_eq!(scene.shown("runner", &["--untrusted"])["value"], "embedded");
    check(
        &scene,
        &["--untrusted"],
        1,
        &[
            ".pi/settings.json:1:16: impresario.runner: expected a workspace that is trusted, because it names a \
             program, a path, a provider or a model, or spends more; used instead: \"embedded\" (home, impresario)",
        ],
    );
}

/// A file as somebody has it who used pi-blackbytes before.
const OF_A_PEER: &str = r#"{
 "theme": "dark",
 "blackbytes": {
  "disabled_tools": ["bash", "grep"],
  "disabled_sub_agents": ["reviewer"],
  "hashline_edit": {"enabled": true, "strict_patch": true},
  "websearch": {"provider": "tavily", "tavily_api_key": "tvly-key"},
  "sub_agents": {
   "oracle": {"model": "mock/deep", "reasoningEffort": "high", "timeoutMs": 0, "fallbackModels": ["mock/next"]},
   "explore": {"artifactCapture": true}
  }
 },
 "impresario": {"agents": {"oracle": {"reasoningEffort": "low"}}}
}"#;

#[test]
fn a_file_of_blackbytes_is_understood_as_it_is_and_ours_wins() {
    let scene = Scene::new().with_home(OF_A_PEER);
    check(
        &scene,
        &[],
        1,
        &[
            "~/.pi/agent/settings.json:9:64: blackbytes.sub_agents.oracle.timeoutMs: must be a finite integer between \
             1 and 3600000, got 0; used instead: what the agent says of itself",
            "~/.pi/agent/settings.json:10:16: blackbytes.sub_agents.explore.artifactCapture changes nothing: an answer \
             that was cut is always kept whole",
        ],
    );
    let effort = scene.shown("agents.oracle.reasoningEffort", &[]);
    assert_eq!(
        (&effort["value"], &effort["from"]),
        (&json!("low"), &json!("home, impresario"))
    );
    assert_eq!(scene.shown("agents.disabled", &[])["from"], "home, blackbytes");
    assert_eq!(scene.shown("tools.strictPatch", &[])["from"], "home, blackbytes");
    let everything = text(&scene.says(&["config", "show"]).stdout);
    assert!(!everything.contains("tvly-key"), "{everything}");

    let output = scene.says(&["agents", "--no-trust"]);
    let listed = text(&output.stdout);
    for line in [
        "    model: mock/deep  (home, blackbytes)",
        "    fallback models: mock/next  (home, blackbytes)",
        "    reasoning effort: low  (home, impresario)",
        "    time: 1200 s  (built in)",
        "    without: grep  (agents.disabledTools)",
    ] {
        assert!(listed.lines().any(|found| found == line), "{line}\n{listed}");
    }
    assert!(!listed.contains("reviewer  ("), "{listed}");
    let lines = text(&scene.says(&["agents", "--json", "--no-trust"]).stdout);
    let agents = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let oracle = agents
        .into_iter()
        .find(|agent| agent["agent"] == "oracle")
        .unwrap();
    assert_eq!(
        (&oracle["models"], &oracle["fallback_models"]),
        (&json!(["mock/deep"]), &json!(["mock/next"]))
    );
    assert_eq!(oracle["set"]["model"], "home, blackbytes");
}

/// What is disabled is disabled for agents and for skills, whoever names it.
#[test]
fn a_disabled_tool_is_in_no_request() {
    let scene = Scene::new().with_home(OF_A_PEER);
    let run = ["run", "explore", "Where is the lock taken?", "--json", "--trust"];
    let (request, _) = accepted(&scene, &run);
    let tools = request["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("read")), "{tools:?}");
    assert!(!tools.contains(&json!("grep")), "{tools:?}");
    let disabled = set(r#"{"agents": {"disabledTools": ["bash", "read"]}}"#);
    let mut with_pi = disabled.clone();
    with_pi.means.runner = "pi".to_string();
    let request = ordered(&with_pi, "", Some("a/one")).unwrap();
    assert!(request.tools.contains(&"edit".to_string()), "{:?}", request.tools);
    assert!(
        !request.tools.iter().any(|tool| tool == "bash" || tool == "read"),
        "{:?}",
        request.tools
    );
}

#[test]
fn an_agent_that_is_not_there_has_no_settings() {
    let scene = Scene::new()
        .with_home(r#"{"impresario":{"agents":{"orcale":{"model":"a/b"},"disabled":["ghost"]}}}"#);
    let listed = text(&scene.says(&["agents", "--no-trust"]).stdout);
    assert!(
        listed.contains("Settings name agents that are not there: orcale, ghost"),
        "{listed}"
    );
}

#[test]
fn every_setting_is_shown_with_its_value_and_where_it_comes_from() {
    let scene = Scene::new();
    let shown = text(&scene.says(&["config", "show"]).stdout);
    assert!(shown.contains("totalTimeoutMs = 300000  (default)"), "{shown}");
}

#[test]
fn the_agent_directory_may_be_elsewhere() {
    let scene = Scene::new();
    let elsewhere = scene.directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("settings.json"), "{\"impresario\": 5}").unwrap();
    let output = scene
        .command(&["config", "check"])
        .env("PI_CODING_AGENT_DIR", &elsewhere)
        .output()
        .unwrap();
    let line = text(&output.stdout);
    let expected =
        "$PI_CODING_AGENT_DIR/settings.json:1:2: impresario: expected object, got number; used instead: ";
    assert!(line.starts_with(expected), "{line}");
}

#[test]
fn the_schema_that_is_checked_in_is_the_one_that_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/settings.schema.json");
    let checked_in = fs::read_to_string(&path).unwrap_or_default();
    let hint = "write it with `impresario config schema > docs/settings.schema.json`";
    assert!(
        checked_in == settings_schema_text(),
        "docs/settings.schema.json is out of date; {hint}"
    );
    assert_eq!(text(&Scene::new().says(&["config", "schema"]).stdout), checked_in);
}

/// The request that a run was accepted with, and what stood on stderr.
fn accepted(scene: &Scene, arguments: &[&str]) -> (Value, String) {
    let output = scene.says(arguments);
    let stderr = text(&output.stderr);
    let stdout = text(&output.stdout);
    let first = stdout.lines().next().unwrap_or_else(|| panic!("{stderr}"));
    let event = serde_json::from_str::<Value>(first).unwrap();
    assert_eq!(event["type"], "run_accepted", "{event}");
    (event["request"].clone(), stderr)
}

#[test]
fn a_run_is_bounded_as_set_and_a_flag_wins() {
    let scene = Scene::new().with_workspace(
        r#"{"impresario":{"totalTimeoutMs":91000,"inactivityTimeoutMs":41000,"graceMs":700,"maxJudgeIterations":4,
        "overflowCeilingBytes":4321,"outputSanitizer":{"finalOutputMaxChars":999},"maxQuestions":"none"}}"#,
    );
    let run = [
        "run",
        "explore",
        "Where is the lock taken?",
        "--json",
        "--timeout",
        "77s",
        "--trust",
    ];
    let (request, stderr) = accepted(&scene, &run);
    assert_eq!(request["clocks"]["total"]["secs"], 77);
    assert_eq!(request["clocks"]["inactivity"]["secs"], 41);
    assert_eq!(request["clocks"]["grace"]["nanos"], 700_000_000);
    assert_eq!(request["briefing"]["passes_max"], 4);
    assert_eq!(request["overflow_ceiling_bytes"], 4321);
    assert_eq!(request["answer_chars_max"], 999);
    let notice = "impresario: Settings: .pi/settings.json:2:83: impresario.maxQuestions: expected number, got string; \
                  used instead: 3 (default)";
    assert!(stderr.lines().any(|line| line == notice), "{stderr}");
}

#[test]
fn a_skill_writes_its_trace_where_it_is_set_or_nowhere() {
    for (set, directory) in [
        (r#"{"traceDirectory":"notes/traces"}"#, json!("notes/traces")),
        (r#"{"enabled":false}"#, Value::Null),
    ] {
        let scene = Scene::new().with_home(&format!("{{\"impresario\":{{\"executionTrace\":{set}}}}}"));
        let scene = scene.with_skill("workspace/.pi", "");
        let (request, _) = accepted(
            &scene,
            &[
                "skill",
                "look",
                "find the lock in src/lib.rs",
                "--json",
                "--trust",
            ],
        );
        assert_eq!(request["trace_directory"], directory);
    }
}

/// What a skill with this `model:` becomes in a session on this model.
fn ordered(settings: &SpawnSettings, model: &str, session: Option<&str>) -> Result<RunRequest, Reason> {
    let scene = Scene::new().with_skill("workspace/.pi", &format!("model: {model}\n"));
    let order = SkillOrder {
        name: "look".into(),
        task: "look".into(),
        session: None,
        workspace: scene.workspace(),
        workspace_trusted: true,
        model: session.map(str::to_string),
        ..SkillOrder::default()
    };
    resolve(settings, "test", order)
}

/// What a skill runs with where these settings hold and the host has providers.
fn set(text: &str) -> SpawnSettings {
    let scene = Scene::new().with_workspace(&format!("{{\"impresario\":{text}}}"));
    let places = SettingsPlaces {
        home_file: None,
        home_file_shown: String::new(),
        workspace: scene.workspace(),
        workspace_trusted: true,
    };
    let read = Settings::read(&places);
    assert_eq!(read.problems, []);
    let mut settings = SpawnSettings {
        embedded_has_providers: true,
        ..SpawnSettings::default()
    };
    settings.set(read.configured());
    settings
}

/// The models that such a skill runs on when the judge has no opinion.
fn chain(settings: &str, model: &str, session: Option<&str>) -> Vec<String> {
    let request = ordered(&set(settings), model, session).unwrap();
    match choose_models(&request, None) {
        ChoiceDecision::Choose(choice) => choice.chain,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pinned_model_comes_before_the_session_and_the_fallback_after() {
    let both = r#"{"fallbackModels": ["c/three", "b/two"], "routingModel": "r/small"}"#;
    assert_eq!(chain(both, "b/two", Some("a/one")), ["b/two", "c/three"]);
    let request = ordered(&set(both), "b/two", Some("a/one")).unwrap();
    assert!(matches!(request.briefing, Briefing::Judged { model, .. } if model == "r/small"));
    assert_eq!(chain(both, "", Some("a/one")), ["a/one", "c/three", "b/two"]);
    let mut by_hand = set(both);
    by_hand.means.models_chosen = false;
    let request = ordered(&by_hand, "b/two", Some("a/one")).unwrap();
    assert_eq!(request.chain, ["a/one", "c/three", "b/two"]);
    assert_eq!(request.terms.routing.unwrap().skill_model, None);
}

#[test]
fn a_model_is_called_as_the_host_calls_it_until_a_default_provider_is_set() {
    assert_eq!(chain("{}", "two", Some("a/one")), ["a/two"]);
    assert_eq!(chain("{}", "b/two", Some("a/one")), ["b/two"]);
    let refused = ordered(&set("{}"), "two", None).unwrap_err();
    assert_eq!(refused.code, ReasonCode::BrokenSkill);
    assert!(
        refused.message.contains("names no provider"),
        "{}",
        refused.message
    );
    let provider = r#"{"defaultProvider": "d"}"#;
    assert_eq!(chain(provider, "two", Some("a/one")), ["d/anthropic/two"]);
    assert_eq!(chain(provider, "b/two", Some("a/one")), ["d/b/two"]);
    assert_eq!(chain(provider, "c/b/two", Some("a/one")), ["c/b/two"]);
    assert_eq!(chain(provider, "", Some("a/one")), ["a/one"]);
}

#[test]
fn the_work_chooses_the_model_where_that_is_set() {
    let by_default = r#"{"executionRouting": {"enabled": true}}"#;
    let balanced = ["openrouter/anthropic/claude-3-5-sonnet"];
    assert_eq!(chain(by_default, "", Some("a/one")), balanced);
    assert_eq!(chain(by_default, "b/two", Some("a/one")), ["b/two"]);
    let own = r#"{"executionRouting": {"enabled": true, "skillModelPolicy": "ignore",
        "models": {"balanced": "p/middle"}}, "fallbackModels": ["q/other"]}"#;
    assert_eq!(chain(own, "b/two", Some("a/one")), ["p/middle", "q/other"]);
    // With one default provider, every name is the peer's.
    let mapped = r#"{"defaultProvider": "d", "executionRouting": {"enabled": true, "models": {"balanced": "p/middle"}}}"#;
    assert_eq!(chain(mapped, "", Some("a/one")), ["d/p/middle"]);
    // The judge has no opinion of a risk it does not know: preferBest takes no chances.
    let best = r#"{"executionRouting": {"enabled": true, "preference": "preferBest",
        "models": {"frontier": "p/large"}}}"#;
    assert_eq!(chain(best, "", Some("a/one")), ["p/large"]);
}

#[test]
fn a_provider_off_the_list_is_refused_before_anything_is_spent() {
    let refused = |settings: &str, model: &str| ordered(&set(settings), model, Some("a/one")).unwrap_err();
    let only = |more: &str| format!(r#"{{"allowedProviderPrefixes": ["a"]{more}}}"#);
    assert_eq!(chain(&only(""), "", Some("a/one")), ["a/one"]);
    for (more, model, named) in [
        ("", "b/two", "b/two"),
        (r#", "routingModel": "r/small""#, "", "r/small"),
        (r#", "fallbackModels": ["c/three"]"#, "", "c/three"),
        (r#", "defaultProvider": "d""#, "a/two", "d/a/two"),
    ] {
        let reason = refused(&only(more), model);
        assert_eq!(reason.code, ReasonCode::DisallowedProvider);
        let expected = format!("Model \"{named}\" uses a disallowed provider. Allowed prefixes: a");
        assert_eq!(reason.message, expected);
    }
}

#[test]
fn what_is_set_about_history_answers_budgets_and_logs_is_in_the_request() {
    let settings = r#"{"historyWindow": 7, "maxJudgeIterations": 0, "debugPromptPrefixHash": true,
        "historyAssembly": {"strategy": "headTail", "headMessages": 1, "tailMessages": 3, "middleMode": "omit",
            "maxCharsPerMessage": 50, "maxTotalChars": 200},
        "outputSanitizer": {"enabled": false, "stripToolTraces": false},
        "contextBudgets": {"enabled": true, "overflowCeilingBytes": {"cheap": 2000, "frontier": 9000}},
        "budget": {"treeUsd": 2.5, "dayUsd": 0, "callTokens": 200000},
        "admission": {"width": 7, "perProvider": 2, "keepFreeMb": 3, "maxDepth": 2, "maxTreeRuns": 5},
        "coolDown": {"afterFailures": 0, "firstMs": 2000, "maxMs": 4000},
        "promptCache": {"enabled": false, "maxMarkers": 3, "spareMarkers": 1, "lookback": 15, "minTokens": 9, "siblingWaitMs": 0},
        "executionTrace": {"maxResultPreviewChars": 321}, "executionRouting": {"surfaceDecision": true}}"#;
    let request = ordered(&set(settings), "", Some("a/one")).unwrap();
    assert!(matches!(request.briefing, Briefing::Judged { passes_max: 0, .. }));
    let cool_down = CoolDownSettings {
        after_failures: 0,
        first: Duration::from_secs(2),
        max: Duration::from_secs(4),
    };
    assert_eq!(request.persistence.cool_down, cool_down);
    let terms = request.terms;
    let budget = Budget {
        call: Cap {
            usd: None,
            tokens: Some(200_000),
        },
        tree: Cap {
            usd: Some(2.5),
            tokens: None,
        },
        assumed_usd_per_million: 1.0,
        ..Budget::default()
    };
    let expected = RunTerms {
        must_look: false,
        budget,
        admission: AdmissionTerms {
            width: 7,
            provider_width: 2,
            memory_kept_free: 3 << 20,
            tree_depth: 2,
            tree_runs: 5,
        },
        cache: CacheTerms {
            enabled: false,
            markers_max: 3,
            spare: 1,
            lookback: 15,
            tokens_min: 9,
            sibling_wait_ms: 0,
        },
        tree: None,
        routing: terms.routing.clone(),
        styles: std::collections::BTreeMap::new(),
        results: terms.results.clone(),
        tier_ceilings: Some(TierCeilings {
            cheap: Some(2_000),
            balanced: None,
            frontier: Some(9_000),
        }),
        history: HistoryTerms {
            window: 7,
            assembly: HistorySettings {
                strategy: HistoryStrategy::HeadTail,
                head_messages: 1,
                tail_messages: 3,
                middle_mode: MiddleMode::Omit,
                message_units_max: 50,
                total_units_max: 200,
                short_newest: ShortNewest::Kept,
            },
        },
        answer: AnswerTerms {
            sanitize: false,
            strip_tool_traces: false,
        },
        trace: TraceTerms {
            preview_units_max: 321,
            observation: terms.trace.observation,
        },
        log_prompt_prefix: true,
        reasoning_effort: None,
        answer_schema: None,
        given: None,
        prompt_mode: PromptMode::Static,
        surroundings: terms.surroundings.clone(),
        session_file: None,
        isolation: terms.isolation,
        gate: None,
        inherited: None,
    };
    assert_eq!(terms, expected);
    assert!(terms.routing.unwrap().surface_decision);
    let by_default = ordered(&set("{}"), "", Some("a/one")).unwrap().terms;
    let money = by_default.budget;
    assert_eq!(
        (money.tree.usd, money.day.usd, money.run.usd),
        (Some(10.0), Some(100.0), None)
    );
    let expected = RunTerms {
        must_look: false,
        budget: money,
        routing: by_default.routing.clone(),
        trace: by_default.trace,
        surroundings: by_default.surroundings.clone(),
        ..RunTerms::default()
    };
    assert_eq!(by_default, expected);
}

#[test]
fn what_is_set_about_looking_at_traces_is_in_the_request() {
    let observation = |settings: &str| {
        let request = ordered(&set(settings), "", Some("a/one")).unwrap();
        request.terms.trace.observation.unwrap()
    };
    let by_default = ObservationSettings {
        enabled: true,
        report_after_run: false,
        degradation: DegradationSettings {
            enabled: true,
            consecutive_failures: 3,
            cooldown_hours: 24.0,
        },
        regression_window: 10,
        traces_max: 20,
    };
    assert_eq!(observation("{}"), by_default);
    let settings = r#"{"traceObservability": {"showReportAfterExecution": true, "degradationAlertEnabled": false,
        "degradationConsecutiveFailures": 5, "degradationAlertCooldownHours": 2, "regressionWindowSize": 7,
        "maxTracesPerSkill": 6}}"#;
    let as_set = ObservationSettings {
        enabled: true,
        report_after_run: true,
        degradation: DegradationSettings {
            enabled: false,
            consecutive_failures: 5,
            cooldown_hours: 2.0,
        },
        regression_window: 7,
        traces_max: 6,
    };
    assert_eq!(observation(settings), as_set);
    let off = observation(r#"{"traceObservability": {"enabled": false, "maxTracesPerSkill": 6}}"#);
    assert_eq!((off.enabled, off.traces_max), (false, 20));
}

#[test]
fn an_untrusted_workspace_chooses_no_model_and_lifts_no_limit() {
    let scene = Scene::new().with_workspace(
        r#"{"impresario": {"executionRouting": {"enabled": true, "preference": "preferBest",
        "skillModelPolicy": "ignore", "models": {"cheap": "x/y"}}, "allowedProviderPrefixes": ["x"],
        "defaultProvider": "x", "routingModel": "x/y", "fallbackModels": ["x/y"], "historyWindow": 400,
        "historyAssembly": {"maxTotalChars": 0}, "contextBudgets": {"enabled": true},
        "outputSanitizer": {"enabled": false}, "executionTrace": {"maxResultPreviewChars": 90000}}}"#,
    );
    for key in [
        "executionRouting.enabled",
        "executionRouting.preference",
        "executionRouting.skillModelPolicy",
        "executionRouting.models",
        "allowedProviderPrefixes",
        "defaultProvider",
        "routingModel",
        "fallbackModels",
        "historyWindow",
        "historyAssembly.maxTotalChars",
        "contextBudgets.enabled",
        "outputSanitizer.enabled",
        "executionTrace.maxResultPreviewChars",
    ] {
        assert_eq!(scene.shown(key, &["--untrusted"])["from"], "default", "{key}");
        assert_eq!(scene.shown(key, &[])["from"], "workspace, impresario", "{key}");
    }
}

#[test]
fn a_session_is_told_once_and_a_skill_runs_as_set_for_its_workspace() {
    let scene = Scene::new()
        .with_skill("home/.pi/agent", "")
        .with_home(r#"{"impresario":{"runner":"embedded","totalTimeoutMs":88000}}"#)
        .with_workspace("{\"impresario\": {\n\"graceMs\": 1,\n\"runner\": \"pi\"}}");
    let mut bridge = scene
        .command(&["bridge"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = bridge.stdin.take().unwrap();
    let session = json!({"jsonrpc": "2.0", "method": "session.start", "params": {
        "session": "s1", "file": null, "cwd": scene.workspace(), "mode": "rpc", "has_ui": false, "trusted": false,
        "model": "offline", "host_version": "0.87.1", "reason": "startup"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": {"protocol_oldest": 1,
        "protocol_newest": 1, "host": "pi", "host_version": "0.87.1", "extension_version": "0.1.0",
        "capabilities": []}});
    let skill = json!({"jsonrpc": "2.0", "id": 3, "method": "skill.run", "params": {"session": "s1",
        "request": "r1", "name": "look", "task": "find the lock in src/lib.rs"}});
    for message in [&hello, &session, &session, &skill] {
        writeln!(stdin, "{message}").unwrap();
    }
    let (mut notices, mut run) = (Vec::new(), None);
    for line in BufReader::new(bridge.stdout.take().unwrap()).lines() {
        let said = serde_json::from_str::<Value>(&line.unwrap()).unwrap();
        if said["method"] == "ui.notice" && said["params"]["level"] == "warning" {
            notices.push(said["params"]["text"].as_str().unwrap().to_string());
        }
        if said["id"] == 3 && said.get("method").is_none() {
            run = said["result"]["run"].as_str().map(str::to_string);
            break;
        }
    }
    drop(stdin);
    bridge.wait().unwrap();
    let [notice] = &notices[..] else {
        panic!("{notices:?}")
    };
    let lines = notice.lines().collect::<Vec<_>>();
    let grace = "Settings: .pi/settings.json:2:1: impresario.graceMs: must be a finite integer";
    assert!(lines[0].starts_with(grace), "{notice}");
    let runner = ".pi/settings.json:3:1: impresario.runner: expected a workspace that is trusted";
    assert!(lines[1].starts_with(runner), "{notice}");
    assert_eq!(lines.len(), 2);
    assert!(
        !notice.contains(scene.directory.path().to_str().unwrap()),
        "{notice}"
    );

    let (accepted, _) = accepted(&scene, &["trace", "--json", &run.unwrap()]);
    assert_eq!(accepted["runner"], "embedded");
    assert_eq!(accepted["clocks"]["total"]["secs"], 88);
    assert_eq!(accepted["clocks"]["grace"]["secs"], 2);
}

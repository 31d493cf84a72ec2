//! Layers, trust, unknown keys.

use super::*;
use crate::added_tools::AddedTool;
use crate::display::{AgentDisplay, BashDisplay, DisplaySettings, ReadDisplay};
use crate::network::services::{SearchProvider, Service};
use serde_json::json;
use std::time::Duration;

fn home(text: &str) -> SettingsFile<'_> {
    SettingsFile {
        place: Place::Home,
        trusted: true,
        text: Some(text),
    }
}

fn workspace(text: &str, trusted: bool) -> SettingsFile<'_> {
    SettingsFile {
        place: Place::Workspace,
        trusted,
        text: Some(text),
    }
}

fn lines(resolved: &Resolved) -> Vec<String> {
    resolved.notices.iter().map(Notice::line).collect()
}

#[test]
fn every_default_is_valid() {
    let resolved = resolve_settings(&[]);
    for value in &resolved.values {
        let text = format!("{{\"impresario\":{}}}", nested(value.key.path, value.key.default));
        let again = resolve_settings(&[home(&text)]);
        assert_eq!(again.notices, [], "{}", value.key.path);
        assert_eq!(again.get(value.key.path), &value.value, "{}", value.key.path);
    }
}

/// A value of this key that is not its default.
fn another(key: &Key) -> String {
    let default = resolve_settings(&[]);
    match key.kind {
        Kind::Text => r#""another/one""#.to_string(),
        Kind::Program => r#""/opt/another""#.to_string(),
        Kind::PathInside => r#""another""#.to_string(),
        Kind::Int { min, .. } if key.default == min.to_string() => (min + 1).to_string(),
        Kind::Int { min, .. } => min.max(1).to_string(),
        Kind::Number { .. } => "1.5".to_string(),
        Kind::Flag => (*default.get(key.path) != true).to_string(),
        Kind::Word(words) => {
            let other = words.iter().find(|word| format!("\"{word}\"") != key.default);
            format!("\"{}\"", other.expect("two words"))
        }
        Kind::Texts | Kind::TextsOnce { .. } => r#"["another"]"#.to_string(),
        Kind::Words(words) => format!("[\"{}\"]", words.first().expect("a word")),
        Kind::Secret => r#""k""#.to_string(),
        Kind::ServiceUrl => r#""http://x.org""#.to_string(),
        Kind::TierTexts => r#"{"cheap":"another/one"}"#.to_string(),
        Kind::TierInts { min, .. } => format!("{{\"cheap\":{min}}}"),
        Kind::Servers => r#"{"zoo":{"command":["zoo"]}}"#.to_string(),
        Kind::ToolInts { min, .. } => format!("{{\"read\":{min}}}"),
    }
}

/// What lets a key mean something.
fn condition(path: &str) -> &'static str {
    match path {
        "auggieBinPath" => r#""retrieval":{"engine":"auggie"}"#,
        "retrieval.command" | "retrieval.environment" => r#""retrieval":{"engine":"mcp"}"#,
        "contextBudgets.overflowCeilingBytes" => r#""contextBudgets":{"enabled":true}"#,
        "drawing.bashPreviewLines" | "drawing.bashExpandedLines" | "drawing.bashDim" => {
            r#""drawing":{"bash":true}"#
        }
        _ => r#""historyWindow":20"#,
    }
}

#[test]
fn every_key_changes_what_the_runtime_takes() {
    for key in &KEYS {
        let condition = format!("{{\"auggieRouter\":{{{}}}}}", condition(key.path));
        let text = format!("{{\"impresario\":{}}}", nested(key.path, &another(key)));
        let before = resolve_settings(&[home(&condition)]);
        let said = match key.trust {
            Trust::User => home(&text),
            Trust::Free | Trust::Limit | Trust::Outside => workspace(&text, true),
        };
        let after = resolve_settings(&[home(&condition), said]);
        assert_eq!(after.notices, [], "{text}");
        assert_ne!(Configured::from(&before), Configured::from(&after), "{text}");
    }
}

fn nested(path: &str, value: &str) -> String {
    match path.split_once('.') {
        None => format!("{{\"{path}\":{value}}}"),
        Some((section, name)) => format!("{{\"{section}\":{{\"{name}\":{value}}}}}"),
    }
}

#[test]
fn the_workspace_wins_over_home_and_ours_over_the_peer() {
    let resolved = resolve_settings(&[
        home(r#"{"impresario":{"historyWindow":5,"graceMs":500}}"#),
        workspace(
            r#"{"auggieRouter":{"historyWindow":6},"impresario":{"historyWindow":7}}"#,
            true,
        ),
    ]);
    assert_eq!(resolved.get("historyWindow"), &json!(7));
    let window = resolved
        .values
        .iter()
        .find(|value| value.key.path == "historyWindow")
        .unwrap();
    assert_eq!(window.origin, Origin::File(Place::Workspace, OUR_SECTION));
    assert_eq!(window.origin.in_words(), "workspace, impresario");
    assert_eq!(
        Configured::from(&resolved).run.clocks.grace,
        Duration::from_millis(500)
    );
}

#[test]
fn an_untrusted_workspace_cannot_name_or_raise() {
    let text = r#"{"impresario":{
        "auggieBinPath":"/tmp/evil","routingModel":"x/y","totalTimeoutMs":3600000,"historyWindow":3,
        "outputSanitizer":{"finalOutputMaxChars":0},"contextBudgets":{"overflowCeilingBytes":{"cheap":9000000}},
        "executionRouting":{"surfaceDecision":true}}}"#;
    let untrusted = resolve_settings(&[workspace(text, false)]);
    let defaults = resolve_settings(&[]);
    let refused = [
        "auggieBinPath",
        "routingModel",
        "totalTimeoutMs",
        "outputSanitizer.finalOutputMaxChars",
        "contextBudgets.overflowCeilingBytes",
    ];
    for path in refused {
        assert_eq!(untrusted.get(path), defaults.get(path), "{path}");
    }
    assert_eq!(untrusted.notices.len(), refused.len(), "{:?}", lines(&untrusted));
    assert_eq!(untrusted.get("historyWindow"), &json!(3));
    assert_eq!(untrusted.get("executionRouting.surfaceDecision"), &json!(true));
    assert_eq!(resolve_settings(&[workspace(text, true)]).notices, []);
}

fn agents_of(resolved: &Resolved, agent: &str, field: &str) -> String {
    let value = resolved.agents.get(agent).and_then(|said| said.get(field));
    value.map_or(String::new(), |value| {
        format!("{} ({})", value.value, value.origin.in_words())
    })
}

#[test]
fn the_peers_words_are_understood_and_ours_win_field_by_field() {
    let resolved = resolve_settings(&[home(
        r#"{
        "blackbytes": {
            "disabled_tools": ["bash"], "disabled_sub_agents": ["reviewer"],
            "sub_agents": {"oracle": {"model": "peer/one", "reasoningEffort": "high", "timeoutMs": 7}}
        },
        "impresario": {"agents": {"oracle": {"model": "our/one"}}}}"#,
    )]);
    assert_eq!(resolved.notices, []);
    assert_eq!(
        agents_of(&resolved, "oracle", "model"),
        "\"our/one\" (home, impresario)"
    );
    assert_eq!(
        agents_of(&resolved, "oracle", "timeoutMs"),
        "7 (home, blackbytes)"
    );
    let configured = Configured::from(&resolved);
    assert_eq!(configured.run.tools_disabled, ["bash"]);
    assert_eq!(configured.agents_disabled, ["reviewer"]);
}

#[test]
fn one_bad_field_never_drops_the_rest_and_each_is_named_as_it_is_written() {
    let resolved = resolve_settings(&[home(
        r#"{
        "blackbytes": {
            "disabled_tools": ["bash"], "disabled_sub_agents": 5, "disabld_tools": [],
            "websearch": {"provider": "bing", "exa_api_key": "k"}, "ui": 5, "hashline_edit": false, "mine": 1,
            "sub_agents": {
                "oracle": {"timeoutMs": 0, "model": "a/b", "fallbackModels": ["x", "x"], "modle": "c", "zzz": 1, "artifactCapture": 1},
                "explore": null
            }
        },
        "impresario": {"agents": {"oracle": {"reasoningEffort": "ultra", "temperature": 1, "colour": "red"}, "enable": true}}}"#,
    )]);
    let expected = [
        "invalid setting ignored — blackbytes.disabled_sub_agents: expected string[], got number",
        "invalid setting ignored — blackbytes.websearch.provider: must be one of exa|tavily, got \"bing\"",
        "invalid setting ignored — blackbytes.ui: expected object, got number",
        "invalid setting ignored — blackbytes.sub_agents.oracle.fallbackModels: expected each once, got \"x\" again",
        "invalid setting ignored — blackbytes.sub_agents.oracle.timeoutMs: must be a finite integer between 1 and 3600000, got 0",
        "unknown setting blackbytes.sub_agents.oracle.modle; did you mean model?",
        "invalid setting ignored — blackbytes.sub_agents.oracle.artifactCapture: expected boolean, got number",
        "invalid setting ignored — blackbytes.sub_agents.explore: expected object, got null",
        "unknown setting blackbytes.disabld_tools; did you mean disabled_tools?",
        "invalid setting ignored — impresario.agents.oracle.reasoningEffort: must be one of off|minimal|low|medium|high|xhigh, got \"ultra\"",
        "unknown setting impresario.agents.oracle.colour",
        "unknown setting impresario.agents.enable; did you mean agents.enabled?",
    ];
    let said = lines(&resolved)
        .into_iter()
        .map(|line| line.replacen("home settings: ", "", 1));
    assert_eq!(said.collect::<Vec<_>>(), expected);
    assert_eq!(resolved.get("agents.disabledTools"), &json!(["bash"]));
    assert_eq!(
        agents_of(&resolved, "oracle", "model"),
        "\"a/b\" (home, blackbytes)"
    );
    assert_eq!(
        agents_of(&resolved, "oracle", "temperature"),
        "1 (home, impresario)"
    );
    let in_any_case = resolved.in_any_case.iter().map(Notice::line).collect::<Vec<_>>();
    let expected = "home settings: blackbytes.sub_agents.oracle.artifactCapture changes nothing: an answer that was cut \
         is always kept whole";
    assert_eq!(in_any_case, [expected]);
}

/// The peer's switch is a word or an object; off means that the tool is nowhere, and so nothing is anchored.
#[test]
fn anchored_editing_is_switched_off_as_the_peer_does_it() {
    let tools = |files: &[SettingsFile]| {
        let configured = Configured::from(&resolve_settings(files));
        (configured.session_tools, configured.run.tools_disabled)
    };
    let wished = r#""impresario":{"tools":{"session":["hashline_edit","glob"]}}"#;
    for off in [r#"false"#, r#"{"enabled":false,"strict_patch":true}"#] {
        let (session, disabled) = tools(&[home(&format!(
            r#"{{"blackbytes":{{"hashline_edit":{off}}},{wished}}}"#
        ))]);
        assert_eq!(session, [AddedTool::Glob], "{off}");
        assert_eq!(disabled, ["hashline_edit"], "{off}");
    }
    let lenient = home(r#"{"blackbytes":{"hashline_edit":{"strict_patch":false}}}"#);
    assert!(!Configured::from(&resolve_settings(&[lenient])).strict_patch);
    assert!(Configured::default().strict_patch);
    let on = format!(r#"{{"blackbytes":{{"hashline_edit":true}},{wished}}}"#);
    assert_eq!(tools(&[home(&on)]).0, [AddedTool::HashlineEdit, AddedTool::Glob]);
    let off = format!(r#"{{"blackbytes":{{"hashline_edit":false}},{wished}}}"#);
    let opens = workspace(r#"{"blackbytes":{"hashline_edit":true}}"#, false);
    assert_eq!(
        tools(&[home(&off), opens]).0,
        [AddedTool::Glob],
        "who is not trusted switches nothing on"
    );
}

#[test]
fn a_key_of_a_service_is_taken_and_shown_nowhere() {
    let peers = home(
        r#"{"blackbytes":{"websearch":{"provider":"tavily","tavily_api_key":" tvly-mine "},"context7":{"api_key":"c7-mine"}}}"#,
    );
    let ours = r#"{"impresario":{"web":{"tavilyKey":"ours-mine","exaKey":7}}}"#;
    let resolved = resolve_settings(&[peers, workspace(ours, true)]);
    let network = Configured::from(&resolved).network;
    assert_eq!(network.provider, SearchProvider::Tavily);
    let key = |service: &Service| service.key.as_ref().map(|key| key.expose().to_string());
    assert_eq!(key(&network.tavily).as_deref(), Some("ours-mine"));
    assert_eq!(key(&network.context7).as_deref(), Some("c7-mine"));
    assert_eq!(key(&network.exa), None);
    assert_eq!(resolved.get("web.tavilyKey"), "set");
    let everything = format!("{resolved:?} {network:?} {:?}", lines(&resolved));
    assert!(!everything.contains("mine"), "{everything}");
    assert_eq!(resolved.in_any_case, []);
}

#[test]
fn prompts_are_logged_where_the_user_says_so_and_no_workspace_can() {
    let log = |files: &[SettingsFile<'_>]| Configured::from(&resolve_settings(files)).prompt_log;
    assert_eq!(log(&[]).path, ".pi/prompts/system-prompts.jsonl");
    assert!(!log(&[]).enabled);
    let peers = r#"{"blackbytes":{"system_prompt_log":{"enabled":true,"path":"p.jsonl","capture_agent_start":false,
        "capture_provider_system":true,"include_nested":true,"dedupe":false}}}"#;
    let wished = log(&[home(peers)]);
    assert_eq!(
        (
            wished.enabled,
            wished.agent_start,
            wished.provider_system,
            wished.nested,
            wished.dedupe
        ),
        (true, false, true, true, false)
    );
    assert_eq!(wished.path, "p.jsonl");
    for trusted in [false, true] {
        let resolved = resolve_settings(&[workspace(peers, trusted)]);
        assert_eq!(
            Configured::from(&resolved).prompt_log,
            log(&[]),
            "trusted: {trusted}"
        );
        assert_eq!(resolved.notices.len(), 6, "{:?}", lines(&resolved));
        assert!(
            lines(&resolved)[0].ends_with("system_prompt_log.enabled: only your own settings can say it")
        );
    }
}

#[test]
fn what_the_peer_says_of_the_screen_holds_here() {
    let peers = r#"{"blackbytes":{"ui":{"bash_wrapper_enabled":true,"bash_max_preview_lines":3,"bash_max_expanded_lines":0,
        "bash_dim_output":true,"read_tool_display":"preview","sub_agent_display":"full"}}}"#;
    let resolved = resolve_settings(&[home(peers)]);
    let display = Configured::from(&resolved).display;
    let bash = BashDisplay {
        preview_lines: 3,
        expanded_lines: 0,
        dim: true,
    };
    let wished = DisplaySettings {
        bash: Some(bash),
        read: ReadDisplay::Preview,
        agents: AgentDisplay::Full,
    };
    assert_eq!(display, wished);
    assert_eq!(Configured::default().display, DisplaySettings::default());
    let theirs = resolve_settings(&[workspace(peers, false)]);
    let only_ours = DisplaySettings {
        agents: AgentDisplay::Full,
        ..DisplaySettings::default()
    };
    assert_eq!(
        Configured::from(&theirs).display,
        only_ours,
        "{:?}",
        lines(&theirs)
    );
}

#[test]
fn an_untrusted_workspace_names_no_service_and_no_key() {
    let home = home(r#"{"impresario":{"web":{"exaKey":"of the user"}}}"#);
    let theirs = r#"{"blackbytes":{"websearch":{"provider":"tavily","exa_api_key":"set","tavily_api_key":"x"},"context7":{"api_key":"x"}},
        "impresario":{"web":{"exaUrl":"http://evil.org","tavilyUrl":"http://evil.org","context7Url":"http://evil.org",
        "codeSearchUrl":"http://evil.org","exaKey":"","searchProvider":"tavily"}}}"#;
    let resolved = resolve_settings(&[home, workspace(theirs, false)]);
    assert_eq!(resolved.notices.len(), 10, "{:?}", lines(&resolved));
    assert_eq!(
        Configured::from(&resolved).network,
        Configured::from(&resolve_settings(&[home])).network
    );
}

#[test]
fn an_address_with_a_password_is_refused_and_not_said_again() {
    let text = r#"{"impresario":{"web":{"exaUrl":"https://me:mine@x.org"}}}"#;
    let said = lines(&resolve_settings(&[home(text)]));
    assert!(said.len() == 1 && !said[0].contains("mine"), "{said:?}");
}

#[test]
fn an_untrusted_workspace_takes_from_agents_and_gives_them_nothing() {
    let home = home(
        r#"{"impresario":{"agents":{"disabled":["oracle"],"disabledTools":["bash"],
            "explore":{"timeoutMs":5000,"deniedTools":["grep"],"enabled":false}}}}"#,
    );
    let gives = r#"{"impresario":{"agents":{"disabled":[],"disabledTools":["edit"],
        "explore":{"timeoutMs":6000,"deniedTools":[],"enabled":true,"model":"x/y","allowedTools":["bash"],"reasoningEffort":"xhigh"},
        "general":{"timeoutMs":5}}}}"#;
    let given = resolve_settings(&[home, workspace(gives, false)]);
    assert_eq!(given.notices.len(), 9, "{:?}", lines(&given));
    assert_eq!(given.agents, resolve_settings(&[home]).agents);
    assert_eq!(given.get("agents.disabled"), &json!(["oracle"]));
    let takes = r#"{"impresario":{"agents":{"disabled":["oracle","general"],"disabledTools":["bash","edit"],
        "explore":{"timeoutMs":4000,"deniedTools":["grep","read"]},"reviewer":{"enabled":false,"deniedTools":["grep"]}}}}"#;
    let taken = resolve_settings(&[home, workspace(takes, false)]);
    assert_eq!(taken.notices, []);
    assert_eq!(
        agents_of(&taken, "reviewer", "enabled"),
        "false (workspace, impresario)"
    );
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_one() {
    let resolved = resolve_settings(&[home(
        r#"{"impresario":{"histroyWindow":5,"retrieval":{"engin":"mcp"}}}"#,
    )]);
    assert_eq!(
        lines(&resolved),
        [
            "home settings: unknown setting impresario.histroyWindow; did you mean historyWindow?",
            "home settings: unknown setting impresario.retrieval.engin; did you mean retrieval.engine?",
        ]
    );
}

#[test]
fn null_takes_a_tier_out_of_the_models() {
    let text = r#"{"impresario":{"executionRouting":{"models":{"frontier":null,"cheap":"a/b"}}}}"#;
    let models = Configured::from(&resolve_settings(&[home(text)]))
        .run
        .route
        .models;
    assert_eq!(models.frontier, None);
    assert_eq!(models.cheap.as_deref(), Some("a/b"));
    assert!(models.balanced.is_some());
}

#[test]
fn a_large_file_is_not_read() {
    let text = format!("{{\"impresario\":{{\"x\":\"{}\"}}}}", "x".repeat(2_000_000));
    assert!(matches!(
        resolve_settings(&[home(&text)]).notices[0].kind,
        NoticeKind::ParseFailed { .. }
    ));
}

#[test]
fn the_schema_knows_every_key() {
    let schema = settings_schema();
    for key in &KEYS {
        let mut at = &schema["properties"];
        for (depth, part) in key.path.split('.').enumerate() {
            at = if depth == 0 {
                &at[part]
            } else {
                &at["properties"][part]
            };
        }
        assert_eq!(at["description"], key.about, "{}", key.path);
    }
}

proptest::proptest! {
    #[test]
    fn any_file_is_read_or_refused(
        text in r#"\{"(impresario|auggieRouter)":(\{|"historyWindow":|"executionRouting":|"models":|\{|\}|"cheap":|null|5|,|\[|\]){0,12}\}{0,3}"#,
    ) {
        let resolved = resolve_settings(&[home(&text), workspace(&text, false)]);
        let _ = (Configured::from(&resolved), lines(&resolved));
    }
}

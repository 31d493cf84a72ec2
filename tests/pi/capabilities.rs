//! What can be used, found in real Pi of both versions by what is wanted: searched, activated, shown, written down; and Pi as it
//! was wherever that is switched off or nobody answers.

use crate::host::{ANSWER, MAIN_ANSWER, PATIENCE, Stage, prompt, script, submit_and_see, talk};
use impresario_model_server::{Rule, Script, Turn};
use impresario_test_support::directories;
use impresario_test_support::json_lines::JsonLines;
use impresario_test_support::waiting::until;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

const BODY: &str = "SCRUB-BEHIND-THE-EARS";

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n{BODY}\n")
}

/// Three skills that Pi lists, and one that only a person may begin.
fn with_skills(stage: &Stage) {
    let write = |name: &str, text: &str| {
        stage
            .sandbox
            .write_work_file(&format!(".agents/skills/{name}/SKILL.md"), text);
    };
    write("wash-otter", &skill("wash-otter", "Wash an otter with soap."));
    write("feed-seal", &skill("feed-seal", "Feed a seal with herring."));
    write("groom-walrus", &skill("groom-walrus", "Groom a walrus."));
    let persons = skill("close-zoo", "Close the zoo.")
        .replace("\n---\nSCRUB", "\ndisable-model-invocation: true\n---\nSCRUB");
    write("close-zoo", &persons);
}

fn script_of(turns: impl IntoIterator<Item = Turn>) -> Script {
    let main = Rule::new("main agent").last_user_contains("please");
    let main = turns
        .into_iter()
        .fold(main, Rule::turn)
        .turn(Turn::text(MAIN_ANSWER));
    let mut script = script([Turn::text(ANSWER)]);
    let at = script.rules.len() - 1;
    script.rules.insert(at, main);
    script
}

/// What the main agent was sent, call by call.
fn sent(stage: &Stage) -> Vec<Value> {
    let calls = stage.server.ledger().calls_of("main agent");
    calls.into_iter().map(|call| call.body).collect()
}

fn call(name: &str, arguments: Value) -> Turn {
    Turn::tool(name, arguments)
}

#[test]
fn a_skill_is_found_by_what_is_wanted_and_given_at_once() {
    let script = || {
        script_of([
            call("capability_search", json!({"query": "washing otters"})),
            call("capability_activate", json!({"id": "skill:wash-otter"})),
            call("capability_activate", json!({"id": "skill:close-zoo"})),
            call("capability_status", json!({})),
        ])
    };
    for stage in Stage::both_with("capabilities found", script) {
        stage.configure(json!({"capabilities": {"enabled": true}}));
        with_skills(&stage);
        let finished = stage.print("please");
        assert_eq!(finished.stdout.trim(), MAIN_ANSWER, "{}", finished.stderr);
        let sent = sent(&stage);
        assert_eq!(sent.len(), 5);
        let first = sent[0].to_string();
        assert!(
            first.contains("capability_search") && first.contains("Finding what you can use"),
            "{first}"
        );
        let found = sent[1].to_string();
        assert!(
            found.contains("confidence high") && found.contains("skill:wash-otter"),
            "{found}"
        );
        let given = sent[2].to_string();
        assert!(
            given.contains(BODY) && given.contains("skills/wash-otter"),
            "{given}"
        );
        let refused = sent[3].to_string();
        assert!(refused.contains("Nothing has the id"), "{refused}");
        let status = sent[4].to_string();
        assert!(
            status.contains("everything is shown")
                && status.contains("Activated in this session: skill:wash-otter"),
            "{status}"
        );
        stage.nothing_is_left();
    }
}

#[test]
fn switched_off_or_without_a_loadout_the_prompt_is_as_it_was() {
    for stage in Stage::both_with("capabilities off", || script_of([])) {
        with_skills(&stage);
        stage.print("please");
        let off = sent(&stage)[0].to_string();
        assert!(
            !off.contains("capability_search") && off.contains("groom-walrus"),
            "{off}"
        );
        stage.nothing_is_left();
    }
    for stage in Stage::both_with("capabilities on", || script_of([])) {
        stage.configure(json!({"capabilities": {"enabled": true}}));
        with_skills(&stage);
        stage.print("please");
        let on = sent(&stage)[0].to_string();
        for name in ["wash-otter", "feed-seal", "groom-walrus"] {
            assert!(on.contains(name), "{name}: {on}");
        }
        stage.nothing_is_left();
    }
}

#[test]
fn a_loadout_says_which_skills_the_prompt_shows_and_the_status_says_the_same() {
    let script = || {
        script_of([
            call(
                "loadout",
                json!({"action": "create", "name": "bath", "description": "Water"}),
            ),
            call(
                "loadout",
                json!({"action": "add", "name": "bath", "capability": "skill:wash-otter"}),
            ),
            call(
                "loadout",
                json!({"action": "add", "name": "bath", "capability": "skill:none"}),
            ),
            call("loadout", json!({"action": "activate", "name": "bath"})),
            Turn::text(MAIN_ANSWER),
            call("capability_status", json!({})),
        ])
    };
    for stage in Stage::both_with("a loadout", script) {
        stage.configure(json!({"capabilities": {"enabled": true}}));
        with_skills(&stage);
        let finished = stage.print("please choose");
        assert_eq!(finished.stdout.trim(), MAIN_ANSWER, "{}", finished.stderr);
        let file = stage.sandbox.home().join(".pi/capabilities/loadouts.yaml");
        let written = std::fs::read_to_string(&file).expect("it is written");
        assert_eq!(
            written,
            "active: bath\nloadouts:\n  bath:\n    description: Water\n    skills: [\"skill:wash-otter\"]\n"
        );
        let finished = stage.print("please go on");
        assert_eq!(finished.stdout.trim(), MAIN_ANSWER, "{}", finished.stderr);
        let sent = sent(&stage);
        let slim = sent[5].to_string();
        assert!(
            slim.contains("Wash an otter") && !slim.contains("Groom a walrus"),
            "{slim}"
        );
        let status = sent[6].to_string();
        assert!(
            status.contains("The last prompt showed: 1 of 4 skills: wash-otter"),
            "{status}"
        );
        stage.nothing_is_left();
    }
}

#[test]
fn a_skill_is_written_down_and_nothing_secret_or_elsewhere() {
    let key = format!("sk-ant-api03-{}", "a1B2".repeat(10));
    let script = || {
        script_of([
            call(
                "capability_add",
                json!({"name": "dry-otter", "description": "Dry: an otter", "body": "Use a towel."}),
            ),
            call(
                "capability_add",
                json!({"name": "../dry-otter", "description": "d", "body": "b"}),
            ),
            call(
                "capability_add",
                json!({"name": "keep", "description": "d", "body": key}),
            ),
            call(
                "capability_add",
                json!({"name": "dry-otter", "description": "d", "body": "other"}),
            ),
            call("capability_search", json!({"query": "drying an otter"})),
        ])
    };
    for stage in Stage::both_with("a skill written down", script) {
        stage.configure(json!({"capabilities": {"enabled": true}}));
        with_skills(&stage);
        let finished = stage.print("please");
        assert_eq!(finished.stdout.trim(), MAIN_ANSWER, "{}", finished.stderr);
        let skills = stage.sandbox.agent_directory().join("skills");
        let written = std::fs::read_to_string(skills.join("dry-otter/SKILL.md")).expect("it is written");
        assert_eq!(
            written,
            "---\nname: dry-otter\ndescription: \"Dry: an otter\"\n---\n\nUse a towel.\n"
        );
        assert!(!skills.join("keep").exists());
        let sent = sent(&stage);
        assert!(sent[5].to_string().contains("skill:dry-otter"), "{}", sent[5]);
        stage.nothing_is_left();
    }
}

#[test]
fn a_tool_that_was_deferred_is_there_when_it_is_activated() {
    let script = || {
        script_of([
            call("capability_activate", json!({"id": "tool:pi:ring_bell"})),
            Turn::text(MAIN_ANSWER),
            call("ring_bell", json!({})),
        ])
    };
    for stage in Stage::both_with("a deferred tool", script) {
        stage.configure(json!({"capabilities": {"enabled": true, "deferTools": true}}));
        stage.sandbox.write_work_file(
            ".pi/extensions/bell.ts",
            "export default (pi) => pi.registerTool({ name: 'ring_bell', label: 'bell', description: 'Ring the bell.', \
             parameters: { type: 'object', properties: {} }, execute: async () => ({ content: [{ type: 'text', text: 'DING-DONG' }], details: {} }) });",
        );
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "please");
        talk(&mut pi, "please ring it");
        let sent = sent(&stage);
        let tools = |body: &Value| body["tools"].to_string();
        assert!(
            !tools(&sent[0]).contains("ring_bell") && tools(&sent[0]).contains("capability_search"),
            "{}",
            sent[0]
        );
        assert!(!tools(&sent[0]).contains("\"grep\""), "{}", sent[0]);
        assert!(tools(&sent[2]).contains("ring_bell"), "{}", sent[2]);
        assert!(sent[3].to_string().contains("DING-DONG"), "{}", sent[3]);
        stage.end(pi);
    }
}

/// What a command shows: the first notice after it was typed.
fn words_of_command(pi: &mut JsonLines, command: &str) -> String {
    let seen = pi.said().records.len();
    prompt(pi, command);
    let (_, notice) = pi.wait_for_behind(seen, PATIENCE, |record| record["method"] == "notify");
    notice["message"].as_str().unwrap_or_default().to_string()
}

#[test]
fn a_runtime_that_was_killed_knows_what_is_shown_again() {
    for stage in Stage::both_with("capabilities of a killed runtime", || {
        script_of([Turn::text(MAIN_ANSWER)])
    }) {
        stage.configure(json!({"capabilities": {"enabled": true}}));
        with_skills(&stage);
        let place = stage.sandbox.home().join(".pi/capabilities");
        std::fs::create_dir_all(&place).expect("a directory");
        let loadouts = "active: bath\nloadouts:\n  bath:\n    skills: [skill:wash-otter]\n";
        std::fs::write(place.join("loadouts.yaml"), loadouts).expect("written");
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "please");
        kill_process(stage.runtime_pid(), Signal::KILL).expect("the runtime runs");
        // What is offered again takes a moment, and a command says so meanwhile.
        until(
            || words_of_command(&mut pi, "/cap-status").contains("Active loadout: bath"),
            || "the runtime does not know what was offered".to_string(),
        );
        talk(&mut pi, "please go on");
        let sent = sent(&stage);
        for (turn, body) in sent.iter().enumerate() {
            let body = body.to_string();
            assert!(
                body.contains("Wash an otter") && !body.contains("Groom a walrus"),
                "turn {turn}: {body}"
            );
        }
        assert_eq!(sent.len(), 2);
        stage.end(pi);
    }
}

#[test]
fn a_person_finds_and_chooses_in_the_terminal() {
    for stage in Stage::both_with("capabilities in the terminal", || {
        script_of([Turn::text(MAIN_ANSWER)])
    }) {
        stage.configure(json!({"capabilities": {"enabled": true}}));
        with_skills(&stage);
        let mut terminal = stage.ready_terminal();
        let steps = [
            ("/cap-status", "The last prompt showed: no prompt was made yet."),
            ("/loadout", "No loadout is active: everything is shown."),
            (
                "/cap-search washing otters",
                "skill:wash-otter — Wash an otter with soap.",
            ),
            ("/loadout create bath Water", "- bath — Water: nothing"),
            ("/loadout off", "No loadout is active"),
            ("/loadout bath", "It has no skill yet, so the prompt shows none"),
            (
                "/loadout promote skill:wash-otter",
                "* bath — Water: skill:wash-otter",
            ),
            (
                "/loadout remove bath skill:feed-seal",
                "\"skill:feed-seal\" is not in the loadout \"bath\"",
            ),
            ("please one", MAIN_ANSWER),
            (
                "/cap-status",
                "The last prompt showed: 1 of 4 skills: wash-otter.",
            ),
            ("/loadout off", "No loadout is active: everything is shown."),
            ("please two", "please two"),
        ];
        for (typed, wanted) in steps {
            submit_and_see(&mut terminal, typed, wanted);
        }
        stage.wait_for_calls_of("main agent", 2);
        submit_and_see(
            &mut terminal,
            "/cap-status",
            "The last prompt showed: all 4 skills.",
        );
        let sent = sent(&stage);
        assert!(!sent[0].to_string().contains("Groom a walrus"), "{}", sent[0]);
        assert!(sent[1].to_string().contains("Groom a walrus"), "{}", sent[1]);
        terminal.type_text("/loadout pro");
        terminal.wait_for(PATIENCE, |screen| screen.contains("<id> into the active one"));
    }
}

#[test]
fn a_file_of_loadouts_that_cannot_be_read_is_said_once_and_shows_everything() {
    for stage in Stage::both_with("a broken file of loadouts", || {
        script_of([Turn::text(MAIN_ANSWER)])
    }) {
        stage.configure(json!({"capabilities": {"enabled": true}}));
        with_skills(&stage);
        let place = stage.sandbox.home().join(".pi/capabilities");
        std::fs::create_dir_all(&place).expect("a directory");
        let broken = "active: [bath\n";
        std::fs::write(place.join("loadouts.yaml"), broken).expect("written");
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "please");
        talk(&mut pi, "please go on");
        let said = pi.said().records;
        let complaints = said.iter().filter(|record| {
            let message = record["message"].as_str().unwrap_or_default();
            record["method"] == "notify" && message.contains("All skills are shown")
        });
        assert_eq!(complaints.count(), 1);
        let status = words_of_command(&mut pi, "/cap-status");
        assert!(
            status.contains("Everything is shown: the file of loadouts cannot be read: line 1")
                && status.contains("The last prompt showed: all 4 skills."),
            "{status}"
        );
        let refused = words_of_command(&mut pi, "/loadout create bath");
        assert!(refused.contains("It is left as it is"), "{refused}");
        let kept = std::fs::read_to_string(place.join("loadouts.yaml"));
        assert_eq!(kept.expect("it is there"), broken);
        let sent = sent(&stage);
        assert_eq!(sent.len(), 2);
        for body in sent {
            assert!(body.to_string().contains("Groom a walrus"), "{body}");
        }
        stage.end(pi);
    }
}

#[test]
fn a_short_form_says_less_and_none_still_shows_the_loadout() {
    for (policy, said) in [("compact", 1), ("none", 0)] {
        for stage in Stage::both_with(&format!("capabilities, policy {policy}"), || script_of([])) {
            stage.configure(json!({"capabilities": {"enabled": true, "policy": policy}}));
            with_skills(&stage);
            let place = stage.sandbox.home().join(".pi/capabilities");
            std::fs::create_dir_all(&place).expect("a directory");
            let loadouts = "active: bath\nloadouts:\n  bath:\n    skills: [skill:wash-otter]\n";
            std::fs::write(place.join("loadouts.yaml"), loadouts).expect("written");
            let mut pi = stage.ready_rpc();
            talk(&mut pi, "please");
            let body = sent(&stage)[0]["messages"].to_string();
            assert_eq!(
                body.matches("that are not listed are found").count(),
                said,
                "{body}"
            );
            assert!(!body.contains("Finding what you can use"), "{body}");
            assert!(
                body.contains("Wash an otter") && !body.contains("Groom a walrus"),
                "{body}"
            );
            stage.end(pi);
        }
    }
}

#[test]
fn where_pi_has_a_search_for_tools_ours_keeps_to_skills_and_agents() {
    let script = || {
        script_of([
            call("capability_search", json!({"query": "ring the bell"})),
            call("capability_search", json!({"query": "wash an otter"})),
            call("capability_status", json!({})),
        ])
    };
    for stage in Stage::both_with("a search of its own", script) {
        stage.configure(json!({"capabilities": {"enabled": true, "deferTools": true}}));
        with_skills(&stage);
        let tool = |name: &str, what: &str| {
            format!(
                "pi.registerTool({{ name: '{name}', label: 'l', description: '{what}', parameters: {{ type: 'object', \
                 properties: {{}} }}, execute: async () => ({{ content: [], details: {{}} }}) }});"
            )
        };
        let both = tool("ring_bell", "Ring the bell.") + &tool("tool_search", "Find tools.");
        stage.sandbox.write_work_file(
            ".pi/extensions/bell.ts",
            &format!("export default (pi) => {{ {both} }};"),
        );
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "please");
        let sent = sent(&stage);
        assert!(sent[0]["tools"].to_string().contains("ring_bell"), "{}", sent[0]);
        let answer = |turn: usize| {
            sent[turn]["messages"]
                .as_array()
                .and_then(|all| all.last())
                .map(Value::to_string)
        };
        let of_tools = answer(1).expect("an answer");
        assert!(!of_tools.contains("tool:pi:"), "{of_tools}");
        let of_skills = answer(2).expect("an answer");
        assert!(of_skills.contains("skill:wash-otter"), "{of_skills}");
        let status = answer(3).expect("an answer");
        assert!(
            status.contains("4 skills") && !status.contains(" tools"),
            "{status}"
        );
        stage.end(pi);
    }
}

#[test]
fn a_sub_agent_is_given_the_skills_of_its_loadout_and_keeps_its_tools() {
    let script = || {
        script_of([
            call("delegate_scout", json!({"prompt": "look around"})),
            Turn::text(MAIN_ANSWER),
            call("delegate_lost", json!({"prompt": "look around"})),
        ])
    };
    for stage in Stage::both_with("a loadout of a sub-agent", script) {
        with_skills(&stage);
        let agent = |name: &str, loadout: &str| {
            stage.sandbox.write_work_file(
                &format!(".pi/agents/{name}.md"),
                &format!("---\nname: {name}\ndescription: Looks.\ntools: read, grep\nloadout: {loadout}\n---\nLook.\n"),
            );
        };
        agent("scout", "bath");
        agent("lost", "nowhere");
        let place = stage.sandbox.home().join(".pi/capabilities");
        std::fs::create_dir_all(&place).expect("a directory");
        let loadouts =
            "loadouts:\n  bath:\n    skills: [skill:wash-otter, skill:none]\n    tools: [\"tool:pi:read\"]\n";
        std::fs::write(place.join("loadouts.yaml"), loadouts).expect("written");
        let mut pi = stage.ready_rpc();
        talk(&mut pi, "please");
        let calls = stage.server.ledger().calls_of("sub-agent");
        let [asked] = &calls[..] else {
            panic!("{:?}", stage.callers())
        };
        let body = asked.body.to_string();
        assert!(
            body.contains("## wash-otter") && body.contains(BODY) && !body.contains("walrus"),
            "{body}"
        );
        let tools = asked.body["tools"].to_string();
        assert!(
            tools.contains("\"read\"") && !tools.contains("\"grep\""),
            "{tools}"
        );
        talk(&mut pi, "please go on");
        let told = sent(&stage).pop().expect("the main agent was told").to_string();
        assert!(
            told.contains("the loadout \\\"nowhere\\\", which cannot be used"),
            "{told}"
        );
        stage.end(pi);
    }
}

/// A status that says this of a server, as soon as it does.
fn wait_for_status(pi: &mut JsonLines, words: &str) {
    until(
        || words_of_command(pi, "/cap-status").contains(words),
        || format!("the status never said {words:?}"),
    );
}

#[test]
fn tools_of_an_mcp_server_are_found_and_it_is_started_once() {
    let script = || {
        script_of([
            call("capability_search", json!({"query": "codebase retrieval"})),
            call("capability_activate", json!({"id": "mcp:zoo:codebase-retrieval"})),
        ])
    };
    for stage in Stage::both_with("an MCP server that is found", script) {
        let log = stage.sandbox.home().join("server.jsonl");
        let node = stage.scenario.install().node.display().to_string();
        let program = directories::project().join("tests/retrieval_server/server.mjs");
        let server = |behaves: &str| json!({"command": [node, program.display().to_string(), behaves, log.display().to_string()]});
        let servers = json!({
            "zoo": server("answers"), "broken": {"command": ["no-such-program-anywhere"]},
        });
        stage.configure(json!({"capabilities": {"enabled": true, "mcpServers": servers}}));
        let starts = || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            text.lines().filter(|line| line.contains("\"started\"")).count()
        };
        let mut pi = stage.ready_rpc();
        // The commands are there before the first prompt is sent, and not before the runtime has answered.
        talk(&mut pi, "hello");
        wait_for_status(&mut pi, "MCP server zoo: 1 tool.");
        wait_for_status(&mut pi, "MCP server broken: none of its tools is found, for");
        talk(&mut pi, "please");
        let sent = sent(&stage);
        let found = sent[2].to_string();
        assert!(found.contains("mcp:zoo:codebase-retrieval"), "{found}");
        let refused = sent[3].to_string();
        assert!(refused.contains("which this host cannot call"), "{refused}");
        stage.end(pi);
        assert_eq!(starts(), 1);
        // The next session knows it, and no program is started for that.
        let mut pi = stage.ready_rpc();
        // The commands are there before the first prompt is sent, and not before the runtime has answered.
        talk(&mut pi, "hello");
        wait_for_status(&mut pi, "MCP server zoo: 1 tool.");
        assert_eq!(starts(), 1);
        words_of_command(&mut pi, "/cap-reindex");
        until(|| starts() == 2, || "it was not asked again".to_string());
        wait_for_status(&mut pi, "MCP server zoo: 1 tool.");
        stage.end(pi);
        // One that says nothing keeps nobody, and goes with the session.
        let silent = json!({"zoo": server("silent-handshake")});
        stage.configure(json!({"capabilities": {"enabled": true, "mcpServers": silent}}));
        let mut pi = stage.ready_rpc();
        // The commands are there before the first prompt is sent, and not before the runtime has answered.
        talk(&mut pi, "hello");
        until(|| starts() == 3, || "it was not started".to_string());
        wait_for_status(&mut pi, "MCP server zoo: is asked for its tools.");
        stage.end(pi);
    }
}

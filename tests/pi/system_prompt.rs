//! What stands at the very start of every request of a skill's sub-agent: the same bytes, whatever the task, the day, the
//! runner and the version of Pi, so that a provider's cache holds.

use crate::below::{PROGRAM, Stage};
use crate::host::PATIENCE;
use impresario_model_server::{Call, Rule, Script, Turn};
use impresario_test_support::directories;
use impresario_test_support::limited::{End, Finished, run};
use impresario_test_support::pi::{MOCK_MODEL, MOCKA_MODEL, Version};
use impresario_test_support::programs::write_script;
use serde_json::{Value, json};
use std::process::Command;

const ANSWER: &str = "Done.";
const TASKS: [&str; 2] = ["tidy the attic", "paint the fence, but not the gate"];
const SKILL_DIRECTORY: &str = ".pi/skills/demo";
const INSTRUCTIONS: &str = "Do it, and say what you did.\n\n- é and 漢 count as they are\n- `code` too";
/// The instructions, and where to look; behind it comes where the skill lies, and nothing else.
const PREFIX: &str = "Do it, and say what you did.\n\n- é and 漢 count as they are\n- `code` too\n\n\
                      Use the `codebase-retrieval` MCP tool for workspace context.";

fn stage(version: Version, name: &str) -> Option<Stage> {
    let sub_agent = Rule::new("sub-agent").user_contains("User Goal: ");
    let main = Rule::new("main agent").turn(Turn::text("Hello.")).repeat();
    let script = Script::new()
        .rule(sub_agent.turn(Turn::text(ANSWER)).repeat())
        .rule(main);
    let stage = Stage::set(version, name, script)?;
    let skill = format!("---\nname: demo\ndescription: does something\n---\n{INSTRUCTIONS}\n");
    stage.sandbox.write_work_file(".pi/skills/demo/SKILL.md", &skill);
    Some(stage)
}

impl Stage {
    /// A `pi` on whose machine it is so many days later.
    fn pi_in_days(&self, days: u64) -> String {
        let shift = days * 24 * 3600 * 1000;
        let later = format!(
            "const Real = Date;\n\
             globalThis.Date = class extends Real {{\n\
               constructor(...of) {{ if (of.length) super(...of); else super(Real.now() + {shift}); }}\n\
               static now() {{ return Real.now() + {shift}; }}\n\
             }};\n"
        );
        self.sandbox.write_work_file("later.cjs", &later);
        let install = self.scenario.install();
        let script = format!(
            "exec '{}' --require '{}' '{}' \"$@\"",
            install.node.display(),
            self.sandbox.work().join("later.cjs").display(),
            install.cli.display()
        );
        let program = self.sandbox.bin().join("later-pi");
        write_script(&program, &script);
        program.display().to_string()
    }

    fn nested(&self, model: &str, pi: &str, task: &str) {
        let nested = ["skill", "--trust", "--runner", "pi", "--pi", pi, "--model", model];
        ended_well(&self.run(&[&nested[..], &["--unjudged", "demo", task]].concat()));
    }

    /// In Pi as the host, with the runner in the runtime.
    fn embedded(&self, task: &str) {
        self.configure(json!({ "runner": "embedded", "maxJudgeIterations": 0 }));
        let extension = directories::project().join("extension/src/index.ts");
        let extension = extension.display().to_string();
        let mut arguments = vec!["-e", &extension];
        if self.scenario.version() == Version::ALL[0] {
            arguments.push("--approve");
        }
        let prompt = format!("/skill demo {task}");
        arguments.extend(["-p", &prompt]);
        let mut command: Command = self.sandbox.pi_command(&arguments);
        command.env("IMPRESARIO_BINARY", PROGRAM);
        ended_well(&run(&mut command, "", PATIENCE));
    }

    /// The system prompts of the sub-agents, in the order in which they came.
    fn where_the_skill_lies(&self) -> String {
        let directory = self.sandbox.work().join(SKILL_DIRECTORY).display().to_string();
        format!(
            "\n\nThis skill lies in {directory}. Paths in the instructions that are relative to the skill (scripts, \
             references) start there, not in the workspace."
        )
    }

    fn system_prompts(&self) -> Vec<String> {
        let calls = self.server.ledger().calls_of("sub-agent");
        calls.iter().map(system_of).collect()
    }
}

#[track_caller]
fn ended_well(finished: &Finished) {
    assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr);
    assert!(
        finished.stdout.contains(ANSWER),
        "{}\n{}",
        finished.stdout,
        finished.stderr
    );
}

/// The system prompt as the provider gets it, whichever protocol it speaks.
fn system_of(call: &Call) -> String {
    let text = |content: &Value| match content.as_array() {
        Some(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        None => content.as_str().unwrap_or_default().to_string(),
    };
    match call.body.get("system") {
        Some(system) => text(system),
        None => text(&call.body["messages"][0]["content"]),
    }
}

#[test]
fn in_nested_pi_it_is_the_same_for_every_task_and_on_every_day() {
    for version in Version::ALL {
        for model in [MOCK_MODEL, MOCKA_MODEL] {
            let name = format!("system prompt: nested, {model}");
            let Some(stage) = stage(version, &name) else {
                continue;
            };
            let today = stage.sandbox.pi().display().to_string();
            stage.nested(model, &today, TASKS[0]);
            stage.nested(model, &stage.pi_in_days(40), TASKS[1]);
            let seen = stage.system_prompts();
            assert_eq!(seen.len(), 2);
            assert_eq!(seen[0], seen[1]);
            let rest = seen[0].strip_prefix(PREFIX);
            let rest = rest.unwrap_or_else(|| panic!("{:?}", seen[0]));
            let rest = rest.strip_prefix(&stage.where_the_skill_lies());
            let rest = rest.unwrap_or_else(|| panic!("{:?}", seen[0]));
            let work = stage.sandbox.work().display().to_string();
            assert!(
                rest.len() < 200 && rest.contains(&work),
                "only the place is added: {rest:?}"
            );
            let bodies = stage.server.ledger().calls_of("sub-agent");
            assert_eq!(bodies[0].body["tools"], bodies[1].body["tools"]);
        }
    }
}

/// What is set in the words of pi-blackbytes, for an agent whose file says that its instructions stand behind Pi's.
#[test]
fn what_is_set_for_an_agent_reaches_its_nested_pi() {
    const OF_PI: &str = "You are an expert coding assistant";
    for version in Version::ALL {
        let Some(stage) = stage(version, "an agent as it is set") else {
            continue;
        };
        let agent = "name: scout\ndescription: d\nsystem_prompt: Look twice.\nallowed_tools: [read, bash, grep]\n\
                     prompt_mode: append\n";
        stage.sandbox.write_work_file(".pi/sub-agents/scout.yaml", agent);
        let settings = json!({"blackbytes": {"disabled_tools": ["bash"], "sub_agents": {
            "scout": {"model": "mocka/mocka-think", "reasoningEffort": "high"},
        }}});
        stage
            .sandbox
            .write_work_file(".pi/settings.json", &settings.to_string());
        let pi = stage.sandbox.pi().display().to_string();
        let run = [
            "run",
            "--trust",
            "--runner",
            "pi",
            "--pi",
            &pi,
            "--unjudged",
            "scout",
            TASKS[0],
        ];
        ended_well(&stage.run(&run));
        stage
            .sandbox
            .write_work_file(".pi/SYSTEM.md", "The workspace tells you what to be.");
        ended_well(&stage.run(&run));

        let calls = stage.server.ledger().calls_of("sub-agent");
        for call in &calls {
            assert_eq!(call.model, "mocka-think");
            assert_eq!(
                call.body["thinking"]["type"], "enabled",
                "{}",
                call.body["thinking"]
            );
            let of_pi = call.tools.iter().filter(|tool| !tool.starts_with("overflow"));
            assert_eq!(of_pi.collect::<Vec<_>>(), ["grep", "read"]);
            let told = system_of(call);
            assert!(
                told.contains("Look twice.") && !told.contains("what to be"),
                "{told}"
            );
        }
        let behind = system_of(&calls[0]);
        let (pis, ours) = (behind.find(OF_PI), behind.find("Look twice."));
        assert!(pis.is_some() && pis < ours, "{behind}");
        // A Pi that knows no trust would take its own prompt from the workspace.
        let trusts = version == Version::ALL[0];
        assert_eq!(system_of(&calls[1]).contains(OF_PI), trusts, "{version:?}");
    }
}

#[test]
fn in_the_embedded_runner_it_is_the_same_for_every_task_and_nothing_else() {
    for version in Version::ALL {
        let Some(stage) = stage(version, "system prompt: embedded") else {
            continue;
        };
        TASKS.into_iter().for_each(|task| stage.embedded(task));
        let prompt = format!("{PREFIX}{}", stage.where_the_skill_lies());
        assert_eq!(stage.system_prompts(), [prompt.clone(), prompt]);
    }
}

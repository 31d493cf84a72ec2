//! Skills as the users of real Pi have them, in both versions: those Pi lists itself, names that both know, what a
//! sub-agent is told of its surroundings, and what is refused before anything is paid.

use crate::host::{
    ANSWER, MAIN_ANSWER, PATIENCE, Stage, answer, count, is_notice, is_result, prompt, script,
};
use impresario_model_server::{Rule, Turn};
use impresario_test_support::limited::{End, run};
use impresario_test_support::pi::{Version, submit};
use serde_json::json;
use std::fs;
use std::process::Command;

const BODY: &str = "BODY-OF-A-SKILL-OF-PI";

fn skill(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n")
}

/// A directory for agents of all kinds, and a file that lies directly among Pi's skills: Pi lists both.
fn with_skills_of_pi(stage: &Stage) {
    let helper = skill("helper", "helps out", BODY);
    stage
        .sandbox
        .write_work_file(".agents/skills/helper/SKILL.md", &helper);
    stage
        .sandbox
        .write_work_file(".pi/skills/notes.md", &skill("notes", "takes notes", BODY));
}

#[test]
fn a_skill_that_only_pi_has_runs_in_pi_as_without_us() {
    for version in Version::ALL {
        for name in ["helper", "notes"] {
            let Some(stage) = Stage::set(version, "a skill of Pi's", []) else {
                return;
            };
            with_skills_of_pi(&stage);
            let finished = stage.print(&format!("/skill:{name} tidy up"));
            assert_eq!(
                (finished.end, finished.stdout.trim()),
                (End::Exited(0), MAIN_ANSWER),
                "{}",
                finished.stderr
            );
            let mut pi = stage.rpc();
            // Without a task too: whether it needs one is Pi's to know.
            prompt(&mut pi, &format!("/skill:{name}"));
            pi.wait_for(PATIENCE, |record| record["type"] == "agent_end");
            let mut terminal = stage.terminal();
            submit(&mut terminal, &format!("/skill:{name} tidy up"), PATIENCE);
            terminal.wait_for_text(PATIENCE, MAIN_ANSWER);
            drop(terminal);
            assert_eq!(stage.callers(), ["main agent"; 3]);
            for call in stage.server.ledger().calls_of("main agent") {
                assert!(call.body.to_string().contains(BODY), "{}", call.body);
            }
            stage.end(pi);
        }
    }
}

#[test]
fn what_pi_lists_runs_as_a_sub_agent_where_that_is_said() {
    let script = || {
        let arguments = json!({"skill": "helper", "task": "look around the workspace"});
        let main = Rule::new("main agent")
            .last_user_contains("please")
            .turn(Turn::tool("delegate", arguments))
            .turn(Turn::text(MAIN_ANSWER));
        let mut script = script([Turn::text(ANSWER), Turn::text(ANSWER)]);
        let at = script.rules.len() - 1;
        script.rules.insert(at, main);
        script
    };
    for stage in Stage::both_with("a skill of Pi's as a sub-agent", script) {
        with_skills_of_pi(&stage);
        let finished = stage.print("/skill helper tidy up");
        assert_eq!(
            (finished.end, finished.stdout.trim()),
            (End::Exited(0), ANSWER),
            "{}",
            finished.stderr
        );
        let finished = stage.print("please");
        assert_eq!(
            (finished.end, finished.stdout.trim()),
            (End::Exited(0), MAIN_ANSWER),
            "{}",
            finished.stderr
        );
        let sub_agents = stage.server.ledger().calls_of("sub-agent");
        let lies = stage.sandbox.work().join(".agents/skills/helper");
        assert_eq!(sub_agents.len(), 2);
        for call in sub_agents {
            let sent = call.body.to_string();
            assert!(sent.contains(BODY), "{sent}");
            assert!(
                sent.contains(&format!("This skill lies in {}", lies.display())),
                "{sent}"
            );
        }
        stage.nothing_is_left();
    }
}

#[test]
fn a_name_that_both_know_means_one_file() {
    for stage in Stage::both("a name both know", || [Turn::text(ANSWER)]) {
        // The home has one of this name too; Pi lists the one of the workspace.
        let ours = stage.sandbox.home().join(".pi/agent/skills/helper");
        fs::create_dir_all(&ours).expect("a directory");
        fs::write(
            ours.join("SKILL.md"),
            skill("helper", "of the home", "ANOTHER-BODY"),
        )
        .expect("a skill");
        with_skills_of_pi(&stage);
        let finished = stage.print("/skill:helper tidy up");
        assert_eq!(finished.stdout.trim(), MAIN_ANSWER, "{}", finished.stderr);
        let finished = stage.print("/skill helper tidy up");
        assert_eq!(finished.stdout.trim(), ANSWER, "{}", finished.stderr);
        for rule in ["main agent", "sub-agent"] {
            let calls = stage.server.ledger().calls_of(rule);
            assert_eq!(calls.len(), 1, "{rule}");
            let sent = calls[0].body.to_string();
            assert!(
                sent.contains(BODY) && !sent.contains("ANOTHER-BODY"),
                "{rule}: {sent}"
            );
        }
        stage.nothing_is_left();
    }
}

#[test]
fn what_cannot_run_is_told_before_anything_is_paid() {
    for stage in Stage::both("refused skills", || [Turn::text(ANSWER)]) {
        with_skills_of_pi(&stage);
        stage
            .sandbox
            .write_work_file(".pi/skills/empty/SKILL.md", "---\ndescription: nothing\n---\n");
        for (typed, told) in [
            (
                "/skill:dmeo look",
                "Did you mean \"demo\"? There are: demo, helper, notes.",
            ),
            ("/skill:empty look", "says nothing that a sub-agent could do"),
            ("/skill:demo", "say what it shall do"),
            ("/skill demo", "say what it shall do"),
        ] {
            let finished = stage.print(typed);
            assert_eq!(
                (finished.end, finished.stdout.trim()),
                (End::Exited(1), ""),
                "{typed}"
            );
            assert!(finished.stderr.contains(told), "{typed}: {}", finished.stderr);
        }
        let mut pi = stage.rpc();
        prompt(&mut pi, &format!("/skill:demo {}", "word ".repeat(13_000)));
        pi.wait_for(PATIENCE, |record| is_notice(record, "64999 characters"));
        prompt(&mut pi, "/skill:demo");
        let asked = pi.wait_for(PATIENCE, |record| record["method"] == "input");
        assert_eq!(asked["title"], "What shall demo do?");
        assert_eq!(stage.callers(), Vec::<String>::new());
        answer(&mut pi, &asked, "look around");
        pi.wait_for(PATIENCE, is_result);
        assert_eq!(count(&pi, is_result), 1);
        stage.end(pi);
    }
}

#[test]
fn a_sub_agent_knows_where_its_skill_lies_and_what_the_project_says_where_it_is_trusted() {
    let script = || [Turn::text(ANSWER), Turn::text(ANSWER)];
    for stage in Stage::both("surroundings", script) {
        let home = stage.sandbox.home().join(".pi/agent/skills/polish");
        fs::create_dir_all(&home).expect("a directory");
        fs::write(home.join("SKILL.md"), skill("polish", "polishes", "Polish.")).expect("a skill");
        stage.sandbox.write_work_file("AGENTS.md", "SAID-BY-THE-PROJECT");
        fs::write(
            stage.sandbox.agent_directory().join("AGENTS.md"),
            "SAID-BY-THE-USER",
        )
        .expect("a file");
        let finished = stage.print("/skill:demo look around");
        assert_eq!(finished.stdout.trim(), ANSWER, "{}", finished.stderr);
        let sent = stage.server.ledger().calls_of("sub-agent")[0].body.to_string();
        let lies = stage.sandbox.work().join(".pi/skills/demo").display().to_string();
        for told in [lies.as_str(), "SAID-BY-THE-PROJECT", "SAID-BY-THE-USER"] {
            assert!(sent.contains(told), "{told}: {sent}");
        }
        assert!(
            sent.find("SAID-BY-THE-USER") < sent.find("SAID-BY-THE-PROJECT"),
            "{sent}"
        );
        // Pi 0.74 knows no trust.
        if stage.scenario.version() == Version::ALL[0] {
            let arguments = ["--no-approve", "-p", "/skill:polish look around"];
            let finished = run(&mut stage.pi_untrusted(&arguments), "", PATIENCE);
            assert_eq!(finished.stdout.trim(), ANSWER, "{}", finished.stderr);
            let sent = stage.server.ledger().calls_of("sub-agent")[1].body.to_string();
            assert!(sent.contains(&home.display().to_string()), "{sent}");
            assert!(
                sent.contains("SAID-BY-THE-USER") && !sent.contains("SAID-BY-THE-PROJECT"),
                "{sent}"
            );
        }
        stage.nothing_is_left();
    }
}

#[test]
fn the_program_alone_is_enough_and_without_it_pi_says_what_to_do() {
    for stage in Stage::both("the program alone", || [Turn::text(ANSWER)]) {
        let alone = stage.sandbox.bin().join("impresario");
        // By another process: what this one has open to write nobody can execute.
        let copied = run(
            Command::new("cp").args([stage.binary.as_ref(), alone.as_os_str()]),
            "",
            PATIENCE,
        );
        assert_eq!(copied.end, End::Exited(0), "{}", copied.stderr);
        let stage = stage.with_runtime(&alone);
        let finished = stage.print("/skill:demo look around");
        assert_eq!(finished.stdout.trim(), ANSWER, "{}", finished.stderr);
        stage.nothing_is_left();
        assert_eq!(stage.runs()[0]["state"], "succeeded");

        let stage = stage.with_runtime("/nowhere/impresario");
        for (typed, exit, printed) in [
            ("/skill demo look around", 1, ""),
            ("/skill:demo look around", 0, MAIN_ANSWER),
        ] {
            let finished = stage.print(typed);
            assert_eq!(
                (finished.end, finished.stdout.trim()),
                (End::Exited(exit), printed),
                "{typed}: {}",
                finished.stderr
            );
            assert!(
                finished.stderr.contains("cargo build --release"),
                "{}",
                finished.stderr
            );
        }
    }
}

//! Who can be asked at the command line: agents that are built in, and agents of files.

use crate::place::{Place, QUESTION, Said};
use serde_json::Value;
use std::fs;

fn with_agents() -> Place {
    let place = Place::new();
    let files = [
        (
            ".pi/sub-agents/scout.yaml",
            "name: scout\ndescription: Looks.\nsystem_prompt: Look, and answer.\n",
        ),
        (
            ".pi/sub-agents/broken.yaml",
            "name: broken\ndescription: d\nsystem_prompt: p\nallowed_tools: [read, nope]\n",
        ),
        (
            ".pi/sub-agents/z.yml",
            "name: explore\ndescription: d\nsystem_prompt: p\n",
        ),
        (
            ".claude/agents/judge.md",
            "---\nname: judge\ndescription: Judges.\ntools: Read, Grep\n---\nJudge it.\n",
        ),
    ];
    for (path, text) in files {
        let file = place.workspace().join(path);
        fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        fs::write(file, text).expect("a file");
    }
    place
}

#[test]
fn agents_are_listed_with_where_they_are_from_and_files_that_are_none_with_why() {
    let place = with_agents();
    let said = place.run(&["agents", "--json", "--trust"]);
    said.check(0);
    let lines = said.json_lines();
    let named = |name: &str| lines.iter().find(|line| line["agent"] == name).cloned();
    for built_in in ["explore", "oracle", "librarian", "general", "reviewer"] {
        assert_eq!(named(built_in).expect(built_in)["file"], Value::Null);
    }
    let scout = named("scout").expect("the agent of a file");
    assert!(
        scout["file"]
            .as_str()
            .expect("its file")
            .ends_with(".pi/sub-agents/scout.yaml")
    );
    assert_eq!(scout["mutability"], "read-only");
    assert_eq!(
        named("judge").expect("the agent of a file")["tools"],
        serde_json::json!(["grep", "read"])
    );
    let wrong = lines
        .iter()
        .filter(|line| line.get("problem").is_some())
        .collect::<Vec<_>>();
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert_eq!((&wrong[0]["line"], &wrong[0]["column"]), (&4.into(), &23.into()));

    let said = place.run(&["agents", "--trust"]);
    let caret = "    allowed_tools: [read, nope]\n                          ^";
    assert!(said.stdout.contains(caret), "{}", said.stdout);
}

#[test]
fn an_agent_of_a_file_runs_where_its_workspace_is_trusted() {
    let place = with_agents();
    place.run(&["run", "scout", QUESTION]).check(0);
    let refused = Said::of(place.wary(&["run", "scout", QUESTION]));
    assert!(refused.code != Some(0));
    assert!(
        refused.stderr.contains("There is no agent called \"scout\""),
        "{}",
        refused.stderr
    );
}

#[test]
fn an_agent_whose_tools_are_not_there_is_told_who_has_them() {
    let place = Place::new();
    let said = place.run(&["run", "general", "tidy up"]);
    said.check(1);
    let told = "The embedded runner has no tool called bash, edit, ls, write.";
    assert!(said.stderr.contains(told), "{}", said.stderr);
    assert!(
        said.stderr.contains("The runner pi has what is missing."),
        "{}",
        said.stderr
    );
    assert!(place.runs().is_empty());
}

//! What can be used, from the command line: found where Pi finds it too, and nothing of a workspace that nobody trusts.

use crate::place::Place;
use impresario::skills::{SpawnSettings, resolve};
use impresario_actors::messages::session::SkillOrder;
use serde_json::Value;
use std::fs;

/// A skill of the person in each of the places where Pi looks, and of the workspace.
fn with_skills() -> Place {
    let place = Place::new();
    let skills = [
        (place.home().join(".pi/agent/skills"), "feed-seal", "Feed a seal."),
        (
            place.home().join(".agents/skills"),
            "groom-walrus",
            "Groom a walrus.",
        ),
        (
            place.workspace().join(".pi/skills"),
            "wash-otter",
            "Wash an otter.",
        ),
        (
            place.workspace().join(".agents/skills"),
            "dry-otter",
            "Dry an otter.",
        ),
    ];
    for (directory, name, description) in skills {
        fs::create_dir_all(directory.join(name)).expect("a directory");
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nGently.\n");
        fs::write(directory.join(name).join("SKILL.md"), text).expect("a skill");
    }
    place
}

fn skills_in(lines: &[Value]) -> Vec<&str> {
    let ids = lines.iter().filter_map(|line| line["id"].as_str());
    ids.filter_map(|id| id.strip_prefix("skill:")).collect()
}

#[test]
fn skills_are_found_where_pi_finds_them() {
    let place = with_skills();
    let said = place.run(&["capabilities", "list", "--json", "--trust"]);
    said.check(0);
    assert_eq!(
        skills_in(&said.json_lines()),
        ["dry-otter", "feed-seal", "groom-walrus", "wash-otter"]
    );
    let found = place.run(&["capabilities", "search", "--trust", "drying otters"]);
    found.check(0);
    assert!(found.stdout.contains("confidence high"), "{}", found.stdout);
    assert!(
        found
            .stdout
            .lines()
            .nth(1)
            .is_some_and(|line| line.contains("skill:dry-otter")),
        "{}",
        found.stdout
    );
}

#[test]
fn those_of_a_workspace_that_is_not_trusted_are_left_out_and_that_is_said() {
    let place = with_skills();
    let said = place.run(&["capabilities", "list", "--json"]);
    said.check(0);
    assert_eq!(skills_in(&said.json_lines()), ["feed-seal", "groom-walrus"]);
    assert!(said.stderr.contains("is not trusted"), "{}", said.stderr);
}

#[test]
fn a_request_has_words_and_wants_at_least_one() {
    let place = Place::new();
    for arguments in [
        &["capabilities", "search", " "][..],
        &["capabilities", "search", "--max", "0", "otter"],
    ] {
        place.run(arguments).check(2);
    }
}

#[test]
fn a_search_leaves_the_index_of_a_session_as_it_is() {
    let place = with_skills();
    place
        .run(&["capabilities", "search", "--trust", "otter"])
        .check(0);
    let kept = place.home().join(".cache/impresario/capabilities");
    assert!(!kept.exists(), "{}", kept.display());
}

#[test]
fn both_runners_are_given_the_skills_of_an_agents_loadout() {
    let place = with_skills();
    let write = |path: std::path::PathBuf, text: &str| {
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    write(
        place.home().join(".pi/capabilities/loadouts.yaml"),
        "core: [\"skill:feed-seal\"]\nloadouts:\n  bath:\n    skills: [\"skill:wash-otter\"]\n",
    );
    write(
        place.workspace().join(".pi/sub-agents/scout.yaml"),
        "name: scout\ndescription: Looks.\nsystem_prompt: Look.\nloadout: bath\n",
    );
    for runner in ["embedded", "pi"] {
        let mut settings = SpawnSettings {
            home: Some(place.home()),
            agent_directory: None,
            ..SpawnSettings::default()
        };
        settings.means.runner = runner.to_string();
        let order = SkillOrder {
            name: "scout".to_string(),
            agent: true,
            task: "look".to_string(),
            workspace: place.workspace(),
            workspace_trusted: true,
            ..SkillOrder::default()
        };
        let request = resolve(&settings, "test", order).expect("a request");
        let said = request.instructions;
        assert!(
            said.starts_with("Look.\n\n# Skills")
                && said.contains("## feed-seal")
                && said.contains("## wash-otter"),
            "{said}"
        );
        assert!(!said.contains("dry-otter"), "{said}");
    }
}

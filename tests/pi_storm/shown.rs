//! What models are shown while a storm goes on: the skills of a loadout, the rules of a directory, and after it a long
//! result that an anchor makes stale.
//!
//! A runtime that is killed, or that answers too late, leaves Pi's prompt as it is. There is nothing between that and exactly
//! what was chosen, and no rule stands twice in a conversation.

use crate::host::Stage;
use std::fs;

/// What sub-agents read. The directory has a rule of its own.
pub const NOTES: &str = "lore/notes.txt";
const RULE: &str = "RULE-OF-THE-LORE: whisper.";
/// What the main agent reads before it sets an anchor.
pub const LONG: &str = "long.txt";
const LONG_WORDS: &str = "the first words of the long file";
const LEFT_OUT: &str = "characters are left out since anchor";
/// What Pi lists, and what of it the loadout shows.
const SKILLS: [&str; 3] = ["demo", "groom-walrus", "wash-otter"];
const SHOWN: [&str; 1] = ["wash-otter"];
const OPENING: &str = "<available_skills>";
const CLOSING: &str = "</available_skills>";

pub fn write_what_is_shown(stage: &Stage) {
    let write = |path: &str, text: &str| stage.sandbox.write_work_file(path, text);
    write(NOTES, "The supervisor decides who restarts.\n");
    write("lore/AGENTS.md", RULE);
    write(LONG, &format!("{LONG_WORDS}\n{}", "and so on\n".repeat(1_900)));
    for skill in &SKILLS[1..] {
        let text = format!("---\nname: {skill}\ndescription: Does what it is called.\n---\nGently.\n");
        write(&format!(".pi/skills/{skill}/SKILL.md"), &text);
    }
    let place = stage.sandbox.home().join(".pi/capabilities");
    fs::create_dir_all(&place).expect("a directory");
    let ids = SHOWN.map(|skill| format!("\"skill:{skill}\"")).join(", ");
    let loadouts = format!("active: storm\nloadouts:\n  storm:\n    skills: [{ids}]\n");
    fs::write(place.join("loadouts.yaml"), loadouts).expect("written");
}

pub fn check_shown(stage: &Stage) {
    for call in stage.server.ledger().calls() {
        let body = call.body.to_string();
        let rules = body.matches(RULE).count();
        assert!(
            rules <= 1,
            "{:?} was given the rule {rules} times: {body}",
            call.rule
        );
        for block in blocks_in(&body) {
            let shown: Vec<&str> = SKILLS.into_iter().filter(|skill| is_in(block, skill)).collect();
            assert!(
                shown == SKILLS || shown == SHOWN,
                "{:?} was shown {shown:?}: {body}",
                call.rule
            );
        }
    }
}

/// A long result stands there whole until its anchor makes it stale, and then never again.
pub fn check_left_out(stage: &Stage, is_unharmed: bool) {
    let calls = stage.server.ledger().calls_of("main agent");
    let seen = calls.iter().map(|call| call.body.to_string()).collect::<Vec<_>>();
    let (whole, left_out) = (
        seen.iter().filter(|body| body.contains(LONG_WORDS)).count(),
        seen.iter().filter(|body| body.contains(LEFT_OUT)).count(),
    );
    assert!(whole > 0, "it was never seen whole");
    assert!(left_out > 0 || !is_unharmed, "nothing was left out");
    let first = seen
        .iter()
        .position(|body| body.contains(LEFT_OUT))
        .unwrap_or(seen.len());
    // Answers of sub-agents may be stale with it.
    let stubs_in = |body: &String| body.matches(LEFT_OUT).count();
    let stubs = seen.get(first).map_or(0, stubs_in);
    for (at, body) in seen.iter().enumerate() {
        let whole = body.matches(LONG_WORDS).count();
        let expected = if at < first { (whole.min(1), 0) } else { (0, stubs) };
        assert_eq!(
            (whole, stubs_in(body)),
            expected,
            "request {at}, left out from {first} on: {body}"
        );
    }
}

fn blocks_in(body: &str) -> Vec<&str> {
    let behind = body.split(OPENING).skip(1);
    behind
        .filter_map(|rest| Some(rest.split_once(CLOSING)?.0))
        .collect()
}

fn is_in(block: &str, skill: &str) -> bool {
    block.contains(&format!("<name>{skill}</name>")) || block.contains(&format!("- {skill}: "))
}

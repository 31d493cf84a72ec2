//! The first skill of a newcomer: the commands of `docs/first-skill.md`, as they stand there.

use crate::audit::Audit;
use crate::host::{ANSWER, PATIENCE, Stage, submit_and_see};
use impresario_model_server::Turn;
use impresario_test_support::directories;
use impresario_test_support::limited::{End, run};
use impresario_test_support::pi::Version;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// A fenced block: what stands behind the fence, and its lines.
struct Block {
    kind: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let document =
        fs::read_to_string(directories::project().join("docs/first-skill.md")).expect("the document");
    let mut found: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(_), true) => inside = false,
            (Some(kind), false) => {
                inside = true;
                found.push(Block {
                    kind: kind.to_owned(),
                    text: String::new(),
                });
            }
            (None, true) => {
                let block = found.last_mut().expect("a block is open");
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    found
}

/// The commands of all blocks for the command line, each followed by a line that tells where its output ends.
const OUTPUT_ENDS: &str = "=== the output of a block ends here ===";

fn script_of(blocks: &[Block]) -> String {
    let commands = blocks.iter().filter(|block| block.kind == "sh");
    let each = commands.map(|block| format!("{}echo '{OUTPUT_ENDS}'\n", block.text));
    each.collect()
}

#[test]
fn the_commands_work_and_say_what_the_document_says() {
    let blocks = blocks();
    let place = tempfile::tempdir().expect("a directory");
    let _audit = Audit::of(place.path().join("home/.local/state/impresario"));
    let bin = place.path().join("bin");
    fs::create_dir(&bin).expect("a directory for the program");
    symlink(env!("CARGO_BIN_EXE_impresario"), bin.join("impresario")).expect("the program on the PATH");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .args(["-e", "-c", &script_of(&blocks)])
        .current_dir(place.path())
        .env_clear()
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", place.path().join("home"));
    let finished = run(&mut shell, "", PATIENCE);
    assert_eq!(
        finished.end,
        End::Exited(0),
        "{}\n{}",
        finished.stdout,
        finished.stderr
    );

    let mut outputs = finished.stdout.split(OUTPUT_ENDS);
    let mut said = "";
    let mut compared = 0;
    for block in &blocks {
        match block.kind.as_str() {
            "sh" => said = outputs.next().unwrap_or_default(),
            "text" => {
                compared += 1;
                for line in block.text.lines() {
                    assert!(said.contains(line), "{line:?} is not in:\n{said}");
                }
            }
            _ => {}
        }
    }
    assert_eq!(compared, 3, "the document shows what comes of three blocks");
}

#[test]
fn the_command_for_pi_works_and_so_does_what_is_typed() {
    let blocks = blocks();
    let of = |kind: &str| {
        let mut found = blocks.iter().filter(|block| block.kind == kind);
        found.next().expect("the block is there").text.trim().to_owned()
    };
    let script = || [Turn::text(ANSWER), Turn::text(ANSWER)];
    for stage in Stage::both("first skill", script) {
        let skill = blocks
            .iter()
            .find(|block| block.text.contains("SKILL.md"))
            .expect("the skill's block");
        let mut shell = stage.sandbox.command("sh");
        let written = run(shell.args(["-e", "-c", &skill.text]), "", PATIENCE);
        assert_eq!(written.end, End::Exited(0), "{}", written.stderr);

        let mut command = of("sh pi");
        if stage.scenario.version() != Version::ALL[0] {
            command = command.replace("--approve ", "");
        }
        let mut shell = stage.sandbox.command("sh");
        shell
            .args(["-c", &command])
            .env("IMPRESARIO", directories::project())
            .env("IMPRESARIO_BINARY", &stage.binary);
        let finished = run(&mut shell, "", PATIENCE);
        assert_eq!(
            (finished.end, finished.stdout.trim()),
            (End::Exited(0), ANSWER),
            "{}",
            finished.stderr
        );

        let mut terminal = stage.terminal();
        submit_and_see(&mut terminal, &of("text typed"), ANSWER);
        drop(terminal);
        stage.nothing_is_left();
    }
}

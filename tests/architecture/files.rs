//! What the tracked files must not contain, and what must agree.

use crate::sources::{files, root};
use crate::{except, hold};

/// Recorded from elsewhere: what stands in them is data.
const RECORDED: [&str; 2] = ["tests/transcripts/", "tests/vectors/"];

#[test]
fn no_file_knows_a_machine() {
    // Put together here, so that this file does not contain them.
    let places = ["work", "root", "home", "Users"].map(|directory| format!("/{directory}/"));
    let shown = ["/home/user", "/home/a/", "/home/me", "/home/you"];
    let mut violations = Vec::new();
    for file in files(&[""])
        .iter()
        .filter(|file| !RECORDED.iter().any(|place| file.path.starts_with(place)))
    {
        for (number, line) in file.text.lines().enumerate() {
            for place in &places {
                for (index, _) in line.match_indices(place.as_str()) {
                    let begins_there = !line[..index]
                        .ends_with(|before: char| before.is_alphanumeric() || "._-}".contains(before));
                    let is_shown = shown.iter().any(|shown| line[index..].starts_with(shown));
                    if begins_there && !is_shown {
                        violations.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
                    }
                }
            }
        }
    }
    hold("no tracked file names a place on somebody's machine", &violations);
}

#[test]
fn lock_files_carry_no_download_addresses() {
    let mut violations = Vec::new();
    for file in files(&[""]) {
        if file.path.ends_with("package-lock.json") {
            if file.text.contains("\"resolved\"") {
                violations.push(format!("{}: \"resolved\"", file.path));
            }
            let settings = root().join(file.path.replace("package-lock.json", ".npmrc"));
            let settings = std::fs::read_to_string(settings).unwrap_or_default();
            if !settings.contains("omit-lockfile-registry-resolved=true") {
                violations.push(format!(
                    "{}: no .npmrc beside it that keeps addresses out",
                    file.path
                ));
            }
        }
        if file.path.ends_with(".npmrc") && file.text.contains("registry=") {
            violations.push(format!("{}: names a registry", file.path));
        }
        if file.path.ends_with("Cargo.lock") {
            let sources = file.text.lines().filter(|line| line.starts_with("source = "));
            let other = sources
                .filter(|line| *line != "source = \"registry+https://github.com/rust-lang/crates.io-index\"");
            violations.extend(other.map(|line| format!("{}: {line}", file.path)));
        }
    }
    hold(
        "packages come from the public registries, by hash, from no written address",
        &violations,
    );
}

#[test]
fn every_file_has_found_its_home() {
    let homeless = ["utils", "util", "helpers", "helper", "manager", "common", "misc"];
    let name = |path: &str| {
        path.rsplit('/')
            .next()
            .unwrap_or_default()
            .split('.')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let sources = files(&[
        "policies/",
        "actors/",
        "src/",
        "extension/src/",
        "tests/",
        "examples/",
    ]);
    let violations: Vec<String> = sources
        .into_iter()
        .map(|file| file.path.clone())
        .filter(|path| homeless.contains(&name(path).as_str()))
        .collect();
    hold("no file is called utils, helpers or manager", &violations);
}

#[test]
fn the_gate_runs_the_two_commands_of_the_readme() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect(path);
    let is_command = |line: &&str| line.starts_with("cargo run ") || line.starts_with("cargo test ");
    let readme = read("README.md");
    let commands: Vec<&str> = readme.lines().filter(is_command).collect();
    let [main_job, tests] = commands[..] else {
        panic!("README.md has two commands of set-up: {commands:?}")
    };
    assert!(
        main_job.starts_with("cargo run --no-default-features -- "),
        "{main_job}"
    );
    assert_eq!(tests, "cargo test --workspace --tests");
    assert!(
        read("CONTRIBUTING.md").contains(tests),
        "CONTRIBUTING.md names another test command"
    );
    // The gate takes them from the page, so that what is printed there is what runs.
    let gate = read(".ci/run");
    assert!(
        gate.contains("grep -E '^cargo (run|test) ' \"$fresh/impresario/README.md\""),
        "the gate runs other commands"
    );
}

/// Clippy builds the example; what stands on the pages is what was built.
#[test]
fn rust_on_the_pages_stands_in_an_example() {
    // The formatter breaks lines, and puts a comma behind the last of several.
    let without_space = |text: &str| {
        let text = text.split_whitespace().collect::<String>();
        text.replace(",)", ")").replace(",}", "}")
    };
    let program =
        without_space(&std::fs::read_to_string(root().join("examples/pages.rs")).expect("pages.rs"));
    let mut strangers = Vec::new();
    for page in ["README.md", "docs/embedding.md"] {
        let text = std::fs::read_to_string(root().join(page)).expect(page);
        let blocks: Vec<&str> = text.split("```rust\n").skip(1).collect();
        assert!(!blocks.is_empty(), "{page} shows no Rust");
        let blocks = blocks.iter().filter_map(|block| block.split("```").next());
        let parts = blocks.flat_map(|block| block.split("\n\n"));
        strangers.extend(
            parts
                .filter(|part| !program.contains(&without_space(part)))
                .map(|part| format!("{page}: {part}")),
        );
    }
    hold("Rust on the pages stands in examples/pages.rs", &strangers);
}

#[test]
fn every_stage_that_leaves_a_journal_is_audited() {
    // Put together here, so that this file does not contain them.
    let leaves = [
        ".state_directory(".to_owned(),
        format!("CARGO_BIN_EXE_{}\")", "impresario"),
    ];
    let violations = files(&["tests/"])
        .into_iter()
        .filter(|file| file.path.ends_with(".rs") && leaves.iter().any(|sign| file.text.contains(sign)))
        .filter(|file| !file.text.contains("mod audit;") && !file.text.contains("audit::Audit"))
        .map(|file| file.path.clone())
        .collect();
    let allowed = [
        (
            "tests/command/victim.rs",
            "the program that is killed; tests/command/recovery.rs audits what it leaves",
        ),
        (
            "tests/command/memory_server.rs",
            "it keeps results for another host, and no runs",
        ),
        (
            "tests/command/tools_server.rs",
            "it has files changed for another host, and no runs",
        ),
        (
            "tests/conformance/blackbytes/agents.rs",
            "it has agents listed, and none of them asked",
        ),
        (
            "tests/conformance/nested_agents/lifecycle.rs",
            "it asks for rules of directories, and for no run",
        ),
        (
            "tests/conformance/nested_agents/session.rs",
            "it asks for rules of directories, and for no run",
        ),
    ];
    hold(
        "whatever leaves a journal in a test holds an Audit (tests/audit)",
        &except(violations, &allowed),
    );
}

#[test]
fn the_page_of_the_router_names_what_exists() {
    let page = std::fs::read_to_string(root().join("docs/router-coverage.md")).unwrap_or_default();
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap_or_default();
    let replayed = read("tests/conformance/auggie/mod.rs");
    // What stands in code marks, and where links lead.
    let names = page.split('`').skip(1).step_by(2);
    let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let is_test = |path: &str, test: &str| read(path).contains(&format!("fn {test}("));
    let missing_name = |name: &&str| match (name.split_once("::"), name.strip_prefix("auggie/")) {
        (Some((path, test)), _) if path.ends_with(".rs") => !is_test(path, test),
        (None, Some(function)) if function != "…" => !replayed.contains(&format!("(\"{function}\",")),
        _ => false,
    };
    let mut violations: Vec<String> = names.filter(missing_name).map(str::to_owned).collect();
    let missing_link = |link: &&str| !root().join("docs").join(link).is_file();
    violations.extend(links.filter(missing_link).map(str::to_owned));
    assert!(page.contains("auggie/config"), "docs/router-coverage.md is there");
    hold("every name on the page of the router exists", &violations);
}

#[test]
fn the_map_lists_every_invariant() {
    let Ok(map) = std::fs::read_to_string(root().join("docs/ARCHITECTURE.md")) else {
        return;
    };
    let mut violations = Vec::new();
    for file in files(&["tests/architecture/"])
        .iter()
        .filter(|file| !file.path.ends_with("/main.rs") && !file.path.ends_with("/mentions.rs"))
    {
        for (index, found) in file.text.match_indices("#[test]\nfn ") {
            let name = file.text[index + found.len()..]
                .split('(')
                .next()
                .unwrap_or_default();
            if !map.contains(name) {
                violations.push(name.to_owned());
            }
        }
    }
    hold(
        "docs/ARCHITECTURE.md lists every invariant by the name of its test",
        &violations,
    );
}

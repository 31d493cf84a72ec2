//! The extension forwards and shows; it brings nothing along.

use crate::sources::files;
use crate::{except, hold};

#[test]
fn the_extension_imports_node_and_itself_only() {
    let mut violations = Vec::new();
    for file in files(&["extension/src/"])
        .iter()
        .filter(|file| file.path.ends_with(".ts"))
    {
        for (number, line) in file.text.lines().enumerate() {
            // Types of Pi are erased before anything runs.
            let Some(module) = imported(line).filter(|_| !line.trim_start().starts_with("import type"))
            else {
                continue;
            };
            if !module.starts_with("node:") && !module.starts_with("./") && !module.starts_with("../") {
                violations.push(format!("{}:{}: {module}", file.path, number + 1));
            }
        }
    }
    let exceptions = [(
        "extension/src/builtin-tools.ts",
        "Pi's own makers of its tools, from the Pi that runs us: loaded where a person wishes to see them drawn otherwise",
    )];
    hold(
        "the extension imports node: modules and its own files only",
        &except(violations, &exceptions),
    );
}

#[test]
fn the_extension_installs_nothing() {
    let manifest = files(&["extension/package.json"]);
    assert!(
        !manifest[0].text.contains("\"dependencies\""),
        "a user who installs the extension installs nothing else"
    );
}

#[test]
fn stdout_of_pi_belongs_to_pi() {
    let mut violations = Vec::new();
    for file in files(&["extension/src/"])
        .iter()
        .filter(|file| file.path.ends_with(".ts"))
    {
        for (number, line) in file.text.lines().enumerate() {
            if ["console.", "process.stdout"]
                .iter()
                .any(|word| line.contains(word))
            {
                violations.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    hold(
        "the extension never writes to stdout, where Pi prints its records",
        &violations,
    );
}

/// The module that a line imports, where it names one.
fn imported(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let statement = line.starts_with("import ") || line.starts_with("export ") || line.starts_with("} from ");
    let behind = if statement {
        line.rsplit_once(" from ").map(|(_, behind)| behind)
    } else {
        None
    };
    let behind = behind.or_else(|| line.split_once("import(").map(|(_, behind)| behind));
    let behind = behind.or_else(|| line.strip_prefix("import "));
    let quoted = behind?.strip_prefix(['"', '\''])?;
    quoted.split(['"', '\'']).next()
}

#[test]
fn imports_are_found_however_they_are_written() {
    let cases = [
        ("import { a } from \"left-pad\";", Some("left-pad")),
        ("} from './own.ts';", Some("./own.ts")),
        ("import \"side-effect\";", Some("side-effect")),
        ("const x = await import(\"lazy\");", Some("lazy")),
        ("export * from \"node:fs\";", Some("node:fs")),
        ("const important = 1;", None),
    ];
    for (line, module) in cases {
        assert_eq!(imported(line), module, "{line}");
    }
}

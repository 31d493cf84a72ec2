//! Scripts that stand in for programs.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a shell script that can be executed.
///
/// Another process writes it: a file that this one had open would be busy ("text file busy") for as long as a child
/// that another test is starting has not become its own program.
///
/// # Panics
/// The file cannot be written.
pub fn write_script(path: &Path, script: &str) {
    write_program(path, &format!("#!/bin/sh\n{script}\n"), 0o755);
}

/// Writes a file that may be executed by whom its mode says; see [`write_script`].
///
/// # Panics
/// The file cannot be written.
pub fn write_program(path: &Path, text: &str, mode: u32) {
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod \"$1\" \"$0\""])
        .arg(path)
        .arg(format!("{mode:o}"))
        .stdin(Stdio::piped())
        .spawn()
        .expect("sh is everywhere");
    let mut input = writer.stdin.take().expect("its input is a pipe");
    let written = input.write_all(text.as_bytes());
    drop(input);
    let ended = writer.wait();
    assert!(
        written.is_ok() && ended.is_ok_and(|status| status.success()),
        "{} cannot be written",
        path.display()
    );
}

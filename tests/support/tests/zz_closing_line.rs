//! The last test program of the suite: says in how many scenarios real Pi was driven, and fails when in none.
//!
//! It is no libtest program, because its line must be seen without `--nocapture`.

use std::process::ExitCode;

use impresario_test_support::pi::{closing_line, is_switched_off, take_tally};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    let filtered = arguments.iter().any(|argument| !argument.starts_with('-'));
    let tally = take_tally().expect("the counted scenarios can be read");
    let (line, enough) = closing_line(tally, is_switched_off(), filtered);
    let (word, passed, failed) = if enough { ("ok", 1, 0) } else { ("FAILED", 0, 1) };
    println!("\nrunning 1 test\ntest real_pi_was_driven ... {word}\n");
    println!(
        "test result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out\n"
    );
    println!("{line}");
    if enough {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

//! The command line. What it can do is told by `impresario --help`.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: this program is its own keeper.
    impresario::keeper_main();
    impresario::cli::Cli::parse().execute()
}

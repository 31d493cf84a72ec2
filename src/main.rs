//! The command line. What it can do is told by `impresario --help`.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    impresario::cli::Cli::parse().execute()
}

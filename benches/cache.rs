//! How long a request to Anthropic is held up for its cache markers: 1 MB in 300 messages, outlined by the extension, planned
//! by the runtime over the bridge, edited. `benches/markers.mjs` measures it, in the Node of real Pi.

use impresario_test_support::directories;
use impresario_test_support::pi::{Version, provision};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let install = provision(Version::ALL[0]).unwrap_or_else(|error| panic!("{error}"));
    let measured = Command::new(&install.node)
        .arg(directories::project().join("benches/markers.mjs"))
        .arg(env!("CARGO_BIN_EXE_impresario"))
        .status()
        .expect("Node starts");
    match measured.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

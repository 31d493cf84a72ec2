//! What the tests share: real Pi by lock file in a sandbox, programs that speak JSON lines, a terminal with a screen.
//!
//! A test that drives real Pi begins a [`pi::Scenario`]. The suite's last test program counts the scenarios of both
//! versions and fails when there were none; `IMPRESARIO_TESTS_WITHOUT_PI=1` is the switch to run without Pi.
//!
//! Pi's own `grep` and `find` tools want `rg` and `fd`, which the sandbox does not provide: scenarios do without them.

pub mod directories;
pub mod json_lines;
pub mod limited;
pub mod pi;
pub mod processes;
pub mod programs;
pub mod terminal;
pub mod waiting;
pub mod web;

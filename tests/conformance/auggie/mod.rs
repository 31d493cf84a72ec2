//! The functions of pi-auggie-router 1.4.1.

mod defects;
mod skills;

use crate::Function;
use crate::vectors::{Answer, Case};

/// Every function of it that we have a counterpart of.
pub fn functions() -> Vec<Function> {
    let table: [(&'static str, fn(&Case) -> Answer); 4] = [
        ("skill_command", skills::skill_command),
        ("input_dispatch", skills::input_dispatch),
        ("skill_lookup", skills::skill_lookup),
        ("skill_parse", skills::skill_parse),
    ];
    table
        .map(|(name, replay)| Function {
            name,
            replay,
            accepts: defects::accepts,
        })
        .into()
}

//! The functions of pi-auggie-router 1.4.1.

mod defects;
mod judging;
mod skills;
mod texts;

use crate::Function;
use crate::vectors::{Answer, Case};

/// Every function of it that we have a counterpart of.
pub fn functions() -> Vec<Function> {
    let table: Vec<(&'static str, fn(&Case) -> Answer)> = vec![
        ("actor_judge", judging::actor_judge),
        ("append_capped", texts::append_capped),
        ("child_stderr", texts::child_stderr),
        ("coerce_route", judging::coerce_route_of),
        ("history_assembler", judging::history_assembler),
        ("input_dispatch", skills::input_dispatch),
        ("model_mapper", texts::model_mapper),
        ("output_sanitizer", texts::output_sanitizer),
        ("prompt_prefix", judging::prompt_prefix),
        ("redact_secrets", texts::redact_secrets),
        ("render_brief", judging::render_brief),
        ("routing_message_truncate", judging::routing_message_truncate),
        ("skill_command", skills::skill_command),
        ("skill_lookup", skills::skill_lookup),
        ("skill_parse", skills::skill_parse),
    ];
    table
        .into_iter()
        .map(|(name, replay)| Function {
            name,
            replay,
            accepts: defects::accepts,
        })
        .collect()
}

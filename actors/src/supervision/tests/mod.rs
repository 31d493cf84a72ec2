//! What the layer promises, each test one fact. Everything but the watchdog runs with a paused clock.

mod boundaries;
mod cast;
mod dynamic_supervisor;
mod escalation;
mod faults;
mod linked;
mod messages;
mod pauses;
mod restarts;
mod shutdown;
mod watchdog;

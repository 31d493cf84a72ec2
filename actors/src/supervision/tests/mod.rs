//! What the layer promises, each test one fact. Everything but the watchdog runs with a paused clock.

mod boundaries;
mod cast;
mod faults;
mod linked;
mod messages;
mod nursery;
mod restarts;
mod watchdog;

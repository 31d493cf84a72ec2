//! What the layer promises, each test one fact. Everything runs with a paused clock.

mod cast;
mod restarts;

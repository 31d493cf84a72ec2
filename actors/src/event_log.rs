//! Structured events on their way to the log: one line of JSON each, under a target of its own.

use impresario_policies::router_log::{LogEvent, LogLevel};

/// Writes an event to the log. Nobody waits for it.
pub fn log_event(event: &LogEvent) {
    let json = event.fields.to_string();
    match event.level {
        LogLevel::Debug => tracing::debug!(target: "impresario::events", "{json}"),
        LogLevel::Info => tracing::info!(target: "impresario::events", "{json}"),
    }
}

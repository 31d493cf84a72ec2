//! Structured events on their way to the log: one line of JSON each, under a target of its own.

use impresario_policies::router_log::{LogEvent, LogLevel};

/// Writes an event to the log. Nobody waits for it.
pub fn log_event(event: &LogEvent) {
    let json = event.fields.to_text();
    match event.level {
        LogLevel::Debug => tracing::debug!(target: "impresario::events", "{json}"),
        LogLevel::Info => tracing::info!(target: "impresario::events", "{json}"),
        LogLevel::Warn => tracing::warn!(target: "impresario::events", "{json}"),
        LogLevel::Error => tracing::error!(target: "impresario::events", "{json}"),
    }
}

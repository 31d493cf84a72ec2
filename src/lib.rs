//! Impresario.

pub mod bridge;
#[cfg(target_os = "linux")]
pub mod keeper;

//! Impresario.

pub mod bridge;

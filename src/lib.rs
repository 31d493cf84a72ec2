//! Impresario.

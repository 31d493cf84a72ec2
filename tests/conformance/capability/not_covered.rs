//! Functions of the peer that have no counterpart here, and why.

/// The function, and what is there instead.
pub const LIST: [(&str, &str); 1] = [(
    "judged",
    "how well the right one is found is measured: tests/capabilities.rs",
)];

/// Whether it is known to have no counterpart.
pub fn is_listed(function: &str) -> bool {
    LIST.iter().any(|(listed, _)| *listed == function)
}

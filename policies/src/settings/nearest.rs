//! Which key was meant?

use super::keys::{KEYS, PEER_KEYS, SECTIONS};
use crate::nearest::nearest_name;

/// The key of `blackbytes` closest to what was written, if any is close.
pub(super) fn nearest_of_peer(written: &str) -> Option<&'static str> {
    let ours = ["disabled_tools", "disabled_sub_agents", "sub_agents"];
    let acted_on = PEER_KEYS.map(|(section, _, _)| section);
    nearest_name(written, ours.into_iter().chain(acted_on))
}

/// The key or section closest to what was written, if any is close.
pub fn nearest_key(written: &str) -> Option<&'static str> {
    nearest_name(written, KEYS.iter().map(|key| key.path).chain(SECTIONS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        assert_eq!(nearest_key("HistoryWindow"), Some("historyWindow"));
        assert_eq!(nearest_key("totalTimeotuMs"), Some("totalTimeoutMs"));
        assert_eq!(
            nearest_key("executionRouting.model"),
            Some("executionRouting.models")
        );
        assert_eq!(nearest_key("outputSanitiser"), Some("outputSanitizer"));
        assert_eq!(nearest_key("colour"), None);
        assert_eq!(nearest_key(&"x".repeat(1_000)), None);
    }
}

//! How long, how much, how often.

use core::time::Duration;

/// One exchange with a service, or one page with all its redirects, takes no longer unless told.
pub const EXCHANGE_TIME: Duration = Duration::from_secs(30);
/// So much a caller may ask for at most, in seconds.
pub const TIMEOUT_S_MAX: u64 = 120;
/// A server that does not take a connection within this is not there.
pub const CONNECT_TIME: Duration = Duration::from_secs(15);
/// What a service answers, in bytes after decompression; more is refused.
pub const SERVICE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// What is read of a page, in bytes after decompression; the rest is left.
pub const PAGE_BYTES_MAX: usize = 5 * 1024 * 1024;
/// What an MCP server answers, in bytes; more is refused.
pub const MCP_BYTES_MAX: usize = 4 * 1024 * 1024;
/// What is read of an answer that says that something failed, in bytes.
pub const FAILURE_BYTES_MAX: usize = 16 * 1024;
/// So much of it is shown, in characters.
pub const FAILURE_CHARACTERS_MAX: usize = 1_000;
/// A page may lead on so often.
pub const REDIRECTS_MAX: usize = 5;
/// A longer address is refused, in bytes: servers need not take more (RFC 9110, 4.1).
pub const URL_BYTES_MAX: usize = 8_000;
/// What is asked for is no longer, in characters.
pub const QUERY_CHARACTERS_MAX: usize = 2_000;

/// The time that a caller asked for, in seconds; none where it asked for none that can be meant. Rounded up, and
/// never more than [`TIMEOUT_S_MAX`].
pub fn fetch_timeout(seconds: Option<f64>) -> Option<u64> {
    let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0)?;
    Some((seconds.ceil() as u64).clamp(1, TIMEOUT_S_MAX))
}

/// What is asked for, or why it cannot be.
pub fn read_query(query: &str) -> Result<&str, String> {
    let query = query.trim();
    let length = query.chars().count();
    if query.is_empty() {
        return Err("query is empty: say what to look for.".to_string());
    }
    if length > QUERY_CHARACTERS_MAX {
        return Err(format!(
            "query has {length} characters, and {QUERY_CHARACTERS_MAX} are the most: ask for less at a time."
        ));
    }
    Ok(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_rounded_up_and_has_an_end() {
        let asked = [Some(0.2), Some(1.5), Some(120.0), Some(1e30), Some(30.0)];
        assert_eq!(
            asked.map(fetch_timeout),
            [Some(1), Some(2), Some(120), Some(120), Some(30)]
        );
        let meant = [None, Some(0.0), Some(-1.0), Some(f64::NAN), Some(f64::INFINITY)];
        assert_eq!(meant.map(fetch_timeout), [None; 5]);
    }

    #[test]
    fn a_query_says_something_and_not_too_much() {
        assert_eq!(read_query(" a b "), Ok("a b"));
        assert!(read_query(" \n").is_err());
        assert!(read_query(&"x".repeat(2_000)).is_ok() && read_query(&"x".repeat(2_001)).is_err());
    }
}

//! How are times, money and tokens written where a person reads many of them, and how are times read?

use std::time::Duration;

/// The longest duration that can be asked for.
const DURATION_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// A time as short as it stays telling: `<1ms`, `20ms`, `1.4s`, `2m 5s`, `3h 1m`.
pub fn duration_words(ms: f64) -> String {
    if !ms.is_finite() || ms < 0.0 {
        return "0ms".into();
    }
    if ms < 1.0 {
        return "<1ms".into();
    }
    let whole_ms = (ms + 0.5).floor();
    if whole_ms < 1_000.0 {
        return format!("{whole_ms}ms");
    }
    let seconds = ms / 1_000.0;
    if seconds < 60.0 {
        return format!("{}s", rounded(seconds, 1));
    }
    let minutes = (seconds / 60.0).floor();
    match minutes < 60.0 {
        true => format!("{minutes}m {}s", seconds.floor() - minutes * 60.0),
        false => {
            let hours = (minutes / 60.0).floor();
            format!("{hours}h {}m", minutes - hours * 60.0)
        }
    }
}

/// Reads `90s`, `5m`, `250ms`, `12h`, `30d`.
pub fn read_duration(text: &str) -> Result<Duration, String> {
    let say = || format!("expected a duration such as 90s, 250ms, 5m, 12h or 30d, got {text:?}");
    let unit_at = text
        .find(|letter: char| !letter.is_ascii_digit())
        .ok_or_else(say)?;
    let (count, unit) = text.split_at(unit_at);
    let count = count.parse::<u64>().map_err(|_| say())?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(say()),
    };
    let duration = count
        .checked_mul(milliseconds)
        .map(Duration::from_millis)
        .ok_or_else(say)?;
    if duration.is_zero() || duration > DURATION_MAX {
        return Err(format!(
            "expected more than nothing and at most a year, got {text:?}"
        ));
    }
    Ok(duration)
}

/// US dollars with as many decimals as tell something: `$0.012`, `$1.20`, `$140`.
pub fn cost_words(dollars: f64) -> String {
    if !dollars.is_finite() || dollars <= 0.0 {
        return "$0".into();
    }
    if dollars < 0.001 {
        return "<$0.001".into();
    }
    let decimals = match dollars {
        _ if dollars < 0.9995 => 3,
        _ if dollars < 99.995 => 2,
        _ => 0,
    };
    format!("${}", rounded(dollars, decimals))
}

/// A number of tokens: `950`, `12.3k`, `4.6M`.
pub fn token_words(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..999_950 => format!("{}k", rounded(tokens as f64 / 1_000.0, 1)),
        _ => format!("{}M", rounded(tokens as f64 / 1_000_000.0, 1)),
    }
}

/// `1 call`, `2 calls`.
pub fn count_words(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        several => format!("{several} {what}s"),
    }
}

/// With so many decimals; what lies in the middle goes up, where the standard library goes to the even digit.
fn rounded(value: f64, decimals: usize) -> String {
    // No number that is rounded here has more digits before it can be told from the middle.
    let exact = format!("{value:.40}");
    let (whole, fraction) = exact.split_once('.').unwrap_or((&exact, ""));
    let kept = format!("{whole}{}", fraction.get(..decimals).unwrap_or_default());
    let goes_up = fraction
        .as_bytes()
        .get(decimals)
        .is_some_and(|digit| *digit >= b'5');
    let kept = kept.parse::<u128>().unwrap_or(u128::MAX - 1) + u128::from(goes_up);
    let digits = format!("{kept:0>width$}", width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    match decimals {
        0 => whole.to_string(),
        _ => format!("{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(read_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(read_duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in [
            "",
            "90",
            "s",
            "1.5s",
            "0s",
            "-1s",
            "99999999999999999999d",
            "18446744073709551615d",
        ] {
            assert!(read_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_call_is_one() {
        assert_eq!(
            [0, 1, 2].map(|count| count_words(count, "call")),
            ["0 calls", "1 call", "2 calls"]
        );
    }

    #[test]
    fn times_are_as_short_as_they_stay_telling() {
        let said = [
            (f64::NAN, "0ms"),
            (-1.0, "0ms"),
            (0.0, "<1ms"),
            (2.5, "3ms"),
            (999.4, "999ms"),
            (999.5, "1.0s"),
            (1_150.0, "1.1s"),
            (1_350.0, "1.4s"),
            (1_250.0, "1.3s"),
            (59_999.0, "60.0s"),
            (60_000.0, "1m 0s"),
            (3_599_999.0, "59m 59s"),
            (3_600_000.0, "1h 0m"),
        ];
        for (ms, words) in said {
            assert_eq!(duration_words(ms), words, "{ms}");
        }
    }

    #[test]
    fn money_has_the_decimals_that_tell_something() {
        let said = [
            (0.0, "$0"),
            (f64::INFINITY, "$0"),
            (0.0009, "<$0.001"),
            (0.0025, "$0.003"),
            (0.0625, "$0.063"),
            (0.4205, "$0.420"),
            (0.999_499_99, "$0.999"),
            (0.9995, "$1.00"),
            (99.99, "$99.99"),
            (99.995, "$100"),
        ];
        for (dollars, words) in said {
            assert_eq!(cost_words(dollars), words, "{dollars}");
        }
    }

    #[test]
    fn tokens_are_counted_in_thousands_where_there_are_many() {
        let said = [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0k"),
            (12_345, "12.3k"),
            (999_950, "1.0M"),
        ];
        for (tokens, words) in said {
            assert_eq!(token_words(tokens), words);
        }
    }
}

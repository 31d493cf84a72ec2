//! A moment as people read it, the same everywhere.

/// `2026-11-21 09:12 UTC`; a moment outside the years 0 to 9999 is given in milliseconds.
pub fn utc_text(unix_ms: f64) -> String {
    const LAST_MS: f64 = 253_402_300_799_999.0;
    const FIRST_MS: f64 = -62_167_219_200_000.0;
    if !(FIRST_MS..=LAST_MS).contains(&unix_ms) {
        return format!("{unix_ms} ms");
    }
    let seconds = (unix_ms / 1_000.0).floor() as i64;
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02} UTC",
        of_day / 3_600,
        of_day / 60 % 60
    )
}

/// The milliseconds of a day.
pub const DAY_MS: u64 = 24 * 3600 * 1000;

/// `2026-11-21`, of a day counted from 1970-01-01.
pub fn utc_day(days: u64) -> String {
    let (year, month, day) = civil(i64::try_from(days).unwrap_or(i64::MAX / 400));
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2026-11-21T09:12:00.250Z`.
pub fn utc_moment(unix_ms: u64) -> String {
    let of_day = unix_ms % DAY_MS;
    format!(
        "{}T{:02}:{:02}:{:02}.{:03}Z",
        utc_day(unix_ms / DAY_MS),
        of_day / 3_600_000,
        of_day / 60_000 % 60,
        of_day / 1_000 % 60,
        of_day % 1_000
    )
}

/// The Gregorian date of a day counted from 1970-01-01, by eras of 400 years that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The milliseconds of a moment as sessions write it: `2026-11-21T09:12:00.250Z`, or with an offset; a date alone is its
/// first moment.
pub fn read_moment(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse().ok()).flatten()
    };
    let separated = |at: usize, by: &str| (text.get(at..at + 1) == Some(by)).then_some(());
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    separated(4, "-").and(separated(7, "-"))?;
    let real_day = (1..=12).contains(&month) && (1..=31).contains(&day);
    let days = days_of(year, month, day);
    if !real_day || civil(days) != (year, month, day) {
        return None;
    }
    if text.len() == 10 {
        return Some(days * DAY_MS as i64);
    }
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    separated(10, "T")
        .and(separated(13, ":"))
        .and(separated(16, ":"))?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let rest = text.get(19..)?;
    let fraction: String = match rest.strip_prefix('.') {
        Some(behind) => behind.chars().take_while(char::is_ascii_digit).collect(),
        None => String::new(),
    };
    let zone = rest.get(
        if fraction.is_empty() {
            0
        } else {
            fraction.len() + 1
        }..,
    )?;
    let thousandths: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let seconds = hour * 3_600 + minute * 60 + second - offset_of(zone)?;
    Some(days * DAY_MS as i64 + seconds * 1_000 + thousandths)
}

/// In seconds.
fn offset_of(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let sign = match zone.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let number = |digits: &str| digits.parse::<u8>().ok().filter(|_| digits.len() == 2);
    Some(sign * (i64::from(number(hours)?) * 3_600 + i64::from(number(minutes)?) * 60))
}

/// Counted from 1970-01-01; the other way round of [`civil`].
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_as_it_is_written() {
        let moment = 1_794_302_640_250;
        assert_eq!(read_moment(&utc_moment(moment)), Some(moment as i64));
        assert_eq!(utc_moment(0), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn moments_are_read_as_they_are_written() {
        let read = |text: &str| read_moment(text).map(|ms| utc_text(ms as f64));
        assert_eq!(
            read("2025-05-11T10:50:22.999Z").as_deref(),
            Some("2025-05-11 10:50 UTC")
        );
        assert_eq!(
            read("2000-02-29T01:30:00+01:30").as_deref(),
            Some("2000-02-29 00:00 UTC")
        );
        assert_eq!(read_moment("1970-01-02"), Some(86_400_000));
        assert_eq!(read_moment("1970-01-01T00:00:00.1234Z"), Some(123));
        assert_eq!(read_moment("1969-12-31T23:59:59.999Z"), Some(-1));
        for nonsense in [
            "",
            "soon",
            "2026-13-01",
            "2026-02-30",
            "2026-01-01T25:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.é",
            "+026-01-01",
        ] {
            assert_eq!(read_moment(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn known_moments() {
        assert_eq!(utc_text(0.0), "1970-01-01 00:00 UTC");
        assert_eq!(utc_text(1_746_960_622_000.0), "2025-05-11 10:50 UTC");
        assert_eq!(utc_text(951_782_400_000.0), "2000-02-29 00:00 UTC");
        assert_eq!(utc_text(-1.0), "1969-12-31 23:59 UTC");
        assert_eq!(utc_text(f64::NAN), "NaN ms");
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        assert_eq!(utc_text(0.0), "1970-01-01 00:00 UTC");
        assert_eq!(utc_text(1_746_960_622_000.0), "2025-05-11 10:50 UTC");
        assert_eq!(utc_text(951_782_400_000.0), "2000-02-29 00:00 UTC");
        assert_eq!(utc_text(-1.0), "1969-12-31 23:59 UTC");
        assert_eq!(utc_text(f64::NAN), "NaN ms");
    }
}

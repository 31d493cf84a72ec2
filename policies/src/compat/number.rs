//! Numbers as JavaScript reads, rounds and prints them.

/// Below this every whole number is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// `Math.round`: halves go up, also below zero.
pub fn round_half_up(value: f64) -> f64 {
    let floor = value.floor();
    if value - floor >= 0.5 { floor + 1.0 } else { floor }
}

/// `toFixed`: the exact binary value is rounded, and an exact tie goes away from zero.
pub fn to_fixed(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return number_text(value);
    }
    let mut figures = figures_of(value.abs(), digits);
    let is_zero = figures.bytes().all(|digit| digit == b'0');
    if digits > 0 {
        figures.insert(figures.len() - digits, '.');
    }
    if value < 0.0 && !is_zero {
        figures.insert(0, '-');
    }
    figures
}

/// The digits of a rounded number without its point, `digits` of them behind it and at least one before.
fn figures_of(value: f64, digits: usize) -> String {
    const DIGITS_MAX: usize = 15;
    // The product is rounded too, but never across a half: what is not exactly one lies on the right side of it.
    let scaled = value * 10f64.powi(digits as i32);
    if scaled < EXACT && scaled.fract() != 0.5 && digits <= DIGITS_MAX {
        return digits_of(scaled.round() as u64, digits + 1);
    }
    exact_figures_of(value, digits)
}

/// Decimal digits, at least so many.
fn digits_of(mut number: u64, at_least: usize) -> String {
    let mut reversed = [b'0'; 20];
    let mut count = 0;
    while number > 0 || count < at_least {
        reversed[count] = b'0' + (number % 10) as u8;
        number /= 10;
        count += 1;
    }
    reversed[..count]
        .iter()
        .rev()
        .map(|digit| char::from(*digit))
        .collect()
}

/// The same from the decimal expansion. Every finite double has at most 1 074 binary places; the expansion of one is
/// exact at 60 for all numbers this is used for, and only an exact tie (…5 followed by zeros) is rounded otherwise here.
fn exact_figures_of(value: f64, digits: usize) -> String {
    let exact = format!("{value:.*}", digits + 60);
    let (whole, fraction) = exact.split_once('.').unwrap_or((&exact, ""));
    let (kept, rest) = fraction.split_at(digits.min(fraction.len()));
    let mut figures = format!("{whole}{kept}").into_bytes();
    if rest.as_bytes().first().is_some_and(|digit| *digit >= b'5') {
        increment(&mut figures);
    }
    figures.into_iter().map(char::from).collect()
}

fn increment(figures: &mut Vec<u8>) {
    for digit in figures.iter_mut().rev() {
        if *digit == b'9' {
            *digit = b'0';
        } else {
            *digit += 1;
            return;
        }
    }
    figures.insert(0, b'1');
}

/// `String(number)`: no `.0`, exponents from 1e21 up and below 1e-6.
pub fn number_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_string();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_string();
    }
    if value == 0.0 {
        return "0".to_string();
    }
    let magnitude = value.abs();
    if magnitude < EXACT && value.fract() == 0.0 {
        return (value as i64).to_string();
    }
    if (1e-6..1e21).contains(&magnitude) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

/// With a comma between every three digits.
pub fn grouped(value: u64) -> String {
    grouped_digits(&value.to_string())
}

/// Decimal digits, however many, without leading zeros and with a comma between every three.
pub fn grouped_digits(digits: &str) -> String {
    let significant = digits.trim_start_matches('0');
    let digits = if significant.is_empty() { "0" } else { significant };
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_up() {
        assert_eq!(round_half_up(2.5), 3.0);
        assert_eq!(round_half_up(-2.5), -2.0);
        assert_eq!(round_half_up(0.499_999_999_999_999_94), 0.0);
        assert_eq!(to_fixed(0.125, 2), "0.13");
        assert_eq!(to_fixed(12.5, 0), "13");
        assert_eq!(to_fixed(1.005, 2), "1.00");
        assert_eq!(to_fixed(9.995, 2), "9.99");
        assert_eq!(to_fixed(99.999, 2), "100.00");
        assert_eq!(to_fixed(-0.5, 0), "-1");
    }

    proptest::proptest! {
        #[test]
        fn the_short_way_rounds_like_the_exact_one(thousandths in 0u64..10_000_000, digits in 0usize..4, value in 0.0f64..1e6) {
            for value in [thousandths as f64 / 1_000.0, value] {
                assert_eq!(figures_of(value, digits), exact_figures_of(value, digits), "{value} {digits}");
            }
        }
    }

    #[test]
    fn numbers_print_as_there() {
        assert_eq!(number_text(20.0), "20");
        assert_eq!(number_text(-0.0), "0");
        assert_eq!(number_text(1e21), "1e+21");
        assert_eq!(number_text(1e-7), "1e-7");
        assert_eq!(number_text(0.1 + 0.2), "0.30000000000000004");
        assert_eq!(number_text(1.5e300), "1.5e+300");
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped_digits("0012345"), "12,345");
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(value in proptest::num::f64::ANY, digits in 0usize..4) {
            let _ = (to_fixed(value, digits), number_text(value), round_half_up(value));
        }
    }
}

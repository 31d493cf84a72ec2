//! Numbers as people are shown them.

/// With two digits after the point. Only an eighth can be a half of the last one, and it goes up like every half here.
pub fn hundredths(value: f64) -> String {
    let is_eighth = (value * 8.0).fract() == 0.0;
    format!("{:.2}", if is_eighth { value.next_up() } else { value })
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
    fn halves_go_up() {
        for (value, shown) in [
            (0.125, "0.13"),
            (0.625, "0.63"),
            (0.995, "0.99"),
            (0.0, "0.00"),
            (1.0, "1.00"),
        ] {
            assert_eq!(hundredths(value), shown);
        }
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped_digits("0012345"), "12,345");
    }
}

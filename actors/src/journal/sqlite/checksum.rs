//! A number that goes with every row: a bit that flips on the disk, or a row that somebody changed by hand, is noticed
//! when the row is read.
//!
//! FNV-1a, 64 bits: each byte of two rows of equal shape that differs gives another number, so no single flip is missed.
//! It finds accidents, not forgeries.

use rusqlite::types::ValueRef;

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The number of the values that were added so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checksum(u64);

impl Checksum {
    /// The number of these values, in their order.
    pub(super) fn of<'a>(values: impl IntoIterator<Item = ValueRef<'a>>) -> i64 {
        let sum = values.into_iter().fold(Self(BASIS), Self::and);
        i64::from_ne_bytes(sum.0.to_ne_bytes())
    }

    /// Kind and length go in too: moving a character from one column to the next is no accident of these, but costs nothing
    /// to notice.
    fn and(self, value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => self.bytes(&[0]),
            ValueRef::Integer(number) => self.bytes(&[1]).bytes(&number.to_le_bytes()),
            ValueRef::Real(number) => self.bytes(&[2]).bytes(&number.to_le_bytes()),
            ValueRef::Text(text) => self.bytes(&[3]).length(text).bytes(text),
            ValueRef::Blob(blob) => self.bytes(&[4]).length(blob).bytes(blob),
        }
    }

    fn length(self, bytes: &[u8]) -> Self {
        self.bytes(&(bytes.len() as u64).to_le_bytes())
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(PRIME);
        Self(bytes.iter().fold(self.0, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::types::Value;

    #[test]
    fn every_single_bit_counts() {
        let text = b"{\"step\":\"answered\",\"answer\":\"42\"}".to_vec();
        let sum_of = |text: &[u8]| Checksum::of([ValueRef::Integer(7), ValueRef::Text(text)]);
        let right = sum_of(&text);
        for bit in 0..text.len() * 8 {
            let mut flipped = text.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(sum_of(&flipped), right, "bit {bit}");
        }
    }

    #[test]
    fn kinds_and_borders_count() {
        let sum_of = |values: &[Value]| Checksum::of(values.iter().map(ValueRef::from));
        let text = |text: &str| Value::Text(text.to_string());
        assert_ne!(sum_of(&[text("ab"), text("c")]), sum_of(&[text("a"), text("bc")]));
        assert_ne!(sum_of(&[Value::Null]), sum_of(&[Value::Integer(0)]));
        assert_ne!(sum_of(&[text("1")]), sum_of(&[Value::Integer(1)]));
    }
}

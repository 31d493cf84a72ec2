//! Text and numbers as the peer counts and shows them, in one place.
//!
//! It counts text in UTF-16 units and trims another set of characters than Rust does. Limits here are counted the same
//! way, so that a setting means the same in both; but a cut never splits a code point, so a text can come out one unit
//! shorter than the limit allows.

mod number;
mod text;

pub use number::{grouped, grouped_digits, hundredths};
pub use text::{
    collapse_spaces, cut_units, is_line_end, is_space, last_units, trim, trim_end, trim_start, units,
    units_starting_in, whole_pairs,
};

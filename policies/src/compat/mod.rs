//! The habits of JavaScript that limits, file formats and peers depend on, in one place.
//!
//! A peer counts text in UTF-16 units, trims another set of characters than Rust does, and rounds halves
//! another way. Limits here are counted the same way, so that a setting means the same in both; but a cut
//! never splits a code point, so a text can come out one unit shorter than the limit allows.

mod json;
mod number;
mod text;

pub use json::{Json, JsonError, string_of};
pub use number::{grouped, grouped_digits, number_text, round_half_up, to_fixed};
pub use text::{
    SPACE_CLASS, collapse_spaces, cut_units, is_line_end, is_space, last_units, trim, trim_end, trim_start,
    units, units_starting_in,
};

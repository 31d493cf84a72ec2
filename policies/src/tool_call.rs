//! Which call of an attempt is it, and how many may come at once?

/// So many calls may stand in one reply of a model.
pub const CALLS_IN_A_REPLY_MAX: usize = 256;

/// Names a call by its turn and its place in the reply, both from 1, and by the id that the model gave it: `2.1:call_0`.
/// The id alone does not name it, for providers give the same one again in the next turn.
pub fn call_name(turn: u32, place: u32, id: &str) -> String {
    format!("{turn}.{place}:{id}")
}

/// The id that the model gave a call. Journals of earlier versions hold nothing else.
pub fn id_of(call: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let named = call.split_once(':').and_then(|(place, id)| {
        let (turn, place) = place.split_once('.')?;
        (is_number(turn) && is_number(place)).then_some(id)
    });
    named.unwrap_or(call)
}

#[cfg(test)]
mod tests {
    use super::{call_name, id_of};

    #[test]
    fn an_id_that_is_given_again_names_another_call() {
        assert_eq!(call_name(2, 1, "call_0"), "2.1:call_0");
        assert_ne!(call_name(1, 1, "call_0"), call_name(2, 1, "call_0"));
        assert_ne!(call_name(1, 1, "call_0"), call_name(1, 2, "call_0"));
    }

    #[test]
    fn the_id_is_found_in_a_name_and_in_rows_of_earlier_versions() {
        assert_eq!(id_of("12.3:toolu_1"), "toolu_1");
        assert_eq!(id_of("1.1:a:b"), "a:b");
        for id in ["call_0", "functions.read:0", "1.:x", ":x", "1:x", ""] {
            assert_eq!(id_of(id), id);
        }
    }
}

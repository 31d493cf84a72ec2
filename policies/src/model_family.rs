//! Which family does a model belong to? Instructions can differ by family, and by nothing finer.

use crate::domain::ModelFamily;

/// The marks in a model's id, in the order in which they are looked for (pi-blackbytes 2.20.1).
const MARKS: [(&str, ModelFamily); 8] = [
    ("claude", ModelFamily::Claude),
    ("gpt", ModelFamily::Gpt),
    ("o1", ModelFamily::Gpt),
    ("o3", ModelFamily::Gpt),
    ("o4", ModelFamily::Gpt),
    ("gemini", ModelFamily::Gemini),
    ("kimi", ModelFamily::Kimi),
    ("moonshot", ModelFamily::Kimi),
];

/// Reads the family from the id of a model.
pub fn model_family(model: &str) -> ModelFamily {
    let model = model.to_lowercase();
    let found = MARKS.iter().find(|(mark, _)| model.contains(mark));
    found.map_or(ModelFamily::Other, |(_, family)| *family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mark_in_the_list_decides() {
        for (model, family) in [
            ("openrouter/anthropic/claude-x", ModelFamily::Claude),
            ("gpt-claude", ModelFamily::Claude),
            ("o3-mini", ModelFamily::Gpt),
            ("GEMINI-2", ModelFamily::Gemini),
            ("moonshot-v1", ModelFamily::Kimi),
            ("llama-3", ModelFamily::Other),
            ("offline", ModelFamily::Other),
        ] {
            assert_eq!(model_family(model), family, "{model}");
        }
    }
}

//! Which prompt-cache markers of a request have to change so that the provider takes it?
//!
//! The rules are Anthropic's: at most four markers in a request, and none that lives an hour after one that lives five
//! minutes, in the order tools, system, messages. Nothing here adds a marker or lengthens one, so no request gets dearer.

use serde::{Deserialize, Serialize};

/// So many markers a request may have.
pub const MARKERS_MAX: usize = 4;

/// One marker of a request, in the order of the request: tools, system, messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    pub section: Section,
    pub lives: Lifetime,
}

/// A part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    Tools,
    System,
    Messages,
}

/// How long a marker lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Five minutes, the provider's default.
    FiveMinutes,
    OneHour,
}

/// A change to one marker, by its place in the list that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "edit")]
pub enum MarkerEdit {
    Drop {
        /// From 0.
        place: usize,
    },
    /// Let it live five minutes.
    Shorten {
        /// From 0.
        place: usize,
    },
}

/// Plans the changes; none for a request that is fine as it is.
///
/// Too many: the oldest in the conversation go first, then those of the tools, then those of the system prompt; the last
/// marker always stays, because everything before it is what the next request reads.
pub fn plan_marker_edits(markers: &[Marker]) -> Vec<MarkerEdit> {
    let dropped = surplus(markers);
    let mut edits = dropped
        .iter()
        .map(|&place| MarkerEdit::Drop { place })
        .collect::<Vec<_>>();
    let mut short_seen = false;
    for (place, marker) in markers.iter().enumerate() {
        if dropped.contains(&place) {
            continue;
        }
        match marker.lives {
            Lifetime::FiveMinutes => short_seen = true,
            Lifetime::OneHour if short_seen => edits.push(MarkerEdit::Shorten { place }),
            Lifetime::OneHour => {}
        }
    }
    edits
}

fn surplus(markers: &[Marker]) -> Vec<usize> {
    let too_many = markers.len().saturating_sub(MARKERS_MAX);
    let last = markers.len().saturating_sub(1);
    let in_section = |section| {
        let places = markers
            .iter()
            .enumerate()
            .filter(move |(place, marker)| *place != last && marker.section == section);
        places.map(|(place, _)| place)
    };
    let order = in_section(Section::Messages)
        .chain(in_section(Section::Tools))
        .chain(in_section(Section::System));
    let mut dropped = order.take(too_many).collect::<Vec<_>>();
    dropped.sort_unstable();
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;
    use Lifetime::{FiveMinutes, OneHour};
    use Section::{Messages, System, Tools};

    fn check(markers: &[(Section, Lifetime)], expected: &[MarkerEdit]) {
        let markers = markers
            .iter()
            .map(|&(section, lives)| Marker { section, lives })
            .collect::<Vec<_>>();
        assert_eq!(plan_marker_edits(&markers), expected);
    }

    #[test]
    fn a_request_that_is_fine_is_left_alone() {
        check(&[], &[]);
        check(
            &[(Tools, OneHour), (System, OneHour), (Messages, FiveMinutes)],
            &[],
        );
    }

    #[test]
    fn the_oldest_of_the_conversation_goes_first_and_the_last_stays() {
        let five = [
            (Tools, FiveMinutes),
            (System, FiveMinutes),
            (Messages, FiveMinutes),
            (Messages, FiveMinutes),
            (Messages, FiveMinutes),
        ];
        check(&five, &[MarkerEdit::Drop { place: 2 }]);
        check(
            &[(Tools, FiveMinutes); 6],
            &[MarkerEdit::Drop { place: 0 }, MarkerEdit::Drop { place: 1 }],
        );
    }

    #[test]
    fn an_hour_after_five_minutes_is_shortened() {
        check(
            &[(System, FiveMinutes), (Messages, OneHour)],
            &[MarkerEdit::Shorten { place: 1 }],
        );
    }

    #[test]
    fn every_small_request_becomes_valid_and_no_dearer() {
        let kinds = [
            (Tools, FiveMinutes),
            (Tools, OneHour),
            (System, FiveMinutes),
            (Messages, OneHour),
            (Messages, FiveMinutes),
        ];
        for count in 0..7_u32 {
            for choice in 0..5_usize.pow(count) {
                let mut markers = (0..count)
                    .map(|place| kinds[choice / 5_usize.pow(place) % 5])
                    .collect::<Vec<_>>();
                markers.sort_by_key(|(section, _)| *section);
                let markers = markers
                    .iter()
                    .map(|&(section, lives)| Marker { section, lives })
                    .collect::<Vec<_>>();
                let mut after = markers.iter().copied().map(Some).collect::<Vec<_>>();
                for edit in plan_marker_edits(&markers) {
                    match edit {
                        MarkerEdit::Drop { place } => after[place] = None,
                        MarkerEdit::Shorten { place } => {
                            after[place] = Some(Marker {
                                lives: FiveMinutes,
                                ..markers[place]
                            });
                        }
                    }
                }
                let kept = after.iter().flatten().collect::<Vec<_>>();
                assert!(kept.len() <= MARKERS_MAX, "{markers:?}");
                assert_eq!(kept.is_empty(), markers.is_empty());
                assert!(
                    after.last().is_none_or(Option::is_some),
                    "the last marker is gone: {markers:?}"
                );
                let first_short = kept
                    .iter()
                    .position(|marker| marker.lives == FiveMinutes)
                    .unwrap_or(kept.len());
                assert!(
                    kept[first_short..]
                        .iter()
                        .all(|marker| marker.lives == FiveMinutes),
                    "{markers:?}"
                );
            }
        }
    }
}

//! Where the planner differs on purpose, and what holds for it there.

use super::host::markers_of;
use crate::json::Json;
use crate::vectors::{Answer, Case};

/// The rules of the service for a request that was changed; what else holds is the planner's own.
pub fn accepts(_: &str, case: &Case, ours: &Answer) -> bool {
    is_taken(case, ours, 4)
}

/// Names the difference; none where ours is none of them.
pub fn ours(function: &str, case: &Case, ours: &Answer) -> Option<&'static str> {
    let before = real_markers(&markers_of(case.get("payload")));
    match function {
        "plan" if before.is_empty() && same(case, ours) => Some("a request without markers is left without"),
        "plan" if !is_taken(case, ours, 4) || !keeps_the_tail(case, ours) => None,
        "plan" if case.get("ttl_env") != &Json::Null => Some("markers live as long as the host's do"),
        "plan" => Some("the host's last marker stays, and what it marked as far as there is room"),
        "enforce" if is_taken(case, ours, case.count("max").max(1)) && keeps_the_tail(case, ours) => {
            Some("the tail is the last to go, then the end of the system prompt, then the anchor")
        }
        _ => None,
    }
}

/// The calls whose results the peer marked itself as the newest anchor.
pub fn own_anchor(case: &Case) -> Vec<String> {
    let newest = case.list("own").iter().filter_map(|own| match own.as_array()? {
        [Json::Number(message), Json::Number(block), Json::String(owner)] if owner == "last_anchor" => {
            let message = case
                .get("payload")
                .get("messages")?
                .as_array()?
                .get(*message as usize)?;
            let block = message.get("content")?.as_array()?.get(*block as usize)?;
            block.get("tool_use_id").and_then(Json::as_str)
        }
        _ => None,
    });
    newest.map(str::to_string).collect()
}

fn same(case: &Case, ours: &Answer) -> bool {
    matches!(ours, Answer::Value(ours) if *ours == markers_of(case.get("payload")))
}

/// At most so many, and none that lives an hour behind one that lives five minutes.
fn is_taken(case: &Case, ours: &Answer, max: usize) -> bool {
    let Answer::Value(markers) = ours else {
        return false;
    };
    let markers = real_markers(markers);
    let first_short = markers
        .iter()
        .position(|(_, hour)| !hour)
        .unwrap_or(markers.len());
    let long_behind = markers.iter().skip(first_short).any(|(_, hour)| *hour);
    // What was fine is no longer ours to judge when nothing was changed.
    let thinks = |place: &Place| is_of_kind(case, place, &["thinking", "redacted_thinking"]);
    markers.len() <= max && !long_behind && !markers.iter().any(|(place, _)| thinks(place))
}

/// The host's last marker in the messages is still one.
fn keeps_the_tail(case: &Case, ours: &Answer) -> bool {
    let Answer::Value(markers) = ours else {
        return false;
    };
    let legal = |(place, _): &(Place, bool)| !is_of_kind(case, place, &["thinking", "redacted_thinking"]);
    let before = real_markers(&markers_of(case.get("payload")));
    let tail = before.into_iter().filter(legal).rfind(|(place, _)| place.0 == 2);
    tail.is_none_or(|(tail, _)| real_markers(markers).iter().any(|(place, _)| *place == tail))
}

/// Where a marker counts, in the order of the service: tools, system, messages, the request itself.
type Place = (usize, Vec<usize>);

/// Those that are markers by where they stand, each with whether it lives an hour.
fn real_markers(markers: &Json) -> Vec<(Place, bool)> {
    let listed = markers.as_array().unwrap_or_default().iter();
    let mut real = listed.filter_map(|marker| {
        let [pointer, lives] = marker.as_array()? else {
            return None;
        };
        Some((place_of(pointer.as_str()?)?, lives.as_str() == Some("1h")))
    });
    let mut real = real.by_ref().collect::<Vec<_>>();
    real.sort();
    real
}

fn place_of(pointer: &str) -> Option<Place> {
    let parts = pointer.split('/').skip(1).collect::<Vec<_>>();
    let number = |part: &&str| part.parse::<usize>().ok();
    match parts[..] {
        [] => Some((3, Vec::new())),
        ["tools", tool] => Some((0, vec![number(&tool)?])),
        ["system", block] => Some((1, vec![number(&block)?])),
        ["messages", message, "content", block] => Some((2, vec![number(&message)?, number(&block)?])),
        ["messages", message, "content", block, "content", inner] => {
            Some((2, vec![number(&message)?, number(&block)?, number(&inner)?]))
        }
        _ => None,
    }
}

fn is_of_kind(case: &Case, place: &Place, kinds: &[&str]) -> bool {
    let (2, numbers) = place else { return false };
    let block = || {
        let message = case
            .get("payload")
            .get("messages")?
            .as_array()?
            .get(*numbers.first()?)?;
        message
            .get("content")?
            .as_array()?
            .get(*numbers.get(1)?)?
            .get("type")?
            .as_str()
    };
    block().is_some_and(|kind| kinds.contains(&kind))
}

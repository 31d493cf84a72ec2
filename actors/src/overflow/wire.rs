//! How an overflow memory is asked, and what is read in it.

use crate::journal::OverflowEntry;
use impresario_policies::overflow_memory::is_overflow_handle;
use impresario_policies::overflow_read::{OverflowPage, OverflowPlace, PAGE_UNITS, PAGE_UNITS_MAX};
use serde::Deserialize;
use serde_json::{Value, json};

/// What is wanted of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Everything that is kept.
    List,
    /// A page of one result.
    Read {
        /// Which: 3 for `overflow_3`.
        handle: u32,
        offset: usize,
        limit: usize,
    },
    /// Places in one result.
    Search {
        handle: u32,
        /// The text that is looked for.
        query: String,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Arguments {
    #[serde(alias = "handle")]
    id: String,
    offset: usize,
    limit: Option<usize>,
    query: String,
}

/// Reads a call of `list`, `read` or `search`; the error is for the model to read.
pub fn read_wish(tool: &str, arguments: &Value) -> Result<Wish, String> {
    if tool == "list" {
        return Ok(Wish::List);
    }
    let given = Arguments::deserialize(arguments).map_err(|error| {
        format!("The arguments cannot be read: {error}. Expected {{\"id\": \"overflow_1\", \"offset\": 0}}.")
    })?;
    let handle = handle_of(&given.id)?;
    match tool {
        "read" => {
            let limit = given.limit.unwrap_or(PAGE_UNITS).clamp(1, PAGE_UNITS_MAX);
            Ok(Wish::Read {
                handle,
                offset: given.offset,
                limit,
            })
        }
        "search" if given.query.is_empty() => Err("Missing or empty 'query' argument.".to_string()),
        "search" => Ok(Wish::Search {
            handle,
            query: given.query,
        }),
        other => Err(format!("The overflow memory has no tool {other:?}.")),
    }
}

fn handle_of(id: &str) -> Result<u32, String> {
    let number = id.strip_prefix("overflow_").filter(|_| is_overflow_handle(id));
    let number = number.and_then(|number| number.parse().ok());
    number.ok_or_else(|| "Invalid overflow handle. Handles look like overflow_1.".to_string())
}

/// The entries as they are listed.
pub fn entries(entries: &[OverflowEntry]) -> Value {
    let entries = entries.iter().map(|entry| {
        json!({ "id": entry.name(), "byteLength": entry.bytes, "toolName": entry.tool, "timestamp": entry.at.0 })
    });
    Value::Array(entries.collect())
}

/// A page as it is read; `nextOffset` is where the next one begins.
pub fn page(page: &OverflowPage<'_>) -> String {
    json!({
        "content": page.content,
        "eof": page.eof,
        "nextOffset": page.next_offset,
        "totalChars": page.total_units,
    })
    .to_string()
}

/// The places a search found, and how many there are.
pub fn places(places: &[OverflowPlace], count: usize) -> String {
    let shown = places
        .iter()
        .map(|place| json!({ "offset": place.offset, "line": place.line, "text": place.excerpt }));
    json!({ "places": shown.collect::<Vec<_>>(), "found": count }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_bounded_whatever_is_asked_for() {
        let wish = read_wish(
            "read",
            &json!({ "id": "overflow_2", "offset": 7, "limit": 9_000_000 }),
        );
        assert_eq!(
            wish,
            Ok(Wish::Read {
                handle: 2,
                offset: 7,
                limit: PAGE_UNITS_MAX
            })
        );
    }

    #[test]
    fn a_strange_handle_is_met_with_a_sentence() {
        for id in [
            "",
            "2",
            "overflow_",
            "overflow_-1",
            "../overflow_1",
            "overflow_99999999999999",
        ] {
            assert!(read_wish("read", &json!({ "id": id })).is_err(), "{id}");
        }
        assert!(read_wish("read", &json!({ "id": 7 })).is_err());
        assert!(read_wish("delete", &json!({ "id": "overflow_1" })).is_err());
    }
}

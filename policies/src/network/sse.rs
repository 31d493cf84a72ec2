//! Server-sent events, as an MCP server answers with them (HTML, 9.2).

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// `message` where the server names none.
    pub kind: String,
    pub data: String,
}

/// The events of a stream that has come to its end. One whose end is missing counts: the connection was closed behind it.
pub fn read_events(text: &str) -> Vec<SseEvent> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let (mut events, mut kind, mut data) = (Vec::new(), String::new(), None::<String>);
    let mut end = |kind: &mut String, data: &mut Option<String>| {
        let kind = std::mem::take(kind);
        if let Some(data) = data.take() {
            let kind = if kind.is_empty() {
                "message".to_string()
            } else {
                kind
            };
            events.push(SseEvent { kind, data });
        }
    };
    for line in lines(text) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => end(&mut kind, &mut data),
            "event" => kind = value.to_string(),
            "data" => match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_string()),
            },
            // A comment, an id, a time to wait, or nothing that is known.
            _ => {}
        }
    }
    end(&mut kind, &mut data);
    events
}

/// A line ends at CR LF, at LF or at CR.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n')
        .flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> Vec<String> {
        read_events(text)
            .into_iter()
            .map(|event| format!("{}={}", event.kind, event.data))
            .collect()
    }

    #[test]
    fn events_end_at_empty_lines_whatever_ends_a_line() {
        assert_eq!(data("data: a\ndata:b\n\n"), ["message=a\nb"]);
        assert_eq!(data("event: x\r\ndata: a\r\n\r\ndata: b"), ["x=a", "message=b"]);
        assert_eq!(
            data("data: a\rdata: b\r\rdata: c\r"),
            ["message=a\nb", "message=c"]
        );
        assert_eq!(
            data("\u{FEFF}: hello\nid: 1\ndata\n\nevent: lost\n\n"),
            ["message="]
        );
        assert_eq!(data(""), [""; 0]);
    }
}

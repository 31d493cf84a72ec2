use super::{EventReader, Seen};
use crate::gateways::RunnerEvent;
use proptest::prelude::*;

fn read(stream: &str) -> (Vec<Seen>, EventReader) {
    read_bytes(stream.as_bytes(), stream.len().max(1))
}

fn read_bytes(stream: &[u8], chunk: usize) -> (Vec<Seen>, EventReader) {
    let mut reader = EventReader::new(10_000);
    let mut seen = Vec::new();
    for chunk in stream.chunks(chunk) {
        reader.feed(chunk, &mut seen);
    }
    reader.finish(&mut seen);
    (seen, reader)
}

fn unread(seen: &[Seen]) -> Vec<(&str, &str)> {
    seen.iter()
        .filter_map(|seen| match seen {
            Seen::Event(RunnerEvent::Unread { line, why }) => Some((line.as_str(), why.as_str())),
            _ => None,
        })
        .collect()
}

fn text(seen: &[Seen]) -> String {
    seen.iter()
        .filter_map(|seen| match seen {
            Seen::Event(RunnerEvent::Text { delta }) => Some(delta.as_str()),
            _ => None,
        })
        .collect()
}

const ANSWER: &str = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"done"}],"stopReason":"stop"}}"#;

#[test]
fn garbage_and_unknown_events_are_kept_counted_and_not_fatal() {
    let stream = format!(
        "npm WARN something\n{{\"type\":\"new_in_2\"}}\n[1,2]\n\n{{\"no\":\"type\"}}\n{{\"type\":5}}\n{ANSWER}\n{{\"type\":\"agent_end\"}}\n"
    );
    let (seen, reader) = read(&stream);
    let unread = unread(&seen);
    assert_eq!(unread[0], ("npm WARN something", "not JSON"));
    assert_eq!(unread[1].1, "unknown event new_in_2");
    assert_eq!(unread.len(), 5, "{unread:?}");
    let facts = reader.facts();
    assert_eq!((facts.unread_lines, facts.read_lines), (5, 2));
    assert_eq!((facts.answer.as_str(), facts.terminal_event), ("done", true));
}

#[test]
fn a_flood_of_garbage_is_counted_and_shown_a_hundred_times() {
    let (seen, reader) = read(&"garbage\n".repeat(5_000));
    assert_eq!(unread(&seen).len(), 100);
    assert_eq!(reader.facts().unread_lines, 5_000);
}

#[test]
fn a_line_above_the_limit_is_unread_and_the_next_one_read() {
    let stream = format!(
        "{{\"type\":\"turn_end\",\"message\":\"{}\"}}\n{ANSWER}\n",
        "x".repeat(20_000)
    );
    let (seen, reader) = read_bytes(stream.as_bytes(), 4_096);
    assert_eq!(unread(&seen)[0].1, "line above the limit");
    assert_eq!(reader.facts().answer, "done");
}

#[test]
fn depth_is_no_danger() {
    let deep = format!(
        "{{\"type\":\"tool_execution_end\",\"toolCallId\":\"c\",\"result\":{}{}}}",
        "[".repeat(4_000),
        "]".repeat(4_000)
    );
    let (seen, reader) = read(&deep);
    assert_eq!(reader.facts().read_lines, 1, "{seen:?}");
}

#[test]
fn secrets_in_unread_lines_are_not_kept() {
    let (seen, _) = read("ANTHROPIC_API_KEY=sk-ant-REDACTED leaked\n");
    assert_eq!(unread(&seen)[0].0, "ANTHROPIC_[REDACTED] leaked");
}

#[test]
fn active_comes_first_and_once() {
    let (seen, _) = read(&format!("garbage\n{{\"type\":\"agent_start\"}}\n{ANSWER}\n"));
    let active: Vec<usize> = (0..seen.len())
        .filter(|at| seen[*at] == Seen::Event(RunnerEvent::Active))
        .collect();
    assert_eq!(active, [1], "garbage is no sign of life: {seen:?}");
}

#[test]
fn text_that_no_delta_brought_comes_with_the_message() {
    let (seen, _) = read(&format!("{ANSWER}\n"));
    assert_eq!(text(&seen), "done");
    let streamed = r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"do"}}"#;
    let (seen, _) = read(&format!("{streamed}\n{ANSWER}\n"));
    assert_eq!(text(&seen), "done");
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let stream = concat!(
        r#"{"message":{"content":[],"role":"assistant"},"type":"message_start"}"#,
        "\n",
        r#"{"assistantMessageEvent":{"delta":"a\u2028b","type":"text_delta"},"type":"message_update"}"#,
        "\n",
        r#"{"args":{"path":"x"},"toolName":"read","toolCallId":"c1","type":"tool_execution_start"}"#,
        "\n",
        r#"{"message":{"stopReason":"stop","content":"a\u2028bc","role":"assistant"},"type":"message_end"}"#,
        "\n",
    );
    let (seen, reader) = read(stream);
    assert_eq!(text(&seen), "a\u{2028}bc");
    assert_eq!(reader.facts().answer, "a\u{2028}bc");
    let started = RunnerEvent::ToolStarted {
        call: "c1".into(),
        tool: "read".into(),
    };
    assert!(seen.contains(&Seen::Event(started)));
}

#[test]
fn a_raw_line_separator_inside_a_string_ends_no_line() {
    let line = "{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"content\":\"a\u{2028}b\",\"stopReason\":\"stop\"}}\n";
    assert_eq!(read(line).1.facts().answer, "a\u{2028}b");
}

#[test]
fn an_announced_retry_takes_the_end_back() {
    let (seen, reader) = read(
        "{\"type\":\"agent_end\",\"messages\":[]}\n{\"type\":\"auto_retry_start\",\"attempt\":2,\"delayMs\":400,\"errorMessage\":\"terminated\"}\n",
    );
    assert!(!reader.facts().terminal_event);
    assert!(
        seen.iter()
            .any(|seen| matches!(seen, Seen::Event(RunnerEvent::RetryAnnounced { attempt: 2, .. })))
    );
    let (_, reader) = read("{\"type\":\"agent_end\",\"messages\":[],\"willRetry\":true}\n");
    assert!(!reader.facts().terminal_event);
}

#[test]
fn a_prompt_pi_does_not_take_is_an_end_with_its_reason() {
    let (seen, reader) = read(
        "{\"id\":\"1\",\"type\":\"response\",\"command\":\"prompt\",\"success\":false,\"error\":\"No API key found for openai.\"}\n",
    );
    assert!(seen.contains(&Seen::Settled));
    let facts = reader.facts();
    assert!(facts.terminal_event);
    assert_eq!(
        facts.error_message.as_deref(),
        Some("No API key found for openai.")
    );
}

#[test]
fn a_message_that_was_missed_is_found_in_the_end_of_the_run() {
    let (_, reader) = read(
        r#"{"type":"agent_end","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"late"}],"stopReason":"stop"}]}"#,
    );
    assert_eq!(reader.facts().answer, "late");
}

#[test]
fn a_message_that_never_ended_is_no_answer() {
    let update = r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"half"}}"#;
    let (_, reader) = read(&format!("{update}\n{{\"type\":\"agent_end\",\"messages\":[]}}\n"));
    let facts = reader.facts();
    assert_eq!(
        (facts.answer.as_str(), facts.stop_reason.as_deref()),
        ("half", Some("pending"))
    );
}

proptest! {
    #[test]
    fn nothing_that_is_printed_is_fatal_and_chunks_do_not_matter(
        lines in prop::collection::vec(prop_oneof![
            Just(ANSWER.to_string()),
            Just("{\"type\":\"agent_end\",\"messages\":[]}".to_string()),
            Just("{\"type\":\"message_update\",\"assistantMessageEvent\":{\"type\":\"text_delta\",\"contentIndex\":0,\"delta\":\"é\\u2028x\"".to_string()),
            Just("{\"type\":\"message_update\",\"usage\":{\"assistantMessageEvent\":{\"type\":\"text_delta\",\"contentIndex\":0,\"delta\":\"".to_string()),
            "\\PC{0,80}",
            "[{}\\[\\]\":,a-z0-9\\\\]{0,80}",
        ], 0..12),
        chunk in 1usize..50,
    ) {
        let stream = lines.join("\n");
        let (whole, whole_reader) = read_bytes(stream.as_bytes(), stream.len().max(1));
        let (cut, cut_reader) = read_bytes(stream.as_bytes(), chunk);
        prop_assert_eq!(whole_reader.facts(), cut_reader.facts());
        prop_assert_eq!(text(&whole), text(&cut));
        prop_assert_eq!(unread(&whole), unread(&cut));
    }

    #[test]
    fn no_bytes_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..400), chunk in 1usize..50) {
        let (_, reader) = read_bytes(&bytes, chunk);
        prop_assert!(!reader.facts().terminal_event);
    }
}

#[test]
fn what_comes_after_the_end_does_not_replace_the_answer() {
    let begins = r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#;
    let streams = r#"{"type":"message_update","assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"late"}}"#;
    let other = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"another"}],"stopReason":"stop"}}"#;
    let settled = r#"{"type":"agent_settled"}"#;
    for late in [begins, streams, other, r#"{"type":"agent_start"}"#] {
        let (seen, reader) = read(&format!("{ANSWER}\n{settled}\n{late}\n"));
        assert_eq!(
            (text(&seen).as_str(), reader.facts().answer.as_str()),
            ("done", "done"),
            "{late}"
        );
        assert!(reader.is_over(), "{late}");
    }
}

#[test]
fn a_reply_says_how_many_tools_it_calls() {
    let calls = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"toolCall","id":"a","name":"read","arguments":{}},{"type":"toolCall","id":"a","name":"read","arguments":{}}],"stopReason":"toolUse"}}"#;
    let (seen, _) = read(&format!("{calls}\n{ANSWER}\n"));
    let counts = seen.iter().filter(|seen| matches!(seen, Seen::Calls(_)));
    assert_eq!(counts.collect::<Vec<_>>(), [&Seen::Calls(2)]);
}

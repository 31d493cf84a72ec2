//! Functions of the peer around delegation that have no counterpart here, and why.

/// The function, and what is there instead.
pub const LIST: [(&str, &str); 27] = [
    (
        "allowed_tools_summary",
        "the tools of an agent are listed one by one, however many",
    ),
    (
        "artifact_header",
        "what an answer is of stands in the journal; its file has the answer and nothing else",
    ),
    (
        "artifact_name",
        "a file is called after its run and attempt: nothing of an agent's name is in a path",
    ),
    (
        "artifact_retention",
        "an answer goes with its run, not by the age of a file",
    ),
    (
        "attempt_list_text",
        "models that were left are named in sentences, each with why",
    ),
    (
        "chain_run",
        "a chain is runs in a journal: tests/command/chain_command.rs, tests/embedding",
    ),
    (
        "bash_render",
        "drawn by the extension, which replays it: extension/test/tool-drawing.test.ts",
    ),
    ("clamp_line", "the same"),
    (
        "compact_text",
        "large results are kept aside with a preview: overflow_preview",
    ),
    (
        "delegate_failure_text",
        "a reason is a sentence with what to do; the partial answer stands below it",
    ),
    (
        "hashline_clamp_width",
        "how wide a line of a difference may be is known to the extension, which draws it",
    ),
    (
        "hashline_render",
        "an edit is drawn by the extension from what the tool answered",
    ),
    ("nested_tool_title", "tools are called as they are called"),
    (
        "progress_reporter",
        "what a person sees is made anew from the run's steps: policies/src/sight.rs",
    ),
    (
        "read_render",
        "drawn by the extension, which replays it: extension/test/tool-drawing.test.ts",
    ),
    (
        "redact_struct",
        "headers, addresses and JSON are redacted as the texts they are: redact_text",
    ),
    (
        "runtime_overlay_props",
        "a sub-agent knows its tools by their definitions and its place from its runner; who asks the web is told the day",
    ),
    (
        "shell_tokens",
        "drawn by the extension, which replays it: extension/test/tool-drawing.test.ts",
    ),
    (
        "spinner_frame",
        "nothing turns: elapsed time says that a run is alive",
    ),
    (
        "status_sections",
        "the sections of /impresario are others: src/status.rs",
    ),
    (
        "sub_agent_block",
        "drawn by the extension from the run's picture: extension/src/sight.ts",
    ),
    ("sub_agent_render", "the same"),
    ("tool_call_line", "the same"),
    (
        "tool_output_text",
        "drawn by the extension, which replays it: extension/test/tool-drawing.test.ts",
    ),
    (
        "tool_render",
        "Pi draws the results of the tools that are added to its own",
    ),
    (
        "tool_strategy",
        "what the file of an agent allows and denies is one list when it is read: yaml_agents, nested_tools",
    ),
    (
        "unique_names",
        "a name that stands twice is told with file and line: yaml_agents",
    ),
];

/// Whether it is known to have no counterpart.
pub fn is_listed(function: &str) -> bool {
    LIST.iter().any(|(listed, _)| *listed == function)
}

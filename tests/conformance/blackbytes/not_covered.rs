//! Functions of the peer around delegation that have no counterpart here, and why.

/// The function, and what is there instead.
pub const LIST: [(&str, &str); 22] = [
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
        "clamp_line",
        "Pi draws its own tools: no output of bash is drawn here",
    ),
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
        "prompt_family_resolution",
        "what the main agent is taught is the same for every model",
    ),
    (
        "redact_struct",
        "headers, addresses and JSON are redacted as the texts they are: redact_text",
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
    ("tool_output_text", "Pi draws its own tools"),
    (
        "unique_names",
        "a name that stands twice is told with file and line: yaml_agents",
    ),
];

/// Whether it is known to have no counterpart.
pub fn is_listed(function: &str) -> bool {
    LIST.iter().any(|(listed, _)| *listed == function)
}

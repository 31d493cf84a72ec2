//! How `top` looks.

use super::state::{Mode, Reading, TopState};
use impresario_policies::terminal_text::shown;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{List, ListState, Paragraph};

const KEYS: &str = "↑↓ select · t transcript · c cancel · q quit";
const KEYS_OF_TRANSCRIPT: &str = "↑↓ PgUp PgDn Home End scroll · q back";

/// Lines of a page on a screen of so many rows.
pub(super) fn page_rows(screen_rows: u16) -> usize {
    usize::from(screen_rows.saturating_sub(2)).max(1)
}

pub(super) fn draw(frame: &mut Frame<'_>, state: &TopState) {
    let rows = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
    let [title, body, footer] = Layout::vertical(rows).areas(frame.area());
    match &state.mode {
        Mode::Transcript(reading) => draw_transcript(frame, reading, [title, body, footer]),
        Mode::List | Mode::Confirm(_) => draw_list(frame, state, [title, body, footer]),
    }
}

fn draw_list(frame: &mut Frame<'_>, state: &TopState, [title, body, footer]: [Rect; 3]) {
    let runs = state.lines.iter().filter(|line| line.run.is_some()).count();
    bold(frame, &format!("impresario top · {runs} under way"), title);
    if runs == 0 {
        frame.render_widget(Paragraph::new("Nothing runs."), body);
    } else {
        let items = state
            .lines
            .iter()
            .map(|line| Line::raw(shown(&line.indented()).into_owned()));
        let selected = state
            .lines
            .iter()
            .position(|line| line.run.is_some() && line.run == state.selected);
        let list = List::new(items).highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        frame.render_stateful_widget(list, body, &mut ListState::default().with_selected(selected));
    }
    let below = match &state.mode {
        Mode::Confirm(run) => format!("Cancel run {run}? y cancels it, any other key does not"),
        _ if !state.note.is_empty() => state.note.clone(),
        _ => KEYS.to_string(),
    };
    dim(frame, &below, footer);
}

fn draw_transcript(frame: &mut Frame<'_>, reading: &Reading, [title, body, footer]: [Rect; 3]) {
    bold(frame, &reading.page.title, title);
    let rows = usize::from(body.height).max(1);
    let top = reading.top_of(rows);
    let lines = reading.page.lines.iter().skip(top).take(rows);
    let lines = lines
        .map(|line| Line::raw(shown(line).replace('\t', "    ")))
        .collect::<Vec<_>>();
    frame.render_widget(Paragraph::new(lines), body);
    let (seen, all) = (
        (top + rows).min(reading.page.lines.len()),
        reading.page.lines.len(),
    );
    let follows = if reading.follows { " · follows" } else { "" };
    dim(
        frame,
        &format!("{seen}/{all}{follows} · {KEYS_OF_TRANSCRIPT}"),
        footer,
    );
}

fn bold(frame: &mut Frame<'_>, text: &str, area: Rect) {
    let style = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(shown(text).into_owned()).style(style), area);
}

fn dim(frame: &mut Frame<'_>, text: &str, area: Rect) {
    let style = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Paragraph::new(shown(text).into_owned()).style(style), area);
}

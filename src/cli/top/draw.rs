//! How `top` looks.

use super::outside::RUNS_MAX;
use super::state::{Mode, Reading, Told, TopState};
use impresario_policies::domain::MessageKind;
use impresario_policies::overview::OverviewLine;
use impresario_policies::terminal_text::shown;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

const KEYS: &str = "↑↓ select · t transcript · s steer · a ask · c cancel · q quit";
const KEYS_OF_TRANSCRIPT: &str = "↑↓ PgUp PgDn Home End scroll · q back";
/// What a tab is drawn as.
const TAB: &str = "    ";

/// Lines of a page on a screen of so many rows.
pub(super) fn page_rows(screen_rows: u16) -> usize {
    usize::from(screen_rows.saturating_sub(2)).max(1)
}

pub(super) fn draw(frame: &mut Frame<'_>, state: &TopState) {
    match &state.mode {
        Mode::Transcript(reading) => draw_transcript(frame, reading),
        Mode::List | Mode::Confirm(_) | Mode::Write { .. } => draw_list(frame, state),
    }
}

fn draw_list(frame: &mut Frame<'_>, state: &TopState) {
    let area = frame.area();
    let below = below(state, area);
    let rows = [
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(u16::try_from(below.len()).unwrap_or(u16::MAX)),
    ];
    let [title, body, footer] = Layout::vertical(rows).areas(area);
    bold(frame, &title_of(state), title);
    let nothing = match &state.lines {
        None => Some("Looking …"),
        Some(lines) if lines.is_empty() => Some("Nothing runs."),
        Some(_) => None,
    };
    match nothing {
        Some(nothing) => frame.render_widget(Paragraph::new(nothing), body),
        None => draw_runs(frame, state, body),
    }
    let below = below.into_iter().map(Line::raw).collect::<Vec<_>>();
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Paragraph::new(below).style(dim), footer);
}

fn title_of(state: &TopState) -> String {
    let Some(lines) = &state.lines else {
        return "impresario top".to_string();
    };
    match lines.iter().filter(|line| line.run.is_some()).count() {
        RUNS_MAX.. => format!("impresario top · {RUNS_MAX} or more under way, the newest of them here"),
        runs => format!("impresario top · {runs} under way"),
    }
}

/// The selected run stays in the middle where there are more than fit.
fn draw_runs(frame: &mut Frame<'_>, state: &TopState, body: Rect) {
    let lines = state.lines.as_deref().unwrap_or_default();
    let is_selected = |line: &OverviewLine| line.run.is_some() && line.run == state.selected;
    let selected = lines.iter().position(is_selected).unwrap_or(0);
    let rows = usize::from(body.height);
    let top = selected
        .saturating_sub(rows / 2)
        .min(lines.len().saturating_sub(rows));
    let seen = lines.iter().skip(top).take(rows).map(|line| {
        let style = match is_selected(line) {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new(),
        };
        Line::raw(on_one_line(&line.indented())).style(style)
    });
    frame.render_widget(Paragraph::new(seen.collect::<Vec<_>>()), body);
}

/// What was told, what is asked of the person, and what the keys do: at most half of the screen.
fn below(state: &TopState, area: Rect) -> Vec<String> {
    let width = usize::from(area.width).max(1);
    let last = match &state.mode {
        Mode::Write { run, kind, text } => {
            let verb = match kind {
                MessageKind::Steer => "Tell",
                MessageKind::Ask => "Ask",
            };
            let before = format!("{verb} {run} (Enter sends, Esc does not): ");
            written(&before, text, width)
        }
        Mode::Confirm(run) => wrapped(
            &format!("Cancel run {run}? y cancels it, any other key does not"),
            width,
        ),
        Mode::List | Mode::Transcript(_) if !state.note.is_empty() => wrapped(&state.note, width),
        Mode::List | Mode::Transcript(_) => wrapped(KEYS, width),
    };
    let rows = usize::from(area.height / 2).max(1);
    let room = rows.saturating_sub(last.len());
    let mut told = state
        .told
        .iter()
        .flat_map(|told| wrapped(&told_words(told), width));
    let all = told.by_ref().collect::<Vec<_>>();
    let over = all.len().saturating_sub(room);
    let mut lines = all.into_iter().skip(over).collect::<Vec<_>>();
    lines.extend(last);
    let over = lines.len().saturating_sub(rows);
    lines.drain(..over);
    lines
}

fn told_words(told: &Told) -> String {
    format!("{} {}: {} → {}", told.kind.word(), told.run, told.text, told.fate)
}

fn draw_transcript(frame: &mut Frame<'_>, reading: &Reading) {
    let rows = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
    let [title, body, footer] = Layout::vertical(rows).areas(frame.area());
    bold(frame, &reading.page.title, title);
    let rows = usize::from(body.height).max(1);
    let top = reading.top_of(rows);
    let lines = reading.page.lines.iter().skip(top).take(rows);
    let lines = lines
        .map(|line| Line::raw(shown(line).replace('\t', TAB)))
        .collect::<Vec<_>>();
    frame.render_widget(Paragraph::new(lines), body);
    let (seen, all) = (
        (top + rows).min(reading.page.lines.len()),
        reading.page.lines.len(),
    );
    let follows = if reading.follows { " · follows" } else { "" };
    let text = format!("{seen}/{all}{follows} · {KEYS_OF_TRANSCRIPT}");
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(Paragraph::new(text).style(dim), footer);
}

/// The end of what is written stays in sight, on a line of its own where the question leaves it no room.
fn written(before: &str, text: &str, width: usize) -> Vec<String> {
    let text = format!("{}▏", on_one_line(text));
    let beside = width.saturating_sub(columns(before));
    match beside > width / 3 {
        true => vec![format!("{before}{}", end_within(&text, beside))],
        false => {
            let mut lines = wrapped(before, width);
            lines.push(end_within(&text, width));
            lines
        }
    }
}

fn end_within(text: &str, width: usize) -> String {
    let mut left = width;
    let fits = |letter: &char| {
        let wide = columns(letter.encode_utf8(&mut [0; 4]));
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        fits
    };
    let end = text.chars().rev().take_while(fits).collect::<Vec<_>>();
    end.into_iter().rev().collect()
}

/// Lines that are no wider than this.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![(String::new(), 0)];
    for letter in on_one_line(text).chars() {
        let wide = columns(letter.encode_utf8(&mut [0; 4]));
        match lines.last_mut() {
            Some((line, filled)) if *filled + wide <= width || line.is_empty() => {
                line.push(letter);
                *filled += wide;
            }
            _ => lines.push((letter.to_string(), wide)),
        }
    }
    lines.into_iter().map(|(line, _)| line).collect()
}

fn on_one_line(text: &str) -> String {
    shown(text).replace('\t', TAB).replace('\n', " ⏎ ")
}

fn columns(text: &str) -> usize {
    Span::raw(text).width()
}

fn bold(frame: &mut Frame<'_>, text: &str, area: Rect) {
    let style = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(on_one_line(text)).style(style), area);
}

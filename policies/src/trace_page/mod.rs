//! What do traces look like to people who would rather look?
//!
//! One self-contained page for a run and one for the history of a skill: no script, nothing from elsewhere, dark and
//! light, printable, with everything that is drawn also said in words. What stands in a trace was written by a model
//! and by tools, so it enters a page through [`html::Html::text`] only.

mod document;
mod history;
mod html;
mod report;
mod run;
mod style;
mod timeline;

pub use report::{LeftOut, report_page};
pub use run::run_page;

#[cfg(test)]
mod tests;

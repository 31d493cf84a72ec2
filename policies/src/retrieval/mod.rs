//! Finding the passages of a workspace that answer a question.
//!
//! [`question`] reads what is asked, [`passages`] cuts the files, [`ranking`] says which passages answer best.

pub mod citation;
pub mod concepts;
mod counting;
mod definitions;
pub mod description;
pub mod file_kind;
pub mod lines;
pub mod passages;
pub mod question;
pub mod ranking;
mod scoring;
pub mod words;

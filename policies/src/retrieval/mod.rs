//! Finding the passages of a workspace that answer a question.
//!
//! [`outline`] reads what a file defines, [`passages`] cuts it, [`question`] reads what is asked, and [`ranking`] says which
//! passages answer best. The words, files and passages are those of an index that is kept elsewhere.

pub mod citation;
pub mod description;
pub mod file_kind;
pub mod languages;
pub mod left_out;
pub mod outline;
pub mod passages;
pub mod question;
pub mod ranking;
pub mod words;

//! Editing by anchors: which lines a model means, what a file comes to with its edits, and what it is told.
//!
//! A model reads lines as `12#KXVTB|text` ([`anchored_text`]) and names those that it means by what stands before the
//! bar. The letters say what stood in the line ([`line_id`]), so an edit of a line that is another one by now is
//! refused, with the lines that are there. All edits of a call are about the file as it was read ([`edited_text`]).

mod anchor;
mod annotated;
mod claims;
mod edit;
mod edited;
mod error;
mod ids;
mod preview;
mod reply;
mod snapshot;
mod text_match;
mod verified;

pub use anchor::{Anchor, AnchorId};
pub use annotated::{anchored_reading, anchored_text};
pub use claims::{named_lines, replace_overlap, text_overlap};
pub use edit::{Edit, EditOp, GivenEdit};
pub use edited::{EditSettings, EditedText, edited_text, lines_around};
pub use error::{EditError, EditLines, Overlap, bounded_error, error_words};
pub use ids::{LineId, line_id, peer_line_id};
pub use preview::{ChangedRange, Preview, Window, change_preview};
pub use reply::{Outcome, reply_words};
pub use snapshot::Snapshot;
pub use text_match::{TextMatches, find_text};
pub use verified::{Difference, first_difference};

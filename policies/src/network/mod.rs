//! What may be reached over the network, what is asked there, and what a model is given of the answers?
//!
//! Everything that a model, a page or a redirect names is checked: its words ([`urls`]), and every address that its
//! name leads to ([`addresses`]). Services are the user's choice and are not checked; a model cannot name one.
//! What comes back is text of others and is marked as such ([`untrusted`]).

pub mod addresses;
pub mod code_hits;
pub mod documents;
pub mod fetched;
pub mod limits;
pub mod markdown;
pub mod requests;
pub mod searches;
pub mod services;
pub mod sse;
pub mod untrusted;
pub mod urls;

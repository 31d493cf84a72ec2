//! The scripted model server.
fn main() {}

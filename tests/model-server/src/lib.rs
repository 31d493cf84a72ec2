//! A scripted model server.

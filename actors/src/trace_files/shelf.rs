//! The shelf of a real workspace: files, read and written beside the actors' thread.

use super::TraceFiles;
use crate::gateways::{TracePlace, TraceShelf};
use async_trait::async_trait;
use impresario_policies::trace_file::Trace;
use std::io;

#[derive(Debug, Clone, Copy, Default)]
pub struct FileShelf;

#[async_trait(?Send)]
impl TraceShelf for FileShelf {
    async fn keep(&self, place: &TracePlace, trace: Trace) -> Result<String, String> {
        aside(place, move |place| {
            TraceFiles::create(&place.workspace, &place.directory)?.keep(&trace)
        })
        .await
    }

    async fn newest(&self, place: &TracePlace, skill: &str, newest: usize) -> Result<Vec<Trace>, String> {
        let skill = skill.to_string();
        aside(place, move |place| {
            let Some(files) = TraceFiles::open(&place.workspace, &place.directory)? else {
                return Ok(Vec::new());
            };
            let found = files.of_skill(&skill, newest)?;
            for (file, why) in &found.skipped {
                tracing::info!(file, %why, "left out of the history of a skill");
            }
            Ok(found.traces.into_iter().map(|found| found.trace).collect())
        })
        .await
    }

    async fn forget(&self, place: &TracePlace, skill: &str, kept: usize) -> Result<usize, String> {
        let skill = skill.to_string();
        aside(place, move |place| {
            match TraceFiles::open(&place.workspace, &place.directory)? {
                Some(files) => files.forget(&skill, kept),
                None => Ok(0),
            }
        })
        .await
    }
}

async fn aside<T: Send + 'static>(
    place: &TracePlace,
    work: impl FnOnce(TracePlace) -> io::Result<T> + Send + 'static,
) -> Result<T, String> {
    let place = place.clone();
    let done = tokio::task::spawn_blocking(move || work(place)).await;
    done.map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())
}

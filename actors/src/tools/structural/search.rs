//! `ast_search`: the places, counted and the first of them shown.

use super::Asked;
use super::files::{Candidate, Files, Pace};
use crate::context::local::HeavyWork;
use crate::gateways::{ToolAnswer, ToolPlace};
use crate::tools::place::Workspace;
use impresario_policies::added_tools::ToolReceipt;
use impresario_policies::structural::matches::{
    CONTEXT_MAX, Found, Place, SHOWN_MAX, describe_matches, lines_around,
};
use impresario_structural::{Ended, Query};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

#[derive(Debug, Deserialize)]
pub(in crate::tools) struct AstSearchArguments {
    #[serde(flatten)]
    asked: Asked,
    #[serde(default)]
    context: usize,
}

pub(in crate::tools) async fn run(
    arguments: AstSearchArguments,
    place: &ToolPlace,
    heavy_work: HeavyWork,
) -> Result<ToolAnswer, String> {
    let workspace = Workspace::of(place)?;
    let pace = Pace::begin(&place.cancelled);
    heavy_work
        .run(move || look(&arguments, &workspace, &pace))
        .await
        .unwrap_or_else(|why| Err(format!("The search failed: {why}.")))
}

/// The first places by path and byte, whichever thread found them first.
#[derive(Default)]
struct Gathered {
    places: BTreeMap<(String, usize), Place>,
    total: usize,
}

pub(super) fn look(
    arguments: &AstSearchArguments,
    workspace: &Workspace,
    pace: &Pace,
) -> Result<ToolAnswer, String> {
    let query = arguments.asked.query(None)?;
    let gathered = Mutex::new(Gathered::default());
    let context = arguments.context.min(CONTEXT_MAX);
    let files = Files {
        workspace,
        query: &query,
        paths: &arguments.asked.paths,
        globs: &arguments.asked.globs,
        pace,
    };
    let seen = files.each(&|file| gather(&query, file, context, &gathered))?;
    let gathered = gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
    let places: Vec<Place> = gathered.places.into_values().collect();
    let mut read: Vec<String> = places.iter().map(|place| place.path.clone()).collect();
    read.dedup();
    let found = Found {
        places,
        total: gathered.total,
        seen,
    };
    Ok(ToolAnswer {
        text: describe_matches(&found),
        receipt: ToolReceipt {
            read,
            ..ToolReceipt::default()
        },
        ..ToolAnswer::default()
    })
}

fn gather(
    query: &Query,
    file: Candidate<'_>,
    context: usize,
    gathered: &Mutex<Gathered>,
) -> Result<(), Ended> {
    let hits = query.search(&file.text, SHOWN_MAX, &file.watch)?;
    if hits.total == 0 {
        return Ok(());
    }
    let places: Vec<((String, usize), Place)> = hits
        .first
        .into_iter()
        .map(|hit| {
            let place = Place {
                path: file.shown.clone(),
                line: hit.line,
                column: hit.column,
                lines: lines_around(&file.text, hit.bytes.clone(), context),
            };
            ((file.shown.clone(), hit.bytes.start), place)
        })
        .collect();
    let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
    gathered.total += hits.total;
    gathered.places.extend(places);
    while gathered.places.len() > SHOWN_MAX {
        gathered.places.pop_last();
    }
    Ok(())
}

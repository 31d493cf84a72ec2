//! `look_at`: pictures of the workspace, as models take them.

#[cfg(feature = "pictures")]
mod scale;

#[cfg(all(test, feature = "pictures"))]
mod tests;

use super::place::{Workspace, plain};
use crate::context::local::HeavyWork;
use crate::gateways::{ToolAnswer, ToolPlace};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use impresario_policies::added_tools::ToolReceipt;
use impresario_policies::domain::Picture;
use impresario_policies::look_at::{
    Content, FILE_BYTES_MAX, PictureDecision, PictureFacts, REFERENCES_MAX, Shown, Shows, decide_picture,
    describe_pictures,
};
use serde::Deserialize;
use std::fs::File;
use std::io::Read;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Deserialize)]
pub(super) struct LookAtArguments {
    #[serde(default)]
    path: String,
    #[serde(default)]
    objective: String,
    context: Option<String>,
    #[serde(default, rename = "referenceFiles", alias = "reference_files")]
    references: Vec<String>,
}

pub(super) async fn run(
    arguments: LookAtArguments,
    place: &ToolPlace,
    heavy_work: HeavyWork,
) -> Result<ToolAnswer, String> {
    let (workspace, cancelled) = (Workspace::of(place)?, place.cancelled.clone());
    heavy_work
        .run(move || look(arguments, &workspace, &cancelled))
        .await
        .unwrap_or_else(|why| Err(format!("The picture cannot be looked at: {why}.")))
}

fn look(
    arguments: LookAtArguments,
    workspace: &Workspace,
    cancelled: &CancellationToken,
) -> Result<ToolAnswer, String> {
    if arguments.path.trim().is_empty() || arguments.objective.trim().is_empty() {
        return Err("look_at requires both `path` and `objective`.".to_string());
    }
    let (primary, picture) =
        load(workspace, &arguments.path).map_err(|why| format!("Error loading primary image: {why}."))?;
    let mut pictures = vec![picture];
    let mut references = Vec::new();
    for path in arguments.references.iter().take(REFERENCES_MAX) {
        if cancelled.is_cancelled() {
            return Err("look_at was cancelled.".to_string());
        }
        references.push(load(workspace, path).map(|(shown, picture)| {
            pictures.push(picture);
            shown
        }));
    }
    let shown = references.iter().flatten().map(|shown| shown.path.clone());
    let read = std::iter::once(primary.path.clone()).chain(shown).collect();
    let shows = Shows {
        objective: arguments.objective,
        context: arguments.context,
        primary,
        references,
        dropped: arguments.references.len().saturating_sub(REFERENCES_MAX),
    };
    Ok(ToolAnswer {
        text: describe_pictures(&shows),
        pictures,
        receipt: ToolReceipt {
            read,
            ..ToolReceipt::default()
        },
    })
}

fn load(workspace: &Workspace, path: &str) -> Result<(Shown, Picture), String> {
    let real = workspace
        .resolve(path)
        .map_err(|why| why.trim_end_matches('.').to_string())?;
    let shown = real.display().to_string();
    let metadata = real
        .metadata()
        .map_err(|error| format!("{shown}: {}", plain(&error)))?;
    if !metadata.is_file() {
        return Err(format!("not a regular file: {shown}"));
    }
    let mut bytes = Vec::new();
    let read = File::open(&real).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("{shown}: {}", plain(&error)))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("{shown} is larger than {FILE_BYTES_MAX} bytes"));
    }
    let (media_type, sent, scaled) = prepare(&bytes).map_err(|why| format!("{shown} is not shown: {why}"))?;
    let picture = Picture {
        media_type: media_type.to_string(),
        base64: STANDARD.encode(sent.as_deref().unwrap_or(&bytes)).into(),
    };
    let shown = Shown {
        path: shown,
        media_type: media_type.to_string(),
        bytes: bytes.len() as u64,
        scaled,
    };
    Ok((shown, picture))
}

type Sizes = ((u32, u32), (u32, u32));

/// What the model gets: its type, its bytes where they are not those of the file, and the sizes where they differ.
fn prepare(bytes: &[u8]) -> Result<(&'static str, Option<Vec<u8>>, Option<Sizes>), String> {
    let content = Content::of(bytes);
    let (width, height) = match content.media_type() {
        None => (0, 0),
        Some(_) => size_of(bytes)?,
    };
    let facts = PictureFacts {
        content,
        bytes: bytes.len() as u64,
        width,
        height,
        can_scale: cfg!(feature = "pictures"),
    };
    match decide_picture(&facts) {
        PictureDecision::Refuse(why) => Err(why),
        PictureDecision::AsItIs => Ok((content.media_type().unwrap_or_default(), None, None)),
        PictureDecision::Scale {
            width: to_width,
            height: to_height,
        } => {
            let (media_type, scaled) = scaled(bytes, content, (to_width, to_height))?;
            let sizes = ((width, height), (to_width, to_height));
            Ok((media_type, Some(scaled), (sizes.0 != sizes.1).then_some(sizes)))
        }
    }
}

fn size_of(bytes: &[u8]) -> Result<(u32, u32), String> {
    let size = imagesize::blob_size(bytes).map_err(|_| "it begins like a picture and is none".to_string())?;
    let narrow = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    match size.width == 0 || size.height == 0 {
        true => Err("it has no pixels".to_string()),
        false => Ok((narrow(size.width), narrow(size.height))),
    }
}

#[cfg(feature = "pictures")]
fn scaled(bytes: &[u8], content: Content, to: (u32, u32)) -> Result<(&'static str, Vec<u8>), String> {
    scale::scale(bytes, content, to)
}

/// Never asked: the policy knows that nothing can be scaled here.
#[cfg(not(feature = "pictures"))]
fn scaled(_: &[u8], _: Content, _: (u32, u32)) -> Result<(&'static str, Vec<u8>), String> {
    Err("this build cannot scale pictures".to_string())
}

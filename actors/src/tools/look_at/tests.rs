use super::{FILE_BYTES_MAX, Workspace, look};
use crate::gateways::ToolAnswer;
use crate::tools::wire::arguments;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::{DynamicImage, GenericImageView, ImageFormat, RgbImage};
use serde_json::{Value, json};
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct World {
    place: TempDir,
}

impl World {
    fn new() -> Self {
        let place = tempfile::tempdir().expect("a directory");
        fs::create_dir(place.path().join("in")).expect("a directory");
        Self { place }
    }

    fn root(&self) -> PathBuf {
        self.place.path().join("in")
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let file = self.root().join(name);
        fs::write(&file, bytes).expect("a file");
        file.canonicalize().expect("it is there").display().to_string()
    }

    fn look(&self, given: Value) -> Result<ToolAnswer, String> {
        let workspace = Workspace::open(&self.root()).expect("the workspace");
        look(arguments(&given)?, &workspace, &CancellationToken::new())
    }
}

fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let pixels = RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, 90]));
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::ImageRgb8(pixels)
        .write_to(&mut bytes, format)
        .expect("a picture");
    bytes.into_inner()
}

fn shown(answer: &ToolAnswer, place: usize) -> (String, (u32, u32)) {
    let picture = &answer.pictures[place];
    let bytes = STANDARD.decode(picture.base64.as_bytes()).expect("base64");
    let decoded = image::load_from_memory(&bytes).expect("a picture");
    (picture.media_type.clone(), decoded.dimensions())
}

#[test]
fn a_picture_is_what_its_bytes_say_and_is_shown_as_it_is() {
    let world = World::new();
    for (format, media_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        let bytes = picture(20, 10, format);
        let path = world.write("notes.txt", &bytes);
        let answer = world
            .look(json!({ "path": "notes.txt", "objective": "o" }))
            .expect(media_type);
        let expected = format!(
            "Objective: o\n\nPrimary image: {path} ({media_type}, {} bytes)",
            bytes.len()
        );
        assert_eq!(answer.text, expected);
        assert_eq!(
            STANDARD
                .decode(answer.pictures[0].base64.as_bytes())
                .expect("base64"),
            bytes
        );
        assert_eq!(answer.receipt.read, [path]);
    }
}

#[test]
fn large_ones_and_bitmaps_are_made_what_models_take() {
    let world = World::new();
    world.write("wide.png", &picture(3_000, 600, ImageFormat::Png));
    world.write("high.jpg", &picture(400, 2_000, ImageFormat::Jpeg));
    world.write("old.bmp", &picture(30, 20, ImageFormat::Bmp));
    let given = json!({ "path": "wide.png", "objective": "o", "referenceFiles": ["high.jpg", "old.bmp"] });
    let answer = world.look(given).expect("shown");
    assert!(
        answer.text.contains("scaled from 3000×600 to 1568×313"),
        "{}",
        answer.text
    );
    assert_eq!(shown(&answer, 0), ("image/png".to_string(), (1_568, 313)));
    assert_eq!(shown(&answer, 1), ("image/jpeg".to_string(), (313, 1_568)));
    assert_eq!(shown(&answer, 2), ("image/png".to_string(), (30, 20)));
}

#[test]
fn references_that_cannot_be_shown_are_listed_and_those_beyond_three_are_counted() {
    let world = World::new();
    world.write("a.png", &picture(8, 8, ImageFormat::Png));
    world.write("b.png", b"no picture");
    let references = ["b.png", "nowhere.png", "a.png", "a.png", "a.png"];
    let given = json!({ "path": "a.png", "objective": "o", "context": "c", "referenceFiles": references });
    let answer = world.look(given).expect("shown");
    assert_eq!(answer.pictures.len(), 2);
    let lines: Vec<&str> = answer.text.lines().skip(5).collect();
    assert!(lines[0].starts_with("Reference images:"), "{}", answer.text);
    assert!(
        lines[1].contains("b.png is not shown: its bytes are no PNG"),
        "{}",
        answer.text
    );
    assert!(lines[2].contains("nowhere.png"), "{}", answer.text);
    assert!(lines[3].contains("a.png (image/png,"), "{}", answer.text);
    assert!(
        lines[4].contains("(2 more not shown: 3 at most)"),
        "{}",
        answer.text
    );
}

#[test]
fn what_cannot_be_shown_is_an_error_and_says_why() {
    let world = World::new();
    let small = picture(8, 8, ImageFormat::Png);
    // The size stands behind the signature; nothing else has to be there for it to be believed.
    let claiming = |width: u32, height: u32| {
        let mut bytes = small.clone();
        bytes[16..20].copy_from_slice(&width.to_be_bytes());
        bytes[20..24].copy_from_slice(&height.to_be_bytes());
        bytes
    };
    fs::create_dir(world.root().join("dir.png")).expect("a directory");
    fs::write(world.place.path().join("outside.png"), &small).expect("a file");
    world.write("drawing.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>");
    world.write("bomb.png", &claiming(60_000, 60_000));
    world.write("lie.png", &claiming(7_000, 7_000));
    world.write("cut.png", &small[..12]);
    world.write(
        "huge.png",
        &vec![0; usize::try_from(FILE_BYTES_MAX).expect("a size") + 1],
    );
    for (path, says) in [
        ("", "look_at requires both `path` and `objective`."),
        (
            "missing.png",
            "Error loading primary image: \"missing.png\" cannot be read",
        ),
        ("dir.png", "not a regular file"),
        ("../outside.png", "outside the workspace"),
        ("drawing.png", "it is SVG"),
        ("bomb.png", "60000×60000 pixels"),
        ("lie.png", "cannot be decoded"),
        ("cut.png", "begins like a picture and is none"),
        ("huge.png", "larger than 10485760 bytes"),
    ] {
        let refused = world
            .look(json!({ "path": path, "objective": "o" }))
            .expect_err(path);
        assert!(refused.contains(says), "{path}: {refused}");
    }
}

//! Is this a picture that a model can be shown, at which size, and what is said beside it?

use std::fmt::Write;

/// A larger file is not read.
pub const FILE_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// So many pictures are shown beside the first.
pub const REFERENCES_MAX: usize = 3;
/// Models see no more: Anthropic scales longer sides down to this (their page on vision, 2026-11), the others to less.
const SIDE_SEEN: u32 = 1_568;
/// Longer sides are refused by Anthropic.
const SIDE_TAKEN_MAX: u32 = 8_000;
/// In base64 these are the 5 MiB that Anthropic takes, the strictest of the large providers.
const BYTES_TAKEN_MAX: u64 = 5 * 1024 * 1024 / 4 * 3;
/// More pixels are not decoded: 256 MB in memory.
pub const PIXELS_MAX: u64 = 64_000_000;

/// What a file holds, by what it begins with and not by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
    /// Windows bitmap, which models do not take as it is.
    Bmp,
    /// A drawing as text.
    Svg,
    /// Anything else.
    Other,
}

impl Content {
    /// By its first bytes; a kilobyte is enough.
    pub fn of(bytes: &[u8]) -> Self {
        let begins = |at: usize, with: &[u8]| bytes.get(at..).is_some_and(|rest| rest.starts_with(with));
        if begins(0, b"\x89PNG\r\n\x1a\n") {
            Self::Png
        } else if begins(0, b"\xff\xd8\xff") {
            Self::Jpeg
        } else if begins(0, b"GIF87a") || begins(0, b"GIF89a") {
            Self::Gif
        } else if begins(0, b"RIFF") && begins(8, b"WEBP") {
            Self::Webp
        } else if begins(0, b"BM") && begins(6, &[0; 4]) {
            Self::Bmp
        } else if is_svg(bytes) {
            Self::Svg
        } else {
            Self::Other
        }
    }

    /// As providers name it; none of what is no picture.
    pub fn media_type(self) -> Option<&'static str> {
        match self {
            Self::Png => Some("image/png"),
            Self::Jpeg => Some("image/jpeg"),
            Self::Gif => Some("image/gif"),
            Self::Webp => Some("image/webp"),
            Self::Bmp => Some("image/bmp"),
            Self::Svg | Self::Other => None,
        }
    }
}

fn is_svg(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(bytes.get(..bytes.len().min(1_024)).unwrap_or_default());
    let head = head.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    head.starts_with("<svg") || (head.starts_with("<?xml") && head.contains("<svg"))
}

/// What is known of a picture before it is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureFacts {
    /// What it is.
    pub content: Content,
    /// Of the file.
    pub bytes: u64,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Whether this build can decode pictures.
    pub can_scale: bool,
}

/// How a picture is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureDecision {
    /// The bytes of the file.
    AsItIs,
    /// Decoded, at this size at most, and encoded again.
    Scale {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// Not at all.
    Refuse(String),
}

/// Decides it. Whoever scales may find that the file is no picture after all.
pub fn decide_picture(facts: &PictureFacts) -> PictureDecision {
    use PictureDecision::{AsItIs, Refuse, Scale};
    match facts.content {
        Content::Svg => {
            return Refuse("it is SVG, a drawing as text: read it as a text file".to_string());
        }
        Content::Other => {
            return Refuse(
                "its bytes are no PNG, JPEG, GIF, WebP or BMP, whatever its name says".to_string(),
            );
        }
        Content::Png | Content::Jpeg | Content::Gif | Content::Webp | Content::Bmp => {}
    }
    let (width, height) = (facts.width, facts.height);
    if u64::from(width) * u64::from(height) > PIXELS_MAX {
        return Refuse(format!(
            "it has {width}×{height} pixels, and no more than {PIXELS_MAX} are decoded"
        ));
    }
    let side = width.max(height);
    let is_taken = facts.content != Content::Bmp && facts.bytes <= BYTES_TAKEN_MAX;
    if is_taken && side <= SIDE_SEEN {
        return AsItIs;
    }
    if facts.can_scale {
        let (width, height) = fitted(width, height);
        return Scale { width, height };
    }
    match is_taken && side <= SIDE_TAKEN_MAX {
        true => AsItIs,
        false => Refuse(format!(
            "models do not take it as it is ({width}×{height} pixels, {} bytes), and this build cannot scale it: it was \
             built without the feature `pictures`",
            facts.bytes
        )),
    }
}

/// The size at which the longer side is what models see.
fn fitted(width: u32, height: u32) -> (u32, u32) {
    let side = width.max(height);
    if side <= SIDE_SEEN {
        return (width, height);
    }
    let scaled = |of: u32| (u64::from(of) * u64::from(SIDE_SEEN) / u64::from(side)).max(1) as u32;
    (scaled(width), scaled(height))
}

/// A picture that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Where it lies.
    pub path: String,
    /// What the model gets.
    pub media_type: String,
    /// Of the file.
    pub bytes: u64,
    /// The sizes before and after, where it was scaled.
    pub scaled: Option<((u32, u32), (u32, u32))>,
}

/// What a model is shown, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shows {
    /// What it is to find out.
    pub objective: String,
    /// What it should know for that.
    pub context: Option<String>,
    /// The picture it is about.
    pub primary: Shown,
    /// Others beside it, or why one is not there.
    pub references: Vec<Result<Shown, String>>,
    /// References that were more than are shown.
    pub dropped: usize,
}

/// The text before the pictures.
pub fn describe_pictures(shows: &Shows) -> String {
    let mut text = format!("Objective: {}\n\n", shows.objective);
    let context = shows.context.as_deref().map(str::trim);
    if let Some(context) = context.filter(|context| !context.is_empty()) {
        let _ = write!(text, "Context: {context}\n\n");
    }
    let _ = write!(text, "Primary image: {}", describe(&shows.primary));
    if !shows.references.is_empty() {
        text.push_str("\nReference images:");
    }
    for reference in &shows.references {
        let _ = match reference {
            Ok(shown) => write!(text, "\n  - {}", describe(shown)),
            Err(why) => write!(text, "\n  - not shown: {why}"),
        };
    }
    if shows.dropped > 0 {
        let _ = write!(
            text,
            "\n  ({} more not shown: {REFERENCES_MAX} at most)",
            shows.dropped
        );
    }
    text
}

fn describe(shown: &Shown) -> String {
    let scaled = match shown.scaled {
        None => String::new(),
        Some((from, to)) => format!(", scaled from {}×{} to {}×{}", from.0, from.1, to.0, to.1),
    };
    format!(
        "{} ({}, {} bytes{scaled})",
        shown.path, shown.media_type, shown.bytes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(content: Content, bytes: u64, width: u32, height: u32) -> PictureFacts {
        PictureFacts {
            content,
            bytes,
            width,
            height,
            can_scale: true,
        }
    }

    #[test]
    fn what_a_file_is_its_bytes_say() {
        let cases: [(&[u8], Content); 11] = [
            (b"\x89PNG\r\n\x1a\nIHDR", Content::Png),
            (b"\xff\xd8\xff\xe0", Content::Jpeg),
            (b"GIF87a", Content::Gif),
            (b"GIF89a", Content::Gif),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Content::Webp),
            (b"BM\x01\x02\x03\x04\0\0\0\0", Content::Bmp),
            (b"BMW is a car", Content::Other),
            (b"\xef\xbb\xbf\n<?xml version=\"1.0\"?>\n<svg>", Content::Svg),
            (b"<svg xmlns=", Content::Svg),
            (b"<html><svg>", Content::Other),
            (b"", Content::Other),
        ];
        for (bytes, content) in cases {
            assert_eq!(Content::of(bytes), content, "{bytes:?}");
        }
    }

    #[test]
    fn what_models_see_as_it_is_stays_as_it_is() {
        use PictureDecision::{AsItIs, Scale};
        let decide = |facts| decide_picture(&facts);
        assert_eq!(decide(facts(Content::Png, 100, 1_568, 10)), AsItIs);
        assert_eq!(
            decide(facts(Content::Png, 100, 3_136, 10)),
            Scale {
                width: 1_568,
                height: 5
            }
        );
        assert_eq!(
            decide(facts(Content::Jpeg, 9_000_000, 800, 600)),
            Scale {
                width: 800,
                height: 600
            }
        );
        assert_eq!(
            decide(facts(Content::Bmp, 100, 8, 9_000)),
            Scale {
                width: 1,
                height: 1_568
            }
        );
    }

    #[test]
    fn what_cannot_be_shown_says_why() {
        let refused = |facts| match decide_picture(&facts) {
            PictureDecision::Refuse(why) => why,
            other => panic!("{other:?}"),
        };
        assert!(refused(facts(Content::Svg, 9, 0, 0)).contains("SVG"));
        assert!(refused(facts(Content::Other, 9, 0, 0)).contains("whatever its name"));
        assert!(refused(facts(Content::Png, 9, 60_000, 60_000)).contains("60000×60000"));
        let unable = PictureFacts {
            can_scale: false,
            ..facts(Content::Bmp, 9, 8, 8)
        };
        assert!(refused(unable).contains("feature `pictures`"));
        let large = PictureFacts {
            content: Content::Png,
            width: 4_000,
            ..unable
        };
        assert_eq!(decide_picture(&large), PictureDecision::AsItIs);
    }

    #[test]
    fn what_is_not_shown_is_said() {
        let shown = Shown {
            path: "/a.png".into(),
            media_type: "image/png".into(),
            bytes: 8,
            scaled: None,
        };
        let shows = Shows {
            objective: "o".into(),
            context: Some("  c ".into()),
            primary: Shown {
                scaled: Some(((4_000, 2_000), (1_568, 784))),
                ..shown.clone()
            },
            references: vec![Ok(shown), Err("/b.txt: it is no picture".into())],
            dropped: 2,
        };
        let expected = "Objective: o\n\nContext: c\n\nPrimary image: /a.png (image/png, 8 bytes, scaled from 4000×2000 to 1568×784)\n\
                        Reference images:\n  - /a.png (image/png, 8 bytes)\n  - not shown: /b.txt: it is no picture\n  \
                        (2 more not shown: 3 at most)";
        assert_eq!(describe_pictures(&shows), expected);
    }
}

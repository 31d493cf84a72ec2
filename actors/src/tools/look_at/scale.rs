//! A picture at a smaller size. What is decoded comes from anywhere: its size is bounded before, and its memory here.

use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use impresario_policies::look_at::{Content, PIXELS_MAX};
use std::io::Cursor;

/// For 16 bits of four colours a pixel, and what a decoder needs besides.
const MEMORY_MAX: u64 = PIXELS_MAX * 9;
/// Models tell no difference to a better one.
const JPEG_QUALITY: u8 = 85;
/// A larger PNG is sent as JPEG.
const PNG_BYTES_MAX: usize = 2_000_000;

/// The bytes and what they are.
pub(super) fn scale(
    bytes: &[u8],
    content: Content,
    to: (u32, u32),
) -> Result<(&'static str, Vec<u8>), String> {
    let unreadable = |error: image::ImageError| format!("it cannot be decoded: {error}");
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format(content)?);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(unreadable)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
    if (image.width(), image.height()) != to {
        image = image.thumbnail_exact(to.0, to.1);
    }
    image.apply_orientation(orientation);
    if content != Content::Jpeg {
        let mut png = Cursor::new(Vec::new());
        image.write_to(&mut png, ImageFormat::Png).map_err(unreadable)?;
        let png = png.into_inner();
        if png.len() <= PNG_BYTES_MAX {
            return Ok(("image/png", png));
        }
    }
    let mut jpeg = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY);
    // JPEG knows nothing that can be seen through.
    let plain = DynamicImage::ImageRgb8(image.to_rgb8());
    plain.write_with_encoder(encoder).map_err(unreadable)?;
    Ok(("image/jpeg", jpeg))
}

fn format(content: Content) -> Result<ImageFormat, String> {
    match content {
        Content::Png => Ok(ImageFormat::Png),
        Content::Jpeg => Ok(ImageFormat::Jpeg),
        Content::Gif => Ok(ImageFormat::Gif),
        Content::Webp => Ok(ImageFormat::WebP),
        Content::Bmp => Ok(ImageFormat::Bmp),
        Content::Svg | Content::Other => Err("it is no picture".to_string()),
    }
}

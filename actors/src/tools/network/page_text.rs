//! From the bytes of a page to text.

use encoding_rs::{Encoding, UTF_8};
use impresario_policies::network::markdown::{PageForm, PageReader};
use impresario_policies::network::urls::PageUrl;
use std::borrow::Cow;
use tokio_util::sync::CancellationToken;

/// So many tags and texts are read between two looks at whether anybody still waits.
const STEP: usize = 4_096;
/// A page says within so many bytes what letters it is written in (HTML, 13.2.3.2).
const SNIFFED: usize = 1_024;

/// What a server said of a page, and what came.
#[derive(Debug)]
pub(super) struct PageBytes {
    pub body: Vec<u8>,
    pub content_type: Option<String>,
    pub url: PageUrl,
    pub form: PageForm,
}

/// What a page is, as far as it matters for reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Json,
    Plain,
    /// Not for reading.
    Other,
}

/// Reads a page as text, or says why there is none.
pub(super) fn text_of(page: &PageBytes, cancelled: &CancellationToken) -> Result<String, String> {
    let media = page.content_type.as_deref().unwrap_or_default();
    let media_type = media
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let kind = kind_of(&media_type, &page.body);
    if kind == Kind::Other {
        let named = if media_type.is_empty() {
            "of no kind that is said"
        } else {
            &media_type
        };
        return Err(format!("it is no text: {named}, {} bytes", page.body.len()));
    }
    let text = decoded(&page.body, media);
    match kind {
        Kind::Html if page.form != PageForm::Html => read_html(&text, page, cancelled),
        Kind::Json => Ok(super::wire::pretty(&text).unwrap_or_else(|| text.trim().to_string())),
        Kind::Html | Kind::Plain | Kind::Other => Ok(text.trim().to_string()),
    }
}

fn kind_of(media_type: &str, body: &[u8]) -> Kind {
    let (general, special) = media_type.split_once('/').unwrap_or((media_type, ""));
    let is = |names: &[&str]| names.contains(&special);
    match general {
        _ if is(&["html", "xhtml+xml"]) => Kind::Html,
        _ if special == "json" || special.ends_with("+json") => Kind::Json,
        "text" => Kind::Plain,
        _ if special.ends_with("+xml")
            || is(&["xml", "javascript", "yaml", "x-yaml", "toml", "x-sh", "sql"]) =>
        {
            Kind::Plain
        }
        "" => sniffed(body),
        _ if is(&["octet-stream"]) && sniffed(body) == Kind::Plain => Kind::Plain,
        _ => Kind::Other,
    }
}

/// Nobody said what it is: text has no zeros in it.
fn sniffed(body: &[u8]) -> Kind {
    let start = &body[..body.len().min(SNIFFED)];
    let head = String::from_utf8_lossy(start).trim_start().to_ascii_lowercase();
    match () {
        () if start.contains(&0) => Kind::Other,
        () if head.starts_with("<!doctype html") || head.starts_with("<html") => Kind::Html,
        () => Kind::Plain,
    }
}

/// A mark at the beginning comes before what the server says, and that before what the page says of itself.
fn decoded<'a>(body: &'a [u8], content_type: &str) -> Cow<'a, str> {
    let (encoding, from) = match Encoding::for_bom(body) {
        Some((encoding, from)) => (encoding, from),
        None => {
            let said = label_in(content_type).or_else(|| {
                let start = &body[..body.len().min(SNIFFED)];
                label_in(&String::from_utf8_lossy(start))
            });
            (said.unwrap_or(UTF_8), 0)
        }
    };
    encoding.decode_without_bom_handling(&body[from..]).0
}

fn label_in(text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let (_, behind) = lower.split_once("charset")?;
    let label = behind
        .trim_start()
        .strip_prefix('=')?
        .trim_start()
        .trim_start_matches(['"', '\'']);
    let end = label.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-_:.".contains(letter)));
    Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
}

fn read_html(html: &str, page: &PageBytes, cancelled: &CancellationToken) -> Result<String, String> {
    let link_of = |target: &str| page.url.link(target);
    let mut reader = PageReader::new(html, page.form, &link_of);
    while reader.read_some(STEP) {
        if cancelled.is_cancelled() {
            return Err("nobody waits for it any more".to_string());
        }
    }
    Ok(reader.into_text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use impresario_policies::network::urls::OpenedHosts;

    fn read(body: &[u8], content_type: &str) -> Result<String, String> {
        let page = PageBytes {
            body: body.to_vec(),
            content_type: (!content_type.is_empty()).then(|| content_type.to_string()),
            url: PageUrl::read("https://x.com/a/", &OpenedHosts::default()).unwrap(),
            form: PageForm::Markdown,
        };
        text_of(&page, &CancellationToken::new())
    }

    #[test]
    fn letters_are_read_as_they_were_written() {
        assert_eq!(
            read(b"caf\xe9", "text/plain; charset=ISO-8859-1").unwrap(),
            "café"
        );
        assert_eq!(
            read(b"<meta charset='windows-1252'><p>caf\xe9", "text/html").unwrap(),
            "café"
        );
        assert_eq!(
            read(b"\xEF\xBB\xBFcaf\xc3\xa9", "text/plain; charset=latin1").unwrap(),
            "café"
        );
        assert_eq!(read(b"\xff\xfea\0b\0", "text/plain").unwrap(), "ab");
        assert_eq!(
            read(b"caf\xc3", "text/plain; charset=nonsense").unwrap(),
            "caf\u{FFFD}"
        );
    }

    #[test]
    fn what_is_no_text_is_not_shown_as_some() {
        for media in ["application/pdf", "image/png", "video/mp4", "application/zip"] {
            assert!(read(b"%PDF", media).unwrap_err().contains(media), "{media}");
        }
        assert!(read(b"\0\x01\x02", "").is_err());
        assert!(read(b"\0\x01\x02", "application/octet-stream").is_err());
        assert_eq!(read(b"words", "application/octet-stream").unwrap(), "words");
        assert_eq!(read(b" <!DOCTYPE html><b>x</b>", "").unwrap(), "x");
        assert_eq!(read(b"a: 1", "application/x-yaml").unwrap(), "a: 1");
    }

    #[test]
    fn json_is_spread_out_and_what_is_none_stays() {
        assert_eq!(
            read(br#"{"a":1}"#, "application/json").unwrap(),
            "{\n  \"a\": 1\n}"
        );
        assert_eq!(read(b"{nope", "application/ld+json").unwrap(), "{nope");
        let deep = "[".repeat(100_000);
        assert_eq!(read(deep.as_bytes(), "application/json").unwrap(), deep);
    }

    #[test]
    fn links_are_whole_and_lead_to_pages() {
        let page = "<a href=../b>w</a> <a href='javascript:x()'>v</a>";
        assert_eq!(
            read(page.as_bytes(), "text/html").unwrap(),
            "[w](https://x.com/b) v"
        );
    }

    #[test]
    fn nobody_reads_on_for_nobody() {
        let page = PageBytes {
            body: "<p>x".repeat(10_000).into_bytes(),
            content_type: Some("text/html".to_string()),
            url: PageUrl::read("https://x.com", &OpenedHosts::default()).unwrap(),
            form: PageForm::Text,
        };
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        assert!(text_of(&page, &cancelled).is_err());
    }
}

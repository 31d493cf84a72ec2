//! A page, as a model reads it.

use super::limits::PAGE_BYTES_MAX;
use super::markdown::PageForm;
use super::untrusted::mark_untrusted;
use crate::compat::{collapse_spaces, grouped};

/// So much of a page is given at a time, in characters, head and marks not counted.
pub const SHOWN_CHARACTERS: usize = 6_000;

/// So much of what others say of a page, in characters.
const LINE_CHARACTERS_MAX: usize = 500;

/// Who gave a page, and what there is to say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageSource {
    /// A service read it for us.
    Service {
        /// As people call it: `Exa Contents`.
        name: &'static str,
        title: Option<String>,
        author: Option<String>,
        published: Option<String>,
    },
    /// It was asked for itself.
    Direct {
        status: u16,
        content_type: Option<String>,
        form: PageForm,
        /// Why no service gave it.
        why_direct: String,
        /// There was more than is read.
        truncated: bool,
    },
}

/// Something read from the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// Where it was in the end.
    pub url: String,
    /// Whom it is from.
    pub host: String,
    pub source: PageSource,
    pub text: String,
}

/// What stands above a page. All of it but our own words comes from others, so it is on one line each.
pub fn page_head(page: &FetchedPage) -> String {
    let mut head;
    match &page.source {
        PageSource::Service {
            name,
            title,
            author,
            published,
        } => {
            head = format!("Fetched {}: via {name} API", page.url);
            for (label, said) in [("Title", title), ("Author", author), ("Published", published)] {
                let said = said.as_deref().map(on_one_line).filter(|said| !said.is_empty());
                if let Some(said) = said {
                    head.push_str(&format!("\n{label}: {said}"));
                }
            }
        }
        PageSource::Direct {
            status,
            content_type,
            form,
            why_direct,
            truncated,
        } => {
            let content_type = on_one_line(content_type.as_deref().unwrap_or("unknown"));
            head = format!(
                "Fetched {}: HTTP {status}\nContent-Type: {content_type}\nFormat: {}\nProvider fallback: {}",
                page.url,
                form.word(),
                on_one_line(why_direct),
            );
            if *truncated {
                head.push_str(&format!(
                    "\n[Response body truncated at {} bytes.]",
                    grouped(PAGE_BYTES_MAX as u64)
                ));
            }
        }
    }
    head
}

/// The page as a model reads it, from this character of its text on.
pub fn answer_fetch(page: &FetchedPage, from: usize) -> String {
    let all = page.text.chars().count();
    let body = match (all, from) {
        (0, _) => "(empty response body)".to_string(),
        (all, from) if from >= all => format!("(the page has {} characters)", grouped(all as u64)),
        _ => page.text.chars().skip(from).take(SHOWN_CHARACTERS).collect(),
    };
    let marked = mark_untrusted(&page.host, &format!("{}\n\n{body}", page_head(page)));
    let end = (from + SHOWN_CHARACTERS).min(all);
    if from == 0 && end == all {
        return marked;
    }
    let more = match end < all {
        true => format!(" Call again with offset {end} for what follows."),
        false => String::new(),
    };
    format!(
        "{marked}\n[Characters {} to {} of {}.{more}]",
        grouped(from.min(all) as u64),
        grouped(end as u64),
        grouped(all as u64)
    )
}

fn on_one_line(text: &str) -> String {
    collapse_spaces(text).chars().take(LINE_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> FetchedPage {
        FetchedPage {
            url: "https://x.com".to_string(),
            host: "x.com".to_string(),
            source: PageSource::Service {
                name: "Exa Contents",
                title: Some("T\nIgnore".to_string()),
                author: None,
                published: Some(" ".to_string()),
            },
            text: text.to_string(),
        }
    }

    #[test]
    fn a_long_page_is_given_in_parts_that_meet() {
        let text: String = (0..2_000).map(|number| format!("{number}語 ")).collect();
        let all = text.chars().count();
        let page = page(&text);
        let (mut read, mut from) = (String::new(), 0);
        while from < all {
            let answer = answer_fetch(&page, from);
            let inside = answer.split("\n\n").nth(1).unwrap().split("\n</").next().unwrap();
            read.push_str(inside);
            from += SHOWN_CHARACTERS;
            assert_eq!(answer.contains(&format!("offset {from} ")), from < all, "{from}");
        }
        assert_eq!(read, text);
        assert!(answer_fetch(&page, all + 5).contains("(the page has"));
    }

    #[test]
    fn a_short_page_has_no_line_below_it() {
        assert!(answer_fetch(&page("a"), 0).ends_with('>'));
        assert!(answer_fetch(&page(""), 0).contains("\n\n(empty response body)\n"));
    }

    #[test]
    fn what_others_say_of_a_page_stays_on_its_line() {
        assert_eq!(
            page_head(&page("")),
            "Fetched https://x.com: via Exa Contents API\nTitle: T Ignore"
        );
    }
}

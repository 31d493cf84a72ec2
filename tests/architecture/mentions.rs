//! What a Rust file mentions: the paths and macros in it, read as tokens, so that neither comments nor strings count.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path (`std::fs::File`), a macro (`std::println!`) or a word (`unsafe`) that stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The path from its first word on; `self` and `super` are resolved to `crate`.
    pub path: String,
    /// The line it begins in.
    pub line: usize,
}

/// Reads what a file mentions outside of its tests.
pub fn mentions(path: &str, text: &str) -> Vec<Mention> {
    let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut reader = Reader {
        module: module_of(path),
        found: Vec::new(),
    };
    reader.read(tokens);
    reader.found
}

/// The paths and macros that stand in a part of a file.
pub fn paths_of(path: &str, tokens: TokenStream) -> Vec<String> {
    let mut reader = Reader {
        module: module_of(path),
        found: Vec::new(),
    };
    reader.read(tokens);
    reader.found.into_iter().map(|mention| mention.path).collect()
}

struct Reader {
    module: Vec<String>,
    found: Vec<Mention>,
}

impl Reader {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut index = 0;
        while index < tokens.len() {
            if is_test_attribute(&tokens, index) {
                index = behind_item(&tokens, index + 2);
                continue;
            }
            index = match &tokens[index] {
                TokenTree::Ident(_) => self.read_path(&tokens, index, &[]),
                TokenTree::Group(group) => {
                    self.read(group.stream());
                    index + 1
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => index + 1,
            };
        }
    }

    /// Reads a path that begins here, and the tree of a `use` at its end; gives the index behind it.
    fn read_path(&mut self, tokens: &[TokenTree], begin: usize, before: &[String]) -> usize {
        let line = tokens[begin].span().start().line;
        let mut words = before.to_vec();
        let mut index = begin;
        loop {
            match tokens.get(index) {
                Some(TokenTree::Ident(word)) => words.push(word.to_string()),
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => words.push("*".to_owned()),
                Some(TokenTree::Group(tree)) if tree.delimiter() == Delimiter::Brace => {
                    self.read_tree(tree.stream(), &words);
                    return index + 1;
                }
                Some(_) | None => break,
            }
            index += 1;
            if !is_path_separator(tokens, index) {
                break;
            }
            index += 2;
        }
        let is_macro = matches!(tokens.get(index), Some(TokenTree::Punct(mark)) if mark.as_char() == '!')
            && matches!(
                tokens.get(index + 1),
                Some(TokenTree::Group(_) | TokenTree::Ident(_))
            );
        let path = self.resolve(&words);
        self.found.push(Mention {
            path: if is_macro { format!("{path}!") } else { path },
            line,
        });
        index.max(begin + 1)
    }

    fn read_tree(&mut self, tree: TokenStream, before: &[String]) {
        let tokens: Vec<TokenTree> = tree.into_iter().collect();
        let mut index = 0;
        while index < tokens.len() {
            index = match &tokens[index] {
                TokenTree::Ident(_) | TokenTree::Group(_) => self.read_path(&tokens, index, before),
                TokenTree::Punct(star) if star.as_char() == '*' => self.read_path(&tokens, index, before),
                TokenTree::Punct(_) | TokenTree::Literal(_) => index + 1,
            };
        }
    }

    fn resolve(&self, words: &[String]) -> String {
        let mut module = self.module.clone();
        let mut rest = words;
        while let [first, behind @ ..] = rest {
            match first.as_str() {
                "super" => {
                    module.pop();
                }
                "self" if !behind.is_empty() => {}
                _ => break,
            }
            rest = behind;
        }
        if rest.len() == words.len() {
            return words.join("::");
        }
        module.extend_from_slice(rest);
        module.join("::")
    }
}

/// The module that a file is: `actors/src/runners/pi/mod.rs` is `crate::runners::pi`.
fn module_of(path: &str) -> Vec<String> {
    let inside = path.rsplit_once("src/").map_or(path, |(_, inside)| inside);
    let words = inside
        .trim_end_matches(".rs")
        .split('/')
        .filter(|word| !["mod", "lib", "main"].contains(word));
    std::iter::once("crate").chain(words).map(str::to_owned).collect()
}

fn is_path_separator(tokens: &[TokenTree], index: usize) -> bool {
    let colon =
        |index: usize| matches!(tokens.get(index), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    colon(index) && colon(index + 1)
}

/// Whether `#[test]`, `#[cfg(test)]` or the like stands here.
pub fn is_test_attribute(tokens: &[TokenTree], index: usize) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = &tokens[index..] else {
        return false;
    };
    let text = attribute.stream().to_string().replace(' ', "");
    let is_test = text == "test" || text == "cfg(test)" || text.ends_with("::test");
    hash.as_char() == '#' && attribute.delimiter() == Delimiter::Bracket && is_test
}

/// The index behind the item that begins here: behind its body, or behind its semicolon.
pub fn behind_item(tokens: &[TokenTree], begin: usize) -> usize {
    for (index, token) in tokens.iter().enumerate().skip(begin) {
        match token {
            TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => return index + 1,
            TokenTree::Punct(mark) if mark.as_char() == ';' => return index + 1,
            TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        mentions("actors/src/runners/pi/reader.rs", text)
            .into_iter()
            .map(|mention| mention.path)
            .collect()
    }

    #[test]
    fn trees_of_use_are_unfolded() {
        let read = paths("use std::{fs, io::{self, Write}, collections::*};");
        assert_eq!(
            read,
            [
                "use",
                "std::fs",
                "std::io::self",
                "std::io::Write",
                "std::collections::*"
            ]
        );
    }

    #[test]
    fn paths_and_macros_are_found_inside_macros_too() {
        let read = paths(r#"fn f() { tokio::select! { x = std::fs::read("a") => println!("{}", y) } }"#);
        assert!(
            ["tokio::select!", "std::fs::read", "println!"]
                .iter()
                .all(|path| read.contains(&(*path).to_owned()))
        );
    }

    #[test]
    fn relative_paths_are_resolved() {
        assert!(paths("use super::super::run::Run;").contains(&"crate::runners::run::Run".to_owned()));
        assert!(
            paths("use self::lines::Line;").contains(&"crate::runners::pi::reader::lines::Line".to_owned())
        );
    }

    #[test]
    fn comments_strings_and_tests_do_not_count() {
        let text = r#"
            //! std::fs
            /// println!
            const A: &str = "std::fs";
            #[cfg(test)]
            mod tests { use std::fs; }
            #[test]
            fn t() { std::env::var("x"); }
            fn after() {}
        "#;
        let read = paths(text);
        assert!(
            read.iter()
                .all(|path| !path.starts_with("std::") && path != "println!"),
            "{read:?}"
        );
        assert!(read.contains(&"after".to_owned()));
    }

    #[test]
    fn a_negation_is_no_macro() {
        assert!(paths("fn f() { if a != b {} }").contains(&"a".to_owned()));
    }
}

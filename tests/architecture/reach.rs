//! What the product reaches of the policies: from every file of `actors/src` and `src`, through the items of
//! `policies/src`, tests and benches left out.
//!
//! An item is known by the module below the crate and its name, a method by its type and its name. That takes a few
//! more for reached than are, and never one less: a name that nobody says is reached by nobody.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

use crate::hold;
use crate::mentions::{behind_item, is_test_attribute, mentions, paths_of};
use crate::sources::{Source, files};

#[test]
fn policies_are_reached_by_the_product() {
    let policies = product_files("policies/src/");
    let product = [product_files("actors/src/"), product_files("src/")].concat();
    hold(
        "what a policy offers is used by the product, not by tests alone",
        &unreached(&policies, &product),
    );
}

fn product_files(beginning: &str) -> Vec<&'static Source> {
    let of_tests = |path: &str| path.ends_with("/tests.rs") || path.contains("/tests/");
    let files = files(&[beginning]).into_iter();
    files
        .filter(|file| file.path.ends_with(".rs") && !of_tests(&file.path))
        .collect()
}

/// The module below the crate, and a name in it.
type Place = (String, String);

/// Something a policy offers, or keeps for itself.
struct Item {
    file: String,
    line: usize,
    /// What has to be reached for it: itself, and for what belongs to a type that type.
    place: Place,
    /// It is a method or a constant of its type, and said by this name.
    said_as: Option<String>,
    is_public: bool,
    reaches: BTreeSet<Place>,
    words: BTreeSet<String>,
}

fn unreached(policies: &[&Source], product: &[&Source]) -> Vec<String> {
    let mut items: Vec<Item> = policies.iter().flat_map(|file| items_of(file)).collect();
    let (mut reached, mut words) = (BTreeSet::new(), BTreeSet::new());
    for file in product {
        let paths = mentions(&file.path, &file.text)
            .into_iter()
            .map(|mention| mention.path);
        let paths: Vec<String> = paths.collect();
        words.extend(paths.iter().flat_map(|path| path.split("::").map(plain)));
        reached.extend(Imports::of(&paths, "impresario_policies", "").places(&paths));
    }
    loop {
        let (now, later) = items.into_iter().partition::<Vec<Item>, _>(|item| {
            let is_said = item.said_as.as_ref().is_none_or(|name| words.contains(name));
            is_said && reached.contains(&item.place)
        });
        items = later;
        if now.is_empty() {
            break;
        }
        for item in now {
            reached.extend(item.reaches);
            words.extend(item.words);
        }
    }
    let offered = items.into_iter().filter(|item| item.is_public);
    let mut unreached: Vec<String> = offered
        .map(|item| {
            let (module, name) = &item.place;
            let member = item
                .said_as
                .map_or_else(String::new, |member| format!("::{member}"));
            format!("{}:{}: {module}::{name}{member}", item.file, item.line)
        })
        .collect();
    unreached.sort();
    unreached
}

/// The names that a file takes from elsewhere.
struct Imports {
    /// The crate's name in paths.
    of_crate: &'static str,
    /// Where a name without a path lies.
    home: String,
    /// A name to a place, or to a module where the name in the place is empty.
    names: BTreeMap<String, Place>,
    /// Modules everything is taken from.
    globs: Vec<String>,
}

impl Imports {
    fn of(paths: &[String], of_crate: &'static str, home: &str) -> Self {
        let mut imports = Self {
            of_crate,
            home: home.to_string(),
            names: BTreeMap::new(),
            globs: Vec::new(),
        };
        for path in paths {
            let words: Vec<&str> = path.split("::").collect();
            match words.as_slice() {
                [root, module] if *root == of_crate => imports.take(module, (module, "")),
                [root, module, "self"] if *root == of_crate => imports.take(module, (module, "")),
                [root, module, .., "*"] if *root == of_crate => imports.globs.push((*module).to_string()),
                [root, module, .., name] if *root == of_crate => imports.take(name, (module, name)),
                _ => {}
            }
        }
        imports
    }

    fn take(&mut self, name: &str, (module, item): (&str, &str)) {
        let place = (module.to_string(), item.to_string());
        self.names.entry(name.to_string()).or_insert(place);
    }

    /// What these paths mean here.
    fn places(&self, paths: &[String]) -> BTreeSet<Place> {
        let mut places = BTreeSet::new();
        for path in paths {
            let words: Vec<String> = path.split("::").map(plain).collect();
            let (module, names) = match words.as_slice() {
                [root, module, names @ ..] if root == self.of_crate => (module.clone(), names.to_vec()),
                [first, behind @ ..] => match self.names.get(first) {
                    Some((module, name)) if name.is_empty() => (module.clone(), behind.to_vec()),
                    Some((module, name)) => (module.clone(), vec![name.clone()]),
                    None => {
                        let everywhere = self.globs.iter().map(|module| (module.clone(), first.clone()));
                        places.extend(everywhere);
                        (self.home.clone(), words.clone())
                    }
                },
                [] => continue,
            };
            places.extend(names.into_iter().map(|name| (module.clone(), name)));
        }
        places
    }
}

fn plain(word: &str) -> String {
    word.trim_end_matches('!').trim_start_matches("r#").to_string()
}

fn items_of(file: &Source) -> Vec<Item> {
    let inside = file
        .path
        .trim_start_matches("policies/src/")
        .trim_end_matches(".rs");
    let home = inside.split('/').next().unwrap_or_default().to_string();
    let paths = mentions(&file.path, &file.text)
        .into_iter()
        .map(|mention| mention.path);
    let imports = Imports::of(&paths.collect::<Vec<_>>(), "crate", &home);
    let tokens: TokenStream = file.text.parse().expect("a Rust file");
    let mut reader = Reader {
        file,
        home,
        imports,
        found: Vec::new(),
    };
    reader.read(tokens, None);
    reader.found
}

struct Reader<'a> {
    file: &'a Source,
    home: String,
    imports: Imports,
    found: Vec<Item>,
}

impl Reader<'_> {
    /// Reads the items of a file, a module, or a type's own block.
    fn read(&mut self, tokens: TokenStream, of_type: Option<&str>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut begin = 0;
        while begin < tokens.len() {
            let (mut index, mut is_test) = (begin, false);
            while is_mark(&tokens, index, '#') {
                is_test |= is_test_attribute(&tokens, index);
                // `#![…]` has a mark more.
                index += if is_mark(&tokens, index + 1, '!') { 3 } else { 2 };
            }
            if is_test {
                begin = behind_item(&tokens, index);
                continue;
            }
            let is_public = is_word(&tokens, index, "pub");
            let restricted = is_public && matches!(tokens.get(index + 1), Some(TokenTree::Group(_)));
            index += usize::from(is_public) + usize::from(restricted);
            while ["async", "unsafe", "extern"]
                .iter()
                .any(|word| is_word(&tokens, index, word))
                || (is_word(&tokens, index, "const") && is_word(&tokens, index + 1, "fn"))
            {
                index += 1;
            }
            let Some(TokenTree::Ident(kind)) = tokens.get(index) else {
                begin = index + 1;
                continue;
            };
            let end = end_of(&tokens, index, &kind.to_string());
            let item = &tokens[begin..end];
            match kind.to_string().as_str() {
                "fn" | "struct" | "enum" | "trait" | "type" | "static" | "const" => {
                    if let Some(TokenTree::Ident(name)) = tokens.get(index + 1) {
                        let (name, line) = (plain(&name.to_string()), name.span().start().line);
                        self.keep(&name, line, of_type, is_public && !restricted, item);
                    }
                }
                "mod" | "impl" => self.read_block(kind == "impl", &tokens[index..end]),
                _ => {}
            }
            begin = end;
        }
    }

    fn read_block(&mut self, is_impl: bool, tokens: &[TokenTree]) {
        let Some(TokenTree::Group(body)) = tokens.last() else {
            return;
        };
        if !is_impl {
            return self.read(body.stream(), None);
        }
        let (owner, of_trait) = header_of(&tokens[1..tokens.len() - 1]);
        match of_trait {
            // What a trait asks for is there wherever its type is.
            true => self.keep(&owner, tokens[0].span().start().line, None, false, tokens),
            false => self.read(body.stream(), Some(&owner)),
        }
    }

    fn keep(
        &mut self,
        name: &str,
        line: usize,
        of_type: Option<&str>,
        is_public: bool,
        tokens: &[TokenTree],
    ) {
        let stream: TokenStream = tokens.iter().cloned().collect();
        let mut paths = paths_of(&self.file.path, stream.clone());
        named_in_texts(stream, &mut paths);
        self.found.push(Item {
            file: self.file.path.clone(),
            line,
            place: (self.home.clone(), of_type.unwrap_or(name).to_string()),
            said_as: of_type.map(|_| name.to_string()),
            is_public,
            reaches: self.imports.places(&paths),
            words: paths
                .iter()
                .flat_map(|path| path.split("::").map(plain))
                .collect(),
        });
    }
}

/// The index behind an item: values end at their semicolon, everything else at its body or its semicolon.
fn end_of(tokens: &[TokenTree], begin: usize, kind: &str) -> usize {
    match kind {
        "const" | "static" | "type" | "use" => {
            let semicolon = |index: &usize| is_mark(tokens, *index, ';');
            (begin..tokens.len())
                .find(semicolon)
                .map_or(tokens.len(), |index| index + 1)
        }
        _ => behind_item(tokens, begin),
    }
}

/// Whose block this is, and whether it is a trait's: `<T> Iterator for Pages<T>`.
fn header_of(tokens: &[TokenTree]) -> (String, bool) {
    let (mut depth, mut owner, mut of_trait) = (0_i32, String::new(), false);
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '<' => depth += 1,
            TokenTree::Punct(mark)
                if mark.as_char() == '>' && !is_mark(tokens, index.wrapping_sub(1), '-') =>
            {
                depth -= 1;
            }
            TokenTree::Ident(word) if depth == 0 && word == "for" => of_trait = true,
            TokenTree::Ident(word) if depth == 0 && word == "where" => break,
            TokenTree::Ident(word) if depth == 0 => owner = plain(&word.to_string()),
            _ => {}
        }
    }
    (owner, of_trait)
}

/// `#[serde(default = "a::b")]` names a function in a text, and `"at most {LIMIT}"` a value.
fn named_in_texts(tokens: TokenStream, paths: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let of_attribute = is_mark(&tokens, index.wrapping_sub(1), '#');
                if of_attribute && group.delimiter() == Delimiter::Bracket {
                    let text = group.stream().to_string();
                    let named = text.split('"').skip(1).step_by(2).map(str::to_string);
                    paths.extend(named.filter(|name| !name.contains([' ', '{'])));
                }
                named_in_texts(group.stream(), paths);
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
                let named = text
                    .split('{')
                    .skip(1)
                    .filter_map(|rest| rest.split(|c| !is_of_name(c)).next());
                paths.extend(named.filter(|name| !name.is_empty()).map(str::to_string));
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

fn is_mark(tokens: &[TokenTree], index: usize, mark: char) -> bool {
    matches!(tokens.get(index), Some(TokenTree::Punct(found)) if found.as_char() == mark)
}

fn is_word(tokens: &[TokenTree], index: usize, word: &str) -> bool {
    matches!(tokens.get(index), Some(TokenTree::Ident(found)) if found == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source {
            path: path.to_string(),
            text: text.to_string(),
        }
    }

    fn check(policy: &str, product: &str, expected: &[&str]) {
        let policies = [
            source("policies/src/one.rs", policy),
            source(
                "policies/src/two.rs",
                "use crate::one::through; pub fn other() { through() }",
            ),
        ];
        let product = source("actors/src/a.rs", product);
        let found = unreached(&policies.iter().collect::<Vec<_>>(), &[&product]);
        let found: Vec<&str> = found.iter().filter_map(|line| line.split(": ").nth(1)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_nobody_uses_is_found() {
        check(
            "pub fn used() {} pub fn unused() {} pub const LEFT: [u8; 2] = [1, 2]; fn own() {} pub fn through() {}",
            "use impresario_policies::one::used; use impresario_policies::two::other; fn f() { used(); other() }",
            &["one::LEFT", "one::unused"],
        );
    }

    #[test]
    fn tests_and_those_that_only_they_reach_do_not_count() {
        check(
            "pub fn first() { second() } pub fn second() {} pub fn through() {}
             #[cfg(test)] mod tests { #[test] fn t() { super::first() } }",
            "#[cfg(test)] mod tests { use impresario_policies::one::first; } use impresario_policies::two;
             fn f() { two::other() }",
            &["one::first", "one::second"],
        );
    }

    #[test]
    fn methods_are_reached_by_their_name_and_their_type() {
        check(
            "pub struct A; impl A { pub fn said(&self) {} pub fn unsaid(&self) {} pub const MAX: u8 = 1; }
             impl Default for A { fn default() -> Self { by_default() } } pub fn by_default() -> A { A }
             pub struct B; impl B { pub fn said(&self) {} } pub fn through() {}",
            "use impresario_policies::{one::A, two::*}; fn f(a: A) { a.said(); other() }",
            &["one::A::MAX", "one::A::unsaid", "one::B", "one::B::said"],
        );
    }

    #[test]
    fn a_value_in_a_text_counts() {
        check(
            "pub const MOST: u8 = 9; pub fn through() -> String { format!(\"at most {MOST:>2}\") }",
            "use impresario_policies::two::other;",
            &[],
        );
    }

    #[test]
    fn a_name_in_an_attribute_counts() {
        check(
            "#[derive(Deserialize)] pub struct A { #[serde(default = \"ten\")] a: u8 } pub fn ten() -> u8 { 10 }
             pub fn through() {}",
            "use impresario_policies::one::A; use impresario_policies::two::other;",
            &[],
        );
    }
}

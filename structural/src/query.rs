//! A query, compiled once.

use crate::language::Language;
use crate::rule;
use crate::watch::{Watch, parse};
use ast_grep_config::{DeserializeEnv, RuleCore};
use ast_grep_core::replacer::TemplateFix;
use ast_grep_core::{Language as _, Matcher, Pattern};
use std::collections::BTreeSet;
use std::error::Error;
use tree_sitter::Tree;

/// A pattern or a rule is no longer.
const QUERY_BYTES_MAX: usize = 16_000;
/// What a match becomes is no longer.
const REWRITE_BYTES_MAX: usize = 64_000;
/// Levels of a pattern's own tree: matching goes as deep into itself.
const PATTERN_LEVELS_MAX: usize = 100;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// Code with `$NAME` for one node and `$$$NAME` for any number of them.
    Pattern(&'a str),
    /// A rule in YAML: `rule:` with patterns, kinds and relations, `fix:` for what a match becomes.
    Rule(&'a str),
}

/// Why a query cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It is empty, or longer than anybody writes.
    #[error("{0} has 1 to {1} bytes")]
    Length(&'static str, usize),
    /// No language of this name.
    #[error("there is no language {0:?}; there are {1}")]
    Language(String, String),
    /// Neither the call nor the rule says it.
    #[error("the language is missing; there are {0}")]
    NoLanguage(String),
    /// The call and the rule say different ones.
    #[error("the rule is for {0}, and the call for {1}")]
    TwoLanguages(Language, Language),
    /// The pattern is no code of the language.
    #[error("the pattern cannot be used: {0}")]
    Pattern(String),
    /// The rule is none.
    #[error("the rule cannot be used: {0}")]
    Rule(String),
    /// More levels than a stack has room for.
    #[error("the pattern is nested deeper than {PATTERN_LEVELS_MAX} levels")]
    TooDeep,
    /// A name that nothing in the query binds would be replaced by nothing.
    #[error("the replacement uses ${0}, which the query does not bind; it binds {1}")]
    Unbound(String, String),
    /// Two of them: which one would be meant?
    #[error("the rule has a `fix`, and the call a replacement; leave one of them out")]
    TwoReplacements,
}

pub(crate) enum Matching {
    Pattern(Pattern),
    Rule(Box<RuleCore>),
}

/// What is looked for in texts of one language, and what each place becomes.
pub struct Query {
    pub(crate) language: Language,
    pub(crate) matching: Matching,
    pub(crate) rewrite: Option<TemplateFix>,
    needle: Option<String>,
    is_doubtful: bool,
}

impl Query {
    /// Compiles it. A rule may say the language and the replacement itself.
    pub fn compile(
        language: Option<&str>,
        wanted: Wanted<'_>,
        rewrite: Option<&str>,
    ) -> Result<Self, QueryError> {
        let language = language.map(named).transpose()?;
        if rewrite.is_some_and(|rewrite| rewrite.len() > REWRITE_BYTES_MAX) {
            return Err(QueryError::Length("a replacement", REWRITE_BYTES_MAX));
        }
        match wanted {
            Wanted::Pattern(text) => {
                within("a pattern", text)?;
                let language = language.ok_or_else(|| QueryError::NoLanguage(all()))?;
                of_pattern(language, text, rewrite)
            }
            Wanted::Rule(text) => {
                within("a rule", text)?;
                of_rule(language, text, rewrite)
            }
        }
    }

    /// For which language.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Whether places can be replaced.
    pub fn rewrites(&self) -> bool {
        self.rewrite.is_some()
    }

    /// Whether the pattern is no whole piece of code by itself, so that it may match nothing.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// Whether a text may hold a match. One that does not hold the longest word of the pattern is not parsed.
    pub fn may_match(&self, text: &[u8]) -> bool {
        let needle = self.needle.as_deref();
        needle.is_none_or(|needle| memchr::memmem::find(text, needle.as_bytes()).is_some())
    }
}

fn named(name: &str) -> Result<Language, QueryError> {
    Language::named(name).ok_or_else(|| QueryError::Language(name.to_string(), all()))
}

fn all() -> String {
    let names: Vec<String> = Language::all().map(|language| language.to_string()).collect();
    names.join(", ")
}

fn within(what: &'static str, text: &str) -> Result<(), QueryError> {
    match text.trim().is_empty() || text.len() > QUERY_BYTES_MAX {
        true => Err(QueryError::Length(what, QUERY_BYTES_MAX)),
        false => Ok(()),
    }
}

fn of_pattern(language: Language, text: &str, rewrite: Option<&str>) -> Result<Query, QueryError> {
    hold_shallow(language, text)?;
    let pattern =
        Pattern::try_new(text, language.0).map_err(|error| QueryError::Pattern(error.to_string()))?;
    let bound = pattern.defined_vars().into_iter().map(str::to_string).collect();
    let rewrite = rewrite
        .map(|rewrite| template(rewrite, language, &[], &bound))
        .transpose()?;
    let needle = pattern.fixed_string().into_owned();
    Ok(Query {
        language,
        is_doubtful: pattern.has_error(),
        matching: Matching::Pattern(pattern),
        rewrite,
        needle: Some(needle).filter(|needle| !needle.is_empty()),
    })
}

fn of_rule(asked: Option<Language>, text: &str, rewrite: Option<&str>) -> Result<Query, QueryError> {
    let (rule, patterns) = rule::read(text)?;
    let own = rule.language.as_deref().map(named).transpose()?;
    let language = match (asked, own) {
        (Some(asked), Some(own)) if asked != own => return Err(QueryError::TwoLanguages(own, asked)),
        (Some(language), _) | (None, Some(language)) => language,
        (None, None) => return Err(QueryError::NoLanguage(all())),
    };
    for pattern in &patterns {
        hold_shallow(language, pattern)?;
    }
    let matcher = rule
        .core
        .get_matcher(DeserializeEnv::new(language.0))
        .map_err(|error| QueryError::Rule(causes(&error)))?;
    if matcher.potential_kinds().is_none() {
        let hint = "it says of no kind of node that it is looked for; add a `kind` or a `pattern`";
        return Err(QueryError::Rule(hint.to_string()));
    }
    let rewrite = match (rewrite, rule.fix.as_deref()) {
        (Some(_), Some(_)) => return Err(QueryError::TwoReplacements),
        (rewrite, fix) => rewrite.or(fix),
    };
    let made: Vec<String> = rule
        .core
        .transform
        .iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect();
    let mut bound: BTreeSet<String> = matcher.defined_vars().into_iter().map(str::to_string).collect();
    bound.extend(made.iter().cloned());
    let rewrite = rewrite
        .map(|rewrite| template(rewrite, language, &made, &bound))
        .transpose()?;
    Ok(Query {
        language,
        matching: Matching::Rule(Box::new(matcher)),
        rewrite,
        needle: None,
        is_doubtful: false,
    })
}

fn template(
    text: &str,
    language: Language,
    made: &[String],
    bound: &BTreeSet<String>,
) -> Result<TemplateFix, QueryError> {
    if text.len() > REWRITE_BYTES_MAX {
        return Err(QueryError::Length("a replacement", REWRITE_BYTES_MAX));
    }
    let template = TemplateFix::with_transform(text, &language.0, made);
    let used: BTreeSet<&str> = template.used_vars().into_iter().collect();
    if let Some(unbound) = used.into_iter().find(|name| !bound.contains(*name)) {
        let binds: Vec<String> = bound.iter().map(|name| format!("${name}")).collect();
        let binds = match binds.is_empty() {
            true => "nothing".to_string(),
            false => binds.join(", "),
        };
        return Err(QueryError::Unbound(unbound.to_string(), binds));
    }
    Ok(template)
}

/// A pattern becomes a tree by a function that calls itself for each level.
fn hold_shallow(language: Language, pattern: &str) -> Result<(), QueryError> {
    let code = language.0.pre_process_pattern(pattern);
    let tree = parse(code.as_bytes(), language.0, &Watch::new(|| false));
    let tree = tree.map_err(|_| QueryError::Pattern("it cannot be parsed".to_string()))?;
    match levels(&tree) > PATTERN_LEVELS_MAX {
        true => Err(QueryError::TooDeep),
        false => Ok(()),
    }
}

fn levels(tree: &Tree) -> usize {
    let (mut cursor, mut level, mut deepest) = (tree.walk(), 1, 1);
    loop {
        if cursor.goto_first_child() {
            level += 1;
            deepest = deepest.max(level);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return deepest;
            }
            level -= 1;
        }
    }
}

fn causes(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said = format!("{} {error}", said.trim_end());
        cause = error.source();
    }
    said.trim_end_matches('.').to_string()
}

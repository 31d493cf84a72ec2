//! The providers that a model can be called at without Pi: where they are, and where their key is looked for.
//!
//! The variables are those that the providers' own libraries read, and those that Pi reads.

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Anthropic's Messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Ollama's own.
    Ollama,
    /// Chat Completions of OpenAI, which most others speak too.
    OpenAi,
}

/// A provider as it is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// What stands before the slash in the name of a model.
    pub name: &'static str,
    /// How it is spoken to.
    pub dialect: Dialect,
    /// The variables that may hold the key; the first that is set counts. Without any it needs no key.
    pub key_variables: &'static [&'static str],
    /// The variable that names another address.
    pub url_variable: &'static str,
    /// Where it is, unless the variable says otherwise; the path of a call is appended.
    pub url: Option<&'static str>,
}

const fn open_ai(
    name: &'static str,
    key: &'static [&'static str],
    url_variable: &'static str,
    url: &'static str,
) -> Provider {
    Provider {
        name,
        dialect: Dialect::OpenAi,
        key_variables: key,
        url_variable,
        url: Some(url),
    }
}

/// All of them.
pub const PROVIDERS: [Provider; 10] = [
    Provider {
        name: "anthropic",
        dialect: Dialect::Anthropic,
        key_variables: &["ANTHROPIC_API_KEY"],
        url_variable: "ANTHROPIC_BASE_URL",
        url: Some("https://api.anthropic.com/v1/"),
    },
    open_ai(
        "openai",
        &["OPENAI_API_KEY"],
        "OPENAI_BASE_URL",
        "https://api.openai.com/v1/",
    ),
    Provider {
        name: "google",
        dialect: Dialect::Gemini,
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        url_variable: "GEMINI_BASE_URL",
        url: Some("https://generativelanguage.googleapis.com/v1beta/"),
    },
    open_ai(
        "openrouter",
        &["OPENROUTER_API_KEY"],
        "OPENROUTER_BASE_URL",
        "https://openrouter.ai/api/v1/",
    ),
    Provider {
        name: "ollama",
        dialect: Dialect::Ollama,
        key_variables: &[],
        url_variable: "OLLAMA_HOST",
        url: Some("http://localhost:11434/"),
    },
    open_ai(
        "groq",
        &["GROQ_API_KEY"],
        "GROQ_BASE_URL",
        "https://api.groq.com/openai/v1/",
    ),
    open_ai("xai", &["XAI_API_KEY"], "XAI_BASE_URL", "https://api.x.ai/v1/"),
    open_ai(
        "mistral",
        &["MISTRAL_API_KEY"],
        "MISTRAL_BASE_URL",
        "https://api.mistral.ai/v1/",
    ),
    open_ai(
        "deepseek",
        &["DEEPSEEK_API_KEY"],
        "DEEPSEEK_BASE_URL",
        "https://api.deepseek.com/v1/",
    ),
    Provider {
        name: "openai-compatible",
        dialect: Dialect::OpenAi,
        key_variables: &[],
        url_variable: "OPENAI_COMPATIBLE_URL",
        url: None,
    },
];

/// The key of a provider that may have one and needs none.
const OPTIONAL_KEY: &str = "OPENAI_COMPATIBLE_API_KEY";

/// Where a model is called, and as whom.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    /// How it is spoken to.
    pub dialect: Dialect,
    /// Ends with a slash.
    pub url: String,
    /// What the provider calls the model.
    pub model: String,
    /// The key, when there is one.
    pub key: Option<String>,
}

impl std::fmt::Debug for Target {
    /// Without the key.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            dialect,
            url,
            model,
            key,
        } = self;
        let key = key.as_ref().map(|_| "…");
        write!(out, "Target {{ {dialect:?}, {url:?}, {model:?}, key: {key:?} }}")
    }
}

/// Why a model cannot be called from here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// No slash, or nothing on one side of it.
    #[error("expected a model as provider/id, got {0:?}")]
    NotAName(String),
    /// The part before the slash is nobody we know.
    #[error("there is no provider called {name:?} here; there are: {known}", name = .0, known = names())]
    UnknownProvider(String),
    /// No key.
    #[error("{provider} needs a key, and none of these variables is set: {}", variables.join(", "))]
    NoKey {
        /// Who.
        provider: &'static str,
        /// Where it was looked for.
        variables: Vec<&'static str>,
    },
    /// Nobody says where it is.
    #[error(
        "nobody says where {provider} is: set {variable} to its address, such as http://localhost:8000/v1"
    )]
    NoUrl {
        /// Who.
        provider: &'static str,
        /// The variable to set.
        variable: &'static str,
    },
    /// The address is none. It is not shown: it may hold a password.
    #[error("{variable} holds no address that can be used: {why}")]
    BadUrl {
        /// Where it stands.
        variable: &'static str,
        /// What is wrong.
        why: &'static str,
    },
}

/// The names of all providers, for a person.
fn names() -> String {
    PROVIDERS.map(|provider| provider.name).join(", ")
}

/// Finds where a model named `provider/id` is called. `variable` reads the environment.
pub fn find_target(model: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Target, NoTarget> {
    let set = |name: &str| {
        variable(name)
            .map(|value| value.trim().to_string())
            .filter(|value| !value.is_empty())
    };
    let (name, id) = model
        .split_once('/')
        .filter(|(name, id)| !name.is_empty() && !id.is_empty())
        .ok_or_else(|| NoTarget::NotAName(shown(model)))?;
    let provider = PROVIDERS
        .iter()
        .find(|provider| provider.name == name)
        .ok_or_else(|| NoTarget::UnknownProvider(shown(name)))?;
    let url = match (set(provider.url_variable), provider.url) {
        (Some(url), _) => address(provider.url_variable, &url)?,
        (None, Some(url)) => url.to_string(),
        (None, None) => {
            return Err(NoTarget::NoUrl {
                provider: provider.name,
                variable: provider.url_variable,
            });
        }
    };
    let key = match provider.key_variables {
        [] => (provider.url.is_none()).then(|| set(OPTIONAL_KEY)).flatten(),
        variables => Some(
            variables
                .iter()
                .find_map(|name| set(name))
                .ok_or(NoTarget::NoKey {
                    provider: provider.name,
                    variables: variables.to_vec(),
                })?,
        ),
    };
    Ok(Target {
        dialect: provider.dialect,
        url,
        model: id.to_string(),
        key,
    })
}

/// Whether any provider can be called with what the environment holds.
pub fn has_any_key(variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &&str| variable(name).is_some_and(|value| !value.trim().is_empty());
    PROVIDERS.iter().any(|provider| match provider.key_variables {
        [] => is_set(&provider.url_variable),
        variables => variables.iter().any(is_set),
    })
}

/// `OLLAMA_HOST` is often a host and a port alone.
fn address(variable: &'static str, given: &str) -> Result<String, NoTarget> {
    let bad = |why| NoTarget::BadUrl { variable, why };
    let url = match given.contains("://") {
        true => given.to_string(),
        false => format!("http://{given}"),
    };
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(bad("it is no address"));
    };
    if scheme != "http" && scheme != "https" {
        return Err(bad("expected http:// or https://"));
    }
    if rest.is_empty() || rest.starts_with('/') || rest.contains(char::is_whitespace) {
        return Err(bad("it names no host"));
    }
    if rest.split('/').next().is_some_and(|host| host.contains('@')) {
        return Err(bad("a password does not belong into an address"));
    }
    Ok(match url.ends_with('/') {
        true => url,
        false => url + "/",
    })
}

fn shown(text: &str) -> String {
    text.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(model: &str, set: &[(&str, &str)]) -> Result<Target, NoTarget> {
        find_target(model, |name| {
            let found = set.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn a_model_is_called_where_its_provider_is() {
        let target = find("anthropic/claude-x", &[("ANTHROPIC_API_KEY", "k")]).unwrap();
        assert_eq!(
            (target.dialect, target.model.as_str()),
            (Dialect::Anthropic, "claude-x")
        );
        assert_eq!(target.url, "https://api.anthropic.com/v1/");
        assert_eq!(target.key.as_deref(), Some("k"));
        let named_twice = find("openrouter/openai/gpt-x", &[("OPENROUTER_API_KEY", "k")]).unwrap();
        assert_eq!(named_twice.model, "openai/gpt-x");
    }

    #[test]
    fn the_first_key_that_is_set_counts_and_an_empty_one_is_none() {
        let keys = [("GEMINI_API_KEY", " "), ("GOOGLE_API_KEY", "g")];
        assert_eq!(find("google/gemini-x", &keys).unwrap().key.as_deref(), Some("g"));
        let missing = find("google/gemini-x", &keys[..1]).unwrap_err().to_string();
        assert!(missing.contains("GEMINI_API_KEY, GOOGLE_API_KEY"), "{missing}");
    }

    #[test]
    fn an_address_can_be_given() {
        let ours = find("ollama/llama", &[("OLLAMA_HOST", "box:11434")]).unwrap();
        assert_eq!((ours.url.as_str(), ours.key), ("http://box:11434/", None));
        let house = find(
            "openai-compatible/m",
            &[("OPENAI_COMPATIBLE_URL", "https://house/v1")],
        )
        .unwrap();
        assert_eq!((house.url.as_str(), house.key), ("https://house/v1/", None));
        let nowhere = find("openai-compatible/m", &[]).unwrap_err().to_string();
        assert!(nowhere.contains("OPENAI_COMPATIBLE_URL"), "{nowhere}");
    }

    #[test]
    fn what_is_no_model_and_no_address_is_said() {
        for model in ["", "gpt", "/gpt", "openai/"] {
            assert!(matches!(find(model, &[]), Err(NoTarget::NotAName(_))), "{model}");
        }
        let unknown = find("nobody/m", &[]).unwrap_err().to_string();
        assert!(unknown.contains("anthropic, openai, google"), "{unknown}");
        for url in [
            "ftp://x",
            "http://",
            "http:///v1",
            "https://user:secret@x/",
            "a b",
        ] {
            let found = find("ollama/m", &[("OLLAMA_HOST", url)]);
            assert!(matches!(found, Err(NoTarget::BadUrl { .. })), "{url}");
        }
    }
}

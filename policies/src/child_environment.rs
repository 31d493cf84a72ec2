//! Which part of our environment does a nested Pi see?
//!
//! A sub-agent runs commands that somebody else's text asked for, and they see what it sees. So it gets what programs
//! need to work, what its own provider needs to know the user, and nothing that merely happens to be there.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildEnvironmentFacts<'a> {
    pub ours: &'a BTreeMap<String, String>,
    /// The provider the sub-agent will call, as Pi names it.
    pub provider: &'a str,
    /// Names the user's Pi files mention for that provider.
    pub mentioned: &'a [String],
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildEnvironmentSettings {
    /// Further names to be passed.
    pub pass: Vec<String>,
}

/// Chooses the variables a nested Pi starts with.
pub fn choose_child_environment(
    facts: &ChildEnvironmentFacts<'_>,
    settings: &ChildEnvironmentSettings,
) -> BTreeMap<String, String> {
    let mut chosen = BTreeMap::new();
    for (name, value) in facts.ours {
        let wanted = is_for_every_program(name)
            || is_for_provider(name, facts.provider)
            || facts.mentioned.contains(name)
            || settings.pass.contains(name);
        if wanted {
            chosen.insert(name.clone(), value.clone());
        }
    }
    chosen
}

/// Chooses the variables a context engine's program starts with: what programs need to work, what begins as its own
/// names do, and what is set to be passed. No login of a model's provider is among them.
pub fn choose_engine_environment(
    ours: &BTreeMap<String, String>,
    own_prefix: Option<&str>,
    settings: &ChildEnvironmentSettings,
) -> BTreeMap<String, String> {
    let wanted = |name: &String| {
        let is_its_own = own_prefix.is_some_and(|prefix| name.starts_with(prefix));
        is_for_every_program(name) || is_its_own || settings.pass.contains(name)
    };
    let chosen = ours.iter().filter(|(name, _)| wanted(name));
    chosen
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Chooses the variables the command of a gate starts with: what programs need to work, and no login of a provider.
pub fn choose_gate_environment(ours: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let chosen = ours.iter().filter(|(name, _)| is_for_every_program(name));
    chosen
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn is_for_every_program(name: &str) -> bool {
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Names that tell programs where things are and how to speak, none that tells them who the user is.
const NAMES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "EDITOR",
    "PAGER",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "NODE_COMPILE_CACHE",
    "NODE_PATH",
    "NVM_DIR",
    "NVM_BIN",
    "VOLTA_HOME",
    "BUN_INSTALL",
    "PNPM_HOME",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTC_WRAPPER",
    "GOPATH",
    "GOROOT",
    "GOPROXY",
    "GOFLAGS",
    "JAVA_HOME",
    "ANDROID_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "PYTHONPATH",
    "RBENV_ROOT",
    "GEM_HOME",
    "DOCKER_HOST",
    "SystemRoot",
    "PI_CODING_AGENT_DIR",
    "PI_PACKAGE_DIR",
    "PI_OFFLINE",
    "PI_TELEMETRY",
    "PI_SKIP_VERSION_CHECK",
    "PI_CACHE_RETENTION",
];

const PREFIXES: &[&str] = &["LC_", "XDG_", "NIX_", "HOMEBREW_PREFIX", "HOMEBREW_CELLAR"];

/// Names by which Pi 0.74 and 0.87 know the user of a provider.
fn is_for_provider(name: &str, provider: &str) -> bool {
    let own: &[&str] = match provider {
        "anthropic" => &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_OAUTH_TOKEN",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
        ],
        "github-copilot" => &["COPILOT_GITHUB_TOKEN"],
        "google" => &["GEMINI_API_KEY"],
        "huggingface" => &["HF_TOKEN"],
        "vercel-ai-gateway" => &["AI_GATEWAY_API_KEY"],
        "moonshotai-cn" => &["MOONSHOT_API_KEY"],
        "moonshotai" => &["MOONSHOT_API_KEY"],
        "kimi-coding" => &["KIMI_API_KEY"],
        "opencode-go" => &["OPENCODE_API_KEY"],
        "qwen-token-plan-individual" => &["QWEN_TOKEN_PLAN_API_KEY"],
        "google-vertex" => {
            return name.starts_with("GOOGLE_CLOUD_")
                || ["GCLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS"].contains(&name);
        }
        "amazon-bedrock" => return name.starts_with("AWS_"),
        "azure-openai-responses" => return name.starts_with("AZURE_OPENAI_"),
        "cloudflare-workers-ai" | "cloudflare-ai-gateway" => return name.starts_with("CLOUDFLARE_"),
        _ => return name == key_name(provider),
    };
    own.contains(&name)
}

/// Most providers: `zai-coding-cn` is `ZAI_CODING_CN_API_KEY`.
fn key_name(provider: &str) -> String {
    format!("{}_API_KEY", provider.to_ascii_uppercase().replace('-', "_"))
}

/// The names in a text that could be environment variables: `$NAME`, `${NAME}`, or the bare name Pi 0.74 writes.
pub fn names_mentioned(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for word in text.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_')) {
        let like_a_name = word.len() >= 3
            && word.starts_with(|first: char| first.is_ascii_uppercase() || first == '_')
            && word
                .chars()
                .all(|one| one.is_ascii_uppercase() || one.is_ascii_digit() || one == '_');
        if like_a_name && !names.iter().any(|known| known == word) {
            names.push(word.to_string());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(provider: &str, mentioned: &[&str], pass: &[&str], expected: &[&str]) {
        let all = [
            "PATH",
            "HOME",
            "LC_ALL",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "ZAI_CODING_CN_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "DATABASE_URL",
            "MY_GATEWAY_KEY",
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "IMPRESARIO_HOST",
        ];
        let ours = all
            .iter()
            .map(|name| (name.to_string(), "value".to_string()))
            .collect();
        let mentioned: Vec<String> = mentioned.iter().map(|name| name.to_string()).collect();
        let settings = ChildEnvironmentSettings {
            pass: pass.iter().map(|name| name.to_string()).collect(),
        };
        let facts = ChildEnvironmentFacts {
            ours: &ours,
            provider,
            mentioned: &mentioned,
        };
        let chosen = choose_child_environment(&facts, &settings);
        let beyond: Vec<&str> = chosen
            .keys()
            .map(String::as_str)
            .filter(|name| !["PATH", "HOME", "LC_ALL"].contains(name))
            .collect();
        assert_eq!(
            chosen.len() - beyond.len(),
            3,
            "what every program needs is there"
        );
        assert_eq!(beyond, expected);
    }

    #[test]
    fn a_sub_agent_sees_the_login_of_its_own_provider_only() {
        check("anthropic", &[], &[], &["ANTHROPIC_API_KEY"]);
        check("openai", &[], &[], &["OPENAI_API_KEY"]);
        check("zai-coding-cn", &[], &[], &["ZAI_CODING_CN_API_KEY"]);
        check("amazon-bedrock", &[], &[], &["AWS_SECRET_ACCESS_KEY"]);
        check("unknown", &[], &[], &[]);
    }

    #[test]
    fn what_the_users_files_mention_and_what_is_set_to_pass_is_passed() {
        check("corporate", &["MY_GATEWAY_KEY"], &[], &["MY_GATEWAY_KEY"]);
        check("corporate", &[], &["DATABASE_URL"], &["DATABASE_URL"]);
    }

    #[test]
    fn an_engine_sees_its_own_login_and_no_providers() {
        let all = ["PATH", "AUGMENT_SESSION_AUTH", "ANTHROPIC_API_KEY", "INDEX_KEY"];
        let ours = all
            .iter()
            .map(|name| (name.to_string(), "value".to_string()))
            .collect();
        let pass = ChildEnvironmentSettings {
            pass: vec!["INDEX_KEY".to_string()],
        };
        let names = |prefix, settings| {
            let chosen = choose_engine_environment(&ours, prefix, settings);
            chosen.into_keys().collect::<Vec<_>>()
        };
        let nothing = ChildEnvironmentSettings::default();
        assert_eq!(
            names(Some("AUGMENT_"), &nothing),
            ["AUGMENT_SESSION_AUTH", "PATH"]
        );
        assert_eq!(names(None, &pass), ["INDEX_KEY", "PATH"]);
    }

    #[test]
    fn names_are_found_in_either_syntax() {
        let names = names_mentioned(
            r#"{"apiKey":"$MY_KEY","headers":{"x-org":"${ORG_ID}"},"baseUrl":"https://x/v1","key":"PLAIN_NAME","n":"aB"}"#,
        );
        assert_eq!(names, ["MY_KEY", "ORG_ID", "PLAIN_NAME"]);
    }
}

//! Which model does a name mean, and may it be used?

use crate::compat::trim;
use crate::domain::ModelNaming;
use crate::offline::OFFLINE_MODEL;

/// What stands behind a provider when nobody names a model.
const DEFAULT_MODEL: &str = "anthropic/claude-3-5-sonnet";
/// Whose model a bare name is.
const DEFAULT_VENDOR: &str = "anthropic";

/// Why a name gives no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelMappingError {
    #[error("mapModel: defaultProvider is empty")]
    NoProvider,
    #[error("Model \"{model}\" uses a disallowed provider. Allowed prefixes: {}", allowed.join(", "))]
    DisallowedProvider { model: String, allowed: Vec<String> },
}

/// Resolves a model under either way of naming.
pub fn resolve_model(
    name: Option<&str>,
    default_provider: &str,
    naming: ModelNaming,
    allowed_providers: &[String],
) -> Result<String, ModelMappingError> {
    if naming == ModelNaming::Mapped {
        return map_model(name, default_provider, allowed_providers);
    }
    match trim(name.unwrap_or("")) {
        "" => map_model(None, default_provider, allowed_providers),
        complete if complete.contains('/') => allow(complete.to_string(), allowed_providers),
        bare => match trim(default_provider).trim_end_matches('/') {
            "" => Err(ModelMappingError::NoProvider),
            provider => allow([provider, bare].join("/"), allowed_providers),
        },
    }
}

/// Lets a complete name through if its provider may be used.
pub fn allow(model: String, allowed_providers: &[String]) -> Result<String, ModelMappingError> {
    let used = || model.split('/').next().unwrap_or("");
    let free = allowed_providers.is_empty() || model == OFFLINE_MODEL;
    if free || allowed_providers.iter().any(|allowed| allowed == used()) {
        Ok(model)
    } else {
        Err(ModelMappingError::DisallowedProvider {
            model,
            allowed: allowed_providers.to_vec(),
        })
    }
}

/// Resolves a model as a skill, a setting or a user names it to `provider/vendor/model`.
///
/// The list of allowed providers holds for every model, the one that routes included.
pub fn map_model(
    name: Option<&str>,
    default_provider: &str,
    allowed_providers: &[String],
) -> Result<String, ModelMappingError> {
    let provider = trim(default_provider).trim_end_matches('/');
    if provider.is_empty() {
        return Err(ModelMappingError::NoProvider);
    }
    let name = trim(name.unwrap_or(""));
    let model = match name.bytes().filter(|byte| *byte == b'/').count() {
        0 if name.is_empty() => [provider, DEFAULT_MODEL].join("/"),
        0 => [provider, DEFAULT_VENDOR, name].join("/"),
        1 => [provider, name].join("/"),
        _ => name.to_string(),
    };
    allow(model, allowed_providers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_gets_provider_and_vendor() {
        assert_eq!(
            map_model(Some("haiku"), "openrouter", &[]).unwrap(),
            "openrouter/anthropic/haiku"
        );
        assert_eq!(
            map_model(Some("a/b"), "openrouter/", &[]).unwrap(),
            "openrouter/a/b"
        );
        assert_eq!(map_model(Some("a/b/c"), "openrouter", &[]).unwrap(), "a/b/c");
    }

    #[test]
    fn the_hosts_own_names_are_complete_with_one_slash() {
        let of_host = |name, provider| resolve_model(Some(name), provider, ModelNaming::OfHost, &[]);
        assert_eq!(of_host("a/b", "p").as_deref(), Ok("a/b"));
        assert_eq!(of_host("b", "p").as_deref(), Ok("p/b"));
        assert_eq!(of_host("b", ""), Err(ModelMappingError::NoProvider));
    }

    #[test]
    fn a_provider_off_the_list_is_refused_by_name() {
        let error = map_model(Some("x/y/z"), "openrouter", &["openrouter".to_string()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Model \"x/y/z\" uses a disallowed provider. Allowed prefixes: openrouter"
        );
    }
}

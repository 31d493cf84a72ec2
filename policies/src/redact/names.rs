//! What a name says of its value.

/// Without one of these in it, in any case, a name says nothing.
pub(super) const WORDS: &[&str] = &[
    "key",
    "secret",
    "token",
    "passw",
    "passphrase",
    "passcode",
    "pass",
    "pwd",
    "auth",
    "credential",
    "cookie",
    "sig",
    "session",
    "mnemonic",
    "bearer",
    "webhook",
    "passwort",
    "connstr",
    "salt",
    "jwt",
    "contraseña",
    "_pat",
    "psk",
    "pw",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// The value is a secret unless it is something else by its look.
    Secret,
    /// As above, and the word itself is a password's: a number is one, and so is a word.
    Password,
    /// The value is one if it has the look of chance.
    Perhaps,
    /// It is none.
    Nothing,
}

/// Endings that say it by themselves, the longest first. What stands before them is shown.
pub(super) const ENDINGS: &[&str] = &[
    "secret_access_key",
    "secret-access-key",
    "shared_access_key",
    "encryption_key",
    "encryption-key",
    "private_key",
    "private-key",
    "signing_key",
    "signing-key",
    "secret_key",
    "secret-key",
    "access_key",
    "access-key",
    "master_key",
    "passphrase",
    "credentials",
    "credential",
    "privatekey",
    "accesskey",
    "accountkey",
    "secretkey",
    "signingkey",
    "encryptionkey",
    "passcode",
    "passwort",
    "password",
    "api_key",
    "api-key",
    "api key",
    "apikey",
    "passwd",
    "secret",
    "token",
];

/// What makes a key one that nobody shows.
const OF_A_KEY: &[&str] = &[
    "api",
    "secret",
    "private",
    "access",
    "signing",
    "encryption",
    "encrypt",
    "master",
    "hmac",
    "jwt",
    "account",
    "shared",
    "subscription",
    "license",
    "admin",
    "aes",
    "storage",
    "cipher",
    "crypto",
    "decryption",
    "service",
    "deploy",
    "webhook",
    "functions",
    "app",
    "instrumentation",
    "application",
];
/// A name that ends so is a place, a number or a kind.
const OF_SOMETHING_ELSE: &[&str] = &[
    "id",
    "ids",
    "name",
    "names",
    "type",
    "types",
    "length",
    "len",
    "count",
    "counts",
    "limit",
    "size",
    "url",
    "uri",
    "path",
    "file",
    "files",
    "filename",
    "field",
    "fields",
    "expiry",
    "expires",
    "expired",
    "ttl",
    "policy",
    "required",
    "valid",
    "hint",
    "usage",
    "used",
    "index",
    "kind",
    "prefix",
    "header",
    "regex",
    "pattern",
    "label",
    "placeholder",
    "budget",
    "window",
    "min",
    "max",
    "rate",
    "cost",
    "price",
    "version",
    "algorithm",
    "alg",
    "format",
    "endpoint",
    "env",
    "provider",
    "manager",
    "store",
    "reset",
    "at",
    "date",
    "ref",
    "class",
    "error",
    "errors",
    "message",
    "title",
    "description",
    "input",
    "status",
    "state",
    "enabled",
    "age",
    "dir",
    "var",
    "strength",
    "column",
];
/// Tokens that are parts of a text, pages of a list, or amounts.
const OF_NO_TOKEN: &[&str] = &[
    "next",
    "page",
    "continuation",
    "cancellation",
    "cancel",
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "mask",
    "stop",
    "special",
    "image",
    "first",
    "last",
    "per",
    "skip",
    "resume",
    "current",
    "prev",
    "previous",
    "start",
    "end",
    "design",
    "color",
    "css",
    "theme",
    "input",
    "output",
    "completion",
    "prompt",
    "reasoning",
    "cached",
    "total",
    "max",
    "min",
    "num",
    "unexpected",
    "expected",
    "invalid",
    "lookahead",
    "syntax",
];
/// Names of secrets in a cluster, which are no secrets.
const OF_NO_SECRET: &[&str] = &["existing", "pull", "tls", "no", "open"];
/// What functions, flags and texts begin with.
const VERBS: &[&str] = &[
    "get", "set", "has", "is", "use", "show", "reset", "forgot", "change", "update", "validate", "check",
    "verify", "create", "require", "requires", "hide", "toggle", "generate", "delete", "revoke", "find",
    "parse", "with", "read", "load", "fetch", "make", "new", "confirm", "enter", "invalid", "missing",
    "wrong", "allow", "enable", "disable", "skip", "needs", "no", "can", "should",
];
/// Which of several it is; the word before says what it is.
const WHICH: &[&str] = &[
    "prod",
    "production",
    "dev",
    "development",
    "test",
    "testing",
    "live",
    "staging",
    "sandbox",
    "base",
    "base64",
    "b64",
    "plain",
    "text",
    "plaintext",
    "old",
    "current",
    "default",
    "str",
    "string",
    "raw",
    "data",
    "primary",
    "secondary",
    "local",
    "value",
    "val",
    "override",
    "backup",
    "v1",
    "v2",
    "encoded",
];
const PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "passwort",
    "contraseña",
    "mnemonic",
    "psk",
];
/// One word that is two, as programs write it.
const GLUED: &[&str] = &[
    "storepass",
    "keypass",
    "userpass",
    "dbpass",
    "rootpass",
    "requirepass",
    "masterauth",
    "sshpass",
    "mypass",
    "smtppass",
    "adminpass",
    "srcstorepass",
    "deststorepass",
];

/// What a name says: `OPENAI_API_KEY`, `dbPassword`, `x-auth-token`, `_authToken`.
pub(super) fn says(name: &str) -> Says {
    let all = words(name);
    let mut words: &[String] = &all;
    // `password_1`, `TOKEN_PROD`
    while let Some((last, before)) = words.split_last()
        && !before.is_empty()
        && (WHICH.contains(&last.as_str()) || last.bytes().all(|byte| byte.is_ascii_digit()))
    {
        words = before;
    }
    let Some((last, before)) = words.split_last() else {
        return Says::Nothing;
    };
    if all.iter().any(|word| {
        ["public", "cert", "certificate", "ca", "fingerprint", "checksum"].contains(&word.as_str())
    }) {
        return Says::Nothing;
    }
    let last = last.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let previous = before.last().map_or("", String::as_str);
    let said = of_last(&name.to_ascii_lowercase(), last, previous, before.len());
    let begins_with_verb = all.len() > 1 && all.first().is_some_and(|first| VERBS.contains(&first.as_str()));
    match said {
        Says::Secret | Says::Password if begins_with_verb => Says::Perhaps,
        said => said,
    }
}

fn of_last(whole: &str, last: &str, previous: &str, before: usize) -> Says {
    if OF_SOMETHING_ELSE.contains(&last) {
        return Says::Nothing;
    }
    // What is wrong with it, not what it is.
    if ["invalid", "missing", "wrong", "incorrect", "expired", "weak"].contains(&previous) {
        return Says::Perhaps;
    }
    if PASSWORDS.iter().any(|word| last.ends_with(word)) || GLUED.contains(&last) {
        return Says::Password;
    }
    if last.ends_with("token") {
        return if OF_NO_TOKEN.contains(&previous) {
            Says::Nothing
        } else {
            Says::Secret
        };
    }
    if last.ends_with("secret") {
        return if OF_NO_SECRET.contains(&previous) {
            Says::Nothing
        } else {
            Says::Secret
        };
    }
    let key_of_secrets = |word: &str| OF_A_KEY.contains(&word);
    let glued_key = || {
        last.strip_suffix("key")
            .is_some_and(|of| OF_A_KEY.iter().take(12).any(|word| of.ends_with(word)))
    };
    match last {
        "credential" | "credentials" => Says::Secret,
        "key" if key_of_secrets(previous) || ENDINGS.iter().any(|ending| whole.ends_with(ending)) => {
            Says::Secret
        }
        "pass" if before > 0 => Says::Password,
        "pw" => Says::Password,
        "tokens" | "keyid" | "tokenid" | "monkey" | "hotkey" | "keyboard" | "design" | "bypass"
        | "author" | "authors" => Says::Nothing,
        _ if glued_key() || whole.ends_with("token") || whole.ends_with("secret") => Says::Secret,
        _ if whole.ends_with("password") => Says::Password,
        _ => Says::Perhaps,
    }
}

/// The words of a name, in lower case: at signs between them and at humps.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let after = letters.get(at + 1);
        let hump = letter.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase())
                || (before.is_some_and(|before| before.is_uppercase())
                    && after.is_some_and(|after| after.is_lowercase())));
        if (hump || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: Says, names: &[&str]) {
        for name in names {
            assert_eq!(says(name), said, "{name}");
        }
    }

    #[test]
    fn a_name_says_what_its_last_word_does() {
        check(
            Says::Secret,
            &[
                "OPENAI_API_KEY",
                "apiKey",
                "x-api-key",
                "APIKey",
                "AccountKey",
                "_authToken",
                "client_secret",
            ],
        );
        check(
            Says::Secret,
            &[
                "TOKEN_PROD",
                "token2",
                "aws_secret_access_key",
                "SECRET_KEY_BASE",
                "credentials",
            ],
        );
        check(
            Says::Password,
            &[
                "PGPASSWORD",
                "db_password_1",
                "smtpPass",
                "spring.datasource.password",
                "storepass",
            ],
        );
        check(
            Says::Perhaps,
            &[
                "key",
                "auth",
                "KEY",
                "sessionid",
                "secrets",
                "hasSecret",
                "getPassword",
                "client-key-data",
            ],
        );
        check(
            Says::Nothing,
            &[
                "max_tokens",
                "token_type",
                "password_hash_length",
                "nextPageToken",
                "secretName",
                "monkey",
            ],
        );
    }
}

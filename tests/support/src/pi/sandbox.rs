//! A home for one Pi: nothing of the person who runs the tests, and no network but the scripted model server.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use impresario_model_server::ModelServer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::directories;
use crate::json_lines::JsonLines;
use crate::limited::{Finished, run};
use crate::pi::PiInstall;
use crate::terminal::Terminal;

/// The model of the provider `mock`, which speaks OpenAI chat completions.
pub const MOCK_MODEL: &str = "mock/mock-1";
/// The model of the provider `mocka`, which speaks Anthropic messages.
pub const MOCKA_MODEL: &str = "mocka/mocka-1";

/// A home, an agent directory, a working directory and a PATH for one Pi; removed when dropped.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
    install: PiInstall,
}

impl Sandbox {
    /// A sandbox whose providers `mock` and `mocka` are this server.
    ///
    /// # Panics
    /// The file system does not do what is asked.
    #[must_use]
    pub fn new(install: &PiInstall, server: &ModelServer) -> Self {
        let root = tempfile::Builder::new()
            .prefix("impresario-pi-")
            .tempdir()
            .expect("a temporary directory");
        let sandbox = Self {
            root,
            install: install.clone(),
        };
        for directory in [
            sandbox.home(),
            sandbox.agent_directory(),
            sandbox.work(),
            sandbox.bin(),
        ] {
            fs::create_dir(directory).expect("a directory of the sandbox");
        }
        symlink(&install.cli, sandbox.pi()).expect("Pi on the PATH of the sandbox");
        let node = if install.node.is_absolute() {
            install.node.clone()
        } else {
            found_on_path("node")
        };
        symlink(node, sandbox.bin().join("node")).expect("Node on the PATH of the sandbox");
        sandbox.write_agent_file("models.json", &models(server));
        sandbox.write_settings(json!({}));
        sandbox
    }

    /// The home.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Pi's agent directory: settings, models, sessions.
    #[must_use]
    pub fn agent_directory(&self) -> PathBuf {
        self.root.path().join("agent")
    }

    /// The directory that Pi works in.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The first directory of PATH: `pi` and `node` are in it, a test may add programs.
    #[must_use]
    pub fn bin(&self) -> PathBuf {
        self.root.path().join("bin")
    }

    /// Pi as a program, as npm puts it on PATH.
    #[must_use]
    pub fn pi(&self) -> PathBuf {
        self.bin().join("pi")
    }

    /// Writes Pi's settings: ours for tests, and these over them.
    ///
    /// # Panics
    /// The file cannot be written.
    pub fn write_settings(&self, over: Value) {
        let mut settings = json!({"defaultProvider": "mock", "defaultModel": "mock-1", "quietStartup": true,
            "enableInstallTelemetry": false});
        if let (Value::Object(settings), Value::Object(over)) = (&mut settings, over) {
            settings.extend(over);
        }
        self.write_agent_file("settings.json", &settings);
    }

    /// Writes a file below the working directory, and the directories it lies in.
    ///
    /// # Panics
    /// The file cannot be written.
    pub fn write_work_file(&self, path: &str, text: &str) {
        let path = self.work().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a directory"))
            .expect("a directory for a file");
        fs::write(path, text).expect("a file in the working directory");
    }

    /// The environment: what Pi needs and nothing of the person who runs the tests.
    ///
    /// The directories for temporary files and compiled code are shared, because a cold Pi starts markedly slower.
    ///
    /// # Panics
    /// The shared directories cannot be made.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let shared = directories::target().join("pi/shared");
        for directory in ["tmp", "compiled"] {
            fs::create_dir_all(shared.join(directory)).expect("a shared directory");
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let path = format!(
            "{}:{}",
            text(&self.bin()),
            std::env::var("PATH").unwrap_or_default()
        );
        vec![
            ("PATH", path),
            ("HOME", text(&self.home())),
            ("XDG_STATE_HOME", text(&self.home().join(".local/state"))),
            ("XDG_CONFIG_HOME", text(&self.home().join(".config"))),
            ("LANG", "C.UTF-8".to_owned()),
            ("NO_COLOR", "1".to_owned()),
            ("TMPDIR", text(&shared.join("tmp"))),
            ("NODE_COMPILE_CACHE", text(&shared.join("compiled"))),
            ("PI_CODING_AGENT_DIR", text(&self.agent_directory())),
            ("PI_OFFLINE", "1".to_owned()),
            ("PI_SKIP_VERSION_CHECK", "1".to_owned()),
            ("PI_TELEMETRY", "0".to_owned()),
        ]
    }

    /// Any program in this sandbox.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.environment())
            .current_dir(self.work());
        command
    }

    /// Pi, with these arguments.
    #[must_use]
    pub fn pi_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.install.node);
        command.arg(&self.install.cli).args(arguments);
        command
    }

    /// Runs Pi to its end, with an empty standard input.
    #[must_use]
    pub fn run_pi(&self, arguments: &[&str], within: Duration) -> Finished {
        run(&mut self.pi_command(arguments), "", within)
    }

    /// Starts Pi in rpc mode, with these further arguments.
    #[must_use]
    pub fn start_rpc(&self, arguments: &[&str]) -> JsonLines {
        JsonLines::start(self.pi_command(&["--mode", "rpc"]).args(arguments))
    }

    /// Starts Pi on a terminal, as a person would.
    #[must_use]
    pub fn start_terminal(&self, arguments: &[&str]) -> Terminal {
        Terminal::start(self.pi_command(arguments))
    }

    fn write_agent_file(&self, name: &str, value: &Value) {
        let path = self.agent_directory().join(name);
        fs::write(&path, value.to_string()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

fn models(server: &ModelServer) -> Value {
    let model = |id: &str, reasoning: bool| {
        json!({"id": id, "name": id, "reasoning": reasoning, "input": ["text"], "contextWindow": 200_000,
            "maxTokens": 16_384, "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75}})
    };
    json!({"providers": {
        "mock": {"baseUrl": format!("{}/v1", server.base_url()), "api": "openai-completions", "apiKey": "dummy-key",
            "models": [model("mock-1", false), model("mock-cheap", false), model("mock-other", false)]},
        "mocka": {"baseUrl": server.base_url(), "api": "anthropic-messages", "apiKey": "dummy-key",
            "models": [model("mocka-1", false), model("mocka-think", true)]},
    }})
}

fn found_on_path(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|directory| directory.join(program));
    places
        .find(|place| place.is_file())
        .unwrap_or_else(|| panic!("{program} is not on PATH"))
}

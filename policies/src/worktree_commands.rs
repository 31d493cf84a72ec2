//! Which commands may a sub-agent not run in a git worktree of its own?
//!
//! A worktree shares branches, stash, configuration and objects with the person's own. What would reach the person's
//! work through them is refused. This reads commands as a shell does, as far as that can be done without running them:
//! it keeps a well-meant command from doing harm, and is no wall against one that hides.

/// How deep commands within commands are read.
const DEPTH_MAX: usize = 6;

/// Why this text of a shell may not run in a worktree; none where it may.
pub fn refuse_command(text: &str) -> Option<String> {
    refuse(text, 0)
}

fn refuse(text: &str, depth: usize) -> Option<String> {
    if depth > DEPTH_MAX {
        return None;
    }
    let read = read_commands(text);
    let inner = read.inside.iter().find_map(|inside| refuse(inside, depth + 1));
    inner.or_else(|| read.commands.iter().find_map(|words| refuse_words(words, depth)))
}

/// What stands before the command that is meant.
const WRAPPERS: [&str; 24] = [
    "sudo", "env", "command", "exec", "nohup", "time", "timeout", "nice", "ionice", "xargs", "stdbuf",
    "setsid", "builtin", "then", "do", "else", "elif", "if", "while", "until", "!", "{", "doas", "busybox",
];
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "fish"];

fn refuse_words(words: &[String], depth: usize) -> Option<String> {
    let mut rest = words;
    loop {
        let (first, behind) = rest.split_first()?;
        if let Some((name, _)) = first.split_once('=').filter(|(name, _)| is_name(name)) {
            if ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE"].contains(&name) {
                return Some(format!(
                    "{name} would lead git out of this worktree. Work in it as it is."
                ));
            }
            rest = behind;
            continue;
        }
        let program = base_name(first);
        if WRAPPERS.contains(&program) {
            rest = behind;
            while let Some((option, behind)) = rest.split_first()
                && (option.starts_with('-') || option.starts_with(|letter: char| letter.is_ascii_digit()))
            {
                rest = behind;
            }
            continue;
        }
        if SHELLS.contains(&program) {
            let is_command =
                |word: &&String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
            let at = behind.iter().position(|word| is_command(&word))?;
            return refuse(behind.get(at + 1)?, depth + 1);
        }
        return match program {
            "eval" => refuse(&behind.join(" "), depth + 1),
            "git" => refuse_git(behind),
            "rm" | "mv" | "rmdir" => refuse_removal(behind),
            "find" => {
                let at = behind
                    .iter()
                    .position(|word| word == "-exec" || word == "-execdir")?;
                refuse_words(&behind[at + 1..], depth + 1)
            }
            _ => None,
        };
    }
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn refuse_removal(words: &[String]) -> Option<String> {
    let is_git = |word: &String| word.trim_end_matches('/').split('/').any(|part| part == ".git");
    words
        .iter()
        .any(is_git)
        .then(|| "`.git` ties this worktree to the person's repository. Leave it where it is.".to_string())
}

fn refuse_git(words: &[String]) -> Option<String> {
    let mut rest = words;
    let (command, arguments) = loop {
        let (first, behind) = rest.split_first()?;
        let value = behind.first().map_or("", String::as_str);
        match first.as_str() {
            "--git-dir" | "--work-tree" => return Some(elsewhere(first)),
            option if option.starts_with("--git-dir=") || option.starts_with("--work-tree=") => {
                return Some(elsewhere(option));
            }
            "-C" if value.starts_with('/') || value.starts_with("..") || value.starts_with('~') => {
                return Some(elsewhere("-C"));
            }
            "-c" if value.to_ascii_lowercase().starts_with("alias.") => {
                return Some("an alias hides which command runs. Say the command itself.".to_string());
            }
            "-C" | "-c" | "--namespace" | "--exec-path" | "--config-env" => {
                rest = behind.get(1..).unwrap_or_default();
            }
            option if option.starts_with('-') => rest = behind,
            command => break (command, behind),
        }
    };
    let has = |options: &[&str]| arguments.iter().any(|given| is_one_of(given, options));
    let first = arguments
        .iter()
        .find(|argument| !argument.starts_with('-'))
        .map(String::as_str);
    let refused = match command {
        "stash" => !matches!(first, Some("list" | "show")),
        "clean" => !has(&["-n", "--dry-run"]),
        "worktree" => first != Some("list"),
        "gc" | "prune" | "prune-packed" | "repack" | "maintenance" | "filter-branch" | "filter-repo"
        | "pack-refs" | "replace" | "update-ref" | "push" | "send-pack" => true,
        "reflog" => matches!(first, Some("expire" | "delete" | "drop")),
        "symbolic-ref" => {
            arguments.iter().filter(|given| !given.starts_with('-')).count() > 1 || has(&["-d", "--delete"])
        }
        "branch" => has(&[
            "-d", "-D", "-m", "-M", "-C", "-f", "--delete", "--move", "--force",
        ]),
        "tag" => has(&["-d", "-f", "--delete", "--force"]),
        "checkout" => has(&["-B", "--ignore-other-worktrees"]),
        "switch" => has(&["-C", "--force-create", "--ignore-other-worktrees"]),
        "remote" => !matches!(first, None | Some("show" | "get-url")),
        "fetch" | "pull" => has(&["-p", "-P", "--prune", "--prune-tags", "--force"]),
        "lfs" => first == Some("prune"),
        "submodule" => !matches!(first, None | Some("status" | "summary")),
        "config" => !reads_configuration(arguments),
        _ => false,
    };
    refused.then(|| reason(command))
}

fn elsewhere(option: &str) -> String {
    format!("git {option} would lead git out of this worktree. Work in it as it is.")
}

/// Short options may be put together: `-fd` is `-f` and `-d`.
fn is_one_of(given: &str, options: &[&str]) -> bool {
    options.iter().any(|option| match option.strip_prefix("--") {
        Some(_) => {
            given == *option
                || given
                    .strip_prefix(option)
                    .is_some_and(|rest| rest.starts_with('='))
        }
        None => {
            let letter = option.trim_start_matches('-');
            given.starts_with('-') && !given.starts_with("--") && given.contains(letter)
        }
    })
}

fn reads_configuration(arguments: &[String]) -> bool {
    let reading = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--list",
        "-l",
        "get",
        "list",
        "--get-color",
        "--get-colorbool",
    ];
    if arguments.iter().any(|given| reading.contains(&given.as_str())) {
        return true;
    }
    let writing = [
        "--unset",
        "--unset-all",
        "--add",
        "--replace-all",
        "--rename-section",
        "--remove-section",
        "-e",
        "--edit",
    ];
    let writes = arguments.iter().any(|given| writing.contains(&given.as_str()));
    !writes && arguments.iter().filter(|given| !given.starts_with('-')).count() <= 1
}

fn reason(command: &str) -> String {
    let why = match command {
        "stash" => {
            "the stash is shared by all worktrees of the repository. Leave your changes as they are, or commit them"
        }
        "clean" => "what it removes is not kept anywhere. Remove single files, or look with `git clean -n`",
        "worktree" => "this worktree and its neighbours are kept by who made them",
        "push" | "send-pack" => "what you change is handed over as a patch, which a person applies",
        "config" => {
            "the configuration is shared with the person's own files. Use `git -c name=value` for one command"
        }
        _ => "it reaches what all worktrees of the repository share",
    };
    format!("`git {command}` is not run here: {why}.")
}

/// The simple commands of a text, in words; and what is a command of its own within a word.
#[derive(Default)]
struct Commands {
    commands: Vec<Vec<String>>,
    inside: Vec<String>,
}

fn read_commands(text: &str) -> Commands {
    let letters: Vec<char> = text.chars().collect();
    let mut reader = Reader {
        letters: &letters,
        at: 0,
        found: Commands::default(),
        words: Vec::new(),
        word: None,
        skips_word: false,
        documents: Vec::new(),
    };
    reader.read();
    reader.found
}

struct Reader<'a> {
    letters: &'a [char],
    at: usize,
    found: Commands,
    words: Vec<String>,
    word: Option<String>,
    /// The next word is where a stream goes.
    skips_word: bool,
    /// The ends of texts that follow the line.
    documents: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(letter) = self.next() {
            match letter {
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(letter) => self.put(letter),
                },
                '\'' => {
                    let quoted = self.until('\'');
                    self.word.get_or_insert_default().push_str(&quoted);
                }
                '"' => self.double_quoted(),
                '`' => {
                    let inside = self.until('`');
                    self.found.inside.push(inside);
                    self.word.get_or_insert_default();
                }
                '$' if self.peek() == Some('(') => {
                    self.at += 1;
                    self.substitution();
                }
                '#' if self.word.is_none() => {
                    self.until('\n');
                    self.end_line();
                }
                '\n' => self.end_line(),
                ';' | '&' | '|' | '(' | ')' => self.end_command(),
                '<' if self.peek() == Some('<') => self.document(),
                '<' | '>' => {
                    self.end_word();
                    while matches!(self.peek(), Some('<' | '>' | '&')) {
                        self.at += 1;
                    }
                    self.skips_word = true;
                }
                letter if letter.is_whitespace() => self.end_word(),
                letter => self.put(letter),
            }
        }
        self.end_command();
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(letter)
    }

    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn put(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    /// What comes before the next `end`, which is passed.
    fn until(&mut self, end: char) -> String {
        let mut text = String::new();
        while let Some(letter) = self.next().filter(|letter| *letter != end) {
            text.push(letter);
        }
        text
    }

    fn double_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(letter) = self.next() {
            match letter {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(letter) => self.put(letter),
                },
                '`' => {
                    let inside = self.until('`');
                    self.found.inside.push(inside);
                }
                '$' if self.peek() == Some('(') => {
                    self.at += 1;
                    self.substitution();
                }
                letter => self.put(letter),
            }
        }
    }

    /// What stands between `$(` and its `)`.
    fn substitution(&mut self) {
        let begin = self.at;
        let mut open = 1_usize;
        while let Some(letter) = self.next() {
            match letter {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                break;
            }
        }
        let end = if open == 0 { self.at - 1 } else { self.at };
        self.found.inside.push(self.letters[begin..end].iter().collect());
        self.word.get_or_insert_default();
    }

    /// `<<END`: the lines that follow, up to one that says `END`, are no commands.
    fn document(&mut self) {
        self.end_word();
        self.at += 1;
        if self.peek() == Some('<') {
            self.at += 1;
            self.skips_word = true;
            return;
        }
        while matches!(self.peek(), Some('-' | ' ' | '\t')) {
            self.at += 1;
        }
        let mut end = String::new();
        while let Some(letter) = self
            .peek()
            .filter(|letter| !letter.is_whitespace() && !";|&<>()".contains(*letter))
        {
            self.at += 1;
            if !"'\"\\".contains(letter) {
                end.push(letter);
            }
        }
        self.documents.push(end);
    }

    fn end_line(&mut self) {
        self.end_command();
        for end in std::mem::take(&mut self.documents) {
            while self.at < self.letters.len() {
                if self.until('\n').trim() == end {
                    break;
                }
            }
        }
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take()
            && !std::mem::take(&mut self.skips_word)
        {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.skips_word = false;
        if !self.words.is_empty() {
            self.found.commands.push(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_the_work_of_others_is_refused_however_it_is_said() {
        for command in [
            "git stash",
            "git stash pop",
            "cd src && git stash -u",
            "git add . ; git  stash push -m 'x'",
            "(git clean -fdx)",
            "git -c user.name=x clean -fd",
            "git worktree remove --force ../other",
            "git worktree prune",
            "git gc --prune=now --aggressive",
            "git prune",
            "/usr/bin/git gc",
            "sudo -n git gc",
            "env X=1 git gc",
            "timeout 5 git gc",
            "X=1 git reflog expire --expire=now --all",
            "bash -lc 'git stash'",
            "sh -c \"cd x; git stash drop\"",
            "echo $(git stash)",
            "echo \"`git gc`\"",
            "if true; then git gc; fi",
            "ls | xargs git clean -f",
            "find . -name x -exec git clean -fd {} \\;",
            "eval git gc",
            "git branch -D main",
            "git branch -fd main",
            "git update-ref -d refs/impresario/x",
            "git push origin HEAD",
            "git config core.hooksPath hooks",
            "git -C /home/me/project commit -am x",
            "git --git-dir=/x/.git gc",
            "GIT_DIR=/x/.git git status",
            "git -c alias.s=stash s",
            "git checkout --ignore-other-worktrees main",
            "git remote prune origin",
            "rm -rf .git",
            "rm -r ./.git/",
            "mv .git elsewhere",
            "git \\\n stash",
            "cat <<END\nhello\nEND\ngit stash",
            "git submodule deinit -f x",
        ] {
            assert!(refuse_command(command).is_some(), "{command}");
        }
    }

    #[test]
    fn ordinary_work_is_let_through() {
        for command in [
            "",
            "git status",
            "git diff HEAD -- src",
            "git log --oneline | head",
            "git add -A && git commit -m 'never git stash again'",
            "git stash list",
            "git clean -n",
            "git clean -nd",
            "git worktree list",
            "git config --get user.name",
            "git config user.name",
            "git -c user.name=x commit -m y",
            "git branch topic",
            "git checkout -b topic",
            "git checkout -- src/a.rs",
            "git reset --hard",
            "git reflog",
            "git remote -v",
            "git -C sub/directory status",
            "cargo test -- git stash",
            "echo 'git stash' > notes.md",
            "echo \"git gc\"",
            "cat > notes.md <<'END'\ngit stash\nEND",
            "grep -rn 'git stash' .",
            "rm -rf target .gitignore",
            "# git stash",
            "git fetch origin",
            "git show $(git rev-parse HEAD)",
        ] {
            assert_eq!(refuse_command(command), None, "{command}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_do_instead() {
        let told = refuse_command("git stash").unwrap();
        assert!(told.contains("`git stash`") && told.contains("commit"), "{told}");
    }

    #[test]
    fn broken_text_is_read_to_its_end() {
        for text in [
            "'", "\"", "`", "$(", "$((((", "\\", "<<", "<<<", "git", "git -C", "sh -c", "eval",
        ] {
            let _ = refuse_command(text);
        }
        let deep = "$(".repeat(5_000);
        assert_eq!(refuse_command(&deep), None);
    }
}

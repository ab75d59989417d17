//! Checks rules of ARCHITECTURE.md in the sources: what folders may name, the files that may
//! contain `unsafe` and other restricted code, and the width of lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The only files that may contain `unsafe`.
const UNSAFE: &[&str] = &[
    "src/allocator.rs",
    "src/kernel/helper.rs",
    "src/kernel/state/capture.rs",
    "src/kernel/state/checkpoint.rs",
    "src/kernel/state/contents.rs",
    "src/kernel/state/shared_number.rs",
    "src/kernel/state/control.rs",
    "src/kernel/state/files.rs",
    "src/kernel/state/fork.rs",
    "src/kernel/state/huge_pages.rs",
    "src/kernel/state/sigint.rs",
    "src/kernel/state/lifeline.rs",
    "src/kernel/state/descriptors.rs",
    "src/kernel/state/process_exit.rs",
    "src/kernel/state/priority.rs",
    "src/kernel/state/robust_locks.rs",
    "src/kernel/state/symbols.rs",
    "src/kernel/state/threads.rs",
    "src/kernel/tree/spawn.rs",
    "src/options/argv.rs",
    "src/serve.rs",
];

/// Each row has a folder, the words that its code must not contain, and the reason.
const NOT_HERE: &[(&str, &[&str], &str)] = &[
    (
        "src/notebook",
        &["crate::kernel", "crate::session", "crate::store", "crate::http", "crate::serve", "crate::options"],
        "the domain depends on no other layer",
    ),
    (
        "src/notebook",
        &["tokio", "actix", "pyo3", "std::fs", "std::time", "std::net", "nix::"],
        "the domain is pure",
    ),
    (
        "src/formats",
        &[
            "crate::kernel",
            "crate::session",
            "crate::store",
            "crate::http",
            "crate::options",
            "tokio",
            "actix",
            "pyo3",
            "std::fs",
            "std::time",
            "std::net",
            "nix::",
            "uuid",
        ],
        "the formats are pure: a file is a text",
    ),
    (
        "src/kernel",
        &["crate::session", "crate::store", "crate::http", "crate::serve", "crate::options", "actix"],
        "arrows go one way",
    ),
    (
        "src/kernel/state",
        &["tokio", "std::thread", "crate::kernel::tree"],
        "a kernel process has one thread and no part of the server",
    ),
    ("src/kernel/tree", &["pyo3", "crate::kernel::state"], "the server contains no Python"),
    (
        "src/session",
        &["crate::http", "crate::serve", "crate::options", "actix", "pyo3", "rusqlite"],
        "arrows go one way",
    ),
    (
        "src/session/machine",
        &["tokio", "async ", ".await", "SystemTime", "Instant", "Uuid", "std::fs"],
        "the machine is pure",
    ),
    (
        "src/store",
        &[
            "crate::kernel",
            "crate::session",
            "crate::http",
            "crate::serve",
            "crate::options",
            "tokio",
            "actix",
        ],
        "the store depends on notebooks and blobs only",
    ),
    (
        "src/blobs",
        &[
            "crate::kernel",
            "crate::session",
            "crate::store",
            "crate::http",
            "crate::notebook",
            "tokio",
            "actix",
        ],
        "blobs depend on no other layer",
    ),
    (
        "src/remote",
        &[
            "crate::kernel",
            "crate::session",
            "crate::store",
            "crate::http",
            "crate::notebook",
            "crate::options",
            "tokio",
            "actix",
        ],
        "a store of objects knows keys and bytes only",
    ),
    (
        "src/directory",
        &["crate::kernel", "crate::session", "crate::store", "crate::http", "tokio", "actix", "std::env"],
        "files depend on no other layer",
    ),
    (
        "src/workers",
        &[
            "crate::kernel",
            "crate::session",
            "crate::node_agent",
            "crate::http",
            "crate::options",
            "tokio",
            "actix",
        ],
        "the server's end of the workers knows no sessions",
    ),
    (
        "src/node_agent",
        &["crate::kernel", "crate::http", "crate::serve", "crate::options", "actix"],
        "the agent uses sessions, like http",
    ),
    ("src/http", &["pyo3", "crate::kernel::"], "handlers depend on sessions, not on processes"),
];

/// Words that code may contain only in these places.
const ONLY_HERE: &[(&str, &[&str])] = &[
    ("std::env::var", &["src/options"]),
    ("std::env::args", &["src/options"]),
    ("std::env::current_dir", &["src/options"]),
    ("libc::fork", &["src/kernel/state/fork.rs"]),
    ("PyOS_AfterFork", &["src/kernel/state/fork.rs"]),
    ("rusqlite", &["src/store/tables"]),
    ("Kind::Unauthorized", &["src/http"]),
    ("Kind::ForeignOrigin", &["src/http"]),
    ("Kind::NoCors", &["src/http"]),
    ("Kind::CheckpointError", &["src/http"]),
    ("Kind::MethodNotAllowed", &["src/http"]),
    ("Kind::TooSlow", &["src/http"]),
    ("Kind::UnsupportedMediaType", &["src/http"]),
    ("Kind::Misdirected", &["src/http"]),
    ("Kind::TooManyFailures", &["src/http"]),
    (
        "Command::new",
        &[
            "src/kernel/tree",
            "src/kernel/provision",
            "src/kernel/interpreter.rs",
            "src/kernel/plot_javascript.rs",
            "src/kernel/ruff.rs",
            "src/mcp_stdio.rs",
            "src/terminal.rs",
            "src/workers/bridge.rs",
        ],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Returns the paths of all files with an extension below a folder, relative to the repository.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![root().join(folder)];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path.strip_prefix(root()).map(PathBuf::from).unwrap().to_string_lossy().into_owned());
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no {ending} in {folder}");
    found
}

/// Returns the code of a file, without comments and tests.
pub(crate) fn code(path: &str) -> String {
    let text = read(path);
    let begins_tests = |at: &usize| {
        let rest = text[*at..].lines().skip(1).find(|line| !line.starts_with("#["));
        rest.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    let tests = text.match_indices("\n#[cfg(test)]\n").map(|(at, _)| at + 1).find(begins_tests);
    text[..tests.unwrap_or(text.len())]
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| line.to_owned() + "\n")
        .collect()
}

pub(crate) fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

#[test]
fn folders_import_each_other_in_one_direction() {
    for (folder, words, why) in NOT_HERE {
        for file in files(folder, ".rs").into_iter().filter(|f| !is_test(f)) {
            let code = code(&file);
            for word in *words {
                assert!(!code.contains(word), "{file} names {word}, but {why}");
            }
        }
    }
}

#[test]
fn unsafe_and_restricted_code_stay_in_the_listed_files() {
    for file in files("src", ".rs").into_iter().filter(|f| !is_test(f)) {
        let code = code(&file);
        for (word, places) in ONLY_HERE {
            let is_allowed = places.iter().any(|place| file.starts_with(place));
            assert!(is_allowed || !code.contains(word), "{file} names {word}, which only {places:?} may");
        }
        assert_eq!(
            code.contains("unsafe "),
            UNSAFE.contains(&file.as_str()),
            "{file}: the files with `unsafe` must be those of the list `UNSAFE`"
        );
    }
}

#[test]
fn the_architecture_names_every_folder_word_and_dependency() {
    let text = read("ARCHITECTURE.md");
    for entry in fs::read_dir(root().join("src")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().replace(".rs", "");
        assert!(
            name == "lib" || text.contains(&format!("`{name}")),
            "ARCHITECTURE.md does not mention src/{name}"
        );
    }
    let manifest = read("Cargo.toml");
    let mut section = "";
    let mut dependencies = BTreeMap::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]")
            && let Some((name, _)) = line.split_once(" =")
        {
            dependencies.insert(name.to_owned(), section.to_owned());
        }
    }
    assert!(dependencies.len() > 10);
    for (name, section) in dependencies {
        let name = name.trim_end_matches("-build-config");
        assert!(text.contains(name), "ARCHITECTURE.md does not say why {name} ({section})");
    }
}

#[test]
fn no_file_contains_a_path_of_a_machine() {
    let folders = [
        ("src", ".rs"),
        ("src", ".py"),
        ("web", ".js"),
        ("templates", ".html"),
        ("tests", ".rs"),
        ("tests", ".py"),
        ("tests", ".mjs"),
    ];
    // The words are joined here, so that this file does not contain them.
    let paths = [["/ro", "ot/"].concat(), ["/wo", "rk/"].concat(), [".py", "env/"].concat()];
    for (folder, ending) in folders {
        for file in files(folder, ending).into_iter().filter(|f| !f.contains("/vendor/")) {
            let text = read(&file);
            for path in &paths {
                assert!(!text.contains(path), "{file} names the path {path}");
            }
        }
    }
}

/// Maximum width of a line of code, and of a comment, in columns.
const CODE_WIDTH: usize = 110;
const COMMENT_WIDTH: usize = 100;

/// Whether a formatter cannot break a line, because it has one long word, a quoted text or a
/// pattern, or is a row of a table.
fn cannot_be_broken(line: &str) -> bool {
    let words: Vec<_> =
        line.split_whitespace().filter(|word| !["//", "///", "//!", "#", "*"].contains(word)).collect();
    words.len() <= 1
        || words[0].starts_with('/') && words[0].len() > 3
        || words[0] == "|"
        || is_comment(line, ".js") && line.contains("@type {")
        || !is_comment(line, ".js") && line.contains(['"', '\'', '`'])
}

/// Whether the whole line is a comment. `*` begins the inner lines of a block comment.
fn is_comment(line: &str, ending: &str) -> bool {
    let line = line.trim_start();
    match ending {
        ".py" => line.starts_with('#'),
        ".css" => line.starts_with("/*") || line.starts_with('*'),
        _ => line.starts_with("//") || line.starts_with("/*") || line.starts_with("* "),
    }
}

#[test]
fn lines_are_not_too_long() {
    let folders = [
        ("src", ".rs"),
        ("src", ".py"),
        ("web", ".js"),
        ("web", ".css"),
        ("tests", ".rs"),
        ("tests", ".py"),
        ("tests", ".mjs"),
    ];
    let mut long = Vec::new();
    for (folder, ending) in folders {
        for file in files(folder, ending).into_iter().filter(|f| !f.contains("/vendor/")) {
            // The tests of the machine contain their expected values as long texts, which cannot be
            // broken.
            if file.starts_with("src/session/machine/tests/") {
                continue;
            }
            for (number, line) in read(&file).lines().enumerate() {
                let width = if is_comment(line, ending) { COMMENT_WIDTH } else { CODE_WIDTH };
                let columns = line.chars().count();
                if columns > width && !cannot_be_broken(line) {
                    long.push(format!("{file}:{}: {columns} columns", number + 1));
                }
            }
        }
    }
    assert!(long.is_empty(), "{} lines are too long:\n{}", long.len(), long.join("\n"));
}

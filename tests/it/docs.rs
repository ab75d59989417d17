//! Checks the documents. Every documented fact must name its test, every link must have a target,
//! and lines must not be too long.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum line length, in columns. Table rows, code blocks and lines with only one word may be
/// longer.
const WIDTH: usize = 100;

/// Documents whose entries name tests. Each has the minimum number of such entries, and the
/// headings of the sections whose entries need no tests.
const TESTED: &[(&str, usize, &[&str])] = &[
    ("docs/api.md", 65, &["Scopes", "Errors", "Guarantees", "Calls", "Differences from snapshot-kernel"]),
    ("docs/branches.md", 40, &["Words used here"]),
    (
        "docs/checkpoints.md",
        15,
        &["Words used here", "Tried by hand", "What stays missing, and why", "Neither kept nor listed"],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the paths of the documents in `docs/`.
fn documents() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    all.sort();
    assert!(all.len() > 3);
    all
}

/// Returns the lines of a document. Each comes with a flag: whether the line belongs to a code
/// block.
fn lines(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut in_code = false;
    text.lines().map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        (line, in_code || is_fence)
    })
}

/// The level and the text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.chars().take_while(|c| *c == '#').count();
    line[level..].strip_prefix(' ').filter(|_| level > 0).map(|text| (level, text))
}

/// Returns the entries of a document's lists, each as one line. Skips the sections that need no
/// tests.
fn entries(text: &str, untested: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let (mut skipped, mut is_open) = (None, false);
    for (line, _) in lines(text).filter(|(_, is_code)| !is_code) {
        if let Some((level, title)) = heading(line) {
            skipped = skipped.filter(|outer| level > *outer);
            skipped = skipped.or_else(|| untested.contains(&title).then_some(level));
        }
        if skipped.is_some() {
            continue;
        }
        assert!(!line.starts_with('|'), "a table has no place for tests, make it a list: {line}");
        if let Some(first) = line.strip_prefix("- ") {
            found.push(first.to_owned());
            is_open = true;
        } else if is_open && line.starts_with("  ") {
            found.last_mut().unwrap().push_str(&format!(" {}", line.trim()));
        } else {
            is_open = false;
        }
    }
    found
}

/// Returns the texts in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a test exists. The name is `module::test`, or `module` for all tests of a module.
fn is_test(name: &str) -> bool {
    let (module, test) = name.split_once("::").map_or((name, None), |(module, test)| (module, Some(test)));
    let text = fs::read_to_string(root().join(format!("tests/it/{module}.rs"))).unwrap_or_default();
    let Some(test) = test else { return text.contains("#[test]\n") };
    let Some((before, _)) = text.split_once(&format!("\nfn {test}()")) else { return false };
    let mut attributes = before.lines().rev().take_while(|line| line.starts_with("#["));
    attributes.any(|line| line == "#[test]")
}

#[test]
fn every_documented_fact_names_its_test() {
    for (document, least, untested) in TESTED {
        let text = read(&root().join(document));
        for title in *untested {
            assert!(text.lines().filter_map(heading).any(|(_, own)| own == *title), "{document}: {title}");
        }
        let entries = entries(&text, untested);
        assert!(entries.len() >= *least, "{document}: {} entries", entries.len());
        for entry in entries {
            let at = entry.rfind(" Test: ").or_else(|| entry.rfind(" Tests: "));
            let named = at.unwrap_or_else(|| panic!("{document} names no test for: {entry}"));
            let names: Vec<&str> = quoted(&entry[named..]).collect();
            assert!(!names.is_empty(), "{document} names no test for: {entry}");
            for name in names {
                assert!(is_test(name), "{document} names {name}, which is no test: {entry}");
            }
        }
    }
}

#[test]
fn every_test_that_a_document_names_exists() {
    for path in documents() {
        let text = read(&path);
        let is_name = |word: &&str| {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == ':';
            word.contains("::") && word.chars().all(plain)
        };
        for name in quoted(&text.replace("```", "")).filter(is_name) {
            assert!(is_test(name), "{} names {name}, which is no test", path.display());
        }
    }
}

#[test]
fn lines_of_documents_are_short() {
    for path in documents() {
        for (number, (line, is_code)) in lines(&read(&path)).enumerate() {
            let is_word = !line.trim_start().trim_start_matches("- ").contains(' ');
            let may_be_long = is_code || is_word || line.starts_with('|');
            let columns = line.chars().count();
            assert!(may_be_long || columns <= WIDTH, "{}:{}: {columns} columns", path.display(), number + 1);
        }
    }
}

/// Returns the anchor that GitHub makes from a heading.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn links_of_documents_have_targets() {
    let readme = root().join("README.md");
    for path in documents().into_iter().chain([readme]) {
        let text = read(&path);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, wanted) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{} links to {link}", path.display());
            let has = |text: &str| text.lines().filter_map(heading).any(|(_, title)| anchor(title) == wanted);
            assert!(wanted.is_empty() || has(&read(&target)), "{} links to {link}", path.display());
        }
    }
}

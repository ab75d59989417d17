//! Checks the documents. Documented facts must have tests (`tests/facts` names them), every link
//! must have a target, and lines must not be too long.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum line length, in columns. Table rows, code blocks and lines with only one word may be
/// longer.
const WIDTH: usize = 100;

/// Documents in which every entry of a list has a test, with the minimum number of such entries,
/// and the headings of the sections whose entries need none. `tests/facts` names the tests.
const TESTED: &[(&str, usize, &[&str])] = &[
    ("api", 65, &["Scopes", "Errors", "Guarantees", "Calls", "Differences from snapshot-kernel"]),
    ("branches", 40, &["Words used here"]),
    (
        "checkpoints",
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

/// A paragraph or an entry of a list, as one line without Markdown's marks.
struct Passage {
    text: String,
    is_entry: bool,
    /// Whether it stands in a section whose entries need no tests.
    needs_no_test: bool,
}

/// Returns the passages of a document. `untested` are the headings of the sections whose entries
/// need no tests.
fn passages(text: &str, untested: &[&str]) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    let (mut skipped, mut is_open) = (None, false);
    for (line, is_code) in lines(text) {
        if let Some((level, title)) = heading(line).filter(|_| !is_code) {
            skipped = skipped.filter(|outer| level > *outer);
            skipped = skipped.or_else(|| untested.contains(&title).then_some(level));
        }
        let may_be_table = skipped.is_some() || untested.is_empty();
        assert!(
            may_be_table || !line.starts_with('|'),
            "make this table a list, so it can have tests: {line}"
        );
        let plain = line.replace(['`', '*'], "");
        let begins_entry = line.starts_with("- ");
        if is_code || line.trim().is_empty() || heading(line).is_some() || line.starts_with('|') {
            is_open = false;
        } else if is_open && !begins_entry {
            let last = found.last_mut().unwrap();
            last.text.push_str(&format!(" {}", plain.trim()));
        } else {
            let text = plain.trim_start_matches("- ").trim().to_owned();
            found.push(Passage { text, is_entry: begins_entry, needs_no_test: skipped.is_some() });
            is_open = true;
        }
    }
    found
}

/// Returns the facts that a file of `tests/facts` lists: how each begins, and the names of its
/// tests.
fn facts(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().skip(2) {
        match line.strip_prefix("    ") {
            Some(test) => found.last_mut().unwrap().1.push(test),
            None => found.push((line, Vec::new())),
        }
    }
    found
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
fn documented_facts_have_tests() {
    let files = fs::read_dir(root().join("tests/facts")).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = 0;
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let tested = TESTED.iter().find(|(document, ..)| *document == name);
        let (least, untested) = tested.map_or((0, &[][..]), |(_, least, untested)| (*least, *untested));
        seen += usize::from(tested.is_some());
        let text = read(&root().join(format!("docs/{name}.md")));
        for title in untested {
            assert!(text.lines().filter_map(heading).any(|(_, own)| own == *title), "{name}: {title}");
        }
        let passages = passages(&text, untested);
        let listed = read(&file);
        let facts = facts(&listed);
        for (fact, tests) in &facts {
            let fits = passages.iter().filter(|passage| passage.text.starts_with(fact)).count();
            assert_eq!(fits, 1, "{}: {fits} passages of docs/{name}.md begin so: {fact}", file.display());
            assert!(!tests.is_empty(), "{}: no test of: {fact}", file.display());
            for test in tests {
                assert!(is_test(test), "{} names {test}, which is no test", file.display());
            }
        }
        if tested.is_none() {
            continue;
        }
        let needing = || passages.iter().filter(|passage| passage.is_entry && !passage.needs_no_test);
        assert!(needing().count() >= least, "docs/{name}.md: {} entries", needing().count());
        for Passage { text, .. } in needing() {
            let has_test = facts.iter().any(|(fact, _)| text.starts_with(fact));
            assert!(has_test, "tests/facts/{name}.txt has no test for: {text}");
        }
    }
    assert_eq!(seen, TESTED.len());
}

/// Users read the documents. Tests concern those who change Ratoon.
#[test]
fn documents_name_no_tests() {
    for path in documents() {
        let text = read(&path).replace("```", "");
        let named = text.split('`').skip(1).step_by(2).find(|word| word.contains("::") && is_test(word));
        assert_eq!(named, None, "{}: name the test in tests/facts", path.display());
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

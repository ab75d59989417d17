//! Checks that the files of `src` import each other in one direction.

use crate::tidy::{code, files, is_test};
use std::collections::{BTreeMap, BTreeSet};

/// The only files that may import each other in a circle: the life of a run, and how it stops.
const CIRCLE: [&str; 4] = [
    "session::machine::runs",
    "session::machine::runs::cancel",
    "session::machine::runs::memory_limit",
    "session::machine::runs::watch",
];

/// What a file imports. Paths begin at the crate's root.
#[derive(Debug, Default)]
struct Module {
    imports: Vec<String>,
    /// The names that it exports from other files, each with its path there.
    exports: BTreeMap<String, String>,
}

/// Returns the files of `src` by the paths of their modules.
fn modules() -> BTreeMap<String, Module> {
    let name = |file: &str| {
        let path = file.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
        path.replace('/', "::")
    };
    let sources = files("src", ".rs").into_iter().filter(|file| !is_test(file));
    let sources: BTreeMap<String, String> = sources.map(|file| (name(&file), code(&file))).collect();
    sources.iter().map(|(own, code)| (own.clone(), module(own, code, &sources))).collect()
}

fn module(own: &str, code: &str, sources: &BTreeMap<String, String>) -> Module {
    let mut module = Module::default();
    let absolute = |path: &str| absolute(own, path, sources);
    let mut rest = String::new();
    for (number, part) in code.split("use ").enumerate() {
        let before = rest.rsplit('\n').next().unwrap_or_default().trim().to_owned();
        let is_statement = before.is_empty() || before.starts_with("pub") && !before.contains(' ');
        let tree = part.split_once(';').filter(|_| number > 0 && is_statement);
        let Some((tree, after)) = tree else {
            rest.push_str(part);
            continue;
        };
        let mut paths = Vec::new();
        used_paths(tree, "", &mut paths);
        for path in paths {
            let (path, alias) =
                path.split_once(" as ").map_or((&*path, None), |(path, as_)| (path, Some(as_)));
            let Some(full) = absolute(path.trim_end_matches("::self")) else { continue };
            let exported = alias.or_else(|| full.rsplit("::").next()).unwrap_or_default().to_owned();
            if before.is_empty() {
                module.imports.push(full.clone());
            }
            module.exports.insert(exported, full);
        }
        rest.push_str(after);
    }
    // Paths in expressions and types. `pub(in …)` is no import.
    let words = rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    let is_path = |word: &&str| word.contains("::") && !rest.contains(&format!("pub(in {word})"));
    module.imports.extend(words.filter(is_path).filter_map(absolute));
    module
}

/// Collects the full paths in a `use` tree: `a::{b, c::d}` contains `a::b` and `a::c::d`.
fn used_paths(tree: &str, prefix: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((path, list)) = tree.split_once('{') else { return paths.push(format!("{prefix}{tree}")) };
    let (mut depth, mut start) = (0, 0);
    let list = list.strip_suffix('}').unwrap_or(list);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !list[start..at].trim().is_empty() {
                    used_paths(&list[start..at], &format!("{prefix}{path}"), paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The path from the crate's root; none for paths of other crates and of types.
fn absolute(own: &str, path: &str, sources: &BTreeMap<String, String>) -> Option<String> {
    if let Some(rest) = path.strip_prefix("crate::") {
        return Some(rest.to_owned());
    }
    let (mut base, mut rest) = (own, path);
    while let Some((first, others)) =
        rest.split_once("::").filter(|(first, _)| ["self", "super"].contains(first))
    {
        base = if first == "super" { base.rsplit_once("::").map_or("", |(parent, _)| parent) } else { base };
        rest = others;
    }
    let full = format!("{base}::{rest}").trim_start_matches("::").to_owned();
    let first = format!("{own}::{}", path.split("::").next().unwrap_or_default());
    (rest.len() < path.len() || sources.contains_key(&first)).then_some(full)
}

/// The module in which the item of a path is defined.
fn defined_in(path: &str, modules: &BTreeMap<String, Module>) -> Option<String> {
    let mut path = path.to_owned();
    // A name may be exported several times on its way.
    for _ in 0..8 {
        let fits = |name: &&String| path == **name || path.starts_with(&format!("{name}::"));
        let name = modules.keys().filter(fits).max_by_key(|name| name.len())?;
        let below = path[name.len()..].trim_start_matches("::").to_owned();
        let (first, others) = below.split_once("::").unwrap_or((&below, ""));
        match modules[name].exports.get(first) {
            Some(full) => path = format!("{full}::{others}").trim_end_matches("::").to_owned(),
            None => return Some(name.clone()),
        }
    }
    None
}

/// Returns the files of `src`, each with the files that it imports.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules();
    let imported = |(own, module): (&String, &Module)| {
        let targets = module.imports.iter().filter_map(|path| defined_in(path, &modules));
        (own.clone(), targets.filter(|target| target != own).collect())
    };
    modules.iter().map(imported).collect()
}

#[test]
fn files_import_each_other_in_one_direction() {
    let mut left = imports();
    for (file, imported) in [
        ("http::routes", "http::api::notebooks"),
        ("session::machine::lifecycle::begin", "session::machine::duty"),
        ("session::machine::core", "notebook::run"),
        ("store::write", "store::tables::sql_value"),
    ] {
        assert!(left[file].contains(imported), "imports are found: {file} {:?}", left[file]);
    }
    loop {
        let is_settled = |imports: &BTreeSet<String>| imports.iter().all(|import| !left.contains_key(import));
        let settled: Vec<String> =
            left.iter().filter(|(_, imports)| is_settled(imports)).map(|(name, _)| name.clone()).collect();
        if settled.is_empty() {
            break;
        }
        left.retain(|name, _| !settled.contains(name));
    }
    // What is left is a circle, or imports one.
    loop {
        let is_imported = |name: &String| left.values().any(|imports| imports.contains(name));
        let top: Vec<String> = left.keys().filter(|name| !is_imported(name)).cloned().collect();
        if top.is_empty() {
            break;
        }
        left.retain(|name, _| !top.contains(name));
    }
    left.values_mut().for_each(|imports| imports.retain(|import| !CIRCLE.contains(&import.as_str())));
    left.retain(|name, _| !CIRCLE.contains(&name.as_str()));
    assert!(left.is_empty(), "these files import each other in a circle: {left:#?}");
}

#[test]
fn only_the_table_of_routes_imports_handlers() {
    let all = imports();
    for folder in ["http::api", "http::socket"] {
        for (name, imports) in &all {
            let is_outside = !name.starts_with(folder) && *name != "http::routes";
            let handler = imports.iter().find(|import| is_outside && import.starts_with(folder));
            assert_eq!(handler, None, "only routes may import handlers, but {name} does");
        }
    }
}

//! Bundles the modules of a page into two files. The first is needed when the page loads, and the
//! second is fetched later. Also bundles the styles of a page into one file. A hundred small
//! requests would take half a second.
//!
//! The files under `web/` are plain ES modules that browsers can load directly. In a bundle, each
//! module is a function that is called once and returns the module's exports. A module comes after
//! the modules that it imports, so imports must not form a cycle. Third-party modules stay separate
//! files. Only `build.rs` uses this module, and the program's tests test it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The entry scripts of pages and of the worker of Find, as paths below `web/`.
pub(crate) const SCRIPTS: [&str; 6] =
    ["notebook.js", "home.js", "terminal-page.js", "signin.js", "strip-token.js", "find-worker.js"];
/// The script that runs before the first paint. This script is not a module.
const EARLY: &str = "early.js";
/// The styles of pages.
pub(crate) const STYLES: [&str; 6] = [
    "terminal/terminal.css",
    "style/notebook.css",
    "style/later.css",
    "home/home.css",
    "style/plain.css",
    "style/base.css",
];
/// The folder of third-party modules.
const VENDOR: &str = "vendor/";
/// The script and the style that the page puts into frames of widgets as texts.
const APART: [&str; 2] = ["widgets/in-frame.js", "widgets/in-frame.css"];

/// The bundles of an entry script.
pub(crate) struct Bundle {
    /// The entry and all modules that it imports, each once.
    pub(crate) now: String,
    /// The modules that are fetched by `import(…)`; empty if there are none. The text of this
    /// bundle imports the first bundle, `now`.
    pub(crate) later: String,
    /// The third-party modules that `now` imports, as paths below `web/`.
    pub(crate) vendored: Vec<String>,
}

/// Whether a file, a path below `web/`, is served only as part of bundles.
pub(crate) fn is_part(path: &str) -> bool {
    let is_ours = !path.starts_with(VENDOR) && !APART.contains(&path);
    is_ours && (path.ends_with(".js") || path.ends_with(".css"))
}

/// The path of the bundle that is fetched later.
pub(crate) fn later(entry: &str) -> String {
    entry.replace(".js", "-later.js")
}

/// Returns all bundles, and the early script without comments, by the path under which each is
/// served.
///
/// # Errors
/// An error that names the module, and the statement that cannot be parsed.
pub(crate) fn all(read: &dyn Fn(&str) -> Option<String>) -> Result<BTreeMap<String, String>, String> {
    let mut files = BTreeMap::new();
    for entry in SCRIPTS {
        let bundle = script(entry, read)?;
        files.insert(entry.to_owned(), bundle.now);
        if !bundle.later.is_empty() {
            files.insert(later(entry), bundle.later);
        }
    }
    let early = read(EARLY).ok_or_else(|| format!("{EARLY} is missing"))?;
    files.insert(EARLY.to_owned(), without_comments(&early));
    for path in STYLES {
        files.insert(path.to_owned(), compact(&style(path, read)?));
    }
    Ok(files)
}

/// Bundles a script with all modules that it imports.
///
/// # Errors
/// An error that names the module, and the statement that cannot be parsed.
pub(crate) fn script(entry: &str, read: &dyn Fn(&str) -> Option<String>) -> Result<Bundle, String> {
    let mut modules = Modules { read, parsed: BTreeMap::new(), order: Vec::new(), path: Vec::new() };
    modules.add(entry)?;
    let at_once = modules.order.len();
    // A fetched module may fetch further modules. All of them go into the same bundle.
    let mut seen = 0;
    while seen < modules.order.len() {
        let wanted = modules.parsed[&modules.order[seen]].fetched.clone();
        seen += 1;
        for path in wanted.iter().filter(|path| !path.starts_with(VENDOR)) {
            modules.add(path)?;
        }
    }
    let (now, rest) = modules.order.split_at(at_once);
    let vendored: BTreeSet<String> = now.iter().flat_map(|path| modules.vendored(path)).collect();
    let later_text = if rest.is_empty() {
        String::new()
    } else {
        let head = format!("import {{ {} }} from './{entry}';\n", modules.names(now).join(", "));
        head + &modules.written(rest, entry)
    };
    let now_text = compact(&modules.written(now, entry));
    Ok(Bundle { now: now_text, later: later_text, vendored: vendored.into_iter().collect() })
}

/// Inlines the styles that a style imports. Each `@import url("…") print;` must be on its own line.
///
/// # Errors
/// An error that names the missing style.
pub(crate) fn style(path: &str, read: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let text = read(path).ok_or_else(|| format!("{path} is missing"))?;
    let mut joined = String::new();
    for line in without_comments(&text).lines() {
        let Some(import) = line.strip_prefix("@import url(\"") else {
            joined += line;
            joined.push('\n');
            continue;
        };
        let (name, medium) = import.split_once("\")").ok_or_else(|| format!("{path}: {line}"))?;
        let inner = style(&resolved(path, &format!("./{name}")).unwrap_or_default(), read)?;
        let medium = medium.trim_end_matches(';').trim();
        joined += &if medium.is_empty() { inner } else { format!("@media {medium} {{\n{inner}}}\n") };
    }
    Ok(joined)
}

/// A parsed module.
struct Module {
    /// The text without import statements and without the word `export`. Line numbers are
    /// unchanged.
    source: String,
    /// Static imports: each has the path, and a destructuring pattern of the names, `{ a, b: c }`.
    imports: Vec<(String, String)>,
    /// Re-exports: each has the path, and a destructuring pattern of the names.
    reexports: Vec<(String, String)>,
    /// The names of exports that the module itself defines.
    exports: Vec<String>,
    /// The modules that this module fetches by `import(…)`, as paths below `web/`.
    fetched: Vec<String>,
}

impl Module {
    /// The names of all exports, including re-exports.
    fn export_names(&self) -> BTreeSet<&str> {
        let reexported = self.reexports.iter().flat_map(|(_, names)| pairs(names)).map(|(_, ours)| ours);
        self.exports.iter().map(String::as_str).chain(reexported).collect()
    }
}

struct Modules<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    parsed: BTreeMap<String, Module>,
    /// The paths of all modules. A module comes after the modules that it imports.
    order: Vec<String>,
    /// The modules that are being added, to find cycles. Each is imported by the module before it.
    path: Vec<String>,
}

impl Modules<'_> {
    fn add(&mut self, path: &str) -> Result<(), String> {
        if self.path.iter().any(|open| open == path) {
            return Err(format!("modules import each other: {} {path}", self.path.join(" ")));
        }
        if self.parsed.contains_key(path) {
            return Ok(());
        }
        let text = (self.read)(path).ok_or_else(|| format!("{path} is missing"))?;
        let module = parse(path, &text)?;
        self.path.push(path.to_owned());
        for (from, _) in module.imports.iter().chain(&module.reexports) {
            if !from.starts_with(VENDOR) {
                self.add(from)?;
            }
        }
        self.path.pop();
        for (from, names) in module.imports.iter().chain(&module.reexports) {
            let Some(exported) = self.parsed.get(from).map(Module::export_names) else { continue };
            for (theirs, _) in pairs(names) {
                if !exported.contains(theirs) {
                    return Err(format!("{path} imports {theirs}, which {from} does not export"));
                }
            }
        }
        self.parsed.insert(path.to_owned(), module);
        self.order.push(path.to_owned());
        Ok(())
    }

    fn vendored(&self, path: &str) -> Vec<String> {
        let module = &self.parsed[path];
        let from = module.imports.iter().chain(&module.reexports).map(|(from, _)| from);
        from.filter(|from| from.starts_with(VENDOR)).cloned().collect()
    }

    fn names(&self, paths: &[String]) -> Vec<String> {
        paths.iter().map(|path| self.name(path)).collect()
    }

    /// Returns the name of the variable that holds a module's exports.
    fn name(&self, path: &str) -> String {
        match self.order.iter().position(|known| known == path) {
            Some(at) => format!("$${at}"),
            None => format!("$${}", path.replace(|c: char| !c.is_ascii_alphanumeric(), "_")),
        }
    }

    fn written(&self, paths: &[String], entry: &str) -> String {
        let vendored: BTreeSet<String> = paths.iter().flat_map(|path| self.vendored(path)).collect();
        let mut text = String::new();
        for path in vendored {
            let _ = writeln!(text, "import * as {} from './{path}';", self.name(&path));
        }
        for path in paths {
            let module = &self.parsed[path];
            let _ = write!(text, "const {} = (() => {{ ", self.name(path));
            for (from, names) in &module.imports {
                let _ = write!(text, "const {names} = {}; ", self.name(from));
            }
            let _ = writeln!(text, "// {path}");
            text += &self.with_bundle_paths(path, &module.source, entry);
            let mut exports = module.exports.clone();
            for (from, names) in &module.reexports {
                let of = self.name(from);
                exports
                    .extend(pairs(names).into_iter().map(|(theirs, ours)| format!("{ours}: {of}.{theirs}")));
            }
            let _ = writeln!(text, "return {{ {} }};\n}})();", exports.join(", "));
        }
        let _ = writeln!(text, "export {{ {} }};", self.names(paths).join(", "));
        text
    }

    /// Changes the paths in a module's imports and fetches. They were relative to the module, and
    /// become relative to the bundle.
    fn with_bundle_paths(&self, path: &str, source: &str, entry: &str) -> String {
        let mut text = source.replace("import.meta.url", &format!("new URL('./{path}', import.meta.url)"));
        for fetched in fetches(source) {
            let Some(target) = resolved(path, &fetched) else { continue };
            let becomes = if target.starts_with(VENDOR) {
                format!("import('./{target}')")
            } else {
                format!("import('./{}').then((all) => all.{})", later(entry), self.name(&target))
            };
            text = text.replace(&format!("import('{fetched}')"), &becomes);
        }
        text
    }
}

fn parse(path: &str, text: &str) -> Result<Module, String> {
    let unknown = |line: &str| format!("{path}: this form of import or export is not understood: {line}");
    let mut module = Module {
        source: String::new(),
        imports: vec![],
        reexports: vec![],
        exports: vec![],
        fetched: vec![],
    };
    let mut statement = String::new();
    for line in without_comments(text).lines() {
        let begins = line.starts_with("import ") || line.starts_with("export {");
        if begins || !statement.is_empty() {
            statement.push_str(line);
            if line.ends_with(';') {
                let (names, from) = taken(&statement).ok_or_else(|| unknown(&statement))?;
                let from = from.map(|name| resolved(path, name).ok_or_else(|| unknown(&statement)));
                match from.transpose()? {
                    Some(from) if statement.starts_with("import ") => {
                        module.imports.push((from, names));
                    }
                    Some(from) => {
                        module.reexports.push((from, names));
                    }
                    None => return Err(unknown(&statement)),
                }
                statement.clear();
            }
        } else if let Some(declared) = line.strip_prefix("export ") {
            let words = declared.strip_prefix("async ").unwrap_or(declared);
            let (kind, rest) = words.split_once(' ').ok_or_else(|| unknown(line))?;
            let name: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || "_$".contains(*c)).collect();
            if !["const", "class", "function"].contains(&kind) || name.is_empty() {
                return Err(unknown(line));
            }
            module.exports.push(name);
            module.source += declared;
        } else {
            module.source += line;
        }
        module.source.push('\n');
    }
    module.fetched = fetches(&module.source).iter().filter_map(|name| resolved(path, name)).collect();
    Ok(module)
}

/// Returns the names in an import or export statement, as a destructuring pattern, and the path of
/// the other module.
fn taken(statement: &str) -> Option<(String, Option<&str>)> {
    let from =
        statement.rsplit_once('\'').and_then(|(before, _)| before.rsplit_once('\'')).map(|(_, name)| name);
    if statement.starts_with("import '") {
        return Some(("{}".to_owned(), from));
    }
    if let Some((name, _)) = statement.strip_prefix("import * as ").and_then(|rest| rest.split_once(' ')) {
        return Some((name.to_owned(), from));
    }
    let (names, _) = statement.split_once('{')?.1.split_once('}')?;
    Some((format!("{{ {} }}", names.trim().trim_end_matches(',').replace(" as ", ": ")), from))
}

/// The names in a destructuring pattern, as pairs: the name in the other module, and the name in
/// this module. Empty for `* as name`.
fn pairs(pattern: &str) -> Vec<(&str, &str)> {
    let Some(inner) = pattern.strip_prefix('{') else { return Vec::new() };
    let names =
        inner.trim_matches(['}', ' ', '\n']).split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| name.split_once(": ").unwrap_or((name, name))).collect()
}

/// The paths in all `import('…')` of a text.
fn fetches(text: &str) -> Vec<String> {
    text.split("import('").skip(1).filter_map(|rest| Some(rest.split_once("')")?.0.to_owned())).collect()
}

/// Resolves a relative path in a file to a path below `web/`.
fn resolved(from: &str, name: &str) -> Option<String> {
    let mut folders: Vec<&str> = from.split('/').collect();
    folders.pop();
    for part in name.split('/') {
        match part {
            "." => (),
            ".." => drop(folders.pop()?),
            _ => folders.push(part),
        }
    }
    name.starts_with('.').then(|| folders.join("/"))
}

/// Removes comments, which are a quarter of our scripts and styles. Works line by line, which is
/// enough for the style of our files. A browser test compares the result with the files.
pub(crate) fn without_comments(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut is_inside = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if is_inside {
            is_inside = !trimmed.contains("*/");
        } else if trimmed.starts_with("/*") && !trimmed.contains("*/") {
            is_inside = true;
        } else if !trimmed.starts_with("//") {
            left.push_str(without_asides(line).trim_end());
        }
        left.push('\n');
    }
    left
}

/// Removes indentation and empty lines, a sixth of a bundle. In what is loaded at once, all texts
/// of more than one line are HTML; a browser test fails if that changes.
fn compact(text: &str) -> String {
    text.lines().map(str::trim_start).filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
}

/// Removes the comments that begin and end on the same line.
fn without_asides(line: &str) -> String {
    let mut left = String::new();
    let mut rest = line;
    while let Some(at) = [rest.find("/** "), rest.find("/* ")].into_iter().flatten().min() {
        let Some((_, after)) = rest[at..].split_once("*/") else { break };
        left.push_str(&rest[..at]);
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    left + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(files: &[(&str, &str)]) -> Result<Bundle, String> {
        let read =
            |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        script("a.js", &read)
    }

    #[test]
    fn modules_stand_below_what_they_import_and_what_is_fetched_later_stands_apart() {
        let bundle = joined(&[
            (
                "a.js",
                "import {\n    b, c as d,\n} from './view/b.js';\nimport './e.js';\nexport const x = b;\n\
                 const y = () => import('./view/l.js');\nconst z = () => import('./vendor/z.js');\n",
            ),
            (
                "view/b.js",
                "// @ts-check\nimport { h } from '../vendor/h.js';\nexport { b } from './c.js';\n\
                 /** @type {import('../t.js').T} */\nexport function c() {\n    return import.meta.url;\n}\n",
            ),
            ("view/c.js", "export class b {}\n"),
            (
                "view/l.js",
                "import { x } from '../a.js';\nimport * as all from './c.js';\nexport async function l() {}\n",
            ),
            ("e.js", "let e;\n"),
        ]);
        let bundle = bundle.unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(
            bundle.now,
            "import * as $$vendor_h_js from './vendor/h.js';\n\
             const $$0 = (() => { // view/c.js\nclass b {}\nreturn { b };\n})();\n\
             const $$1 = (() => { const { h } = $$vendor_h_js; // view/b.js\n\
             function c() {\nreturn new URL('./view/b.js', import.meta.url);\n}\nreturn { c, b: $$0.b };\n})();\n\
             const $$2 = (() => { // e.js\nlet e;\nreturn {  };\n})();\n\
             const $$3 = (() => { const { b, c: d } = $$1; const {} = $$2; // a.js\nconst x = b;\n\
             const y = () => import('./a-later.js').then((all) => all.$$4);\nconst z = () => import('./vendor/z.js');\n\
             return { x };\n})();\nexport { $$0, $$1, $$2, $$3 };\n"
        );
        assert_eq!(
            bundle.later,
            "import { $$0, $$1, $$2, $$3 } from './a.js';\n\
             const $$4 = (() => { const { x } = $$3; const all = $$0; \
             // view/l.js\n\n\nasync function l() {}\n\
             return { l };\n})();\nexport { $$4 };\n"
        );
        assert_eq!(bundle.vendored, ["vendor/h.js"]);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (files, why) in [
            (&[][..], "a.js is missing"),
            (&[("a.js", "import './b.js';\n")], "b.js is missing"),
            (
                &[("a.js", "import { b } from './b.js';\n"), ("b.js", "import './a.js';\n")],
                "import each other: a.js b.js a.js",
            ),
            (
                &[("a.js", "import { b } from './b.js';\n"), ("b.js", "")],
                "a.js imports b, which b.js does not export",
            ),
            (&[("a.js", "export default 1;\n")], "not understood: export default 1;"),
            (&[("a.js", "export let a = 1;\n")], "not understood: export let a = 1;"),
            (&[("a.js", "import b from './b.js';\n")], "not understood: import b from './b.js';"),
            (&[("a.js", "import { b } from 'b';\n")], "not understood: import { b } from 'b';"),
        ] {
            let said = joined(files).err().unwrap_or_default();
            assert!(said.contains(why), "{said:?} for {why:?}");
        }
    }

    #[test]
    fn styles_hold_those_that_they_import() {
        let read = |path: &str| {
            let text = match path {
                "style/a.css" => "/* All */\n@import url(\"b.css\");\n@import url(\"c.css\") print;\na {}\n",
                "style/b.css" => "b {}\n",
                "style/c.css" => "c {}\n",
                _ => return None,
            };
            Some(text.to_owned())
        };
        assert_eq!(style("style/a.css", &read), Ok("\nb {}\n@media print {\nc {}\n}\na {}\n".to_owned()));
        assert_eq!(style("style/d.css", &read), Err("style/d.css is missing".to_owned()));
    }
    #[test]
    fn what_a_page_begins_with_is_joined() {
        let read = |path: &str| std::fs::read_to_string(format!("web/{path}")).ok();
        let files = all(&read).expect("every form of import and export is understood");
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "early.js",
                "find-worker.js",
                "home.js",
                "home/home.css",
                "notebook-later.js",
                "notebook.js",
                "signin.js",
                "strip-token.js",
                "style/base.css",
                "style/later.css",
                "style/notebook.css",
                "style/plain.css",
                "terminal-page.js",
                "terminal/terminal.css",
            ]
        );
        assert!(files["notebook.js"].contains("// cell/cell.js\n"));
        assert!(files["notebook-later.js"].contains("// commands/palette.js\n"));
        assert!(!files["style/notebook.css"].contains("@import"));
        assert!(files.keys().all(|path| is_part(path)) && is_part("cell/cell.js"));
        assert!(!is_part("widgets/in-frame.js") && !is_part("vendor/preact.js"));
    }
}

//! Which modules a page needs at once: those that its entry imports, and what these import. The browser is told so in the
//! page's head, and fetches all together rather than one level after the other. What is fetched later by `import(…)` is
//! not among them.

use super::assets::text_of;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The modules of the notebook's page but the entry itself, as paths below `web/`.
pub(super) static OF_NOTEBOOK: LazyLock<Vec<String>> = LazyLock::new(|| needed_by("notebook.js", text_of));

/// All modules that one needs before it runs, without itself, in the order of their paths.
fn needed_by(entry: &str, text: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut found = BTreeSet::from([entry.to_owned()]);
    let mut open = vec![entry.to_owned()];
    while let Some(path) = open.pop() {
        for name in imports(&text(&path).unwrap_or_default()) {
            if let Some(path) = resolved(&path, &name)
                && found.insert(path.clone())
            {
                open.push(path);
            }
        }
    }
    found.remove(entry);
    found.into_iter().collect()
}

/// The names in a module's `import … from '…';`, which stand at the beginning of a line. Vendored bundles have none.
fn imports(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut statement = String::new();
    for line in text.lines() {
        if statement.is_empty() && !line.starts_with("import ") && !line.starts_with("export * from ") {
            continue;
        }
        statement.push_str(line);
        if line.trim_end().ends_with(';') {
            let name = statement.rsplit_once("from ").unwrap_or(("", &statement[6..])).1;
            names.extend(name.split('\'').nth(1).map(str::to_owned));
            statement.clear();
        }
    }
    names
}

/// The path below `web/` that a relative name means in a module.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_at_once_is_found_and_nothing_else() {
        let text = |path: &str| {
            let text = match path {
                "a.js" => "import { b } from './view/b.js';\nimport './e.js';\nconst x = import('./later.js');\n",
                "view/b.js" => {
                    "// import { no } from './comment.js';\nimport {\n    c, d,\n} from '../c.js';\n\
                     import { A } from '../a.js';\nexport * from './d.js';\n"
                }
                _ => "/** @type {import('./types.js').T} */ let y;",
            };
            Some(text.to_owned())
        };
        assert_eq!(needed_by("a.js", text), ["c.js", "e.js", "view/b.js", "view/d.js"]);
    }

    #[test]
    fn every_module_of_the_page_that_is_named_is_there() {
        assert!(OF_NOTEBOOK.len() > 30);
        assert!(OF_NOTEBOOK.contains(&"vendor/codemirror.js".to_owned()));
        assert!(!OF_NOTEBOOK.contains(&"vendor/markdown.js".to_owned()), "it is fetched with the first text");
        for path in OF_NOTEBOOK.iter() {
            assert!(text_of(path).is_some(), "{path}");
        }
    }
}

//! Writes all branches of a notebook as one page. The file has each cell once. Cells that are not
//! on the shown line are in templates, in which nothing loads or runs, until the page's script
//! (`web/export/`) takes them out. Without scripts, the page shows the line that it begins with.

use super::formulas::{Typesetter, with_typesetter};
use super::html::{HEAR, STYLE, begin, write_cell};
use super::text::escaped;
use super::tree::{NodeKind, Tree};
use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;

/// The style of the graph, the tabs and the comparison.
const TREE_STYLE: &str =
    concat!(include_str!("../../web/graph/branch-names.css"), include_str!("html/tree.css"));
/// The bundle of `web/export/export.js`.
const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/export.js"));

/// Writes the page of a tree.
pub(super) fn write(tree: &Tree) -> String {
    with_typesetter(|typesetter| page(tree, typesetter))
}

fn page(tree: &Tree, typesetter: &Typesetter) -> String {
    let title = escaped(&tree.document.name);
    let mut page = begin(&title, &[STYLE, TREE_STYLE].concat());
    page.push_str("<body class=\"tree\">\n<nav></nav>\n<main>\n");
    let _ = writeln!(page, "<h1 class=\"name\">{title}</h1>");
    let line: HashSet<usize> = std::iter::successors(Some(tree.here), |at| tree.nodes[*at].parent).collect();
    for at in 0..tree.nodes.len() {
        let tag = if line.contains(&at) { "div" } else { "template" };
        write_node(&mut page, tree, at, tag, typesetter);
    }
    let _ = write!(
        page,
        "</main>\n<script>{HEAR}</script>\n<script type=\"module\">{SCRIPT}</script>\n</body>\n</html>\n"
    );
    page
}

/// Writes a node. `tag`: the element that contains its cells.
fn write_node(page: &mut String, tree: &Tree, at: usize, tag: &str, typesetter: &Typesetter) {
    let (node, document) = (&tree.nodes[at], &tree.document);
    let write_cells = |page: &mut String, cells: &Range<usize>| {
        for cell in &document.cells[cells.clone()] {
            write_cell(page, cell, &document.pictures, typesetter);
        }
    };
    let _ = write!(page, "<{tag} class=\"node\" data-id=\"{}\"", escaped(&node.id));
    if let Some(parent) = node.parent {
        let _ = write!(page, " data-parent=\"{parent}\"");
    }
    if let Some(label) = &node.label {
        let _ = write!(page, " data-label=\"{}\"", escaped(label));
    }
    match node.kind {
        NodeKind::State => (),
        NodeKind::Attempt => page.push_str(" data-attempt"),
        NodeKind::Deleted => page.push_str(" data-deleted"),
    }
    if at == tree.here {
        page.push_str(" data-here");
    }
    page.push_str(">\n");
    write_cells(page, &node.cells);
    if !node.drafts.is_empty() {
        page.push_str("<div class=\"drafts\">\n");
        write_cells(page, &node.drafts);
        page.push_str("</div>\n");
    }
    let _ = writeln!(page, "</{tag}>");
}

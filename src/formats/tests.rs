//! Tests of export and import, including the import of malformed files.

use super::document::{MAX_CELL_BYTES, MAX_CELLS};
use super::lineage::{imported, with_ids};
use super::script;
use super::*;
use crate::formats::document::is_id;
use crate::notebook::Base;
use crate::notebook::Draft;
use crate::notebook::DraftId;
use crate::notebook::ExecId;
use crate::notebook::MimeBundle;
use crate::notebook::Output;
use crate::notebook::RunStatus;
use crate::notebook::StateId;
use crate::notebook::{Cause, Notebook, RunError, State, StreamName};
use crate::problem::Kind;
use serde_json::{Value, json};
use std::collections::HashSet;

fn cell(kind: DraftKind, source: &str) -> Cell {
    Cell::new(kind, source)
}

fn document(cells: Vec<Cell>) -> Document {
    let mut cells = cells;
    with_ids(&mut cells);
    Document { name: "n".into(), cells, left_out: Vec::new(), file: None, pictures: Pictures::new() }
}

fn bundle(mime: &str, value: Value) -> MimeBundle {
    MimeBundle::from_iter([(mime.to_owned(), value)])
}

fn all_kinds() -> Document {
    let error = RunError {
        ename: "E".into(),
        evalue: "v".into(),
        traceback: vec!["\u{1b}[31ma\u{1b}[0m".into(), "b".into()],
        cause: None,
    };
    let outputs = vec![
        Output::stream(StreamName::Stdout, "one\ntwo\r\n\n"),
        Output::stream(StreamName::Stderr, "three"),
        Output::DisplayData {
            data: bundle("image/png", "aGk=".into()),
            metadata: bundle("image/png", json!({"width": 3})),
            display_id: None,
        },
        Output::DisplayData {
            data: bundle("application/json", json!([1, {"a": null}])),
            metadata: MimeBundle::new(),
            display_id: None,
        },
        Output::DisplayData {
            data: bundle("application/vnd.x.v1+json", json!("text")),
            metadata: MimeBundle::new(),
            display_id: None,
        },
        Output::ExecuteResult {
            data: bundle("text/html", "<b>\n</b>".into()),
            metadata: MimeBundle::new(),
            execution_count: 7,
        },
        Output::Error(error),
    ];
    document(vec![
        cell(DraftKind::Markdown, "# Title\n\ntext"),
        Cell { outputs, exec_count: Some(7), ..cell(DraftKind::Code, "x = 1\nx\n") },
        Cell { exec_count: Some(2), ..cell(DraftKind::Code, "") },
        cell(DraftKind::Code, "never ran"),
    ])
}

fn ids() -> impl FnMut() -> String {
    let mut last = 0;
    move || {
        last += 1;
        format!("new-{last}")
    }
}

fn there_and_back(document: &Document) -> Document {
    let read = Document::read(document.write(Format::Ipynb).as_bytes(), Format::Ipynb).unwrap();
    let cells = read.cells.into_iter().map(|cell| Cell { imported_cell: None, ..cell }).collect();
    Document { name: "n".into(), cells, file: None, ..read }
}

#[test]
fn an_ipynb_comes_back_as_it_was() {
    assert_eq!(there_and_back(&all_kinds()), all_kinds());
}

#[test]
fn a_notebook_of_a_file_gives_the_same_file() {
    let notebook = all_kinds().into_notebook("n", 1.0, &mut ids());
    let root = StateId::root();
    assert_eq!(Document::of(&notebook, &root), all_kinds());
    let imported: Vec<_> = notebook.runs().map(|r| (r.status, r.state.clone(), r.exec_count)).collect();
    assert_eq!(imported, [(RunStatus::Imported, None, Some(7)), (RunStatus::Imported, None, Some(2))]);
    assert!(notebook.runs().all(|run| run.status.has_ended()));
}

#[test]
fn a_line_is_what_the_page_shows_of_it_its_prose_its_cells_and_its_drafts() {
    let mut notebook = Notebook::new("n", 0.0);
    for (id, parent) in [("a", "initial"), ("b", "a"), ("other", "a")] {
        let exec = ExecId::new(format!("run {id}"));
        let mut run = imported(exec.clone(), DraftId::new(format!("draft {id}")), &format!("code of {id}"));
        (run.status, run.state) = (RunStatus::Ok, Some(StateId::new(id)));
        run.outputs.push(Output::stream(StreamName::Stdout, id));
        notebook.add_run(run);
        let mut state = State::new(StateId::new(id), Some(StateId::new(parent)), Some(exec), 0.0);
        (state.exec_count, state.prose) = (if id == "a" { 1 } else { 2 }, vec![format!("# {id}")]);
        notebook.add_state(state);
    }
    let drafts = [
        ("title", "initial", Some("a"), DraftKind::Markdown),
        ("d1", "b", None, DraftKind::Markdown),
        ("d2", "b", None, DraftKind::Code),
        ("d3", "b", None, DraftKind::Code),
        ("text", "a", Some("b"), DraftKind::Markdown),
        ("empty", "a", Some("b"), DraftKind::Code),
        ("failed", "a", Some("b"), DraftKind::Code),
        ("elsewhere", "a", Some("other"), DraftKind::Code),
        ("waits", "a", None, DraftKind::Code),
    ];
    for (id, on, before, kind) in drafts {
        let source = if id == "empty" { " ".to_owned() } else { format!("draft {id}") };
        let (id, on, before) = (DraftId::new(id), StateId::new(on), before.map(StateId::new));
        notebook.append_draft(Draft {
            id,
            on,
            before,
            kind,
            source,
            version: 1,
            received: Vec::new(),
            imported_cell: None,
            stale_run: None,
            instead_of: None,
        });
    }
    for (draft, on) in [("d2", "b"), ("failed", "a")] {
        let mut failed = imported(ExecId::new(format!("run {draft}")), DraftId::new(draft), "");
        failed.on = Base::State(StateId::new(on));
        (failed.status, failed.error) = (RunStatus::Error, Some(RunError::raised("ValueError", "no")));
        failed.outputs.push(Output::stream(StreamName::Stdout, "before"));
        notebook.add_run(failed);
    }
    let mut never_began = imported(ExecId::new("aborted"), DraftId::new("d3"), "");
    never_began.on = Base::Run(ExecId::new("run d2"));
    (never_began.status, never_began.error) =
        (RunStatus::Interrupted, Some(RunError::of(Cause::RunAborted, "the run before it left no state")));
    notebook.add_run(never_began);
    let line = Document::of(&notebook, &StateId::new("b"));
    let shown: Vec<_> =
        line.cells.iter().map(|c| (c.source.as_str(), c.exec_count, c.outputs.len())).collect();
    assert_eq!(
        shown,
        [
            ("draft title", None, 0),
            ("# a", None, 0),
            ("code of a", Some(1), 1),
            ("draft text", None, 0),
            ("draft failed", None, 2),
            ("# b", None, 0),
            ("code of b", Some(2), 1),
            ("draft d1", None, 0),
            ("draft d2", None, 2),
            ("draft d3", None, 0),
        ]
    );
    let ids: HashSet<_> = line.cells.iter().map(|c| c.id.as_str()).collect();
    assert!(ids.len() == 10 && ids.iter().all(|id| is_id(id)), "{ids:?}");
}

fn read(file: Value) -> Result<Document, Problem> {
    Document::read(file.to_string().as_bytes(), Format::Ipynb)
}

fn v4(cells: Value) -> Value {
    json!({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells})
}

#[test]
fn sources_are_texts_or_lists_and_ids_may_be_missing_or_twice() {
    let cells = json!([
        {"cell_type": "code", "id": "same", "source": ["a\n", "b"], "outputs": [],
         "execution_count": null, "metadata": {}},
        {"cell_type": "code", "id": "same", "source": "c", "metadata": {"collapsed": true}},
        {"cell_type": "raw", "source": "<x>```y", "metadata": {}},
    ]);
    let document = read(v4(cells)).unwrap();
    let sources: Vec<_> = document.cells.iter().map(|c| c.source.as_str()).collect();
    assert_eq!(sources, ["a\nb", "c", "<x>```y"]);
    let notebook = document.into_notebook("n", 0.0, &mut ids());
    let drafts: Vec<_> = notebook.drafts().map(|d| d.id.as_str().to_owned()).collect();
    assert_eq!(drafts, ["same", "new-1", "new-2"]);
}

#[test]
fn a_raw_cell_is_kept_in_each_format() {
    let source = "\n\\section{<b>}\n```";
    let document = document(vec![cell(DraftKind::Raw, source), cell(DraftKind::Code, "1")]);
    let file: Value = serde_json::from_str(&document.write(Format::Ipynb)).unwrap();
    assert_eq!(
        file["cells"][0],
        json!({"cell_type": "raw", "id": "cell-1", "metadata": {},
               "source": ["\n", "\\section{<b>}\n", "```"]})
    );
    let program = document.write(Format::Script);
    assert_eq!(program, "# %% [raw]\n#\n# \\section{<b>}\n# ```\n\n# %%\n1\n");
    let page = document.write(Format::Html);
    assert!(page.contains("<pre class=\"raw\" tabindex=\"0\">\n\n\\section{&lt;b&gt;}\n```</pre>"), "{page}");
    // Of nbformat 3, and of a program.
    let old = json!({"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "raw", "source": source}]}]});
    assert_eq!(read(old).unwrap().cells, [cell(DraftKind::Raw, source)]);
    let back = Document::read(program.as_bytes(), Format::Script).unwrap();
    assert_eq!(back.cells[0], cell(DraftKind::Raw, source));
}

#[test]
fn an_imported_raw_cell_keeps_its_metadata_while_it_is_edited_and_converted() {
    let raw = r#"{"cell_type": "raw", "metadata": {"raw_mimetype": "text/html"}, "source": "<hr>"}"#;
    let text = r#"{"cell_type": "markdown", "metadata": {}, "source": "a"}"#;
    let file =
        format!(r#"{{"cells": [{raw}, {text}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 4}}"#);
    let now = rewritten(&file, |notebook| edit(notebook, 0, "<br>"));
    assert_eq!(now, file.replace("<hr>", "<br>"));
    let to = |kind| {
        rewritten(&file, |notebook| {
            let draft = notebook.drafts().next().cloned().unwrap();
            notebook.change_draft(&Draft { kind, ..draft });
        })
    };
    assert_eq!(to(DraftKind::Markdown), file.replacen("\"raw\"", "\"markdown\"", 1));
    let code: Value = serde_json::from_str(&to(DraftKind::Code)).unwrap();
    assert_eq!(code["cells"][0]["metadata"], json!({"raw_mimetype": "text/html"}));
    assert_eq!(code["cells"][0]["outputs"], json!([]));
    // A text that becomes raw.
    let now = rewritten(&file, |notebook| {
        let draft = notebook.drafts().nth(1).cloned().unwrap();
        notebook.change_draft(&Draft { kind: DraftKind::Raw, ..draft });
    });
    assert_eq!(now, file.replace("\"markdown\"", "\"raw\""));
}

#[test]
fn small_pictures_of_a_text_come_into_it_and_large_ones_are_attached() {
    let small = json!({
        "a b.png": {"image/png": ["aGVs\n", "bG8="]},
        "big.png": {"image/png": "A".repeat(600_000)},
        "x.svg": {"image/svg+xml": "<svg/>"},
    });
    let source = "![one](attachment:a%20b.png) ![two](attachment:big.png) ![two](attachment:big.png)";
    let document =
        read(v4(json!([{"cell_type": "markdown", "source": source, "attachments": small, "metadata": {}}])))
            .unwrap();
    let rest = source.strip_prefix("![one](attachment:a%20b.png)").unwrap();
    assert_eq!(document.cells[0].source, format!("![one](data:image/png;base64,aGVsbG8=){rest}"));
    assert_eq!(document.left_out, [""; 0]);
    let attached = document.clone().take_attachments();
    assert_eq!(attached, [("big.png".to_owned(), vec![0; 450_000])]);
    // One name for two pictures, a name that is no file's, and a reference to nothing.
    let cell = |data: &str, name: &str| {
        let attachments = json!({name: {"image/png": data.repeat(100_000)}});
        let source = format!("![]({}{name})", "attachment:");
        json!({"cell_type": "markdown", "source": source, "attachments": attachments, "metadata": {}})
    };
    let cells = json!([
        cell("AAAA", "p.png"),
        cell("AAAA", "p.png"),
        cell("BBBB", "p.png"),
        cell("AAAA", "../p.png")
    ]);
    let document = read(v4(cells)).unwrap();
    let left_out = ["cell 3: a picture that is too large", "cell 4: a picture that is too large"];
    assert_eq!((document.pictures.len(), &document.left_out[..]), (1, &left_out.map(str::to_owned)[..]));
}

fn png(base64: &str) -> Picture {
    Picture { mime: "image/png", base64: base64.into() }
}

#[test]
fn the_pictures_of_a_text_are_found_and_only_paths_below_the_directory_are_local() {
    let text = "![a](fig.png \"t\") ![b](<my fig.png>) [![c](x/c.png)](y) ![r]\n\n[r]: ref.png\n\n\
                <img alt=src width=3 src='h.png'> `![no](code.png)`\n\n<p><IMG SRC = \"i.png\"></p>\n";
    let mut found = picture_addresses(text);
    found.sort();
    assert_eq!(found, ["fig.png", "h.png", "i.png", "my fig.png", "ref.png", "x/c.png"]);
    for (address, path) in [
        ("fig.png", Some("fig.png")),
        ("./a//b%20c.png?x#y", Some("a/b c.png")),
        ("a/../b.png", Some("b.png")),
        ("../b.png", None),
        ("a/../../b.png", None),
        ("%2e%2e/b.png", None),
        ("/etc/x.png", None),
        ("//host/x.png", None),
        ("https://host/x.png", None),
        ("data:image/png;base64,x", None),
        ("attachment:x.png", None),
        ("a\\b.png", None),
        ("%ff.png", None),
        ("", None),
        ("?x", None),
        ("..", None),
    ] {
        assert_eq!(local_path(address).as_deref(), path, "{address}");
    }
}

#[test]
fn attached_pictures_are_in_the_file_and_in_the_page() {
    let text =
        Cell::new(DraftKind::Markdown, "![a](attachment:a-1.png) ![l](fig.png) ![m](attachment:none.png)");
    let pictures = Pictures::from([
        ("attachment:a-1.png".to_owned(), png("aGVsbG8=")),
        ("attachment:other.png".to_owned(), png("b3RoZXI=")),
        ("fig.png".to_owned(), Picture { mime: "image/svg+xml", base64: "PHN2Zy8+".into() }),
    ]);
    let document = Document { pictures, ..document(vec![text]) };
    assert_eq!(document.picture_addresses().len(), 3);
    let file: Value = serde_json::from_str(&document.write(Format::Ipynb)).unwrap();
    assert_eq!(file["cells"][0]["attachments"], json!({"a-1.png": {"image/png": "aGVsbG8="}}));
    let page = document.write(Format::Html);
    assert!(page.contains("src=\"data:image/png;base64,aGVsbG8=\""), "{page}");
    assert!(page.contains("src=\"data:image/svg+xml;base64,PHN2Zy8+\""), "{page}");
    assert!(!page.contains("none.png") && !page.contains("b3RoZXI="), "{page}");
}

#[test]
fn a_picture_pasted_into_an_imported_text_joins_those_of_its_file() {
    let text = of_corpus("jupyterlab");
    let document = Document::read(text.as_bytes(), Format::Ipynb).unwrap();
    let mut notebook = document.clone().into_notebook("n", 0.0, &mut ids());
    let source = notebook.drafts().next().unwrap().source.clone();
    edit(&mut notebook, 0, &format!("{source} ![new](attachment:new-1.png)"));
    let pictures = Pictures::from([("attachment:new-1.png".to_owned(), png("bmV3"))]);
    let now = Document { file: Some(text), pictures, ..Document::of(&notebook, &StateId::root()) };
    let file: Value = serde_json::from_str(&now.write(Format::Ipynb)).unwrap();
    let attachments = file["cells"][0]["attachments"].as_object().unwrap();
    assert_eq!(attachments["new-1.png"], json!({"image/png": "bmV3"}));
    assert_eq!(attachments.len(), 3, "the file's own ones stay: {:?}", attachments.keys());
}

#[test]
fn a_picture_may_have_any_name_that_jupyter_gives() {
    let pictures = json!({
        "image (1).png": {"image/png": "aGk="},
        "a": {"image/svg+xml": "<svg/>"},
        "b": 1,
        "c": {"image/png": "x\") y"},
    });
    let source = "![](attachment:image%20(1).png)) ![](attachment:a) ![](attachment:b) ![](attachment:c) \
                  ![](attachment:d\n) ](attachment:";
    let cell = json!({"cell_type": "markdown", "source": source, "attachments": pictures, "metadata": {}});
    let document = read(v4(json!([cell]))).unwrap();
    let (first, rest) = source.split_at("![](attachment:image%20(1).png)".len());
    assert_eq!(first, "![](attachment:image%20(1).png)");
    assert_eq!(document.cells[0].source, format!("![](data:image/png;base64,aGk=){rest}"));
}

/// Processor time of this thread, in seconds. Unlike wall-clock time, it does not depend on other
/// programs.
fn worked() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    told.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

#[test]
fn a_picture_is_read_once_however_often_it_is_named() {
    // Reading the picture again for each reference would take hundreds of gigabytes.
    let data = "QUJD ".repeat(2_000_000);
    for (data, is_too_large) in [(data.as_str(), true), ("QUJD", false)] {
        let attachments = json!({"a": {"image/png": data}});
        let source = "![](attachment:a) ".repeat(20_000);
        let cell =
            json!({"cell_type": "markdown", "source": source, "attachments": attachments, "metadata": {}});
        let document = read(v4(json!([cell]))).unwrap();
        let text = &document.cells[0].source;
        assert_eq!(text.contains("attachment:a"), is_too_large);
        assert!(text.len() < 4 << 20, "{}", text.len());
        assert_eq!(document.left_out.len(), usize::from(is_too_large));
    }
    // A long line of references without `)`.
    let source = "](attachment:".repeat(70_000);
    let cell = json!({"cell_type": "markdown", "source": source, "attachments": {"a": {}}, "metadata": {}});
    assert_eq!(read(v4(json!([cell]))).unwrap().cells[0].source, source);
}

#[test]
fn a_file_that_nobody_waits_for_is_not_read_to_its_end() {
    let cell = json!({"cell_type": "code", "source": "1", "metadata": {}, "outputs": []});
    let bytes = serde_json::to_vec(&v4(Value::from(vec![cell; 100]))).unwrap();
    let asked = std::cell::Cell::new(0);
    let should_continue = || {
        asked.set(asked.get() + 1);
        asked.get() < 10
    };
    let error = Document::read_while(&bytes, Format::Ipynb, &should_continue).unwrap_err();
    assert!(error.why.contains("has disconnected") && asked.get() == 10, "{error:?}");
}

#[test]
fn cells_get_ids_of_their_own_even_if_a_file_has_taken_them_all() {
    let taken = (1..5_000).map(|n| {
        let id = format!("cell-{n}");
        json!({"cell_type": "code", "id": id, "source": "", "metadata": {}, "outputs": []})
    });
    let without = (0..5_000)
        .map(|_| json!({"cell_type": "code", "id": "", "source": "", "metadata": {}, "outputs": []}));
    let mut document = read(v4(taken.chain(without).collect())).unwrap();
    with_ids(&mut document.cells);
    let ids: std::collections::HashSet<&str> = document.cells.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!(ids.len(), 9_999);
}

/// Small files that are built to be slow are read and written in a short time.
#[test]
fn files_made_to_take_long_do_not() {
    let began = worked();
    let pictures: serde_json::Map<_, _> =
        (0..20_000).map(|n| (format!("n{n}"), json!({"image/png": "aGk="}))).collect();
    let source: String = (0..20_000).map(|n| format!("](attachment:n{n})")).collect();
    let cell = json!({"cell_type": "markdown", "source": source, "attachments": pictures, "metadata": {}});
    let document = read(v4(json!([cell]))).unwrap();
    assert_eq!(document.cells[0].source.matches("](data:").count(), 20_000);
    let outputs = json!([{"output_type": "stream", "name": "stdout", "text": "x"}]);
    let cells: Vec<Value> = (0..MAX_CELLS)
        .map(|_| json!({"cell_type": "code", "source": "1", "metadata": {}, "outputs": outputs}))
        .collect();
    let notebook = read(v4(json!(cells))).unwrap().into_notebook("n", 0.0, &mut ids());
    let again = Document::of(&notebook, &StateId::root());
    assert!(again.cells.len() == MAX_CELLS && again.cells.iter().all(|cell| cell.outputs.len() == 1));
    let took = worked() - began;
    assert!(took < 3.0, "it took {took} s");
}

#[test]
fn version_3_is_understood() {
    let cells = json!([
        {"cell_type": "heading", "level": 2, "source": ["A\n", "title"], "metadata": {}},
        {"cell_type": "code", "input": ["1 +", " 1"], "prompt_number": 4, "language": "python",
         "collapsed": false, "outputs": [
            {"output_type": "pyout", "prompt_number": 4, "text": ["2"], "html": "<b>2</b>", "metadata": {}},
            {"output_type": "stream", "stream": "stderr", "text": "w"},
            {"output_type": "display_data", "png": "aGk=\n", "json": "[1]"},
            {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["t"]},
        ]},
    ]);
    let file = json!({
        "nbformat": 3, "nbformat_minor": 0, "metadata": {"name": "old"}, "worksheets": [{"cells": cells}],
    });
    let document = read(file).unwrap();
    assert_eq!(document.cells[0], cell(DraftKind::Markdown, "## A title"));
    let code = &document.cells[1];
    assert_eq!((code.source.as_str(), code.exec_count, code.outputs.len()), ("1 + 1", Some(4), 4));
    let Output::ExecuteResult { data, execution_count: 4, .. } = &code.outputs[0] else { panic!() };
    assert_eq!(
        *data,
        MimeBundle::from_iter([("text/plain".into(), "2".into()), ("text/html".into(), "<b>2</b>".into())])
    );
    assert_eq!(code.outputs[1], Output::stream(StreamName::Stderr, "w"));
    let Output::DisplayData { data, .. } = &code.outputs[2] else { panic!() };
    assert_eq!(data["application/json"], json!([1]));
}

#[test]
fn what_python_writes_though_it_is_not_json_is_read() {
    let file = br#"{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "metadata": {}, "source": "x = \"NaN", "execution_count": 1, "outputs": [
            {"output_type": "display_data", "metadata": {}, "data": {"application/json":
                {"y": [NaN, -Infinity,Infinity, -1], "t": "NaN \ud800 \ud83d\ude00 \\ud800 \udc00\""}}}]}]}"#;
    let document = Document::read(file, Format::Ipynb).unwrap();
    let Output::DisplayData { data, .. } = &document.cells[0].outputs[0] else { panic!() };
    let text = "NaN \u{fffd} \u{1f600} \\ud800 \u{fffd}\"";
    assert_eq!(data["application/json"], json!({"y": [null, null, null, -1], "t": text}));
    assert_eq!(document.cells[0].source, "x = \"NaN");
    // The export is JSON.
    let written: Value = serde_json::from_str(document.file.as_deref().unwrap()).unwrap();
    assert_eq!(written["cells"][0]["outputs"][0]["data"]["application/json"]["y"][0], json!(null));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let why = |bytes: &[u8]| Document::read(bytes, Format::Ipynb).unwrap_err().why;
    assert_eq!(why(b"print(1)"), "it is not JSON");
    assert_eq!(
        why(b"{\"nbformat\": 4, "),
        "its JSON is broken: EOF while parsing a value at line 1 column 16"
    );
    assert_eq!(why(b"[]"), "it is JSON, but not a notebook: its top level is not an object");
    let why = |file: Value| read(file).unwrap_err().why;
    assert_eq!(why(json!({"cells": []})), "it is JSON, but not a notebook: `nbformat` is missing");
    assert_eq!(
        why(json!({"nbformat": 5})),
        "it uses version 5 of the notebook format; Ratoon reads versions 3 and 4"
    );
    assert_eq!(why(json!({"nbformat": 2})), "it uses version 2 of the notebook format, from 2011 or 2012");
    assert_eq!(why(json!({"nbformat": 4})), "`cells` is missing in the file");
    assert_eq!(why(json!({"nbformat": 4, "cells": {}})), "`cells` of the file is not a list");
    assert_eq!(why(v4(json!([1]))), "cell 1 is not an object");
    assert_eq!(why(v4(json!([{"source": ""}]))), "`cell_type` is missing in cell 1");
    assert_eq!(why(v4(json!([{"cell_type": "code"}]))), "`source` is missing in cell 1");
    assert_eq!(
        why(v4(json!([{"cell_type": "code", "source": [1]}]))),
        "`source` of cell 1 is neither a text nor a list of lines"
    );
    assert_eq!(
        why(v4(json!([{"cell_type": "sql", "source": ""}]))),
        "cell 1 has the unknown cell type \"sql\""
    );
    let code = |output: Value| v4(json!([{"cell_type": "code", "source": "", "outputs": [output]}]));
    assert_eq!(
        why(code(json!({"output_type": "x"}))),
        "output 1 of cell 1 has the unknown output type \"x\""
    );
    assert_eq!(why(code(json!({"output_type": "display_data"}))), "`data` is missing in output 1 of cell 1");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let file = format!("{{\"nbformat\": 4, \"cells\": [], \"metadata\": {deep}}}");
    assert!(Document::read(file.as_bytes(), Format::Ipynb).unwrap_err().why.contains("recursion limit"));
}

#[test]
fn too_much_is_refused_and_too_long_outputs_are_cut() {
    let code = |source: String| json!({"cell_type": "code", "source": source});
    let error = read(v4(json!([code("x".into()), code("x".repeat(MAX_CELL_BYTES + 1))]))).unwrap_err();
    assert!(error.kind == Kind::TooLarge && error.why.starts_with("cell 2 has more than"), "{error:?}");
    let error = read(v4(vec![code("x".repeat(MAX_CELL_BYTES)); 5].into())).unwrap_err();
    assert!(error.kind == Kind::TooLarge, "{error:?}");
    let error = read(v4(vec![code(String::new()); MAX_CELLS + 1].into())).unwrap_err();
    assert!(error.kind == Kind::TooLarge, "{error:?}");
    let text = "x".repeat(20 << 20);
    let outputs = json!([
        {"output_type": "stream", "name": "stdout", "text": text},
        {"output_type": "stream", "name": "stderr", "text": text},
    ]);
    let document = read(v4(json!([{"cell_type": "code", "source": "", "outputs": outputs}]))).unwrap();
    let notebook = document.into_notebook("n", 0.0, &mut ids());
    let items = notebook.runs().next().unwrap().outputs.items();
    assert!(
        matches!(&items[1], Output::Stream { text, .. } if text.contains("bytes of output were not kept"))
    );
}

fn script_of(cells: &[(DraftKind, &str)]) -> String {
    script::write(&document(cells.iter().map(|(kind, source)| cell(*kind, source)).collect()))
}

#[test]
fn a_program_has_its_text_as_comments_and_its_magics_as_calls() {
    use DraftKind::{Code, Markdown};
    let text = script_of(&[
        (Markdown, "# Title\n\ntext"),
        (
            Code,
            "%matplotlib inline\nimport numpy as np\nfiles = !ls\nnp?\n??np.a*\n!!ls\nfor i in x:\n    \
             %timeit f()\nuser = %who_ls  int",
        ),
        (Code, "%%bash -e\necho 'hi'\n\nls"),
        (Code, "sql = \"\"\"\n%s\n!x\n\"\"\"\ny = x %z\ny = (x\n%z)\ny = x \\\n%z"),
        (Code, "%%time\nx = 1\n!ls"),
        (Code, "%%capture out\n%%time\nx = 1"),
        (Code, "%%time\n%%bash\nls"),
        (Code, "!pip install \\\n  x\nget_ipython().system('ls')\n!ls x?\nx = 1\n%%time"),
    ]);
    expect_test::expect![[r##"
        # %% [markdown]
        # # Title
        #
        # text

        # %%
        get_ipython().run_line_magic('matplotlib', 'inline')
        import numpy as np
        files = get_ipython().getoutput('ls')
        get_ipython().run_line_magic('pinfo', 'np')
        get_ipython().run_line_magic('pinfo2', 'np.a*')  # '??np.a*'
        get_ipython().getoutput('ls')
        for i in x:
            get_ipython().run_line_magic('timeit', 'f()')
        user = get_ipython().run_line_magic('who_ls', ' int')

        # %%
        get_ipython().run_cell_magic('bash', '-e', "echo 'hi'\n\nls\n")

        # %%
        sql = """
        %s
        !x
        """
        y = x %z
        y = (x
        %z)
        y = x \
        %z

        # %%
        # %%time
        x = 1
        get_ipython().system('ls')

        # %%
        # %%capture out
        # %%time
        x = 1

        # %%
        get_ipython().run_cell_magic('time', '', '%%bash\nls\n')

        # %%
        get_ipython().system('pip install    x')  # '!pip install \\\n  x'
        get_ipython().system('ls')  # "get_ipython().system('ls')"
        # !ls x?
        x = 1
        # %%time
    "##]]
    .assert_eq(&text);
}

/// Cells made of pieces that are special to the writer or to the reader, and programs of such cells
/// as cells.
#[test]
fn a_program_of_any_cells_comes_back_as_it_was() {
    const PIECES: &[&str] = &[
        "%",
        "%%",
        "!",
        "!!",
        "?",
        "#",
        "# ",
        "  # ",
        " ",
        "  ",
        "\n",
        "\n",
        "\n",
        "\\",
        "\\\n",
        "'",
        "\"",
        "'''",
        "\"\"\"",
        "(",
        ")",
        "x",
        "x = ",
        "x",
        "time",
        "bash",
        "%%bash\n",
        "%%time\n",
        "%%capture c\n",
        "# %%",
        "get_ipython()",
        ".system('ls')",
        ".run_line_magic('pinfo', 'x')",
        ".run_cell_magic('bash', '', 'x\\n')",
        "get_ipython().system('ls')",
        "get_ipython().run_cell_magic('bash', '', 'x\\n')",
        "'!ls'",
        "ü",
        "\u{c}",
        "\u{200b}",
        "\t",
        "pinfo x",
        "[markdown]",
        "# ---",
        "np.x*",
        "1",
    ];
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..10_000 {
        let source: String = (0..random.usize(1..14)).map(|_| *random.choice(PIECES).unwrap()).collect();
        let is_blank = |line: &&str| line.trim().is_empty();
        let lines: Vec<&str> = source.split('\n').collect();
        let begin = lines.iter().take_while(|line| is_blank(line)).count();
        let end = lines.len() - lines.iter().rev().take_while(|line| is_blank(line)).count();
        // Blank lines at the ends of a cell are not kept.
        let source = lines.get(begin..end).unwrap_or_default().join("\n");
        let again = script_of(&[(DraftKind::Code, &source)]);
        for kind in [DraftKind::Code, DraftKind::Markdown] {
            for source in [&source, &again] {
                let text = script_of(&[(kind, source), (DraftKind::Code, "last")]);
                let cells = script::read(text.as_bytes()).unwrap().cells;
                let back: Vec<&str> = cells.iter().map(|cell| cell.source.as_str()).collect();
                let is_code = kind == DraftKind::Code;
                let whole = if is_code { source.trim_end_matches('\n') } else { source };
                assert_eq!(back, [whole, "last"], "{round}, {kind:?}: {text}");
            }
        }
    }
}

#[test]
fn programs_made_to_take_long_do_not() {
    let began = worked();
    for piece in ["!a \\\n", "%%time\n", "  # '", "get_ipython().system('", "!a \\\n\u{c}", "x  # '!x'"] {
        let source = piece.repeat(MAX_CELL_BYTES / piece.len());
        let text = script_of(&[(DraftKind::Code, &source)]);
        script::read(text.as_bytes()).unwrap();
        script::read(source.as_bytes()).unwrap();
    }
    let took = worked() - began;
    assert!(took < 6.0, "it took {took} s");
}

#[test]
fn a_program_comes_back_as_it_was() {
    use DraftKind::{Code, Markdown, Raw};
    let cells = [
        (Raw, "\\LaTeX{} *as it is*\n\n# %% not a cell\n```"),
        (Markdown, "# Title\n\n# %% not a cell\ntext\n"),
        (
            Code,
            "%matplotlib inline\n# %matplotlib inline\n# # %x\n!ls -l\n# !ls\n#!shebang\n\
             x = %who_ls\n# x = !ls",
        ),
        (Code, "# %% looks like a cell\n# # %% so does this\n#%%\n%%\nx %% y"),
        (Code, "%%bash\necho hi\n\n# comment"),
        (Code, "# %%bash\n# only a comment"),
        (Code, "s = '''\n# %% inside\n%magic\n# %magic\n'''\n%after"),
        (Code, "s = 'it\\'s \"\"\" open'\n%magic # '''\n%again"),
        (Code, "broken = '''\n%inside"),
        (Code, "%next"),
        (Code, ""),
        (Code, "ünï = 'ö'  # ✓\n%ü"),
    ];
    let back = script::read(script_of(&cells).as_bytes()).unwrap();
    let sources: Vec<_> = back.cells.iter().map(|c| (c.kind, c.source.as_str())).collect();
    let wanted: Vec<_> = cells
        .iter()
        .map(|(kind, source)| (*kind, if *kind == Code { source.trim_end_matches('\n') } else { source }))
        .collect();
    assert_eq!(sources, wanted);
}

#[test]
fn programs_of_other_editors_are_understood() {
    let text = "# ---\n# jupyter:\n#   x: 1\n# ---\n\n\"\"\"Doc.\"\"\"\nimport os\n\n\n#%% Load\nx = 1\n\n\n\
                # %% [markdown] tags=[1]\n\"\"\"\nA *text*\n\"\"\"\n# %% [md]\n#No space\n\
                # %% name=\"y\"\n\n# %time y\n";
    let cells = script::read(text.replace('\n', "\r\n").as_bytes()).unwrap().cells;
    let shown: Vec<_> = cells.iter().map(|c| c.source.as_str()).collect();
    assert_eq!(shown, ["\"\"\"Doc.\"\"\"\nimport os", "# Load\nx = 1", "A *text*", "No space", "%time y"]);
    // Comments that only resemble commands, and the calls in a program of `jupyter nbconvert`.
    let text = "# ! note\n# why?\n  # '!ls'\nx = 1  # 'x = 1'\nget_ipython().run_line_magic('matplotlib', 'inline')\n\
                get_ipython().run_cell_magic('bash', '', 'ls\\n')\nif x: get_ipython().system('ls')\n";
    let source = &script::read(text.as_bytes()).unwrap().cells[0].source;
    let call = "get_ipython().run_line_magic('matplotlib', 'inline')";
    assert_eq!(*source, text.trim_end().replace(call, "%matplotlib inline"));
    let crlf = script_of(&[(DraftKind::Code, "%time x\r\ny\r\n"), (DraftKind::Code, "%%bash\r\nls\r\n")]);
    let calls = "get_ipython().run_line_magic('time', 'x')\ny\n\n# %%\nget_ipython().run_cell_magic('bash', '', 'ls\\n')\n";
    assert_eq!(crlf, format!("# %%\n{calls}"));
    assert_eq!(script::read(b"").unwrap().cells.len(), 0);
    assert_eq!(script::read(b"x = 1").unwrap().cells.len(), 1);
    assert_eq!(script::read(b"x\n\xff").unwrap_err().why, "line 2 is not UTF-8");
    assert!(script::read(b"\x7fELF\0").unwrap_err().why.contains("NUL"));
}

#[test]
fn the_page_obeys_nothing_of_its_cells() {
    let evil = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>";
    let outputs = vec![
        Output::stream(StreamName::Stdout, format!("\u{1b}[1;31m{evil}\u{1b}[0m")),
        Output::DisplayData {
            data: bundle("text/html", format!("\"></iframe>{evil}").into()),
            metadata: MimeBundle::new(),
            display_id: None,
        },
        Output::DisplayData {
            data: bundle("image/png", format!("\" {evil}").into()),
            metadata: bundle("width", json!("\"onload=1")),
            display_id: None,
        },
        Output::DisplayData {
            data: bundle(
                "text/markdown",
                format!("{evil}\n\n[x](javascript:alert(1)) ![p](https://e.test/p.png)").into(),
            ),
            metadata: MimeBundle::new(),
            display_id: None,
        },
        Output::Error(RunError::raised("E", evil)),
    ];
    let cells = vec![cell(DraftKind::Markdown, evil), Cell { outputs, ..cell(DraftKind::Code, evil) }];
    let page = Document { name: evil.into(), ..document(cells) }.write(Format::Html);
    assert_eq!(page.matches("<script>").count(), 1, "its own: {page}");
    assert!(
        !page.contains("<img src=x") && !page.contains("javascript:alert") && !page.contains("e.test"),
        "{page}"
    );
    assert_eq!((page.matches("<iframe ").count(), page.matches("</iframe>").count()), (1, 1));
    assert!(page.contains("sandbox=\"allow-scripts\""));
    assert!(!page.contains("onload=1"));
}

#[test]
fn the_page_shows_what_a_terminal_would() {
    let outputs = vec![Output::stream(
        StreamName::Stdout,
        "10%\r50%\r100%\n\u{1b}[38;5;196mred\u{1b}[39m \u{1b}]8;;http://x\u{1b}\\link\u{1b}[2K",
    )];
    let page = document(vec![Cell { outputs, ..cell(DraftKind::Code, "def f(): return 'x' # y") }])
        .write(Format::Html);
    let red = "<span style=\"color:color-mix(in oklab,rgb(255 0 0) 55%,var(--ink));\">red</span>";
    assert!(page.contains(&format!(">100%\n{red} link</pre>")), "{page}");
    assert!(page.contains(
        "<span class=\"keyword\">def</span> f(): <span class=\"keyword\">return</span> \
         <span class=\"string\">&#39;x&#39;</span> <span class=\"comment\"># y</span>"
    ));
}

#[test]
fn a_long_print_is_cut_in_the_middle_and_the_rest_can_be_opened() {
    let page_of = |text: String| {
        let outputs = vec![Output::stream(StreamName::Stdout, text)];
        document(vec![Cell { outputs, ..cell(DraftKind::Code, "1") }]).write(Format::Html)
    };
    assert!(include_str!("../../web/outputs/stream.js").contains("const LONG = 200;"), "as on the page");
    let text = |count: usize| (1..=count).map(|n| format!("line {n}.\n")).collect::<String>();
    let page = page_of(text(200));
    assert!(page.contains("line 200.\n</pre>") && !page.contains("<details>"), "{page}");
    // A blank line and a style go across the cuts.
    let long = text(1_434).replace("line 99.\n", "\u{1b}[31mline 99.\n").replace("line 101.", "");
    let page = page_of(long + "\n\n");
    let red = |text: &str| format!("<span style=\"color:var(--ansi-1);\">{text}");
    for part in [
        "line 98.\n",
        &format!("{}\nline 100.</span></pre>\n<details><summary>1,234 more lines</summary>", red("line 99.")),
        &format!("tabindex=\"0\">{}", red("\nline 102.\n")),
        "line 1334.</span></pre>\n</details>\n",
        &format!("{}\n", red("line 1335.")),
        "line 1434.</span></pre>\n</div>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = page_of(text(100) + "\n\n" + &text(99));
    assert!(page.contains("<summary>One more line</summary>"), "{page}");
    assert!(page.contains("tabindex=\"0\">\n\nline 1.\n"), "browsers remove the first line end: {page}");
}

#[test]
fn outputs_of_an_earlier_version_are_exported() {
    let mut notebook = Notebook::new("n", 0.0);
    let (exec, state) = (ExecId::new("run"), StateId::new("a"));
    let mut run = imported(exec.clone(), DraftId::new("of-a"), "print(1)");
    (run.status, run.state) = (RunStatus::Ok, Some(state.clone()));
    run.outputs.push(Output::stream(StreamName::Stdout, "1\n"));
    notebook.add_run(run);
    let mut state = State::new(state, Some(StateId::root()), Some(exec.clone()), 0.0);
    state.exec_count = 4;
    notebook.add_state(state);
    let draft = |id: &str, kind: DraftKind, stale_run: Option<&str>| Draft {
        id: DraftId::new(id),
        on: StateId::root(),
        before: None,
        kind,
        source: "print(2)".into(),
        version: 1,
        received: Vec::new(),
        imported_cell: None,
        instead_of: None,
        stale_run: stale_run.map(ExecId::new),
    };
    notebook.append_draft(draft("edited", DraftKind::Code, Some("run")));
    notebook.append_draft(draft("text", DraftKind::Markdown, Some("run")));
    notebook.append_draft(draft("lost", DraftKind::Code, Some("none")));
    notebook.append_draft(draft("failed", DraftKind::Code, Some("run")));
    let mut failed = imported(ExecId::new("failure"), DraftId::new("failed"), "print(2)");
    (failed.status, failed.error) = (RunStatus::Error, Some(RunError::raised("ValueError", "no")));
    notebook.add_run(failed);
    let line = Document::of(&notebook, &StateId::root());
    let file: Value = serde_json::from_str(&line.write(Format::Ipynb)).unwrap();
    let shown: Vec<_> =
        (0..4).map(|at| (&file["cells"][at]["execution_count"], &file["cells"][at]["outputs"])).collect();
    let stream = json!([{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]);
    assert_eq!(shown[..3], [(&json!(4), &stream), (&Value::Null, &Value::Null), (&Value::Null, &json!([]))]);
    assert_eq!((shown[3].0, &shown[3].1[0]["ename"]), (&Value::Null, &json!("ValueError")));
    let words = include_str!("../../web/shell/words.js");
    assert!(words.contains("'Stale: from the earlier version'"), "as on the page");
    let tree = Tree::of(&notebook, &StateId::root());
    for page in [line.write(Format::Html), Exported::Tree(tree).write(Format::Html)] {
        let stale = "<p class=\"stale\">Stale: from the earlier version</p>\n<pre class=\"stream\"";
        assert_eq!(page.matches(stale).count(), 1, "{page}");
    }
    let edit = Draft { instead_of: Some(StateId::new("a")), ..draft("edit", DraftKind::Code, None) };
    notebook.append_draft(edit);
    let (line, tree) = (Document::of(&notebook, &StateId::new("a")), Tree::of(&notebook, &StateId::new("a")));
    let file: Value = serde_json::from_str(&line.write(Format::Ipynb)).unwrap();
    let cells = file["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 1, "an edit is no cell of its own: {file}");
    assert_eq!((&cells[0]["source"], &cells[0]["outputs"]), (&json!(["print(2)"]), &stream));
    let page = Exported::Tree(tree).write(Format::Html);
    assert!(page.contains("print(1)") || page.contains(">1<"), "with all branches, it is the code that ran");
}

/// IPython marks the failing part of a line by a yellow background and no colour of text.
#[test]
fn marked_text_is_readable_in_both_themes() {
    let outputs =
        vec![Output::stream(StreamName::Stdout, "\u{1b}[43mx\u{1b}[0m \u{1b}[43;34my\u{1b}[0m \u{1b}[7mz")];
    let page = document(vec![Cell { outputs, ..cell(DraftKind::Code, "1") }]).write(Format::Html);
    let mark = "background:color-mix(in srgb,var(--ansi-3) 25%,transparent);";
    assert!(page.contains(&format!("<span style=\"{mark}\">x</span>")), "{page}");
    let text = "color:color-mix(in oklab,var(--ansi-4) 25%,var(--ink));";
    assert!(page.contains(&format!("<span style=\"{text}{mark}\">y</span>")), "{page}");
    assert!(page.contains("<span style=\"color:var(--paper);background:var(--ink);\">z</span>"), "{page}");
}

#[test]
fn the_page_shows_formulas_without_a_script() {
    let bundle = |mime: &str, text: &str| Output::DisplayData {
        data: bundle(mime, text.into()),
        metadata: MimeBundle::new(),
        display_id: None,
    };
    let outputs = vec![bundle("text/latex", "$\\displaystyle x^{2}$"), bundle("text/markdown", "**$y_1$**")];
    let text = "# $a_1$\n\n| x | y |\n|---|---|\n| $|a|$ | `$code$` |\n\n\\begin{align}a&=b*c*d\\\\c_1\\end{align}\n\n\
                [$l$](https://x.test/$a$) ![$p$](data:image/png;base64,AA==)\n\n```\n$code$\n```";
    let cells = vec![cell(DraftKind::Markdown, text), Cell { outputs, ..cell(DraftKind::Code, "1") }];
    let page = document(cells).write(Format::Html);
    assert_eq!((page.matches("<math").count(), page.matches("<script").count()), (6, 1), "{page}");
    for part in [
        "<h1><math>",
        "<td><math>",
        "<td><code>$code$</code></td>",
        "<span class=\"formula\"><math display=\"block\">",
        "href=\"https://x.test/$a$\"",
        "alt=\"$p$\"",
        "<pre><code>$code$\n</code></pre>",
        "<div class=\"latex\"><math>",
        "<strong><math>",
    ] {
        assert!(page.contains(part), "{part} is missing: {page}");
    }
}

/// The corpus: small files as other programs write them.
fn corpus() -> Vec<(String, String)> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ipynb");
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap())).collect();
    files.sort();
    assert!(files.len() >= 50);
    files
}

/// The same file in other layouts.
fn layouts(text: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(text).unwrap();
    let escaped: String =
        text.chars().map(|c| if c == 'ß' { "\\u00df".to_owned() } else { c.to_string() }).collect();
    vec![
        text.to_owned(),
        text.trim_end().to_owned(),
        text.replace('\n', "\r\n"),
        text.replace("\n ", "\n\t"),
        format!("\u{feff}{text}\n\n"),
        value.to_string(),
        escaped,
    ]
}

/// Imports a file, changes its notebook, and exports it.
fn rewritten(text: &str, change: impl FnOnce(&mut Notebook)) -> String {
    let mut read = Document::read(text.as_bytes(), Format::Ipynb).unwrap();
    let file = read.file.take();
    let mut notebook = read.into_notebook("n", 0.0, &mut ids());
    change(&mut notebook);
    Document { file, ..Document::of(&notebook, &StateId::root()) }.write(Format::Ipynb)
}

#[test]
fn the_export_of_an_unchanged_import_is_the_same_file() {
    for (name, text) in corpus() {
        for layout in layouts(&text) {
            assert_eq!(rewritten(&layout, |_| {}), layout, "{name}");
        }
    }
}

fn edit(notebook: &mut Notebook, at: usize, source: &str) {
    let draft = notebook.drafts().nth(at).unwrap().clone();
    assert!(notebook.change_draft(&Draft { source: source.into(), ..draft }));
}

/// The lines of two texts that differ, without the lines around them.
fn difference(was: &str, now: &str) -> (Vec<String>, Vec<String>) {
    let (was, now): (Vec<&str>, Vec<&str>) = (was.lines().collect(), now.lines().collect());
    let above = was.iter().zip(&now).take_while(|(a, b)| a == b).count();
    let below = was[above..].iter().rev().zip(now[above..].iter().rev()).take_while(|(a, b)| a == b).count();
    let texts =
        |lines: &[&str]| lines[above..lines.len() - below].iter().map(|l| l.trim().to_owned()).collect();
    (texts(&was), texts(&now))
}

fn of_corpus(name: &str) -> String {
    corpus().into_iter().find(|(path, _)| path.ends_with(&format!("/{name}.ipynb"))).unwrap().1
}

#[test]
fn an_edit_changes_only_the_text_of_its_cell() {
    for (name, text) in corpus() {
        let count = serde_json::from_str::<Value>(&text).unwrap()["cells"].as_array().unwrap().len();
        for at in 0..count {
            let now = rewritten(&text, |notebook| edit(notebook, at, "```\nnew\n```"));
            let mut expected: Value = serde_json::from_str(&text).unwrap();
            let cell = &mut expected["cells"][at];
            let (source, lines) = (cell["source"].clone(), json!(["```\n", "new\n", "```"]));
            cell["source"] = if source.is_string() { text_of(&lines).into() } else { lines };
            if cell["cell_type"] == "markdown" && cell.get("attachments").is_some() {
                // The text no longer refers to them.
                cell.as_object_mut().unwrap().remove("attachments");
            }
            assert_eq!(serde_json::from_str::<Value>(&now).unwrap(), expected, "{name} {at}");
        }
    }
    let text = of_corpus("numbers").replace("\"source\": []", "\"source\": \"a\"");
    let now = rewritten(&text, |notebook| edit(notebook, 0, "b"));
    assert_eq!(difference(&text, &now), (vec!["\"source\": \"a\"".into()], vec!["\"source\": \"b\"".into()]));
}

#[test]
fn an_edited_text_refers_to_its_attachments_again() {
    let text = of_corpus("jupyterlab");
    let mut source = String::new();
    let now = rewritten(&text, |notebook| {
        source = notebook.drafts().next().unwrap().source.clone();
        edit(notebook, 0, &source.replace("Grüße", "Hello"));
    });
    assert!(source.contains("](data:image/png;base64,"));
    assert_eq!(now, text.replace("Grüße", "Hello"));
    let now = rewritten(&text, |notebook| {
        let at = source.find(" and ").unwrap();
        edit(notebook, 0, &source[..at]);
    });
    let cell = serde_json::from_str::<Value>(&now).unwrap()["cells"][0].clone();
    assert_eq!(cell["source"][2], "![paste](attachment:4f2c%20a.png)");
    let names: Vec<_> = cell["attachments"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["4f2c a.png"]);
}

#[test]
fn cells_can_be_added_deleted_moved_copied_and_converted() {
    for name in ["papermill", "colab", "nbdev"] {
        let text = of_corpus(name);
        let was: Value = serde_json::from_str(&text).unwrap();
        let now = rewritten(&text, |notebook| {
            let drafts: Vec<Draft> = notebook.drafts().cloned().collect();
            notebook.remove_draft(&drafts[1].id);
            notebook.place_draft(drafts[0].clone(), Some(&drafts[2].id));
            let copy = Draft { id: DraftId::new("copy"), ..drafts[2].clone() };
            notebook.append_draft(copy);
            let (id, source) = (DraftId::new("new"), "new()".to_owned());
            notebook.append_draft(Draft { id, source, imported_cell: None, ..drafts[0].clone() });
        });
        let now: Value = serde_json::from_str(&now).unwrap();
        let cells = now["cells"].as_array().unwrap();
        let at = cells.iter().position(|cell| *cell == was["cells"][0]).unwrap();
        assert_eq!(cells[at - 1], was["cells"][2], "{name}");
        assert!(!cells.contains(&was["cells"][1]), "{name}");
        let (copy, new) = (&cells[cells.len() - 2], &cells[cells.len() - 1]);
        assert_eq!(copy["metadata"], was["cells"][2]["metadata"], "{name}");
        let has_ids = was["nbformat_minor"] == 5;
        assert_eq!(copy.get("id"), has_ids.then(|| json!("copy")).as_ref(), "{name}");
        assert_eq!(new.get("id"), has_ids.then(|| json!("new")).as_ref(), "{name}");
        assert_eq!(new["metadata"], json!({}), "{name}");
    }
    let text = of_corpus("unknown-fields");
    let now = rewritten(&text, |notebook| {
        let drafts: Vec<Draft> = notebook.drafts().cloned().collect();
        notebook.change_draft(&Draft { kind: DraftKind::Markdown, ..drafts[0].clone() });
        notebook.change_draft(&Draft { kind: DraftKind::Code, ..drafts[1].clone() });
    });
    let now: Value = serde_json::from_str(&now).unwrap();
    assert_eq!(
        now["cells"][0],
        json!({"cell_type": "markdown", "id": "u-1", "metadata": {"my": {"deep": [{"er": null}]}},
               "source": ["a = 1"], "unknown_cell": [1, 2]})
    );
    assert_eq!(
        now["cells"][1],
        json!({"cell_type": "code", "id": "u-2", "metadata": {}, "source": ["t"], "outputs": [],
               "execution_count": null, "unknown_text": "ß"})
    );
}

#[test]
fn all_cells_can_be_deleted_and_an_empty_notebook_can_be_filled() {
    let text = of_corpus("marimo");
    let now = rewritten(&text, |notebook| {
        let ids: Vec<DraftId> = notebook.drafts().map(|draft| draft.id.clone()).collect();
        ids.iter().for_each(|id| drop(notebook.remove_draft(id)));
    });
    let mut expected: Value = serde_json::from_str(&text).unwrap();
    expected["cells"] = json!([]);
    assert_eq!(now, format!("{}\n", serde_json::to_string_pretty(&expected).unwrap()));
    let now = rewritten(&of_corpus("empty"), |notebook| {
        notebook.append_draft(Draft {
            id: DraftId::new("first"),
            on: StateId::root(),
            before: None,
            kind: DraftKind::Code,
            source: "x".into(),
            version: 1,
            received: Vec::new(),
            imported_cell: None,
            stale_run: None,
            instead_of: None,
        });
    });
    let cell = "  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"first\",\n   \
                \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"x\"\n   ]\n  }\n ";
    assert_eq!(now, of_corpus("empty").replace("[]", &format!("[\n{cell}]")));
}

/// The texts above a state's cell are no drafts any more and have no number of their own.
#[test]
fn texts_without_a_number_are_found_by_their_content_and_place() {
    let was: Vec<Cell> =
        ["a", "---", "b", "---", "c", "d"].map(|text| cell(DraftKind::Markdown, text)).into();
    let origins = |now: &[(&str, Option<u32>)]| {
        let known = |(text, imported_cell): &(&str, Option<u32>)| Cell {
            imported_cell: *imported_cell,
            ..cell(DraftKind::Markdown, text)
        };
        ipynb_rewrite::origins(&now.iter().map(known).collect::<Vec<_>>(), &was)
    };
    assert_eq!(
        origins(&[("a", None), ("---", None), ("edited", None), ("---", None), ("c", None)]),
        [Some(0), Some(1), Some(2), Some(3), Some(4)]
    );
    assert_eq!(origins(&[("---", Some(3)), ("---", None)]), [Some(3), Some(1)]);
    assert_eq!(
        origins(&[("a", None), ("new", None), ("2", None), ("b", Some(9))]),
        [Some(0), None, None, Some(2)]
    );
    assert_eq!(origins(&[("x", None), ("a", None)]), [None, Some(0)]);
}

#[test]
fn a_changed_cell_is_written_in_the_layout_of_its_file() {
    let file = r#"{"cells": [{"cell_type": "markdown", "metadata": {"é": "\u00e9"}, "source": "a"}], "metadata": {},
        "nbformat": 4, "nbformat_minor": 4}"#;
    let file = file.replace("\"é\"", "\"e\"");
    let now = rewritten(&file, |notebook| edit(notebook, 0, "ü🌱"));
    assert_eq!(now, file.replace("\"a\"", r#""\u00fc\ud83c\udf31""#));
    let text = of_corpus("colab").replace('\n', "\r\n");
    let now = rewritten(&text, |notebook| edit(notebook, 0, "two\nlines"));
    assert_eq!(now, text.replace("\"# Colab\"", "\"two\\n\",\r\n        \"lines\""));
}

/// Files that other programs would not write, but that can be imported.
#[test]
fn odd_files_are_the_same_too_if_they_were_not_changed() {
    let big = "A".repeat(600_000);
    let long = "x".repeat(crate::notebook::MAX_RUN_OUTPUT_BYTES + 1);
    let cells = [
        String::new(),
        r#"{"cell_type":"code","source":"a"}"#.into(),
        r#"{"source":"twice","source":"b","cell_type":"code","id":"same","outputs":null,"execution_count":-1.5}"#.into(),
        r#"{"cell_type":"markdown","id":"same","source":["a"],"attachments":[]}"#.into(),
        r#"{"cell_type":"markdown","id":"not valid!","source":"a","id":7}"#.into(),
        format!(
            r#"{{"cell_type":"markdown","source":"![](attachment:b)","attachments":{{"b":{{"image/png":"{big}"}}}}}}"#
        ),
        r#"{"cell_type":"raw","source":"```\n\"\\ud83c\\udf31\"\n````"}"#.into(),
        r#"{"cell_type":"code","source":"","execution_count":1e2,"outputs":[{"output_type":"stream","text":["a","b"],"name":"stdout"},
            {"output_type":"stream","text":"c","name":"stdout"},{"output_type":"error","traceback":["t\u001b"]}]}"#.into(),
        format!(r#"{{"cell_type":"code","source":"","outputs":[{{"output_type":"stream","text":"{long}"}}]}}"#),
    ];
    for cell in cells {
        let text = format!(" {{ \"nbformat\":4,\n\n\"cells\" :[ {cell}\t] }}\r\n");
        let now = rewritten(&text, |_| {});
        assert!(now == text, "{}", &now[..now.len().min(400)]);
    }
}

#[test]
fn a_partial_state_adds_its_tag_to_those_of_the_file() {
    let file = of_corpus("papermill");
    let mut document = Document::read(file.as_bytes(), Format::Ipynb).unwrap();
    for cell in &mut document.cells {
        cell.is_partial = true;
    }
    let with_tag = r#""tags": [
     "parameters",
     "raises-exception"
    ]"#;
    let now = document.write(Format::Ipynb);
    assert!(now.contains(with_tag), "{now}");
    let tags = |file: &str, at: usize| -> Value {
        serde_json::from_str::<Value>(file).unwrap()["cells"][at]["metadata"]["tags"].clone()
    };
    assert_eq!(tags(&now, 1), json!(["injected-parameters", "raises-exception"]));
    assert_eq!(tags(&now, 2), tags(&file, 2));
    assert_eq!(difference(&file, &now.replace(",\n     \"raises-exception\"", "")).0, Vec::<String>::new());
}

//! Tests of export and import, also of files that are wrong.

use super::script;
use super::*;
use crate::notebook::{Notebook, RunError, State, StreamName};
use serde_json::{Value, json};

fn cell(kind: DraftKind, source: &str) -> Cell {
    Cell::new(kind, source)
}

fn document(cells: Vec<Cell>) -> Document {
    let mut cells = cells;
    with_ids(&mut cells);
    Document { name: "n".into(), cells, left_out: Vec::new() }
}

fn bundle(mime: &str, value: Value) -> MimeBundle {
    MimeBundle::from_iter([(mime.to_owned(), value)])
}

fn all_kinds() -> Document {
    let error = RunError {
        ename: "E".into(),
        evalue: "v".into(),
        traceback: vec!["\u{1b}[31ma\u{1b}[0m".into(), "b".into()],
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
    Document {
        name: "n".into(),
        ..Document::read(document.write(Format::Ipynb).as_bytes(), Format::Ipynb).unwrap()
    }
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
        notebook.append_draft(Draft { id, on, before, kind, source, version: 1, received: Vec::new() });
    }
    for (draft, on) in [("d2", "b"), ("failed", "a")] {
        let mut failed = imported(ExecId::new(format!("run {draft}")), DraftId::new(draft), "");
        failed.on = Base::State(StateId::new(on));
        (failed.status, failed.error) = (RunStatus::Error, Some(RunError::new("ValueError", "no")));
        failed.outputs.push(Output::stream(StreamName::Stdout, "before"));
        notebook.add_run(failed);
    }
    let mut never_began = imported(ExecId::new("aborted"), DraftId::new("d3"), "");
    never_began.on = Base::Run(ExecId::new("run d2"));
    (never_began.status, never_began.error) =
        (RunStatus::Interrupted, Some(RunError::new("RunAborted", "the run before it left no state")));
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

fn read(file: Value) -> Result<Document, FormatError> {
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
    assert_eq!(sources, ["a\nb", "c", "````\n<x>```y\n````"]);
    let notebook = document.into_notebook("n", 0.0, &mut ids());
    let drafts: Vec<_> = notebook.drafts().map(|d| d.id.as_str().to_owned()).collect();
    assert_eq!(drafts, ["same", "new-1", "new-2"]);
}

#[test]
fn small_pictures_of_a_text_come_into_it_and_large_ones_are_told() {
    let small = json!({
        "a b.png": {"image/png": ["aGVs\n", "bG8="]},
        "big.png": {"image/png": "A".repeat(600_000)},
        "x.svg": {"image/svg+xml": "<svg/>"},
    });
    let source = "![one](attachment:a%20b.png) ![two](attachment:big.png)";
    let document =
        read(v4(json!([{"cell_type": "markdown", "source": source, "attachments": small, "metadata": {}}])))
            .unwrap();
    assert_eq!(document.cells[0].source, "![one](data:image/png;base64,aGVsbG8=) ![two](attachment:big.png)");
    assert_eq!(document.left_out, ["cell 1: a picture that is too large"]);
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

/// Processor time of this thread, in seconds. Other programs do not affect it.
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

/// Small files that are made to take long are read and written in a short time.
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
        "it is of version 5 of the format, and this Ratoon knows 3 and 4"
    );
    assert_eq!(why(json!({"nbformat": 2})), "it is of version 2 of the format, of the year 2011 or 2012");
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
        "cell 1 is of the kind \"sql\", which no notebook has"
    );
    let code = |output: Value| v4(json!([{"cell_type": "code", "source": "", "outputs": [output]}]));
    assert_eq!(
        why(code(json!({"output_type": "x"}))),
        "output 1 of cell 1 is of the kind \"x\", which no output has"
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
    assert!(error.is_too_large && error.why.starts_with("cell 2 has more than"), "{error:?}");
    let error = read(v4(vec![code("x".repeat(MAX_CELL_BYTES)); 5].into())).unwrap_err();
    assert!(error.is_too_large, "{error:?}");
    let error = read(v4(vec![code(String::new()); MAX_CELLS + 1].into())).unwrap_err();
    assert!(error.is_too_large, "{error:?}");
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
fn a_program_has_its_text_and_magics_as_comments() {
    use DraftKind::{Code, Markdown};
    let text = script_of(&[
        (Markdown, "# Title\n\ntext"),
        (Code, "%matplotlib inline\nimport numpy as np\nfiles = !ls\nnp?\n    %timeit f()"),
        (Code, "%%bash\necho hi\n\nls"),
        (Code, "sql = \"\"\"\n%s\n!x\n\"\"\"\ny = x %z"),
    ]);
    expect_test::expect![[r##"
        # %% [markdown]
        # # Title
        #
        # text

        # %%
        # %matplotlib inline
        import numpy as np
        # files = !ls
        # np?
        #     %timeit f()

        # %%
        # %%bash
        # echo hi
        #
        # ls

        # %%
        sql = """
        %s
        !x
        """
        y = x %z
    "##]]
    .assert_eq(&text);
}

#[test]
fn a_program_comes_back_as_it_was() {
    use DraftKind::{Code, Markdown};
    let cells = [
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
        Output::Error(RunError::new("E", evil)),
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
    assert!(page.contains(">100%\n<span style=\"color:rgb(255 0 0);\">red</span> link</pre>"), "{page}");
    assert!(page.contains(
        "<span class=\"keyword\">def</span> f(): <span class=\"keyword\">return</span> \
         <span class=\"string\">&#39;x&#39;</span> <span class=\"comment\"># y</span>"
    ));
}

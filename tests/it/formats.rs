//! Tests of the export and import of notebooks as files of other programs. nbformat validates the
//! exports.

use crate::breadth::in_full;
use crate::cells::Room;
use crate::request::{Answer, Request};
use crate::server::{TOKEN, TestServer, output_of, program};
use crate::wire::Wire;
use serde_json::{Value, json};
use std::path::Path;

const FILE: &str = r##"{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
  {"cell_type": "markdown", "id": "title", "metadata": {}, "source": ["# Title\n", "text"]},
  {"cell_type": "code", "id": "one", "metadata": {}, "execution_count": 3, "source": "x = 20\nprint('here')",
   "outputs": [{"output_type": "stream", "name": "stdout", "text": ["there\n"]}]},
  {"cell_type": "code", "id": "two", "metadata": {}, "execution_count": 5, "source": "x + 1",
   "outputs": [{"output_type": "execute_result", "execution_count": 5, "metadata": {},
        "data": {"text/plain": "21", "text/html": "<script>evil()</script>"}}]}
]}"##;

fn import(server: &TestServer, name: &str, file: &str) -> Answer {
    server.owner(Request::post(&format!("/api/notebooks/import?name={name}"), file))
}

fn document(server: &TestServer, name: &str, state: &str, format: &str) -> Answer {
    server.owner(Request::get(&format!("/api/notebooks/{name}/states/{state}/document?as={format}")))
}

fn sources(file: &Value) -> Vec<String> {
    let text = |cell: &Value| match &cell["source"] {
        Value::Array(lines) => lines.iter().map(|line| line.as_str().unwrap()).collect(),
        other => other.as_str().unwrap().to_owned(),
    };
    file["cells"].as_array().unwrap().iter().map(text).collect()
}

fn command(server: &TestServer, name: &str, command: Value) -> Value {
    server.owner(Request::post(&format!("/api/notebooks/{name}/commands"), &command.to_string())).json()
}

#[test]
fn an_imported_file_becomes_drafts_that_keep_its_outputs_until_they_run() {
    let server = TestServer::start();
    let made = import(&server, "theirs", FILE);
    assert_eq!((made.status, made.json()), (201, json!({"name": "theirs", "left_out": []})));
    let snapshot = || server.owner(Request::get("/api/notebooks/theirs")).json();
    let before = snapshot();
    assert_eq!(before["states"].as_array().unwrap().len(), 1, "nothing ran");
    let of = |run: &Value| {
        (run["status"].clone(), run["draft"].clone(), run["state"].clone(), run["exec_count"].clone())
    };
    let runs: Vec<_> = before["runs"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(
        runs,
        [
            (json!("imported"), json!("one"), Value::Null, json!(3)),
            (json!("imported"), json!("two"), Value::Null, json!(5))
        ]
    );
    let drafts: Vec<_> = before["drafts"].as_array().unwrap().iter().map(|d| d["id"].clone()).collect();
    assert_eq!(drafts, ["title", "one", "two"]);

    // The export has the same content as the imported file.
    let back = document(&server, "theirs", "initial", "ipynb").json();
    assert_eq!(sources(&back), ["# Title\ntext", "x = 20\nprint('here')", "x + 1"]);
    assert_eq!(back["cells"][1]["outputs"][0]["text"], json!(["there\n"]));
    let counts = |file: &Value| {
        file["cells"].as_array().unwrap().iter().map(|c| c["execution_count"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(counts(&back), [Value::Null, json!(3), json!(5)]);

    // If the run of a draft fails, the draft keeps its imported outputs. If it succeeds, they are
    // removed.
    let run = |exec_id: &str, on: &str, code: &str, draft: &str| {
        let wish =
            json!({"do": "run", "exec_id": exec_id, "code": code, "on": {"state": on}, "draft": draft});
        command(&server, "theirs", wish)
    };
    assert_eq!(run("a", "initial", "1/0", "one")["status"], "error");
    assert_eq!(snapshot()["runs"].as_array().unwrap().len(), 3);
    let state = run("b", "initial", "x = 20\nprint('here')", "one")["state"].as_str().unwrap().to_owned();
    let after = document(&server, "theirs", &state, "ipynb").json();
    assert_eq!(sources(&after), sources(&back));
    assert_eq!(after["cells"][1]["outputs"][0]["text"], json!(["here\n"]));
    assert_eq!(
        after["cells"][2]["outputs"][0]["data"]["text/plain"],
        json!("21"),
        "the outputs moved with their draft"
    );
    assert_eq!(counts(&after), [Value::Null, json!(1), json!(5)]);
    let left = |wanted: &str| {
        snapshot()["runs"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|r| r["status"] == "imported" && r["draft"] == wanted)
            .count()
    };
    assert_eq!((left("one"), left("two")), (0, 1));
    assert_eq!(command(&server, "theirs", json!({"do": "delete_draft", "draft": "two"}))["kind"], "done");
    assert_eq!(left("two"), 1, "an undo shows them again");
    assert_eq!(command(&server, "theirs", json!({"do": "empty_trash"}))["kind"], "done");
    assert_eq!(left("two"), 0);
}

#[test]
fn an_import_survives_a_crash_and_is_sent_to_clients() {
    let mut server = TestServer::start();
    assert_eq!(import(&server, "theirs", FILE).status, 201);
    assert_eq!(server.owner(Request::get("/api/notebooks/theirs")).status, 200);
    server.restart();
    let snapshot = server.owner(Request::get("/api/notebooks/theirs")).json();
    assert_eq!(snapshot["runs"][0]["outputs"][0]["text"], "there\n");
    assert_eq!(snapshot["runs"][1]["exec_count"], 5);
    // The API at the root does not show imported runs.
    drop(server);
    let room = Room::new();
    std::fs::write(room.file("main.ipynb"), FILE).unwrap();
    assert!(in_room(&room, &["import", "main.ipynb"]).0);
    let server = TestServer::in_dir(room.path());
    assert_eq!(server.states(), ["initial"]);
    assert!(!server.interrupt("imported"));
}

#[test]
fn a_file_that_is_not_a_notebook_is_refused_and_leaves_nothing() {
    let server = TestServer::start();
    let room = server.room();
    let refused =
        |answer: Answer| (answer.status, answer.json()["error"]["why"].as_str().unwrap().to_owned());
    assert_eq!(
        refused(import(&server, "x", "{\"nbformat\": 4}")),
        (400, "`cells` is missing in the file".into())
    );
    assert_eq!(refused(import(&server, "x", "hello")), (400, "it is not JSON".into()));
    assert_eq!(refused(import(&server, "main", FILE)), (409, "there is a notebook of this name".into()));
    assert_eq!(import(&server, "..%2Fx", FILE).status, 400);
    assert_eq!(server.owner(Request::post("/api/notebooks/import", FILE)).status, 400);
    let long = Request::post("/api/notebooks/import?name=x", "{").header("content-length", "67108865");
    assert_eq!(server.owner(long).status, 413);
    let form =
        Request::new("POST", "/api/notebooks/import?name=x").header("content-type", "text/plain").body(FILE);
    assert_eq!(server.owner(form).status, 415);
    let large =
        json!({"nbformat": 4, "cells": vec![json!({"cell_type": "code", "source": "x".repeat(1 << 20)}); 5]});
    assert_eq!(import(&server, "x", &large.to_string()).status, 413);
    let left: Vec<_> = std::fs::read_dir(room.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["main.ratoon"]);
}

#[test]
fn a_lineage_can_be_exported_in_three_formats() {
    let server = TestServer::start();
    let one = server.run("initial", "%%time\nx = 1\nprint('\\x1b[31mred\\x1b[0m')");
    let two =
        server.run(one.state(), "from IPython.display import HTML\nHTML('<b>bold</b><script>1</script>')");
    let file = document(&server, "main", two.state(), "ipynb");
    assert_eq!(file.header("content-type"), Some("application/x-ipynb+json"));
    let name = "attachment; filename=\"main.ipynb\"; filename*=UTF-8''main.ipynb";
    assert_eq!(file.header("content-disposition"), Some(name));
    assert_eq!(file.json()["cells"].as_array().unwrap().len(), 2);
    let script = document(&server, "main", two.state(), "py").text();
    assert!(script.starts_with("# %%\n# %%time\nx = 1\n"), "{script}");
    let page = document(&server, "main", two.state(), "html");
    assert!(page.header("content-security-policy").unwrap().contains("sandbox"), "{page:?}");
    assert!(page.header("content-disposition").unwrap().starts_with("attachment; filename=\"main.html\""));
    assert!(page.text().contains("<span style=\"color:var(--ansi-1);\">red</span>"));
    assert!(page.text().contains("srcdoc=\"") && !page.text().contains("<b>bold</b>"));

    assert_eq!(document(&server, "main", two.state(), "docx").status, 400);
    assert_eq!(document(&server, "main", "none", "ipynb").status, 404);
    let head = Request::new("HEAD", &format!("/api/notebooks/main/states/{}/document", two.state()));
    let mut wire = crate::wire::Wire::open(server.address);
    wire.write(&head.bearer(crate::server::TOKEN).bytes(&server.host()));
    let head = wire.answer(true).unwrap();
    assert_eq!((head.status, head.header("content-disposition")), (200, Some(name)));
}

#[test]
fn all_branches_are_exported_as_one_page_with_each_output_once() {
    let room = Room::new();
    let server = TestServer::in_dir(room.path());
    let base = server.run("initial", "print('be' + 'fore')");
    let one = server.run(base.state(), "# <script>\nprint('o' + 'ne')");
    let two = server.run(base.state(), "from IPython.display import HTML\nHTML('<i>t' + 'wo</i>')");
    server.run(base.state(), "print('fail' + 'ing')\n1/0");
    command(&server, "main", json!({"do": "label", "state": one.state(), "label": "<b>\"best\"</b>"}));
    let get = |state: &str, query: &str| {
        server.owner(Request::get(&format!("/api/notebooks/main/states/{state}/document?{query}")))
    };
    let page = get(two.state(), "as=html&branches=all");
    let name = page.header("content-disposition").unwrap().to_owned();
    assert!(name.starts_with("attachment; filename=\"main-all-branches.html\""), "{name}");
    let text = page.text();
    for output in [">before\n<", ">one\n<", "&lt;i&gt;two&lt;/i&gt;", ">failing\n<", "division by zero"] {
        assert_eq!(text.matches(output).count(), 1, "{output}: {text}");
    }
    // Only the line of the wanted state is there without scripts.
    let node = |state: &str| format!(" class=\"node\" data-id=\"{state}\"");
    assert!(text.contains(&format!("<div{}", node(two.state()))), "{text}");
    assert!(text.contains(&format!("<template{}", node(one.state()))), "{text}");
    assert!(text.contains("data-label=\"&lt;b&gt;&quot;best&quot;&lt;/b&gt;\""), "{text}");
    assert!(text.contains("data-attempt"), "{text}");
    assert_eq!(text.matches("</script>").count(), 2, "the page's own scripts");
    for (query, how) in [("branches=all", "add `as=html`"), ("as=html&branches=some", "use `branches=all`")] {
        let refused = get(two.state(), query);
        assert!(refused.status == 400 && refused.text().contains(how), "{query}: {}", refused.text());
    }

    // The command line writes the same page.
    drop(server);
    let arguments = ["export", "main", "--state", two.state(), "--all-branches", "-o", "all.html"];
    assert!(in_room(&room, &arguments).0);
    assert_eq!(std::fs::read_to_string(room.file("all.html")).unwrap(), text);
    let (is_done, said) = in_room(&room, &["export", "main", "--all-branches", "--as", "py"]);
    assert!(!is_done && said.contains("give --as html"), "{said}");
}

fn with_id(mut command: Value, id: u64) -> String {
    command["id"] = id.into();
    command.to_string()
}

#[test]
fn an_export_has_the_text_between_cells_and_no_outputs_of_cells_that_never_ran() {
    let server = TestServer::start();
    let one = server.run("initial", "x = 1");
    let two = server.run(one.state(), "print(x)");
    let draft = |id: &str, on: &str, before: Option<&str>, kind: &str| {
        let draft = json!({"id": id, "on": on, "before": before, "kind": kind, "source": id});
        let answer = command(&server, "main", json!({"do": "put_draft", "draft": draft}));
        assert_eq!(answer["kind"], "done", "{answer}");
    };
    draft("never", two.state(), None, "code");
    draft("1/0", two.state(), None, "code");
    draft("# Title", "initial", Some(one.state()), "markdown");
    draft("text", one.state(), Some(two.state()), "markdown");
    draft("waits", one.state(), None, "code");
    let mut socket = Wire::socket(&server, TOKEN);
    let bad = json!({
        "do": "run", "exec_id": "bad", "code": "input(); 1/0", "on": {"state": two.state()}, "draft": "1/0",
    });
    let after = json!({"do": "run", "exec_id": "after", "code": "2", "on": {"run": "bad"}, "draft": "never"});
    socket.say(&with_id(bad, 1));
    socket.hear_until(|frame| frame["event"] == "prompt_changed");
    socket.say(&with_id(after, 2));
    socket.hear_until(|frame| frame["event"] == "run_added" && frame["run"]["exec_id"] == "after");
    socket.say(&with_id(json!({"do": "answer_input", "exec_id": "bad", "text": ""}), 3));
    socket.hear_until(|frame| frame["event"] == "run_ended" && frame["exec_id"] == "after");
    let file = document(&server, "main", two.state(), "ipynb").json();
    let cells: Vec<(String, usize)> = sources(&file)
        .into_iter()
        .zip(file["cells"].as_array().unwrap())
        .map(|(source, cell)| (source, cell["outputs"].as_array().map_or(0, Vec::len)))
        .collect();
    let expected = [("# Title", 0), ("x = 1", 0), ("text", 0), ("print(x)", 1), ("1/0", 2), ("never", 0)];
    assert_eq!(cells, expected.map(|(source, outputs)| (source.to_owned(), outputs)));
    let file = document(&server, "main", one.state(), "ipynb").json();
    assert_eq!(sources(&file), ["# Title", "x = 1", "waits"]);
}

/// nbformat validates an export with every kind of output that IPython makes.
#[test]
fn nbformat_accepts_exports_and_its_files_can_be_imported() {
    let Some(server) = TestServer::with_science() else { return };
    let room = server.room();
    let code = r##"
import sys, matplotlib.pyplot as plt, pandas as pd
from IPython.display import display, HTML, JSON, Latex, Markdown, SVG
print("out"); print("err", file=sys.stderr)
display(HTML("<b>x</b>"), JSON({"a": [1]}), Latex("$x$"), Markdown("# y"),
    SVG('<svg xmlns="http://www.w3.org/2000/svg"/>'))
display({"application/vnd.x+json": {"a": 1}, "application/x-odd": {"b": 2}, "text/plain": "z"}, raw=True)
h = display("first", display_id="h"); h.update("second")
plt.plot([1, 2]); plt.show()
pd.DataFrame({"a": [1, 2]})"##;
    let wish = json!({
        "do": "put_draft",
        "draft": {"id": "text with spaces!", "on": "initial", "kind": "markdown", "source": "# Prose"},
    });
    assert_eq!(command(&server, "main", wish)["kind"], "done");
    let ran = server.run("initial", code);
    let failed =
        json!({"do": "run", "exec_id": "f", "code": "1/0", "on": {"state": ran.state()}, "draft": "failing"});
    let draft = json!({
        "do": "put_draft", "draft": {"id": "failing", "on": ran.state(), "kind": "code", "source": "1/0"},
    });
    assert_eq!(command(&server, "main", draft)["kind"], "done");
    assert_eq!(command(&server, "main", failed)["status"], "error");
    for (i, state) in ["initial", ran.state()].into_iter().enumerate() {
        let file = document(&server, "main", state, "ipynb");
        std::fs::write(room.file(&format!("{i}.ipynb")), &file.body).unwrap();
    }
    let script = format!(
        r##"
import json, nbformat
from nbformat import v3, v4
for i in range(2):
    with open("{dir}/%d.ipynb" % i) as f: raw = json.load(f)
    nbformat.validate(raw)
    nb = nbformat.read("{dir}/%d.ipynb" % i, 4)
assert raw["nbformat_minor"] == 5 and raw["cells"][0]["execution_count"] == 1, raw
kinds = [o["output_type"] for o in raw["cells"][0]["outputs"]]
assert kinds[:2] == ["stream", "stream"] and kinds[-1] == "execute_result", kinds
nb = v4.new_notebook(cells=[v4.new_markdown_cell("# T"), v4.new_raw_cell("raw"), v4.new_code_cell("1+1",
    execution_count=9, outputs=[v4.new_output("execute_result", {{"text/plain": "2"}}, execution_count=9),
    v4.new_output("error", ename="E", evalue="v", traceback=["a", "b"])])])
nbformat.write(nb, "{dir}/new.ipynb")
nbformat.write(nb, "{dir}/minor.ipynb", version=4)
for version in (4, 3):
    with open("{dir}/v%d.ipynb" % version, "w") as f: f.write(nbformat.writes(nb, version=version))
"##,
        dir = room.path().display()
    );
    python(&script);
    for name in ["new", "v4", "v3"] {
        let file = std::fs::read_to_string(room.file(&format!("{name}.ipynb"))).unwrap();
        assert_eq!(import(&server, name, &file).status, 201, "{name}");
        let back = document(&server, name, "initial", "ipynb");
        assert_eq!(sources(&back.json()), ["# T", "raw", "1+1"], "{name}");
        assert_eq!(back.json()["cells"][1]["cell_type"], "raw", "{name}");
        let code = &back.json()["cells"][2];
        assert_eq!(
            (&code["execution_count"], &code["outputs"][0]["data"]["text/plain"]),
            (&json!(9), &json!(["2"])),
            "{name}"
        );
        std::fs::write(room.file("back.ipynb"), &back.body).unwrap();
        python(&format!(
            "import nbformat; nbformat.validate(nbformat.read('{}', 4))",
            room.file("back.ipynb").display()
        ));
    }
}

/// An exported program has the calls that IPython makes of each cell, and runs under IPython.
#[test]
fn ipython_runs_an_exported_program_and_makes_the_same_calls() {
    let Some(server) = TestServer::with_science() else { return };
    let room = server.room();
    let sources = [
        "%config Completer.use_jedi = False\n%env  RATOON_X=1\nimport os\nassert os.environ['RATOON_X'] == '1'",
        "files = !echo 'a b'\nassert files == ['a b'], files\n! echo ü 'it'\"'s\"\n!!echo {files[0]} $$HOME",
        "for i in range(2):\n    !echo $i\n    %time x = i\nassert x == 1\nnames = %who_ls  int",
        "!echo one \\\n   two\n%time y = (1 + \\\n  1)\nassert y == 2 and 'x' in names",
        "os.path?\n?os\n??os.path.join\nos.pat*?\n%time?\n%%bash?\nif x:\n    os?",
        "%%bash -e\necho 'hi' > /dev/null\n\n[ 1 = 1 ]",
        "\n%%writefile /dev/null\n%s \"x\" \\n \u{e9}\t\u{200b}",
        "%%timeit -n1 -r1 z = 1\nz + 1",
        "n = (7\n%y)\nassert n == 1\nget_ipython().system('true')",
    ];
    let cell = |source: &&str| json!({"cell_type": "code", "source": source, "metadata": {}, "outputs": []});
    let cells: Vec<Value> = sources.iter().map(cell).collect();
    let file = json!({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": cells});
    assert_eq!(import(&server, "calls", &file.to_string()).status, 201);
    let script = document(&server, "calls", "initial", "py").text();
    std::fs::write(room.file("calls.py"), &script).unwrap();
    std::fs::write(room.file("sources.json"), json!(sources).to_string()).unwrap();
    python(&format!(
        r##"
import ast, json, subprocess, sys
from IPython.core.inputtransformer2 import TransformerManager
with open("{dir}/sources.json") as f: sources = json.load(f)
with open("{dir}/calls.py") as f: cells = f.read().split("# %%\n")[1:]
assert len(cells) == len(sources)
for source, cell in zip(sources, cells):
    theirs = TransformerManager().transform_cell(source)
    assert ast.dump(ast.parse(cell)) == ast.dump(ast.parse(theirs)), (cell, theirs)
subprocess.run([sys.executable, "-m", "IPython", "--no-banner", "{dir}/calls.py"], check=True, timeout=60)
"##,
        dir = room.path().display()
    ));
    let by_script =
        Request::new("POST", "/api/notebooks/import?name=again").header("content-type", "text/x-python");
    assert_eq!(server.owner(by_script.body(&script)).status, 201);
    let again = document(&server, "again", "initial", "ipynb").json();
    assert_eq!(self::sources(&again), sources);
}

/// Imports examples of the scikit-learn gallery as programs. Also imports them as notebooks of the
/// kind that sphinx-gallery makes.
#[test]
fn gallery_examples_can_be_imported_as_programs_and_as_notebooks() {
    let Some(server) = TestServer::with_science() else { return };
    let room = server.room();
    python(&format!(
        "import nbformat\nexec(open('tests/gallery/notebooks.py').read())\nwrite_all('{}')",
        room.path().display()
    ));
    let mut count = 0;
    for entry in std::fs::read_dir(room.path()).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let Some(name) = path
            .file_stem()
            .and_then(|n| n.to_str())
            .filter(|_| path.extension().is_some_and(|e| e == "ipynb"))
        else {
            continue;
        };
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(import(&server, name, &text).status, 201, "{name}");
        let back = document(&server, name, "initial", "ipynb");
        assert_eq!(sources(&back.json()), sources(&serde_json::from_str(&text).unwrap()), "{name}");
        let script = document(&server, name, "initial", "py").text();
        let by_script = Request::new("POST", &format!("/api/notebooks/import?name={name}-py"))
            .header("content-type", "text/x-python");
        assert_eq!(server.owner(by_script.body(&script)).status, 201, "{name}");
        let again = document(&server, &format!("{name}-py"), "initial", "py").text();
        assert_eq!(again, script, "{name}");
        count += 1;
    }
    assert_eq!(count, 3);
}

fn python(script: &str) {
    let python = std::env::var("RATOON_TEST_PYTHON").unwrap();
    let ran = std::process::Command::new(python).args(["-c", script]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// All commands take a notebook in the same forms.
#[test]
fn every_command_accepts_a_notebooks_name_or_directory() {
    let room = Room::new();
    std::fs::write(room.file("theirs.ipynb"), FILE).unwrap();
    assert!(in_room(&room, &["import", "theirs.ipynb"]).0);
    let full = room.file("theirs");
    let inside = room.file("theirs.ratoon");
    let elsewhere = room.file("backup");
    let copy = std::process::Command::new("cp").arg("-r").args([&inside, &elsewhere]).status().unwrap();
    assert!(copy.success());
    // A directory that also has the notebook's name.
    std::fs::create_dir(&full).unwrap();
    let forms = [
        (room.path(), "theirs"),
        (room.path(), "theirs.ratoon"),
        (room.path(), "theirs.ratoon/"),
        (room.path(), "backup"),
        (Path::new("/"), full.to_str().unwrap()),
        (&inside, "."),
    ];
    for (number, (dir, notebook)) in forms.into_iter().enumerate() {
        for command in [&["check"][..], &["gc"], &["trust", "--yes"], &["export", "--as", "py", "-o", "-"]] {
            let words = [command, &[notebook]].concat();
            let (is_done, said) = in_dir(dir, &words);
            assert!(is_done, "{number}, {words:?}: {said}");
        }
    }
    for command in ["check", "gc", "trust", "export"] {
        let (is_done, said) = in_room(&room, &[command, "none"]);
        assert!(!is_done && said.contains("none.ratoon"), "{command}: {said}");
    }
    let (is_done, said) = in_dir(&inside, &["export", ".", "--as", "html", "-o", "-"]);
    assert!(is_done && said.contains("<title>theirs"), "{said}");
}

/// Runs a command in a directory. Returns whether it succeeded, and its output.
fn in_room(room: &Room, arguments: &[&str]) -> (bool, String) {
    in_dir(room.path(), arguments)
}

fn in_dir(dir: &Path, arguments: &[&str]) -> (bool, String) {
    let ran = program(&[]).args(arguments).current_dir(dir).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn the_command_line_can_export_and_import_without_a_server() {
    let room = Room::new();
    std::fs::write(room.file("theirs.ipynb"), FILE).unwrap();
    let (is_done, said) = in_room(&room, &["import", "theirs.ipynb"]);
    assert!(is_done && said.contains("theirs.ratoon: 3 cells"), "{said}");
    let (is_done, said) = in_room(&room, &["import", "theirs.ipynb"]);
    assert!(!is_done && said.contains("a file or directory has this name already"), "{said}");
    assert!(in_room(&room, &["import", "theirs.ipynb", "copy.ratoon"]).0);
    assert!(in_room(&room, &["export", "theirs", "--as", "py"]).0);
    let script = std::fs::read_to_string(room.file("theirs.py")).unwrap();
    assert!(script.starts_with("# %% [markdown]\n# # Title\n# text\n\n# %%\nx = 20\n"), "{script}");
    let (is_done, said) = in_room(&room, &["export", "theirs", "--as", "py"]);
    assert!(!is_done && said.contains("give another file with -o"), "{said}");
    assert!(in_room(&room, &["export", "theirs.ratoon", "--as", "py", "-o", "theirs.py"]).0);
    let (_, said) = in_room(&room, &["export", "theirs", "-o", "-", "--state", "initial"]);
    assert_eq!(sources(&serde_json::from_str(&said).unwrap()).len(), 3);
    assert!(in_room(&room, &["import", "theirs.py", "from program"]).0);
    assert!(in_room(&room, &["check", "from program.ratoon"]).0);
    for (arguments, why) in [
        (&["export", "none"][..], "there is no such directory"),
        (&["export", "theirs", "--as", "docx"], "there is no format"),
        (&["export", "theirs", "--state", "none"], "no state of the notebook"),
        (&["import", "none.ipynb"], "No such file"),
        (&["import", "theirs.txt"], "does not end in .ipynb or .py"),
        (&["import", "theirs.ipynb", "a/b"], "characters"),
    ] {
        let (is_done, said) = in_room(&room, arguments);
        assert!(!is_done && said.contains(why), "{arguments:?}: {said}");
    }
    let left = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().to_string_lossy().starts_with('.')
    };
    assert!(!std::fs::read_dir(room.path()).unwrap().any(left));
}

#[test]
fn an_export_that_cannot_be_written_to_the_standard_output_fails() {
    let room = Room::new();
    std::fs::write(room.file("theirs.ipynb"), FILE).unwrap();
    assert!(in_room(&room, &["import", "theirs.ipynb"]).0);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut export = program(&[]);
    export.args(["export", "theirs", "-o", "-"]);
    let ran = export.current_dir(room.path()).stdout(full).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(!ran.status.success() && said.contains("cannot write to the standard output"), "{said}");
}

#[test]
fn exporting_a_notebook_that_a_server_has_open_names_the_server() {
    let room = Room::new();
    let _server = TestServer::in_dir(room.path());
    let dir = room.file("main");
    let ran = output_of(&["export", dir.to_str().unwrap()]);
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(!ran.status.success() && said.contains("has it open"), "{said}");
    assert!(said.contains("/api/notebooks/main/states/STATE/document?as=ipynb"), "{said}");
}

/// Files that have fields which the schema of nbformat forbids.
const NOT_VALID: [&str; 2] = ["unknown-fields", "unknown-top-level"];

/// Files that are imported by a server. It has a limit of open notebooks.
const SERVED: [&str; 8] =
    ["colab-gpu", "crlf", "empty", "jupyterlab", "kaggle", "numbers", "unknown-fields", "widgets"];

/// The corpus: small files as other programs write them.
fn corpus() -> Vec<(String, String)> {
    let files = std::fs::read_dir("tests/ipynb").unwrap().map(|entry| entry.unwrap().path());
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files.map(|path| (stem(&path), std::fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn an_ipynb_that_was_not_changed_is_exported_byte_for_byte() {
    let mut server = TestServer::start();
    let is_the_same = |server: &TestServer, name: &str, text: &str| {
        let file = document(server, name, "initial", "ipynb");
        assert!(file.body == text.as_bytes(), "{name}: {}", file.text());
    };
    for (name, text) in corpus().into_iter().filter(|(name, _)| SERVED.contains(&name.as_str())) {
        // One file has all forms, so that the test is not slow.
        let forms = [text.clone(), text.trim_end().replace('\n', "\r\n"), format!("\u{feff}{text}")];
        let forms = &forms[..if in_full() || name == "jupyterlab" { 3 } else { 1 }];
        for (i, text) in forms.iter().enumerate() {
            let name = format!("{name}{i}");
            assert_eq!(import(&server, &name, text).status, 201, "{name}");
            is_the_same(&server, &name, text);
        }
    }
    // A copy and a renamed notebook have the file too, also after a crash.
    let change = |path: &str, body: Value| {
        assert!(server.owner(Request::post(path, &body.to_string())).status < 300, "{path}");
    };
    change("/api/notebooks/widgets0/duplicate", json!({"to": "copy"}));
    change("/api/notebooks/widgets0/rename", json!({"to": "other"}));
    server.restart();
    let text_of = |name: &str| corpus().into_iter().find(|(own, _)| own == name).unwrap().1;
    is_the_same(&server, "other", &text_of("widgets"));
    is_the_same(&server, "copy", &text_of("widgets"));
    is_the_same(&server, "jupyterlab0", &text_of("jupyterlab"));
}

/// Each file of the corpus comes back byte for byte, and nbformat accepts it. Its program gives a
/// notebook with the same cells, which nbformat accepts, too.
#[test]
fn nbformat_accepts_the_exports_of_unchanged_files_and_of_their_programs() {
    if std::env::var("RATOON_TEST_PYTHON").is_err() {
        return;
    }
    let room = Room::new();
    let (files, again) = (room.file("files"), room.file("again"));
    for dir in [&files, &again] {
        std::fs::create_dir(dir).unwrap();
    }
    let is_done = |arguments: &[&str]| {
        let (is_done, said) = in_room(&room, arguments);
        assert!(is_done, "{arguments:?}: {said}");
    };
    for (name, text) in corpus() {
        let file = format!("files/{name}.ipynb");
        let program = format!("{name}.py");
        is_done(&["import", &format!("{}/tests/ipynb/{name}.ipynb", env!("CARGO_MANIFEST_DIR")), &name]);
        is_done(&["export", &name, "-o", &file]);
        assert!(std::fs::read(room.file(&file)).unwrap() == text.as_bytes(), "{name}");
        is_done(&["export", &name, "--as", "py", "-o", &program]);
        is_done(&["import", &program, &format!("{name}-py")]);
        is_done(&["export", &format!("{name}-py"), "-o", &format!("again/{name}.ipynb")]);
    }
    python(&format!(
        r##"
import json, nbformat, pathlib
def cells(file):
    with open(file, encoding="utf-8-sig", newline="") as f: notebook = json.load(f)
    if file.stem not in {NOT_VALID:?} or file.parent.name == "again": nbformat.validate(notebook)
    # A program has no attachments, CR, or blank lines at the ends of cells.
    return ["".join(cell["source"]).replace("\r", "").strip("\n") for cell in notebook["cells"]
            if "attachments" not in cell and "".join(cell["source"]).strip()]
files = sorted(pathlib.Path("{}").iterdir())
assert len(files) >= 50, files
for file in files:
    programs = cells(file.parent.parent / "again" / file.name)
    assert set(cells(file)) <= set(programs), (file, programs)
"##,
        files.display()
    ));
}

fn run_draft(server: &TestServer, name: &str, on: &str, code: &str, draft: &str, more: Value) -> String {
    let mut wish = json!({"do": "run", "exec_id": format!("{draft}-{}", code.len()), "code": code, "on": {"state": on},
        "draft": draft});
    wish.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let ended = command(server, name, wish);
    ended["state"].as_str().unwrap_or_else(|| panic!("{ended}")).to_owned()
}

#[test]
fn cells_that_run_keep_the_metadata_of_their_file_and_the_others_stay_as_they_were() {
    let mut server = TestServer::start();
    let text = std::fs::read_to_string("tests/ipynb/jupyterlab.ipynb").unwrap();
    let was: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(import(&server, "n", &text).status, 201);
    let cells = |server: &TestServer, state: &str| {
        let file = document(server, "n", state, "ipynb").json();
        assert_eq!((&file["metadata"], &file["nbformat_minor"]), (&was["metadata"], &was["nbformat_minor"]));
        file["cells"].as_array().unwrap().clone()
    };
    // The draft of the second cell runs; the text above it becomes the state's.
    let one = run_draft(&server, "n", "initial", "x = 20\nx", "c0de-1", json!({}));
    let now = cells(&server, &one);
    let mut expected = was["cells"].as_array().unwrap().clone();
    expected[1]["execution_count"] = json!(1);
    expected[1]["outputs"] = json!([
        {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": ["20"]}}
    ]);
    assert_eq!(now, expected);
    // A new version of it: the cells below are copies, and keep everything too.
    let range = json!({"instead_of": {"state": one, "tip": one}});
    let two = run_draft(&server, "n", "initial", "x = 21", "c0de-1", range);
    expected[1]["source"] = json!(["x = 21"]);
    expected[1]["outputs"] = json!([]);
    assert_eq!(cells(&server, &two), expected);
    assert_eq!(cells(&server, &one)[2..], was["cells"].as_array().unwrap()[2..]);
    // The text above the state's cell is edited.
    let snapshot = server.owner(Request::get("/api/notebooks/n")).json();
    let state = snapshot["states"].as_array().unwrap().iter().find(|s| s["id"] == two).unwrap();
    let prose = state["prose"][0].as_str().unwrap().replace("Grüße", "Hello");
    assert_eq!(
        command(&server, "n", json!({"do": "put_prose", "state": two, "prose": [prose]}))["kind"],
        "done"
    );
    expected[0]["source"][0] = json!("# Hello 日本 🌱\n");
    assert_eq!(cells(&server, &two), expected);
    // A copied draft is edited and runs; the raw cell and the empty cells above the next one stay.
    let below: Vec<&Value> =
        snapshot["drafts"].as_array().unwrap().iter().filter(|draft| draft["on"] == two).collect();
    let failing = below.iter().find(|draft| draft["source"] == "1/0").unwrap()["id"].as_str().unwrap();
    let three = run_draft(&server, "n", &two, "1/1", failing, json!({}));
    expected[2]["source"] = json!("1/1");
    expected[2]["execution_count"] = json!(2);
    expected[2]["outputs"] = json!([
        {"output_type": "execute_result", "execution_count": 2, "metadata": {}, "data": {"text/plain": ["1.0"]}}
    ]);
    assert_eq!(cells(&server, &three), expected);
    server.restart();
    assert_eq!(cells(&server, &three), expected);
    // A reset notebook no longer knows the file.
    assert_eq!(command(&server, "n", json!({"do": "reset"}))["kind"], "done");
    assert_eq!(document(&server, "n", "initial", "ipynb").json()["cells"], json!([]));
    for _ in 0..2 {
        assert_ne!(document(&server, "n", "initial", "ipynb").json()["metadata"], was["metadata"]);
        server.restart();
    }
}

/// Strict validation: a changed cell, a new cell and a deleted cell in each file of the corpus.
#[test]
#[ignore = "nightly: it takes 5 s of processor time"]
fn nbformat_accepts_changed_exports_of_all_minor_versions() {
    let Some(server) = TestServer::with_science() else { return };
    let room = server.room();
    for (name, text) in corpus().into_iter().filter(|(name, _)| !NOT_VALID.contains(&name.as_str())) {
        assert_eq!(import(&server, &name, &text).status, 201, "{name}");
        let snapshot = server.owner(Request::get(&format!("/api/notebooks/{name}"))).json();
        let drafts = snapshot["drafts"].as_array().unwrap();
        for (i, draft) in drafts.iter().enumerate() {
            let mut draft = draft.clone();
            draft["source"] = json!(format!("changed\n{i}"));
            if i == 0 && drafts.len() > 1 {
                let wish = json!({"do": "delete_draft", "draft": draft["id"]});
                assert_eq!(command(&server, &name, wish)["kind"], "done", "{name}");
                continue;
            }
            // The server knows better than a client where a draft comes from.
            draft["imported_cell"] = json!(0);
            let wish = json!({"do": "put_draft", "draft": draft, "in_place": true});
            assert_eq!(command(&server, &name, wish)["kind"], "done", "{name}");
        }
        let new = json!({"id": "é new", "on": "initial", "kind": "code", "source": "1 + 1"});
        let wish = json!({"do": "put_draft", "draft": new});
        assert_eq!(command(&server, &name, wish)["kind"], "done", "{name}");
        let state = run_draft(&server, &name, "initial", "1 + 1", "é new", json!({}));
        let file = document(&server, &name, &state, "ipynb");
        let (was, now): (Value, Value) = (serde_json::from_str(&text).unwrap(), file.json());
        assert_eq!(now["nbformat_minor"], was["nbformat_minor"], "{name}");
        let of = |file: &Value, key: &str| -> Vec<Value> {
            file["cells"].as_array().unwrap().iter().map(|cell| cell[key].clone()).collect()
        };
        let left = usize::from(drafts.len() > 1);
        assert_eq!(of(&now, "metadata")[1..], of(&was, "metadata")[left..], "{name}");
        assert_eq!(of(&now, "cell_type")[1..], of(&was, "cell_type")[left..], "{name}");
        std::fs::write(room.file(&format!("{name}.json")), &file.body).unwrap();
        // A server has a limit of open notebooks.
        assert!(server.owner(Request::new("DELETE", &format!("/api/notebooks/{name}"))).status < 300);
    }
    python(&format!(
        "import glob, json, nbformat\nfiles = glob.glob('{}/*.json')\nassert len(files) > 50\n\
         for file in files: nbformat.validate(json.load(open(file)))",
        room.path().display()
    ));
}

#[test]
fn gc_keeps_the_imported_file_and_check_reports_its_loss() {
    let room = Room::new();
    std::fs::write(room.file("theirs.ipynb"), FILE).unwrap();
    assert!(in_room(&room, &["import", "theirs.ipynb"]).0);
    assert!(in_room(&room, &["gc", "theirs"]).0 && in_room(&room, &["check", "theirs"]).0);
    let export = || in_room(&room, &["export", "theirs", "-o", "-"]);
    assert_eq!(export(), (true, FILE.to_owned()));
    std::fs::remove_dir_all(room.file("theirs.ratoon/blobs")).unwrap();
    let (is_done, said) = in_room(&room, &["check", "theirs"]);
    assert!(!is_done && said.contains("the file that the notebook was imported from is lost"), "{said}");
    let (is_done, said) = export();
    let left: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((is_done, sources(&left)), (true, sources(&serde_json::from_str(FILE).unwrap())));
}

//! Tests of the outputs of cells, and of their order.

use crate::cells::{Live, Ran};
use crate::server::TestServer;
use serde_json::{Value, json};

/// The outputs in a short form: `out TEXT`, `err TEXT`, `show TEXT`, `result TEXT`, `error NAME`.
fn short(ran: &Ran) -> Vec<String> {
    let one = |item: &Value| {
        let plain = || item["data"]["text/plain"].as_str().unwrap_or("-").to_owned();
        match item["output_type"].as_str().unwrap() {
            "stream" => {
                format!("{} {}", &item["name"].as_str().unwrap()[3..], item["text"].as_str().unwrap())
            }
            "display_data" => format!("show {}", plain()),
            "execute_result" => format!("result {}", plain()),
            "error" => format!("error {}", item["ename"].as_str().unwrap()),
            other => panic!("{other}"),
        }
    };
    ran.output.iter().map(one).collect()
}

fn all_are(server: &TestServer, cells: &[(&str, &[&str])]) {
    let wrong: Vec<String> = cells
        .iter()
        .filter_map(|(code, expected)| {
            let ran = server.run("initial", code);
            (short(&ran) != *expected).then(|| format!("`{code}` gave {:?}, not {expected:?}", short(&ran)))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn outputs_of_every_kind_keep_their_order() {
    all_are(
        &TestServer::start(),
        &[
            ("print(1)\nprint(2)", &["out 1\n2\n"]),
            ("import sys\nprint(1)\nprint(2, file=sys.stderr)\nprint(3)", &["out 1\n", "err 2\n", "out 3\n"]),
            (
                "import os, sys\nprint('a'); os.write(1, b'b\\n'); print('c'); os.write(2, b'd\\n'); \
                print('e')",
                &["out a\nb\nc\n", "err d\n", "out e\n"],
            ),
            (
                "import os\nprint('a')\nos.system('echo b; echo c >&2')\nprint('d')\nNone",
                &["out a\nb\n", "err c\n", "out d\n"],
            ),
            (
                "import subprocess\nfor i in range(20):\n    print(f'p{i}')\n    subprocess.run(['echo', \
                f's{i}'])\nNone",
                &[concat!(
                    "out p0\ns0\np1\ns1\np2\ns2\np3\ns3\np4\ns4\np5\ns5\np6\ns6\np7\ns7\np8\ns8\np9\ns9\n\
                    p10\ns10\np11\ns11\np12\ns12\n",
                    "p13\ns13\np14\ns14\np15\ns15\np16\ns16\np17\ns17\np18\ns18\np19\ns19\n"
                )],
            ),
            ("print('a')\ndisplay(1)\nprint('b')\n2", &["out a\n", "show 1", "out b\n", "result 2"]),
            (
                "import os\nos.write(1, b'a')\ndisplay(1)\nos.write(1, b'b')\ndisplay(2)",
                &["out a", "show 1", "out b", "show 2"],
            ),
            ("print('a')\ndisplay(1)\n1/0", &["out a\n", "show 1", "error ZeroDivisionError"]),
            (
                "import os\nos.write(1, b'last words'); raise ValueError",
                &["out last words", "error ValueError"],
            ),
            ("print('a', end=''); print('b', end='')", &["out ab"]),
            (
                "import sys; sys.stdout.buffer.write(b'bytes\\n'); print('text'); sys.stdout.flush()",
                &["out bytes\ntext\n"],
            ),
            ("import sys; sys.__stdout__.write('x'); sys.stdout.writelines(['y', 'z']); None", &["out xyz"]),
            ("import sys; sys.stdout.write('é\\ud800')", &["out é\\ud800", "result 2"]),
            ("import sys; print('a'); sys.stdout.write(1)", &["out a\n", "error TypeError"]),
            (
                "import os, tempfile\n\
                file = tempfile.TemporaryFile()\n\
                for number in os.listdir('/proc/self/fd'):\n    \
                    if int(number) > 2 and 'pipe:' in os.path.realpath(f'/proc/self/fd/{number}'):\n        \
                        os.dup2(file.fileno(), int(number))\n\
                print('not into the file')\n\
                os.fstat(file.fileno()).st_size",
                &["out not into the file\n", "result 0"],
            ),
            (
                "import ctypes; libc = ctypes.CDLL(None); libc.puts(b'from C'); libc.fflush(None); \
                print('after')",
                &["out from C\nafter\n"],
            ),
            ("for i in range(3): print(i, flush=True)", &["out 0\n1\n2\n"]),
            ("import logging; logging.warning('w')", &["err WARNING:root:w\n"]),
            ("print(end='')", &[]),
            ("None", &[]),
            ("1;", &[]),
            ("x = 1", &[]),
            ("1\n2", &["result 2"]),
            ("", &[]),
            ("# nothing", &[]),
        ],
    );
}

#[test]
fn outputs_keep_their_order_when_their_kind_alternates() {
    let server = TestServer::start();
    let code = "import os, sys, subprocess\n\
        for i in range(400):\n    print(f'p{i}')\n    os.write(1, f'w{i}\\n'.encode())\n    display(i)\n    \
        print(f'q{i}')\n    \
                print(f'e{i}', file=sys.stderr)\n    os.write(2, f'f{i}\\n'.encode())\n    if i % 40 == 0: \
                print(f't{i}'); subprocess.run(['echo', f's{i}'])";
    let mut expected = Vec::new();
    let mut start = String::new();
    for i in 0..400 {
        expected.push(format!("out {start}p{i}\nw{i}\n"));
        expected.extend([format!("show {i}"), format!("out q{i}\n"), format!("err e{i}\nf{i}\n")]);
        start = if i % 40 == 0 { format!("t{i}\ns{i}\n") } else { String::new() };
    }
    let ran = server.run("initial", code);
    ran.state();
    let found = short(&ran);
    let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!((differs, found.len()), (None, expected.len()), "{:?}", found.get(differs.unwrap_or(0)));
}

#[test]
fn printed_text_arrives_unchanged() {
    all_are(
        &TestServer::start(),
        &[
            (r"print('\x1b[31mred\x1b[0m')", &["out \x1b[31mred\x1b[0m\n"]),
            (r"print('10%\r20%\r30%')", &["out 10%\r20%\r30%\n"]),
            (r"print('a\0b')", &["out a\0b\n"]),
            (r"print('é𝄞漢')", &["out é𝄞漢\n"]),
            (r"import os; os.write(1, 'é𝄞'.encode()[:3]); os.write(1, 'é𝄞'.encode()[3:]); None", &["out é𝄞"]),
            (r"import os; os.write(1, b'a\xff\xc3(b'); None", &[r"out a\xff\xc3(b"]),
            (r"import os; os.write(1, b'cut\xe2\x82'); None", &[r"out cut\xe2\x82"]),
            (r"print('\udcff\ud800')", &["out \\udcff\\ud800\n"]),
            (r"'\ud800'", &[r"result '\ud800'"]),
            (r"print('a\x08b\x07\x0c')", &["out a\x08b\x07\x0c\n"]),
            (r"import subprocess; subprocess.run(['printf', r'a\377b']); None", &[r"out a\xffb"]),
        ],
    );
}

#[test]
fn the_first_text_arrives_while_the_cell_still_runs() {
    let server = TestServer::start();
    let room = server.room();
    let mut live = Live::join(&server);
    for (n, print) in ["print('now')", "import os; os.write(1, b'now\\n')", "!echo now", "display('now')"]
        .iter()
        .enumerate()
    {
        let exec_id = live.run(
            "initial",
            &format!(
                "import os, time\n{print}\nwhile not os.path.exists('go{n}'): time.sleep(0.01)\nprint('late')"
            ),
        );
        let first = live.event(&exec_id, "output_added");
        assert!(first.to_string().contains("now"), "{first}");
        room.put(&format!("go{n}"));
        let events = live.events_of(&exec_id);
        assert!(
            events.iter().any(|e| e["output"]["text"].as_str().is_some_and(|t| t.contains("late"))),
            "{print}: {events:?}"
        );
        assert_eq!(events.last().unwrap()["status"], "ok");
    }
}

#[test]
fn ten_megabytes_of_text_arrive_completely() {
    let server = TestServer::start();
    let ran = server.run("initial", "for i in range(100_000): print(f'{i:07} ' + 'x' * 91)");
    assert!(ran.error.is_none());
    let text = ran.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((text.len(), lines.len()), (10_000_000, 100_000));
    assert!(lines.iter().enumerate().all(|(i, line)| line.starts_with(&format!("{i:07} x"))));
    // The same holds for the output of a subprocess.
    let ran = server.run("initial", "!head -c 10000000 /dev/zero | tr '\\0' y");
    assert_eq!((ran.text().len(), ran.error.is_none()), (10_000_000, true));
    assert!(ran.text().bytes().all(|b| b == b'y'));
}

#[test]
fn output_beyond_the_limit_is_cut_and_counted() {
    let server = TestServer::start();
    for code in ["print('x' * 100_000_000)", "for _ in range(50): print('x' * 999_999)"] {
        let ran = server.run("initial", code);
        ran.state();
        let kept = ran.text().len();
        assert!((15 << 20..=16 << 20).contains(&kept), "{code}: {kept}");
        let total = if code.starts_with("for") { 50_000_000 } else { 100_000_001 };
        assert_eq!(
            ran.stream("stderr"),
            format!("\n[ratoon: {} more bytes of output were not kept]\n", total - kept)
        );
    }
    // The error is kept although other output was dropped.
    let ran = server.run("initial", "print('x' * 40_000_000); 1/0");
    assert_eq!(ran.ename(), "ZeroDivisionError");
    assert!(short(&ran).contains(&"error ZeroDivisionError".to_owned()));
}

#[test]
fn displays_can_be_updated_and_cleared() {
    all_are(
        &TestServer::start(),
        &[
            (
                "h = display('a', display_id=True); print('between'); h.update('b'); None",
                &["show 'b'", "out between\n"],
            ),
            (
                "h = display(1, display_id='x'); display(2, display_id='x'); h.update(3)",
                &["show 3", "show 3"],
            ),
            (
                "from IPython.display import update_display; update_display('new', display_id='none')",
                &["show 'new'"],
            ),
            (
                "from IPython.display import clear_output; print('gone'); display(1); clear_output(); \
                print('left')",
                &["out left\n"],
            ),
            (
                "from IPython.display import clear_output; print('gone'); clear_output(wait=True); \
                print('left')",
                &["out left\n"],
            ),
            (
                "from IPython.display import clear_output; print('stays'); clear_output(wait=True)",
                &["out stays\n"],
            ),
            (
                "from IPython.display import clear_output\n\
                for i in range(50):\n    print(i)\n    clear_output(wait=True)",
                &["out 49\n"],
            ),
            ("display('a', 'b')", &["show 'a'", "show 'b'"]),
        ],
    );
}

#[test]
fn rich_representations_are_sent_with_their_text() {
    let server = TestServer::start();
    let data = |code: &str| {
        let ran = server.run("initial", code);
        ran.state();
        assert_eq!(ran.output.len(), 1, "{ran:?}");
        ran.output[0].clone()
    };
    let one = |method: &str| format!("class R:\n    def __repr__(self): return 'R'\n    {method}\nR()");
    assert_eq!(
        data(&one("def _repr_html_(self): return '<b>h</b>'"))["data"],
        json!({"text/plain": "R", "text/html": "<b>h</b>"})
    );
    assert_eq!(
        data(&one("def _repr_png_(self): return b'\\x89PNG'"))["data"],
        json!({"text/plain": "R", "image/png": "iVBORw=="})
    );
    assert_eq!(
        data(&one("def _repr_latex_(self): return '$x$'"))["data"],
        json!({"text/plain": "R", "text/latex": "$x$"})
    );
    assert_eq!(
        data(&one("def _repr_markdown_(self): return '*m*'"))["data"],
        json!({"text/plain": "R", "text/markdown": "*m*"})
    );
    assert_eq!(
        data(&one("def _repr_json_(self): return {'a': [1]}"))["data"],
        json!({"text/plain": "R", "application/json": {"a": [1]}})
    );
    let ordered = data(&one("def _repr_json_(self): return {'z': 1, 'a': {'y': 2, 'b': 3}}"));
    assert_eq!(ordered["data"]["application/json"].to_string(), r#"{"z":1,"a":{"y":2,"b":3}}"#);
    assert_eq!(
        data(&one(
            "def _repr_mimebundle_(self, include=None, exclude=None): return {'text/x': 'm'}, {'text/x': \
            {'k': 1}}"
        )),
        json!({
            "output_type": "execute_result", "execution_count": 1, "data": {"text/plain": "R", "text/x": "m"},
            "metadata": {"text/x": {"k": 1}},
        })
    );
    assert_eq!(data("from IPython.display import HTML; HTML('<i>')")["data"]["text/html"], "<i>");
    assert_eq!(
        data("display({'text/plain': 'p', 'text/html': 'h'}, raw=True)")["data"],
        json!({"text/plain": "p", "text/html": "h"})
    );
}

#[test]
fn representations_that_fail_or_are_too_long_do_no_harm() {
    let server = TestServer::start();
    let bad = |method: &str| {
        server.run(
            "initial",
            &format!(
                "class R:\n    def __repr__(self): return 'R'\n    def \
            {method}(self): raise ValueError('bad')\nprint('before')\nr = R()\nr"
            ),
        )
    };
    let html = bad("_repr_html_");
    html.state();
    assert!(html.output.iter().any(|o| o["data"] == json!({"text/plain": "R"})), "{html:?}");
    let plain = bad("__repr__");
    assert!(plain.text().starts_with("before\n"), "{plain:?}");
    assert!(format!("{:?}", plain.output).contains("ValueError"), "{plain:?}");
    let long = server.run("initial", "'é' * 1_000_000");
    let text = long.output[0]["data"]["text/plain"].as_str().unwrap();
    assert!(text.starts_with("'éé") && text.ends_with("é\n... [truncated]"));
    assert_eq!(text.chars().count(), 1_000_000 + "\n... [truncated]".chars().count());
    assert!(
        server
            .run("initial", "class R:\n    def _repr_html_(self): return 'x' * 100_000_000\nR()")
            .error
            .is_none()
    );
}

#[test]
fn images_up_to_the_limit_are_sent_over_rest_and_larger_ones_are_reported() {
    let server = TestServer::start();
    let shown = |code: &str, mime: &str| {
        let ran = server.run("initial", code);
        let item = ran.output.iter().find(|o| o["data"]["text/plain"].is_string()).unwrap().clone();
        (item["data"][mime].as_str().map(str::len), ran.stream("stderr"))
    };
    let of = |method: &str, value: &str| {
        format!("class R:\n    def __repr__(self): return 'R'\n    def {method}(self): return {value}\nR()")
    };
    for (code, mime, length) in [
        (of("_repr_html_", "'x' * (8 << 20)"), "text/html", 8 << 20),
        (of("_repr_svg_", "'x' * 1_000_001"), "image/svg+xml", 1_000_001),
        (of("_repr_png_", "b'\\x89PNG' * 200_000"), "image/png", 1_066_668),
        // The expected size is that of the base64 text.
        (of("_repr_png_", "b'\\x89' * (6 << 20)"), "image/png", 8 << 20),
    ] {
        assert_eq!(shown(&code, mime), (Some(length), String::new()));
    }
    for (code, mime) in [
        (of("_repr_html_", "'x' * ((8 << 20) + 1)"), "text/html"),
        (of("_repr_png_", "b'\\x89' * ((6 << 20) + 1)"), "image/png"),
    ] {
        let (length, said) = shown(&code, mime);
        assert!(length.is_none() && said.contains(mime) && said.contains("8388608"), "{length:?} {said}");
    }
}

#[test]
fn magics_and_shell_commands_work() {
    let server = TestServer::start();
    all_are(
        &server,
        &[
            ("!echo hi", &["out hi\r\n"]),
            ("x = !echo a; echo b\nprint(list(x))", &["out ['a', 'b']\n"]),
            ("y = 'there'\n!echo $y {y.upper()}", &["out there THERE\r\n"]),
            ("%%bash\necho one\necho two >&2", &["out one\n", "err two\n"]),
            ("%%sh\necho from sh", &["out from sh\n"]),
            ("%%writefile made.txt\ntext", &["out Writing made.txt\n"]),
            (
                "%env RATOON_TEST=1\nimport os; print(os.environ['RATOON_TEST'])",
                &["out env: RATOON_TEST=1\n1\n"],
            ),
            ("%pwd\nNone", &[]),
            ("%%capture c\nprint('hidden')", &[]),
            ("%%capture c\nprint('hidden')\nNone", &[]),
            ("%who", &["out Interactive namespace is empty.\n"]),
            ("import asyncio\nawait asyncio.sleep(0, 'awaited')", &["result 'awaited'"]),
            ("async def f(): return 5\nprint(await f())", &["out 5\n"]),
            ("async for_ = 1", &["error SyntaxError"]),
            // IPython also prints the error, but it appears only once.
            ("%nonsense", &["error UsageError"]),
            ("%%nonsense\nx", &["error UsageError"]),
            ("print(1)\n%nonsense", &["out 1\n", "error UsageError"]),
        ],
    );
    for (code, part) in [
        ("%timeit -n1 -r1 1", "per loop"),
        ("%time 1", "Wall time"),
        ("%%time\n1", "Wall time"),
        ("len?", "Return the number of items"),
        ("%lsmagic", "%%bash"),
    ] {
        let ran = server.run("initial", code);
        ran.state();
        assert!(format!("{:?}", ran.output).contains(part), "{code}: {ran:?}");
    }
    assert!(server.run("initial", "!exit 3\nprint(_exit_code)").text().contains('3'));
    assert_eq!(server.run("initial", "%%bash\nexit 3").ename(), "CalledProcessError");
}

/// A very long traceback loses its middle part, but not the line in the user's code.
#[test]
fn a_deep_traceback_keeps_the_cells_own_line() {
    let server = TestServer::start();
    let room = server.room();
    let module = |letter: char| {
        let calls = (0..60).map(|i| format!("def {letter}{i}(): return {letter}{}()\n", i + 1));
        calls.collect::<String>() + &format!("def {letter}60(): raise ValueError('{letter}')\n")
    };
    std::fs::write(room.path().join("deep.py"), module('f') + &module('g')).unwrap();
    let ran = server.run("initial", "import deep\ntry:\n    deep.f0()\nexcept ValueError:\n    deep.g0()");
    let error = ran.error.as_ref().unwrap();
    let items = error["traceback"].as_array().unwrap();
    let plain = items.iter().map(|item| strip_ansi(item.as_str().unwrap())).collect::<Vec<_>>();
    let own = plain.iter().filter(|item| item.starts_with("Cell In[1], line ")).collect::<Vec<_>>();
    assert_eq!(own.len(), 2, "{plain:#?}");
    assert!(own[1].starts_with("Cell In[1], line 5"), "{}", own[1]);
    let left_out = plain.iter().filter(|item| item.contains("frames are not shown here")).count();
    assert!(left_out == 2 && plain.len() < 110, "{left_out} times, {} items", plain.len());
}

#[test]
fn tracebacks_point_at_the_users_code() {
    let server = TestServer::start();
    let state = server.run("initial", "def broken():\n    return 1 / 0");
    let ran = server.run(state.state(), "x = 1\nbroken()");
    let traceback = ran.error.as_ref().unwrap()["traceback"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n");
    let plain: String = strip_ansi(&traceback);
    assert!(
        plain.contains("return 1 / 0")
            && plain.contains("broken()")
            && plain.contains("ZeroDivisionError: division by zero"),
        "{plain}"
    );
    assert!(!plain.contains("ratoon_kernel") && !plain.contains("interactiveshell.py"), "{plain}");
    let syntax = server.run("initial", "x = 1\ny = (2\n");
    assert_eq!(syntax.ename(), "SyntaxError");
    assert!(syntax.evalue().starts_with("'(' was never closed"), "{syntax:?}");
    assert!(format!("{:?}", syntax.output).contains("y = (2"));
    let chained =
        server.run("initial", "try: {}['k']\nexcept KeyError as e: raise ValueError('outer') from e");
    assert!(format!("{:?}", chained.output).contains("direct cause"), "{chained:?}");
    assert_eq!(server.run("initial", "  x = 1").ename(), "");
    assert_eq!(server.run("initial", "if True:\nx = 1").ename(), "IndentationError");
}

#[test]
fn an_error_at_a_line_beyond_its_cell_is_reported_like_others() {
    let server = TestServer::start();
    // This code has the file name of its cell, and a line number that does not exist in the cell.
    let code = "import sys; name = sys._getframe().f_code.co_filename
exec(compile('\\n' * 50 + '1 / 0', name, 'exec'))";
    let ran = server.run("initial", code);
    assert_eq!(
        (ran.ename(), ran.text().as_str(), ran.stream("stderr").as_str()),
        ("ZeroDivisionError", "", "")
    );
    assert_eq!(ran.output.len(), 1, "{ran:?}");
    assert!(ran.output[0]["traceback"].to_string().contains("division by zero"), "{ran:?}");
}

fn strip_ansi(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|p| p.split_once('m').map_or("", |(_, rest)| rest)).collect::<String>()
}

#[test]
fn input_asks_the_client() {
    let server = TestServer::start();
    let mut live = Live::join(&server);
    let exec_id = live.run(
        "initial",
        "import getpass\nprint('before')\nname = input('name? ')\nprint('between')\n\
        word = getpass.getpass('word? ')\nprint(len(name), word == 'sesame')",
    );
    let mut answers = [("name? ", false, "Zoë"), ("word? ", true, "sesame")].iter();
    let (mut printed, mut ended) = (String::new(), Value::Null);
    while ended.is_null() {
        let event = live.hear(|m| m["exec_id"] == exec_id && m["event"].is_string());
        match event["event"].as_str() {
            Some("output_added") => printed += event["output"]["text"].as_str().unwrap(),
            Some("prompt_changed") if event["prompt"].is_object() => {
                let (text, password, answer) = answers.next().unwrap();
                let prompt = &event["prompt"];
                assert_eq!((&prompt["text"], &prompt["password"]), (&json!(text), &json!(password)));
                live.send(json!({"do": "answer_input", "exec_id": exec_id, "text": answer}));
            }
            Some("run_ended") => ended = event,
            _ => (),
        }
    }
    assert_eq!(printed, "before\nname? Zoë\nbetween\nword? ········\n3 True\n");
    assert_eq!(ended["status"], "ok");
    // The prompt has ended, so an answer to it is refused.
    let id = live.send(json!({"do": "answer_input", "exec_id": exec_id, "text": "late"}));
    assert_eq!(live.hear(|m| m["reply"] == id)["code"], "conflict");
    let path = format!("/api/notebooks/main/states/{}/document?as=html", ended["state"].as_str().unwrap());
    let page = server.get(&path).text();
    assert!(page.contains("name? Zo\u{eb}") && page.contains("word? ····"), "{page}");
}

#[test]
fn text_printed_before_a_prompt_arrives_before_it() {
    let server = TestServer::start();
    let mut live = Live::join(&server);
    let exec_id = live.run("initial", "import os\nprint('one')\nos.write(1, b'two\\n')\ninput()");
    let mut before = String::new();
    loop {
        let event = live.hear(|m| m["exec_id"] == exec_id && m["event"].is_string());
        match event["event"].as_str() {
            Some("output_added") => before += event["output"]["text"].as_str().unwrap(),
            Some("prompt_changed") => break,
            _ => (),
        }
    }
    assert_eq!(before, "one\ntwo\n");
    assert!(server.interrupt(&exec_id));
}

#[test]
fn input_over_rest_is_a_clear_error() {
    let server = TestServer::start();
    for code in ["input('name? ')", "import getpass; getpass.getpass()"] {
        let ran = server.run("initial", &format!("print('before')\n{code}"));
        assert_eq!((ran.ename(), ran.text().as_str()), ("StdinNotImplementedError", "before\n"));
        assert!(ran.evalue().contains("REST"), "{ran:?}");
    }
    let ran = server.run("initial", "import sys; print(repr(sys.stdin.read()), repr(sys.stdin.readline()))");
    assert_eq!(ran.text(), "'' ''\n", "{:?}", ran.error);
    assert_eq!(
        server.run("initial", "import subprocess; print(subprocess.run('cat').returncode)").text(),
        "0\n"
    );
}

#[test]
fn text_of_a_thread_after_its_cell_appears_in_the_next_cell() {
    let server = TestServer::start();
    let room = server.room();
    let code = "import threading, time, os\nsaid = threading.Event()\n\
        def late():\n    while not os.path.exists('go'): time.sleep(0.01)\n    print('late'); said.set()\n\
                threading.Thread(target=late).start(); print('first')";
    let first = server.run("initial", code);
    assert_eq!(first.text(), "first\n");
    room.put("go");
    let next = server.run(first.state(), "print(said.wait(10)); print('next')");
    let text = next.text();
    assert!(text.contains("True\n") && text.ends_with("next\n"), "{text:?}");
}

#[test]
fn lines_of_threads_that_print_at_once_stay_whole() {
    let server = TestServer::start();
    let code = "import threading\ndef talk(n):\n    for i in range(500): print(f'<{n}:{i}>\\n', end='')\n\
                ts = [threading.Thread(target=talk, args=(n,)) for n in range(4)]\nfor t in ts: t.start()\n\
                for t in ts: t.join()";
    let text = server.run("initial", code).text();
    assert_eq!(text.lines().count(), 2000);
    for n in 0..4 {
        let own: Vec<&str> = text.lines().filter(|l| l.starts_with(&format!("<{n}:"))).collect();
        assert!(own.iter().enumerate().all(|(i, l)| **l == format!("<{n}:{i}>")), "thread {n}");
        assert_eq!(own.len(), 500);
    }
}

#[test]
fn interact_shows_its_output_in_its_widget_and_clears_no_other() {
    let Some(server) = TestServer::with_science() else { return };
    let code = "import ipywidgets as w\nprint('before')\nw.interact(lambda x: print('x is', x), x=3)\n\
        print('after')";
    let text = server.run("initial", code).text();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("interactive(")).collect();
    assert_eq!(lines, ["before", "after"]);
    let widgets = server.notebook()["runs"][0]["widgets"].to_string();
    assert!(widgets.contains("x is 3"), "{widgets}");
}

#[test]
fn plots_and_tables_are_displayed() {
    let Some(server) = TestServer::with_science() else { return };
    let pngs = |ran: &Ran| {
        ran.output
            .iter()
            .filter(|o| o["data"]["image/png"].as_str().is_some_and(|d| d.starts_with("iVBORw0KGgo")))
            .count()
    };
    let plt = server.run("initial", "import matplotlib.pyplot as plt; import pandas as pd, numpy as np");
    let state = plt.state();
    let one = server.run(state, "plt.plot([1, 3, 2]);");
    assert_eq!((one.output.len(), pngs(&one)), (1, 1), "{:?}", one.error);
    assert_eq!(one.output[0]["output_type"], "display_data");
    let two = server.run(state, "plt.figure(); plt.plot([1]); plt.figure(); plt.plot([2]); print('p')");
    assert_eq!((pngs(&two), two.text().as_str()), (2, "p\n"));
    let shown = server.run(state, "plt.plot([1]); plt.show(); print('after')");
    assert_eq!((short(&shown).last().unwrap().as_str(), pngs(&shown)), ("out after\n", 1));
    // A figure is closed when it has been displayed, so the next cell does not display it again.
    let next = server.run(one.state(), "1;");
    assert_eq!(next.output.len(), 0, "{:?}", next.output);
    let svg = server.run(state, "%config InlineBackend.figure_formats = ['svg']\nplt.plot([1]);");
    assert!(
        svg.output.iter().any(|o| o["data"]["image/svg+xml"].as_str().is_some_and(|d| d.contains("<svg"))),
        "{svg:?}"
    );
    let magic = server.run("initial", "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1]);");
    assert_eq!(pngs(&magic), 1);
    let table = server.run(state, "pd.DataFrame({'x': [1]})");
    assert!(table.output[0]["data"]["text/html"].as_str().is_some_and(|h| h.contains("<table")), "{table:?}");
    assert!(table.output[0]["data"]["text/plain"].as_str().is_some_and(|t| t.contains('x')));
    let failed = server.run(state, "plt.plot([1]); 1/0");
    assert_eq!(failed.ename(), "ZeroDivisionError");
    assert_eq!(server.run(state, "1;").output.len(), 0);
}

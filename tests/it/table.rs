//! Tests of reading rows of a data frame and parts of variables from a state.

use crate::request::Request;
use crate::restarts::{command, state_of};
use crate::server::{TestServer, until};
use serde_json::{Value, json};

fn ask(server: &TestServer, state: &str, view: Value) -> (u16, Value) {
    let question = json!({"do": "table", "state": state, "view": view});
    let answer = server.owner(Request::post("/api/notebooks/main/commands", &question.to_string()));
    (answer.status, answer.json())
}

fn table(server: &TestServer, state: &str, view: Value) -> Value {
    let (status, answer) = ask(server, state, view);
    assert_eq!((status, &answer["kind"]), (200, &json!("table")), "{answer}");
    answer["table"].clone()
}

const CODE: &str = "import pandas as pd\ndf = pd.DataFrame({'n': range(1000), 'odd': [i % 2 for i in \
                    range(1000)]})\ndf";

#[test]
fn rows_come_from_the_state_itself_and_leave_no_trace() {
    let Some(mut server) = TestServer::with_science() else { return };
    let first = server.run("initial", CODE);
    let state = first.state().to_owned();
    let later = server.run(&state, "df.loc[0, 'n'] = -1\ndf = df.drop(columns='odd')");
    let view = json!({
        "expression": "Out[1]", "limit": 2, "offset": 1, "summaries": true,
        "sort": {"column": 1, "descending": true}, "filters": [{"column": 2, "is": "equal", "value": "0"}],
    });
    let found = table(&server, &state, view.clone());
    assert_eq!(found["rows"], json!([["996", "996", "0"], ["994", "994", "0"]]));
    assert_eq!((&found["matching"], &found["total"]), (&json!(500), &json!(1000)));
    assert_eq!(found["summaries"]["columns"][1]["low"], "0");
    let smallest =
        json!({"expression": "df", "limit": 1, "form": "csv", "sort": {"column": 1, "descending": false}});
    assert_eq!(table(&server, later.state(), smallest.clone())["text"], "n\n-1\n");
    assert_eq!(table(&server, &state, smallest)["text"], "n,odd\n0,0\n");

    command(&server, json!({"do": "checkpoint", "state": state}));
    server.restart();
    assert_eq!(state_of(&server, &state)["living"], "disk");
    assert_eq!(table(&server, &state, view), found, "the state is loaded, with what it has shown");
}

#[test]
fn csv_is_quoted_as_rfc_4180_says() {
    let Some(server) = TestServer::with_science() else { return };
    let code = r#"import pandas as pd
texts = ["x\ry", "x\ny", 'say "ü"', "", None]
df = pd.DataFrame({"a,b": texts, "n": [0.1, 1e300, 1/3, -0.0, 1]})"#;
    let state = server.run("initial", code).state().to_owned();
    until("the state is in memory", || state_of(&server, &state)["living"] == "memory");
    let view = json!({"expression": "df", "limit": 9, "form": "csv", "columns": [0, 1, 2]});
    let rows = [
        ",\"a,b\",n",
        "0,\"x\ry\",0.1",
        "1,\"x\ny\",1e+300",
        "2,\"say \"\"ü\"\"\",0.3333333333333333",
        "3,,-0.0",
        "4,,1.0",
    ];
    assert_eq!(table(&server, &state, view)["text"], rows.map(|row| format!("{row}\n")).concat());
}

#[test]
fn arrays_are_tables_whose_rows_have_numbers() {
    let Some(server) = TestServer::with_science() else { return };
    let code = "import numpy as np\n\
        one = np.array([3.0, np.nan, 1.0])\n\
        cube = np.arange(24).reshape(2, 3, 4)\n\
        days = np.array(['2024-01-03', 'NaT', '2024-01-01'], dtype='datetime64[ns]')\n\
        pairs = np.array([(1, 'a'), (2, 'b')], dtype=[('n', 'i4'), ('t', 'U1')])\n\
        masked = np.ma.array([5, 6, 7], mask=[0, 1, 0])";
    let state = server.run("initial", code).state().to_owned();
    until("the state is in memory", || state_of(&server, &state)["living"] == "memory");
    let rows = |expression: &str, sort: Value| {
        let view = json!({"expression": expression, "limit": 9, "sort": sort, "summaries": true});
        table(&server, &state, view)["rows"].clone()
    };
    let down = json!({"column": 1, "descending": true});
    assert_eq!(rows("one", down.clone()), json!([["0", "3.0"], ["2", "1.0"], ["1", null]]));
    let second =
        json!([["0", "12", "13", "14", "15"], ["1", "16", "17", "18", "19"], ["2", "20", "21", "22", "23"]]);
    assert_eq!(rows("cube[1]", Value::Null), second);
    assert_eq!(rows("days", down.clone()), json!([["0", "2024-01-03"], ["2", "2024-01-01"], ["1", null]]));
    assert_eq!(rows("pairs", down.clone()), json!([["1", "2", "b"], ["0", "1", "a"]]));
    assert_eq!(rows("masked", down), json!([["2", "7"], ["0", "5"], ["1", null]]));
    let above = json!({"expression": "days", "limit": 9,
        "filters": [{"column": 1, "is": "greater", "value": "2024-01-02"}]});
    assert_eq!(table(&server, &state, above)["rows"], json!([["0", "2024-01-03"]]));
    let (status, answer) = ask(&server, &state, json!({"expression": "cube", "limit": 1}));
    assert_eq!((status, &answer["why"]), (400, &json!("`cube` is an array of 3 dimensions")));
}

fn part(server: &TestServer, state: &str, view: Value) -> Value {
    let question = json!({"do": "value_part", "state": state, "view": view});
    let answer = server.owner(Request::post("/api/notebooks/main/commands", &question.to_string()));
    assert_eq!(answer.status, 200, "{}", answer.json());
    answer.json()["part"].clone()
}

#[test]
fn entries_of_a_variable_are_read_level_by_level_and_change_nothing() {
    let server = TestServer::start();
    let code = "class Sly:\n    seen = 0\n    def __repr__(self):\n        Sly.seen += 1\n        return 'sly'\n\
        class Own(dict):\n    def items(self): raise ValueError\n    def __len__(self): return -1\n\
        class Bad:\n    def __repr__(self): raise SystemExit\n\
        data = {'a': [1, (2, {3})], ('k', 1): Own(x=Sly()), 'bad': Bad()}\n\
        long = list(range(250))\nend = data['a'][1]";
    let state = server.run("initial", code).state().to_owned();
    until("the state is in memory", || state_of(&server, &state)["living"] == "memory");
    let found = part(&server, &state, json!({"name": "data"}));
    assert_eq!((&found["count"], &found["picture"]), (&json!(3), &Value::Null));
    assert_eq!(
        found["entries"][0],
        json!({"key": "'a'", "type": "list", "text": "[1, (2, {3})]", "count": 2})
    );
    assert_eq!((&found["entries"][1]["type"], &found["entries"][1]["count"]), (&json!("Own"), &json!(1)));
    assert_eq!(found["entries"][2]["text"], "<repr failed: SystemExit: >");
    let own = part(&server, &state, json!({"name": "data", "path": [1]}));
    assert_eq!(own["entries"], json!([{"key": "'x'", "type": "Sly", "text": "sly", "count": null}]));
    let set = part(&server, &state, json!({"name": "data", "path": [0, 1, 1]}));
    assert_eq!(set["entries"], json!([{"key": null, "type": "int", "text": "3", "count": null}]));
    let last = part(&server, &state, json!({"name": "long", "offset": 200}));
    assert_eq!(last["entries"].as_array().map(Vec::len), Some(50));
    assert_eq!((&last["count"], &last["entries"][0]["key"]), (&json!(250), &json!("200")));
    assert_eq!(part(&server, &state, json!({"name": "none"}))["count"], Value::Null);
    assert_eq!(server.run(&state, "print(Sly.seen)").stream("stdout"), "0\n");
}

#[test]
fn what_is_no_table_is_refused_with_its_reason() {
    let server = TestServer::start();
    let state = server.run("initial", "x = [1]").state().to_owned();
    until("the state is in memory", || state_of(&server, &state)["living"] == "memory");
    let refused = |view: Value| {
        let (status, answer) = ask(&server, &state, view);
        (status, answer["why"].as_str().unwrap_or_default().to_owned())
    };
    let no_table = "`x` is no DataFrame, Series or array, but a list";
    assert_eq!(refused(json!({"expression": "x", "limit": 1})), (400, no_table.into()));
    let (status, why) = refused(json!({"expression": "Out[7]", "limit": 1}));
    assert!(status == 400 && why.contains("does not exist in this state"), "{why}");
    assert_eq!(refused(json!({"expression": "x", "limit": 5001})).0, 413);
    let imported = server.run(&state, "import sys\nprint('pandas' in sys.modules)");
    assert_eq!(imported.stream("stdout"), "False\n");
}

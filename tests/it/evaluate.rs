//! Tests of evaluating expressions against a state.

use crate::request::Request;
use crate::restarts::{command, state_of};
use crate::server::{TestServer, until};
use serde_json::{Value, json};

fn ask(server: &TestServer, state: &str, expressions: &[&str]) -> (u16, Value) {
    let question = json!({"do": "evaluate", "state": state, "expressions": expressions});
    let answer = server.owner(Request::post("/api/notebooks/main/commands", &question.to_string()));
    (answer.status, answer.json())
}

fn values(server: &TestServer, state: &str, expressions: &[&str]) -> Vec<Value> {
    let (status, answer) = ask(server, state, expressions);
    assert_eq!((status, &answer["kind"]), (200, &json!("evaluated")), "{answer}");
    answer["values"].as_array().unwrap().clone()
}

#[test]
fn expressions_have_a_text_and_perhaps_a_number() {
    let server = TestServer::start();
    let code = "import math\nr2 = 0.75\nnames = ['a', 'b']\nclass Half:\n    def __float__(self): return 0.5\n\
        half = Half()";
    let state = server.run("initial", code).state().to_owned();
    let cases = [
        ("r2", json!("0.75"), json!(0.75)),
        ("  r2 * 2 ", json!("1.5"), json!(1.5)),
        ("len(names)", json!("2"), json!(2.0)),
        ("r2 > 0.5", json!("True"), json!(1.0)),
        ("names", json!("['a', 'b']"), json!(null)),
        ("'12'", json!("'12'"), json!(null)),
        ("math.nan", json!("nan"), json!(null)),
        ("10 ** 400", json!(format!("1{}", "0".repeat(400))), json!(null)),
        ("float(half)", json!("0.5"), json!(0.5)),
        ("[x for x in names if x != 'a']", json!("['b']"), json!(null)),
    ];
    let expressions: Vec<&str> = cases.iter().map(|(expression, ..)| *expression).collect();
    let found = values(&server, &state, &expressions);
    for ((expression, text, number), value) in cases.iter().zip(found) {
        let expected = json!({"text": text, "number": number, "failed": false});
        assert_eq!(value, expected, "{expression}");
    }
}

#[test]
fn a_failed_expression_says_why_and_does_not_stop_the_others() {
    let server = TestServer::start();
    let state = server.run("initial", "x = 1").state().to_owned();
    let found =
        values(&server, &state, &["nothing", "1 +", "y = 2", "exit()", "__import__('sys').exit(3)", "x"]);
    let texts: Vec<&str> = found.iter().map(|value| value["text"].as_str().unwrap()).collect();
    assert_eq!(texts[0], "NameError: name 'nothing' is not defined");
    assert!(texts[1].starts_with("SyntaxError: "), "{}", texts[1]);
    assert!(texts[2].starts_with("SyntaxError: "), "{}", texts[2]);
    assert_eq!(texts[4], "SystemExit: 3");
    assert_eq!(found[5], json!({"text": "1", "number": 1.0, "failed": false}));
    let failed = |value: &Value| value["failed"] == true;
    assert_eq!(found.iter().map(failed).collect::<Vec<_>>()[..3], [true; 3]);
}

#[test]
fn an_expression_changes_neither_the_state_nor_a_later_answer() {
    let server = TestServer::start();
    let state = server.run("initial", "xs = [1]\nn = 0").state().to_owned();
    let sees = ["xs.append(2)", "len(xs)", "(n := 5)"];
    assert_eq!(values(&server, &state, &sees)[1]["text"], "2", "within one command");
    assert_eq!(values(&server, &state, &["len(xs)", "n"])[0]["text"], "1");
    let question = json!({"do": "inspect", "state": state, "code": "xs", "cursor": 2});
    assert_eq!(command(&server, question)["object"]["repr"], "[1]");
    let next = server.run(&state, "print(xs, n)");
    assert_eq!(next.stream("stdout"), "[1] 0\n");
}

#[test]
fn an_endless_expression_is_ended_and_harms_nothing() {
    let server = TestServer::start();
    let state = server.run("initial", "x = 1").state().to_owned();
    until("the state is in memory", || state_of(&server, &state)["living"] == "memory");
    let (status, answer) =
        ask(&server, &state, &["[0 for i in iter(lambda: __import__('time').sleep(0.01), 1)]"]);
    assert_eq!((status, &answer["code"]), (504, &json!("timeout")), "{answer}");
    assert!(answer.to_string().contains("longer than 10 s"), "{answer}");
    assert_eq!(values(&server, &state, &["x"])[0]["text"], "1");
}

#[test]
fn a_state_on_disk_is_loaded_for_its_answer() {
    let mut server = TestServer::start();
    let state = server.run("initial", "x = 41").state().to_owned();
    command(&server, json!({"do": "checkpoint", "state": state}));
    server.restart();
    assert_eq!(values(&server, &state, &["x + 1"])[0]["text"], "42");
}

#[test]
fn long_answers_are_cut_and_too_many_expressions_are_refused() {
    let server = TestServer::start();
    let state = server.run("initial", "text = 'é' * 5_000_000").state().to_owned();
    let text = values(&server, &state, &["text"])[0]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("'éé") && text.chars().count() < 1100, "{}", text.chars().count());
    let (status, answer) = ask(&server, &state, &["1"; 51]);
    assert_eq!((status, answer["what"].as_str()), (413, Some("evaluate expressions")), "{answer}");
    assert_eq!(values(&server, &state, &[]).len(), 0);
}

#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn spec(fields: Value) -> SweepSpec {
    let mut all = json!({"at": "initial", "code": "lr = 0.1\nn = 3\nprint(lr, n, é)"});
    all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

fn found() -> CodeParameters {
    let parameter = |name: &str, value: &str, from, to| Parameter {
        name: name.into(),
        value: value.into(),
        type_name: "float".into(),
        from,
        to,
    };
    let parameters = vec![parameter("lr", "0.1", 5, 8), parameter("n", "3", 13, 14)];
    CodeParameters { parameters, reads: vec!["é".into()], ..CodeParameters::default() }
}

fn sweep(fields: Value) -> Result<Sweep, Problem> {
    let spec = spec(fields);
    let planned = spec.plan()?;
    Sweep::new(SweepId::new("s"), StateId::root(), spec, planned, &found(), 0.0)
}

fn end(metric: f64, state: &str) -> RowEnd {
    let state = Some(StateId::new(state));
    RowEnd { status: RunStatus::Ok, state, metric: Some(metric), error: None, duration_ms: None, node: None }
}

fn failed() -> RowEnd {
    RowEnd { status: RunStatus::Error, state: None, metric: None, error: None, duration_ms: None, node: None }
}

#[test]
fn each_row_has_its_values_in_place_and_keeps_their_python_types() {
    let values = json!([1, 1.5, "a\"\n", true, null, [1, {"k": false}], {"code": " (64, 32) "}]);
    let sweep = sweep(json!({"grid": {"n": values, "lr": [0.5], "é": [{"code": "other"}]}})).unwrap();
    let values: Vec<&str> = sweep.rows.iter().map(|row| row.values[0].as_str()).collect();
    let all = ["1", "1.5", "\"a\\\"\\n\"", "True", "None", "[1, {\"k\": False}]", "(64, 32)"];
    assert_eq!(values, all);
    assert_eq!(sweep.code_of(6, 0), "é = other\nlr = 0.5\nn = (64, 32)\nprint(lr, n, é)");
    assert_eq!(sweep.exec_id(6, 0).as_str(), "s.6");
    assert_eq!(sweep.exec_id(6, 2).as_str(), "s.6.2");
}

#[test]
fn names_that_the_cell_only_reads_are_assigned_above_it_from_the_values_of_the_state() {
    let all = |values: Value| {
        let spec = spec(json!({"code": "  print(a, b)", "grid": values}));
        let found = CodeParameters { reads: vec!["a".into(), "b".into()], ..CodeParameters::default() };
        let planned = spec.plan().unwrap();
        let sweep = Sweep::new(SweepId::new("s"), StateId::root(), spec, planned, &found, 0.0).unwrap();
        sweep.code_of(0, 0)
    };
    assert_eq!(all(json!({"a": [1], "b": [2]})), "  a = 1\n  b = 2\n  print(a, b)");
    let names = json!({"a": [{"code": "b"}], "b": [{"code": "a"}]});
    assert_eq!(all(names), "  a, b = b, a\n  print(a, b)");
}

#[test]
fn requests_that_cannot_work_are_refused_before_anything_runs() {
    let why = |fields| sweep(fields).unwrap_err().why;
    let grid = json!({"lr": [1]});
    assert_eq!(why(json!({"grid": {"x": [1]}})), "the cell has no name `x`");
    assert_eq!(why(json!({"grid": {}})), "it has no parameter");
    assert_eq!(why(json!({"grid": {"lr": 1}})), "the values of `lr` are no list");
    let thousand: Vec<u32> = (0..1000).collect();
    let million = json!({"grid": {"lr": thousand, "n": thousand}});
    assert_eq!(why(million), "it has 1000000 rows, and the limit is 10000");
    assert_eq!(why(json!({})), "it does not say which rows to run");
    assert_eq!(why(json!({"rows": [{"lr": 1}, {"n": 1}]})), "row 1 does not have the parameters of row 0");
    assert_eq!(why(json!({"grid": grid, "metrik": "x"})), "there is no field \"metrik\"");
    assert!(why(json!({"grid": grid, "keep": 1})).contains("need a metric"));
    assert!(why(json!({"grid": grid, "parallel": 0})).contains("no row could begin"));
    let space = |range: Value| json!({"sampler": {"kind": "random", "space": {"lr": range}, "trials": 2}});
    assert!(why(space(json!({"low": 2, "high": 1}))).contains("is empty"));
    assert!(why(space(json!({"low": 0, "high": 1, "log": true}))).contains("above 0"));
    assert!(why(space(json!({"low": 0.2, "high": 0.8, "int": true}))).contains("no integer"));
    assert!(why(space(json!({"low": 1.5, "high": 1.9, "int": true, "log": true}))).contains("no integer"));
    assert!(why(space(json!({"low": -1.7e308, "high": 1.7e308}))).contains("too large"));
    let rungs = json!({"code": "m", "count": 101});
    assert!(why(json!({"grid": grid, "metric": "m", "rungs": rungs})).contains("above 100"));
    let optuna = json!({"sampler": {"kind": "optuna", "space": {"lr": [1]}, "trials": 2}});
    assert!(why(optuna).contains("Optuna"));
}

#[test]
fn python_decides_about_the_cell_the_values_and_the_metric() {
    let refused = |change: fn(&mut CodeParameters)| {
        let (spec, mut found) = (spec(json!({"grid": {"lr": [1]}})), found());
        change(&mut found);
        let planned = spec.plan().unwrap();
        Sweep::new(SweepId::new("s"), StateId::root(), spec, planned, &found, 0.0).unwrap_err().why
    };
    assert_eq!(
        refused(|found| found.values = vec![Some("is no literal".into())]),
        "the value `1` is no literal"
    );
    assert_eq!(refused(|found| found.metric = Some("is empty".into())), "the metric is empty");
    assert_eq!(refused(|found| found.syntax_error = Some("line 1".into())), "line 1");
    let computed = |found: &mut CodeParameters| {
        found.parameters.clear();
        found.obstacles = BTreeMap::from([("lr".into(), "is computed".into())]);
    };
    assert_eq!(refused(computed), "`lr` cannot be a parameter: it is computed");
}

#[test]
fn random_rows_stay_in_their_ranges_and_repeat_with_their_seed() {
    let fields = json!({"sampler": {"kind": "random", "trials": 200, "seed": 7, "space": {
        "lr": {"low": 0.001, "high": 0.1, "log": true}, "n": {"low": 1, "high": 3, "int": true}, "é": ["a", 2]
    }}});
    let one = sweep(fields.clone()).unwrap();
    assert_eq!(one.rows, sweep(fields).unwrap().rows);
    let column = |at: usize| one.rows.iter().map(|row| row.values[at].as_str()).collect::<BTreeSet<_>>();
    let (lr, n, choice) = (column(0), column(1), column(2));
    assert!(lr.iter().all(|x| (0.001..=0.1).contains(&x.parse::<f64>().unwrap())) && lr.len() > 190);
    assert_eq!(n, BTreeSet::from(["1", "2", "3"]));
    assert_eq!(choice, BTreeSet::from(["\"a\"", "2"]));
}

#[test]
fn only_the_best_rows_of_a_rung_continue_and_failed_ones_never_do() {
    let rungs = json!({"code": "more", "count": 2, "factor": 2});
    let mut sweep =
        sweep(json!({"grid": {"lr": [1, 2, 3, 4]}, "metric": "m", "rungs": rungs, "keep": 1})).unwrap();
    assert_eq!(sweep.pending(), (0, vec![0, 1, 2, 3]));
    for (row, end) in [end(1.0, "a"), end(3.0, "b"), failed(), end(2.0, "d")].into_iter().enumerate() {
        assert_eq!(sweep.pending().1[0], row);
        sweep.rows[row].ends.push(end);
    }
    assert_eq!(sweep.pending(), (1, vec![1, 3]));
    assert_eq!(sweep.code_of(1, 1), "more");
    assert_eq!(sweep.dispensable(), [StateId::new("a")], "two may continue");
    sweep.rows[1].ends.push(failed());
    assert_eq!(sweep.pending(), (1, vec![3]));
    sweep.rows[3].ends.push(end(2.5, "dd"));
    assert_eq!(sweep.pending(), (2, vec![3]));
    sweep.rows[3].ends.push(end(2.6, "ddd"));
    assert_eq!(sweep.pending(), (2, vec![]));
    assert_eq!(sweep.best(), Some(3), "it got furthest");
    let gone: Vec<&str> = vec!["a", "b", "d", "dd"];
    assert_eq!(sweep.dispensable().iter().map(StateId::as_str).collect::<Vec<_>>(), gone);
}

#[test]
fn a_sweep_stops_when_it_was_asked_to() {
    let stopped = |stop: Value, goal: &str, metric: f64, now| {
        let fields = json!({"grid": {"lr": [1, 2, 3]}, "metric": "m", "goal": goal, "stop": stop});
        let mut sweep = sweep(fields).unwrap();
        sweep.rows[0].ends.push(end(metric, "a"));
        sweep.stop_reason(now).is_some()
    };
    assert!(
        stopped(json!({"trials": 1}), "max", 1.0, 0.0) && !stopped(json!({"trials": 2}), "max", 1.0, 0.0)
    );
    assert!(stopped(json!({"seconds": 2}), "max", 1.0, 2000.0));
    assert!(!stopped(json!({"seconds": 2}), "max", 1.0, 1999.0));
    assert!(
        stopped(json!({"target": 1}), "max", 1.0, 0.0) && !stopped(json!({"target": 1}), "max", 0.9, 0.0)
    );
    assert!(
        stopped(json!({"target": 1}), "min", 0.5, 0.0) && !stopped(json!({"target": 1}), "min", 1.5, 0.0)
    );
    assert!(!stopped(json!({}), "max", 1.0, 1e12));
}

#[test]
fn rows_without_a_value_of_the_metric_are_kept_while_there_is_room() {
    let mut sweep = sweep(json!({"grid": {"lr": [1, 2, 3]}, "metric": "m", "keep": 2})).unwrap();
    sweep.rows[0].ends.push(RowEnd { metric: None, ..end(0.0, "a") });
    sweep.rows[1].ends.push(RowEnd { metric: None, ..end(0.0, "b") });
    assert!(sweep.dispensable().is_empty());
    sweep.rows[2].ends.push(end(1.0, "c"));
    assert_eq!(sweep.dispensable(), [StateId::new("b")]);
}

#[test]
fn without_a_metric_every_state_is_kept() {
    let mut sweep = sweep(json!({"grid": {"lr": [1]}})).unwrap();
    let end = RowEnd { metric: None, ..end(0.0, "a") };
    sweep.rows[0].ends.push(end);
    assert!(sweep.dispensable().is_empty());
    assert_eq!((sweep.best(), sweep.pending()), (None, (0, vec![])));
}

// The table, the plot and the form of a sweep, as data.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Model } from '../../web/shell/model.js';
import { EMPTY, exampleFor, fieldOf, fieldsOf, planOf } from '../../web/sweep/sweep-form.js';
import { isSpreadLog, plotOf } from '../../web/sweep/sweep-plot.js';
import {
    columnsOf,
    csvOf,
    markdownOf,
    markedAfter,
    nextOrder,
    progressOf,
    rowsOf as rowCountOf,
    rowsToDelete,
    sortedRows,
    tableRows,
    textOf,
} from '../../web/sweep/sweep-rows.js';
import { FORM_WORDS } from '../../web/sweep/sweep-words.js';
import { ROW_WORDS } from '../../web/sweep/row-words.js';
import { keepView, ownRow, viewOf } from '../../web/sweep/table-view.js';
import { tallyOf } from '../../web/sweep/sweeps.js';
import { run, snapshot, state } from './records.mjs';
import { ended, sweep } from './sweep-records.mjs';

/** A model with a sweep of `lr` and `depth`: two rows ok, one failed, one runs, one waits. */
function model(more = {}) {
    const one = sweep('s', 'initial', 0, { label: 'first', ...more });
    const values = [
        ['0.1', "'a|b'"],
        ['0.01', "'c'"],
        ['1e1', '"d,e"'],
        ['2', "'f'"],
        ['100', 'g'],
    ];
    const ends = [
        [ended(0.9, { state: 'a', duration_ms: 1000 })],
        [ended(0.95, { state: 'b', duration_ms: 3000 })],
        [ended(null, { status: 'error', state: null, error: 'ValueError: "no"\nreally' })],
        [],
        [],
    ];
    const own = {
        ...one,
        parameters: [
            { name: 'lr', range: null },
            { name: 'depth', range: null },
        ],
        rows: values.map((row, i) => ({ values: row, ends: ends[i] })),
    };
    const loaded = new Model();
    loaded.load(
        snapshot({
            states: [
                state('initial', null),
                state('a', 'initial', { exec_id: 's.0', memory_bytes: 2_000_000 }),
                state('b', 'initial', { exec_id: 's.1', living: 'replay' }),
            ],
            runs: [
                run('s.0', 'initial', { state: 'a' }),
                run('s.1', 'initial', { state: 'b' }),
                run('s.2', 'initial', { status: 'error' }),
                run('s.3', 'initial', { status: 'running' }),
            ],
            sweeps: [own],
        }),
    );
    return loaded;
}
const rowsOf = (of) => tableRows(of, of.sweeps.get('s'));
const column = (rows, key) => rows.map((row) => textOf(row, key));

test('a row has its values, result, difference to the best, status, time, memory and error', () => {
    const rows = rowsOf(model());
    assert.deepEqual(column(rows, 'row'), ['1', '2', '3', '4', '5']);
    assert.deepEqual(column(rows, 'value 0'), ['0.1', '0.01', '1e1', '2', '100']);
    assert.deepEqual(column(rows, 'metric'), ['0.9', '0.95', '', '', '']);
    assert.deepEqual(column(rows, 'difference'), ['−0.05', 'best', '', '', '']);
    assert.deepEqual(column(rows, 'status'), ['ok', 'ok', 'failed', 'running', 'waiting']);
    assert.deepEqual(column(rows, 'time'), ['1.0 s', '3.0 s', '10 ms', '', '']);
    assert.deepEqual(column(rows, 'where'), ['in memory, 2.0 MB', 'needs replay', '', '', '']);
    assert.equal(rows[2].error, 'ValueError: "no"\nreally');
});

test('columns are those that have something to show; parameters of numbers are columns of numbers', () => {
    const of = model();
    const columns = columnsOf(of.sweeps.get('s'), rowsOf(of));
    assert.deepEqual(
        columns.map(({ name }) => name),
        ['Row', 'lr', 'depth', 'y', 'Vs. best', 'Status', 'Time', 'State', 'Error'],
    );
    assert.deepEqual(
        columns.filter(({ isNumber }) => isNumber).map(({ name }) => name),
        ['Row', 'lr', 'y', 'Vs. best', 'Time'],
    );
    const plain = model({ metric: null, rungs: { code: 'x', count: 1, factor: 2 } });
    const names = columnsOf(plain.sweeps.get('s'), rowsOf(plain)).map(({ name }) => name);
    assert.ok(names.includes('Continued') && !names.includes('Vs. best'));
});

test('rows sort by any column: numbers as numbers, and rows without a value last', () => {
    const of = model();
    const by = (key, isDown = false) => sortedRows(rowsOf(of), { by: key, isDown }).map(({ row }) => row);
    assert.deepEqual(by('value 0'), [1, 0, 3, 2, 4]);
    assert.deepEqual(by('value 0', true), [4, 2, 3, 0, 1]);
    assert.deepEqual(by('metric', true), [1, 0, 2, 3, 4]);
    assert.deepEqual(by('metric'), [0, 1, 2, 3, 4]);
    assert.deepEqual(by('value 1'), [0, 1, 2, 3, 4]);
    assert.deepEqual(by('status'), [2, 0, 1, 3, 4]);
    assert.deepEqual(by('error'), [2, 0, 1, 3, 4]);
    const one = of.sweeps.get('s');
    assert.deepEqual(nextOrder(null, 'metric', one), { by: 'metric', isDown: true });
    assert.deepEqual(nextOrder({ by: 'metric', isDown: true }, 'metric', one), {
        by: 'metric',
        isDown: false,
    });
    assert.equal(nextOrder({ by: 'metric', isDown: false }, 'metric', one), null);
    assert.deepEqual(nextOrder({ by: 'row', isDown: true }, 'time', one), { by: 'time', isDown: false });
    const least = model({ goal: 'min' }).sweeps.get('s');
    assert.deepEqual(nextOrder(null, 'metric', least), { by: 'metric', isDown: false });
    assert.equal(least.tally.best, 0);
});

test('the progress counts rows, and knows how long the rest takes', () => {
    const of = model();
    const progress = progressOf(of.sweeps.get('s'), rowsOf(of));
    assert.deepEqual(
        { ...progress, leftMs: Math.round(progress.leftMs) },
        { all: 5, ended: 3, ok: 2, failed: 1, stopped: 0, running: 1, waiting: 1, leftMs: 2005 },
    );
    of.fold({ event: 'sweep_ended', sweep: 's', status: 'stopped', ended_at: 9, note: null });
    assert.equal(progressOf(of.sweeps.get('s'), rowsOf(of)).leftMs, null);
    assert.equal(column(rowsOf(of), 'status')[4], 'not run');
    assert.equal(ROW_WORDS.counts(of.sweeps.get('s')), '5 rows, 1 failed, best 0.95');
});

test('events change the rows, the best row, and what a deleted state leaves', () => {
    const of = model();
    of.fold({ event: 'sweep_rows_added', sweep: 's', first: 5, rows: [{ values: ['5', "'h'"], ends: [] }] });
    of.fold({ event: 'state_added', state: state('c', 'initial', { exec_id: 's.5' }) });
    of.fold({ event: 'sweep_row_ended', sweep: 's', row: 5, end: ended(0.99, { state: 'c' }) });
    assert.equal(rowsOf(of)[5].isBest, true);
    assert.deepEqual(rowsToDelete(of, of.sweeps.get('s'), 5), [0, 1]);
    of.fold({ event: 'state_added', state: state('on', 'a', { exec_id: 'later' }) });
    assert.deepEqual(rowsToDelete(of, of.sweeps.get('s'), 5), [1], 'somebody has continued from a');
    of.fold({ event: 'removed', states: ['b'], runs: ['s.1'], deleted_at: 9 });
    assert.equal(rowsOf(of)[1].status, 'deleted');
    assert.equal(rowsOf(of)[1].metric, 0.95, 'the results stay');
    of.fold({ event: 'sweep_removed', sweep: 's' });
    assert.equal(of.sweeps.size, 0);
});

test('with rungs, the result is that of the last rung that succeeded', () => {
    const of = model({ rungs: { code: 'more()', count: 2, factor: 2 } });
    of.fold({ event: 'state_added', state: state('a1', 'a', { exec_id: 's.0.1' }) });
    of.fold({ event: 'sweep_row_ended', sweep: 's', row: 0, end: ended(0.97, { state: 'a1' }) });
    const failed = ended(null, { status: 'crashed', state: null, error: 'killed' });
    of.fold({ event: 'sweep_row_ended', sweep: 's', row: 1, end: failed });
    const rows = rowsOf(of);
    assert.deepEqual(column(rows, 'rung').slice(0, 2), ['1', '0']);
    assert.deepEqual(column(rows, 'metric').slice(0, 2), ['0.97', '0.95']);
    assert.equal(rows[0].state, 'a1');
    assert.equal(rows[1].error, 'killed');
    assert.equal(rows[0].isBest, true);
});

test('a row that was stopped has not failed', () => {
    const stop = {
        status: /** @type {const} */ ('interrupted'),
        state: null,
        error: 'KeyboardInterrupt',
        duration_ms: 900,
    };
    const of = model({ timeout: 2 });
    of.fold({ event: 'sweep_row_ended', sweep: 's', row: 3, end: ended(null, stop) });
    of.fold({
        event: 'sweep_row_ended',
        sweep: 's',
        row: 4,
        end: ended(null, { ...stop, duration_ms: 2001 }),
    });
    const rows = rowsOf(of);
    assert.deepEqual(column(rows, 'error').slice(3), ['', 'stopped after 2 s']);
    const { ended: all, ok, failed, stopped } = progressOf(of.sweeps.get('s'), rows);
    assert.deepEqual({ all, ok, failed, stopped }, { all: 5, ok: 2, failed: 1, stopped: 2 });
    assert.equal(ROW_WORDS.counts(of.sweeps.get('s')), '5 rows, 1 failed, 2 stopped, best 0.95');
    assert.deepEqual(tallyOf(of.sweeps.get('s')), of.sweeps.get('s').tally);
});

test('a press marks a row, and Shift all rows from the last pressed one on', () => {
    const shown = [4, 2, 0, 1, 3];
    let marked = markedAfter({ rows: [], last: null }, 2);
    marked = markedAfter(marked, 1, shown);
    assert.deepEqual(marked.rows, [2, 0, 1]);
    marked = markedAfter(marked, 0);
    assert.deepEqual(marked, { rows: [2, 1], last: 0 });
    assert.deepEqual(markedAfter({ rows: [], last: null }, 3, shown).rows, [3]);
});

test('a tab remembers how the table of each sweep was left, and begins at the row of the page', () => {
    const kept = new Map();
    const host = { recall: (key) => kept.get(key) ?? null, remember: (key, value) => kept.set(key, value) };
    const page = /** @type {any} */ ({ host, model: model(), here: 'b', attempt: null });
    keepView(page, 's', { cursor: 3 });
    keepView(page, 't', { hidden: ['time'] });
    keepView(page, 's', { order: { by: 'metric', isDown: true } });
    assert.deepEqual(viewOf(page, 's'), {
        order: { by: 'metric', isDown: true },
        hidden: [],
        parameter: 0,
        cursor: 3,
    });
    assert.deepEqual(viewOf(page, 'u').hidden, []);
    assert.equal(ownRow(page, 's'), 1);
    assert.equal(ownRow({ ...page, attempt: 's.2' }, 's'), 2);
    assert.equal(ownRow({ ...page, here: 'initial' }, 's'), null);
});

test('sweeps are told apart by their numbers, and rows by the values that differ', () => {
    const of = model({ label: null });
    of.fold({ event: 'sweep_added', sweep: sweep('t', 'initial', 2) });
    of.fold({ event: 'sweep_added', sweep: sweep('v', 'initial', 2, { label: 'deep' }) });
    const names = () => [...of.sweeps.values()].map(ROW_WORDS.sweep);
    assert.deepEqual(names(), ['Sweep 1: lr × depth', 'Sweep 2: x', 'Sweep deep']);
    const brief = (row) => ROW_WORDS.brief({ sweep: of.sweeps.get('s'), row, rung: 0 });
    assert.deepEqual(
        [brief(0), brief(1), brief(3)],
        ['row 1: 0.1, a|b · 0.9', '★ row 2: 0.01, c · 0.95', 'row 4: 2, f'],
    );
    const own = of.sweeps.get('s');
    for (const row of own.rows) row.values = ['0.1', row.values[1]];
    assert.equal(brief(1), '★ row 2: c, 0.1 · 0.95');
    assert.equal(rowCountOf(own, ['a', 'b', 'none']), 2);
    of.fold({ event: 'sweep_removed', sweep: 's' });
    assert.deepEqual(names(), ['Sweep 1: x', 'Sweep deep']);
});

test('the table as CSV and Markdown', () => {
    const of = model();
    const rows = rowsOf(of);
    const [head, first, , third] = csvOf(of.sweeps.get('s'), rows).split('\r\n');
    assert.equal(head, 'row,lr,depth,y,status,seconds,memory_bytes,error,state');
    assert.equal(first, "1,0.1,'a|b',0.9,ok,1,2000000,,a");
    assert.equal(third, '3,1e1,"""d,e""",,failed,0.01,,"ValueError: ""no""\nreally",');
    const columns = columnsOf(of.sweeps.get('s'), rows);
    const [top, rule, one] = markdownOf(rows, columns).split('\n');
    assert.equal(top, '| Row | lr | depth | y | Vs. best | Status | Time | State | Error |');
    assert.equal(rule, '|---:|---:|---|---:|---:|---|---:|---|---|');
    assert.equal(one, "| 1 | 0.1 | 'a\\|b' | 0.9 | −0.05 | ok | 1.0 s | in memory, 2.0 MB |  |");
});

test('a plot has a linear, logarithmic or named axis, and ticks inside', () => {
    assert.equal(isSpreadLog([0.01, 0.1, 1]), true);
    assert.equal(isSpreadLog([1, 2, 3, 40]), true);
    assert.equal(isSpreadLog([1, 5, 10]), false);
    assert.equal(isSpreadLog([0, 1, 100]), false);
    assert.equal(isSpreadLog([1, 2, 3]), false);
    const rows = (values, metrics) =>
        values.map((value, row) => ({ row, values: [value], metric: metrics[row], isBest: false }));
    const log = plotOf(rows(['0.001', '0.1', '10'], [1, 2, 3]), 0);
    assert.equal(log.x.kind, 'log');
    assert.ok(Math.abs(log.points[1].x - 0.5) < 1e-9);
    assert.ok(log.x.ticks.some(({ text }) => text === '0.1'));
    const named = plotOf(rows(["'a'", "'b'", "'a'"], [1, 2, null]), 0);
    assert.equal(named.x.kind, 'names');
    assert.deepEqual(
        named.points.map(({ x }) => x),
        [0.25, 0.75],
    );
    const crowd = plotOf(rows(["'a'", "'a'", "'a'", "'b'"], [1, 2, 2, 3]), 0).points.map(({ x }) => x);
    assert.equal(new Set(crowd).size, 4, 'the points of a category do not hide each other');
    assert.ok(crowd.slice(0, 3).every((x) => x > 0.05 && x < 0.45) && crowd[3] === 0.75);
    const ticks = (plot) => plot.x.ticks.map(({ text }) => text);
    assert.deepEqual(ticks(plotOf(rows(['3', '1', '8', '3'], [1, 2, 3, 4]), 0)), ['1', '3', '8']);
    assert.deepEqual(ticks(plotOf(rows(['0.01', '0.03', '1'], [1, 2, 3]), 0)), ['0.01', '0.03', '1']);
    for (const metrics of [
        [0.901, 0.902],
        [5.5, 5.6, 7],
        [1, 2, 3],
    ])
        assert.ok(plotOf(rows(['1', '2', '3'], metrics).slice(0, metrics.length), 0).y.ticks.length > 1);
    const equal = plotOf(rows(['3'], [0]), 0);
    assert.deepEqual([equal.points[0].x, equal.points[0].y], [0.5, 0.5]);
    assert.equal(plotOf(rows(['1'], [null]), 0), null);
    const wide = plotOf(rows(['1', '2'], [0.0001, 9]), 0);
    assert.equal(wide.y.kind, 'log');
    for (const plot of [log, named, equal, wide])
        for (const { at } of [...plot.x.ticks, ...plot.y.ticks]) assert.ok(at >= 0 && at <= 1);
});

const FOUND = {
    parameters: [
        { name: 'lr', value: '0.1', type: 'float', from: 5, to: 8 },
        { name: 'depth', value: '3', type: 'int', from: 17, to: 18 },
        { name: 'kind', value: "'adam'", type: 'str', from: 30, to: 36 },
    ],
    reads: ['df'],
    obstacles: {},
    syntax_error: null,
    sampler: null,
    values: [],
    metric: null,
};
const plan = (form, known = {}) => {
    const whole = { ...EMPTY, ...form };
    return planOf(fieldsOf(FOUND, whole), whole, { cell: 'cell 3', lastMs: null, ...known });
};

test('the form becomes a command and one sentence', () => {
    const values = { lr: '0.01, 0.1, 1', depth: '1..4' };
    const { spec, rows, sentence } = plan(
        { values, metric: ' acc ', parallel: '2', keep: '3' },
        { lastMs: 6600 },
    );
    assert.equal(rows, 12);
    assert.equal(sentence, '12 branches of cell 3, two at a time; about 40 s.');
    const code = (text) => ({ code: text });
    assert.deepEqual(spec, {
        grid: { lr: ['0.01', '0.1', '1'].map(code), depth: ['1', '2', '3', '4'].map(code) },
        metric: 'acc',
        goal: 'max',
        parallel: 2,
        keep: 3,
    });
    assert.equal(plan({ values }).sentence, '12 branches of cell 3, as many at a time as there are cores.');
    assert.equal(
        plan({ values: { kind: 'adam, sgd' }, parallel: '9' }, { lastMs: 2000 }).sentence,
        '2 branches of cell 3, two at a time; about 2.0 s.',
    );
    assert.equal(plan({ values: { lr: '5' } }).sentence, 'One branch of cell 3.');
    assert.deepEqual(plan({ values: { kind: 'adam, sgd' } }).spec.grid, {
        kind: [code("'adam'"), code("'sgd'")],
    });
    assert.deepEqual(plan({ values: { df: 'small, large' }, reads: ['df'] }).spec.grid, {
        df: [code('small'), code('large')],
    });
});

test('a sampler draws from ranges and lists', () => {
    const { spec, rows, sentence } = plan({
        values: { lr: '0.001..1 log', depth: '1..8', kind: 'adam, sgd' },
        sampler: 'optuna',
        trials: '30',
        seed: '7',
        metric: 'acc',
        goal: 'min',
    });
    assert.equal(rows, 30);
    assert.match(sentence, /^30 branches of cell 3/);
    assert.deepEqual(spec.sampler, {
        kind: 'optuna',
        space: {
            lr: { low: 0.001, high: 1, log: true, int: false },
            depth: { low: 1, high: 8, log: false, int: true },
            kind: [{ code: "'adam'" }, { code: "'sgd'" }],
        },
        trials: 30,
        seed: 7,
    });
});

test('rungs, stop rule and limits are sent, and said', () => {
    const { spec, sentence } = plan({
        values: { depth: '1..9' },
        metric: 'acc',
        rungCode: 'train(10)',
        rungCount: '2',
        rungFactor: '3',
        stopRows: '5',
        stopSeconds: '60',
        stopTarget: '0.9',
        timeout: '1.5',
        label: 'deep',
    });
    assert.deepEqual(spec.rungs, { code: 'train(10)', count: 2, factor: 3 });
    assert.deepEqual(spec.stop, { trials: 5, seconds: 60, target: 0.9 });
    assert.deepEqual([spec.timeout, spec.label], [1.5, 'deep']);
    assert.match(sentence, /; then the best three, then the best one continues\.$/);
});

test('each problem stands at its field', () => {
    const problems = (form) => Object.fromEntries(plan(form).problems);
    const values = { lr: '1, 2' };
    assert.deepEqual(problems({ values: { lr: '1, (2', depth: '' } }), {
        'value lr': 'The ( is not closed.',
    });
    assert.deepEqual(
        problems({ values, parallel: '0', keep: 'x', timeout: '-1', stopTarget: 'y', metric: 'm' }),
        {
            parallel: FORM_WORDS.notWhole(1),
            keep: FORM_WORDS.notWhole(1),
            timeout: FORM_WORDS.notSeconds,
            stopTarget: FORM_WORDS.notNumber,
        },
    );
    assert.deepEqual(problems({ values, keep: '3' }), { metric: FORM_WORDS.needsMetric(FORM_WORDS.keeps) });
    assert.deepEqual(problems({ values, rungCode: 'x' }), {
        metric: FORM_WORDS.needsMetric(FORM_WORDS.rungs),
    });
    assert.deepEqual(problems({ values, sampler: 'random', trials: '' }), {
        trials: FORM_WORDS.needsTrials,
    });
    assert.match(problems({ values: { lr: '1..9999', depth: '1..2' } })['value lr'], /19,998 combinations/);
    assert.deepEqual(plan({}).spec, null);
    assert.equal(plan({}).problems.size, 0);
});

test('a refusal of the server stands at the field that it names', () => {
    const fields = fieldsOf(FOUND, EMPTY);
    const form = { ...EMPTY, values: { depth: '2, x3', kind: 'adam' } };
    const at = (what, why) => fieldOf({ what, why }, fields, form);
    assert.equal(at('start a sweep', 'the value `x3` cannot be read'), 'value depth');
    assert.equal(at('start a sweep', "the value `'adam'` is odd"), 'value kind');
    assert.equal(at('sweep the value of `lr`', 'x'), 'value lr');
    assert.equal(at('start the sweep', 'the metric is no expression'), 'metric');
    assert.equal(at('start the sweep', 'Optuna is not installed'), 'sampler');
    assert.equal(at('start the sweep', 'the notebook is full'), null);
});

test('the example of a field suits the type of the parameter', () => {
    const [lr, depth, kind] = fieldsOf(FOUND, EMPTY);
    assert.equal(exampleFor(lr, 'all'), '0.01, 0.1, 1');
    assert.equal(exampleFor(lr, 'random'), '0.001..1 log');
    assert.equal(exampleFor(depth, 'all'), '1..5');
    assert.equal(exampleFor(kind, 'all'), "'adam', other");
});

test('the cell of a row says which row it is, and its own metric', () => {
    const of = model({ rungs: { code: 'more()', count: 1, factor: 2 } });
    of.fold({ event: 'state_added', state: state('a1', 'a', { exec_id: 's.0.1' }) });
    of.fold({ event: 'sweep_row_ended', sweep: 's', row: 0, end: ended(-0.97, { state: 'a1' }) });
    const line = (rung) => {
        const { before, name, after } = ROW_WORDS.line({ sweep: of.sweeps.get('s'), row: 0, rung });
        return before + name + after;
    };
    assert.equal(line(0), "Row 1 of Sweep first: lr = 0.1, depth = 'a|b', metric 0.9");
    assert.equal(line(1), 'Continuation 1 of row 1 of Sweep first: metric −0.97');
    assert.equal(ROW_WORDS.shortly(of.sweeps.get('s')), 'best = −0.97, 3/5');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
    BY_DURATION,
    BY_MEMORY,
    BY_NAME,
    BY_TIME,
    differenceAt,
    differingCode,
    extremeStates,
    branchRows,
    inOrder,
    isNowhere,
    matchingRows,
    missingVariable,
    nextOrder,
    offeredColumns,
    sortedRows,
} from '../../web/branches/branch-rows.js';
import { missingColumns } from '../../web/branches/branch-values.js';
import { Growing } from './graph-growing.mjs';

const label = (growing, id, text) =>
    growing.model.fold({ event: 'state_changed', state: { ...growing.model.states.get(id), label: text } });
const number = (value) => ({ text: String(value), number: value, failed: false });
const ids = (rows) => rows.map(({ state }) => state.id);

/** Three branches from one state. */
function three() {
    const growing = new Growing();
    const fork = growing.line('initial', 2);
    const ends = [growing.line(fork, 2), growing.line(fork, 1), growing.line(fork, 3)];
    return { growing, fork, ends };
}

test('each branch has one row, in the order of the graph', () => {
    const { growing, ends } = three();
    assert.deepEqual(ids(branchRows(growing.model)), [ends[1], ends[2], ends[0]]);
    assert.deepEqual(branchRows(new Growing().model), [], 'the start is no branch');
});

test('failed attempts and running cells do not end a row', () => {
    const { growing, ends } = three();
    growing.run(ends[1], 'error');
    growing.begin(ends[2]);
    assert.deepEqual(ids(branchRows(growing.model)), [ends[1], ends[2], ends[0]]);
});

test('a row is named by the last label since its fork, else by its first cell', () => {
    const { growing, fork, ends } = three();
    label(growing, fork, 'data');
    label(growing, 's7', 'best so far');
    const names = branchRows(growing.model).map(({ name, last }) => [name, last]);
    assert.deepEqual(names, [
        ['x = 4', ''],
        ['best so far', 'x = 7'],
        ['x = 2', 'x = 3'],
    ]);
    label(growing, ends[2], 'deep');
    assert.equal(branchRows(growing.model)[1].name, 'deep', 'the last label counts');
});

test('rows keep the order that they had; new rows come last', () => {
    const { growing, ends } = three();
    const before = [ends[0], ends[2], ends[1]];
    const added = growing.line(ends[0], 1);
    assert.deepEqual(ids(inOrder(branchRows(growing.model), before)), [ends[2], ends[1], added]);
});

test('rows are sorted by numbers; rows without one come last, whatever the direction', () => {
    const { growing, ends } = three();
    const rows = branchRows(growing.model);
    const values = new Map([
        [ends[0], new Map([['r2', number(0.5)]])],
        [ends[1], new Map([['r2', { text: 'NameError', number: null, failed: true }]])],
        [ends[2], new Map([['r2', number(0.9)]])],
    ]);
    const sorted = (isDown) => ids(sortedRows(rows, values, { by: 'r2', isDown }));
    assert.deepEqual(sorted(true), [ends[2], ends[0], ends[1]]);
    assert.deepEqual(sorted(false), [ends[0], ends[2], ends[1]]);
    assert.deepEqual(ids(sortedRows(rows, values, null)), ids(rows));
    assert.deepEqual([...extremeStates(rows, values, { by: 'r2', isDown: true })], [ends[2]]);
    assert.deepEqual([...extremeStates(rows, values, { by: 'r2', isDown: false })], [ends[0]]);
    assert.equal(extremeStates(rows, values, { by: BY_TIME, isDown: true }).size, 0);
});

test('a variable may be called like a column of the table; infinity is a number, and texts are sorted', () => {
    const { growing, ends } = three();
    const rows = branchRows(growing.model);
    const sorted = (isDown, ...given) => {
        const values = new Map(ends.map((id, i) => [id, new Map([['time', given[i]]])]));
        const order = { by: 'time', isDown };
        return [ids(sortedRows(rows, values, order)), [...extremeStates(rows, values, order)]];
    };
    const [a, b, c] = ends;
    assert.deepEqual(sorted(true, number(30), number(10), number(20)), [[a, c, b], [a]]);
    const text = (text) => ({ text, number: null, failed: false });
    assert.deepEqual(sorted(false, text('-inf'), number(1), text('np.float64(inf)')), [[a, b, c], [a]]);
    assert.deepEqual(sorted(true, text("'x'"), { ...text('NameError'), failed: true }, text("'y'")), [
        [c, a, b],
        [],
    ]);
    assert.notDeepEqual(
        ids(sortedRows(rows, new Map(), { by: BY_NAME, isDown: true })),
        ids(sortedRows(rows, new Map(), { by: BY_NAME, isDown: false })),
    );
});

test('a branch that is about to be deleted has no row', () => {
    const { growing, ends } = three();
    assert.deepEqual(
        ids(branchRows(growing.model, [], { going: new Set([ends[1]]) })).includes(ends[1]),
        false,
    );
});

test('equal extreme values are all marked, and a single value is not', () => {
    const { growing, ends } = three();
    const rows = branchRows(growing.model);
    const same = new Map(ends.map((id) => [id, new Map([['n', number(3)]])]));
    assert.equal(extremeStates(rows, same, { by: 'n', isDown: true }).size, 3);
    const one = new Map([[ends[0], new Map([['n', number(3)]])]]);
    assert.equal(extremeStates(rows, one, { by: 'n', isDown: true }).size, 0);
});

test('only values that are not known or on their way are asked for', () => {
    /** @type {Map<string, import('../../web/branches/branch-rows.js').Value>} */
    const columns = new Map();
    columns.set('a', number(1)).set('b', { isPending: true });
    const values = new Map([['s', columns]]);
    assert.deepEqual(missingColumns(values, 's', ['a', 'b', 'c']), ['c']);
    assert.deepEqual(missingColumns(values, 't', ['a']), ['a']);
});

test('a variable that a branch lacks is told from other failures', () => {
    const failed = (text) => missingVariable({ text, number: null, failed: true });
    assert.equal(failed("NameError: name 'r2' is not defined"), 'r2');
    assert.equal(failed('ZeroDivisionError: division by zero'), null);
    assert.equal(
        missingVariable({ text: "NameError: name 'a' is not defined", number: null, failed: false }),
        null,
    );
});

test('clicks on a column sort down, up, and not at all', () => {
    const down = nextOrder(null, 'a');
    const up = nextOrder(down, 'a');
    assert.deepEqual(
        [down, up],
        [
            { by: 'a', isDown: true },
            { by: 'a', isDown: false },
        ],
    );
    assert.equal(nextOrder(up, 'a'), null);
    assert.deepEqual(nextOrder(up, 'b'), { by: 'b', isDown: true });
});

test('run time is that of the cells since the fork; memory is that of a state in memory', () => {
    const { growing, fork, ends } = three();
    for (const [i, run] of [...growing.model.runs.values()].entries()) run.duration_ms = 10 ** i;
    growing.model.fold({ event: 'memory_measured', state: ends[0], memory_bytes: 7, shared_bytes: 1 });
    const rows = branchRows(growing.model, [fork]);
    const row = (id) => rows.find(({ state }) => state.id === id);
    assert.equal(row(ends[0]).duration, 10 ** 2 + 10 ** 3);
    assert.equal(row(ends[1]).duration, 10 ** 4);
    assert.equal(row(fork).duration, 1 + 10);
    assert.equal(row(ends[0]).memory, 7);
    const sorted = (by, isDown) => ids(sortedRows(rows, new Map(), { by, isDown }));
    assert.deepEqual(sorted(BY_DURATION, false), [fork, ends[0], ends[1], ends[2]]);
    assert.equal(sorted(BY_MEMORY, true)[0], ends[0]);
    assert.equal(sorted(BY_MEMORY, false)[0], ends[0], 'rows without a number come last');
});

test('the code in which rows differ is found below their fork, and against a baseline', () => {
    const growing = new Growing();
    const end = (on, code) => growing.end(growing.begin(on, code));
    const fork = end('initial', 'x = 1');
    const a = end(fork, 'import m\nfit(1)\n\nshow()');
    const b = end(fork, 'import m\nfit(2)\nshow()');
    const c = end(end(fork, 'import m\nshow()'), 'fit(1)');
    const states = [a, b, c].map((id) => growing.model.states.get(id));
    const found = (baseline) => [...differingCode(growing.model, states, baseline).values()];
    assert.deepEqual(found(null), [['fit(1)'], ['fit(2)'], ['fit(1)']]);
    assert.deepEqual(found(states[0]), [[], ['fit(2)'], []]);
    const d = end(end(c, 'shared = 1'), 'own = 1');
    const e = end(end(c, 'shared = 1'), 'other = 1');
    const three = [a, d, e].map((id) => growing.model.states.get(id));
    const lines = differingCode(growing.model, three, null);
    assert.deepEqual(lines.get(d), ['own = 1', 'shared = 1'], 'its own lines come first');
});

test('a filter matches names, code and texts, or compares a column', () => {
    const { growing, ends } = three();
    const rows = branchRows(growing.model);
    const values = new Map([
        [ends[0], new Map([['r2', number(0.5)]])],
        [ends[1], new Map([['r2', number(0.9)]])],
        [ends[2], new Map([['r2', { text: 'NameError: r2', number: null, failed: true }]])],
    ]);
    const code = new Map([[ends[2], ['model = PCA()']]]);
    const matching = (filter) => ids(matchingRows(rows, filter, { values, columns: ['r2'], code })).sort();
    assert.deepEqual(matching(' '), [...ends].sort());
    assert.deepEqual(matching('pca'), [ends[2]]);
    assert.deepEqual(matching('X = 4'), [ends[1]], 'the name of the row');
    assert.deepEqual(matching('0.9'), [ends[1]]);
    assert.deepEqual(matching('NameError'), [], 'a failure is no value');
    const cases = { '> 0.5': [1], '>=0.5': [0, 1], '< 6e-1': [0], '= 0.9': [1], '==.9': [1], '!= 0.9': [0] };
    for (const [relation, wanted] of Object.entries(cases))
        assert.deepEqual(matching(`r2 ${relation}`), wanted.map((at) => ends[at]).sort(), relation);
    assert.deepEqual(matching('unknown > 1'), []);
});

test('differences are those of finite numbers', () => {
    const values = new Map(
        Object.entries({ a: number(2), b: number(3), c: { text: 'inf', number: null, failed: false } }).map(
            ([id, value]) => [id, new Map([['x', value]])],
        ),
    );
    assert.equal(differenceAt(values, 'b', 'a', 'x'), '+1 (+50 %)');
    assert.equal(differenceAt(values, 'a', 'a', 'x'), '');
    assert.equal(differenceAt(values, 'c', 'a', 'x'), '');
    assert.equal(differenceAt(values, 'b', null, 'x'), '');
});

test('variables that differ are offered: numbers first, no imports, none that is a column', () => {
    const variable = (name, type, repr) => ({
        name,
        type,
        repr,
        size: null,
        bytes: null,
        summary: null,
        fingerprint: repr,
        sampled: false,
    });
    const list = (n) => [
        variable('model', 'Model', `Model(${n})`),
        variable('r2', 'float', `0.${n}`),
        variable('same', 'int', '1'),
        variable('Base', 'type', `<class ${n}>`),
        variable('loss', 'float', `1.${n}`),
    ];
    assert.deepEqual(offeredColumns([list(1), list(2)], ['loss']), ['r2', 'model']);
    assert.deepEqual(offeredColumns([list(1)], []), [], 'one branch differs from none');
});

test('a column that no row can have is told apart from one that some lack', () => {
    const { growing, ends } = three();
    const rows = branchRows(growing.model);
    const lacks = { text: "NameError: name 'r3' is not defined", number: null, failed: true };
    const values = new Map(ends.map((id) => [id, new Map([['r3', lacks]])]));
    assert.ok(isNowhere(rows, values, 'r3'));
    values.get(ends[0]).set('r3', number(1));
    assert.ok(!isNowhere(rows, values, 'r3'));
});

// The variables pane: its content while other variables load, its order, and the cell that last
// changed each variable.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Model } from '../../web/shell/model.js';
import { Page } from '../../web/notebook/page.js';
import { changedBy, filtered, sorted, withoutModules } from '../../web/variables/variables.js';
import { root, run, snapshot, state, variable } from './records.mjs';

const names = (all) => all.map(({ name }) => name).join(' ');

const ALL = [
    variable('n', 'int', '10'),
    variable('df', 'DataFrame', 'city  area', { size: '(1000, 3)', bytes: 24_000 }),
    variable('a2', 'ndarray', 'array([1])', { size: '(20,)', bytes: 160 }),
    variable('a10', 'float', '9.5'),
    variable('s', 'str', "'hello'", { size: '5', bytes: 54 }),
];

test('variables can be sorted by each column; those without a value in it come last in both directions', () => {
    const cells = new Map([
        ['df', state('c', 'b', { exec_count: 3 })],
        ['n', state('a', 'initial', { exec_count: 1 })],
    ]);
    const by = (column, isDown = false) => names(sorted(ALL, { by: column, isDown }, cells));
    assert.equal(names(sorted(ALL, null, cells)), 'n df a2 a10 s');
    assert.equal(by('name'), 'a2 a10 df n s', 'a10 comes after a2');
    assert.equal(by('name', true), 's n df a10 a2');
    assert.equal(by('shape'), 's a2 df n a10');
    assert.equal(by('shape', true), 'df a2 s n a10');
    assert.equal(by('bytes', true), 'df a2 s n a10');
    assert.equal(by('cell'), 'n df a2 a10 s');
    assert.equal(by('value'), 'a10 n s a2 df', 'numbers by value, then texts');
    assert.equal(by('type'), 'df a10 n a2 s');
});

test('imported modules are listed apart from data, functions and classes', () => {
    const { data, modules } = withoutModules([
        ...ALL,
        variable('np', 'module', "<module 'numpy'>"),
        variable('f', 'function', '<function f>'),
    ]);
    assert.equal(names(data), 'n df a2 a10 s f');
    assert.equal(names(modules), 'np');
});

test('a filter matches names, types and values, ignoring case', () => {
    assert.equal(names(filtered(ALL, ' DATA')), 'df');
    assert.equal(names(filtered(ALL, 'hello')), 's');
    assert.equal(names(filtered(ALL, 'a1')), 'a10');
    assert.equal(filtered(ALL, '  '), ALL);
});

test('the cell that last changed a variable is found, if it is known', () => {
    const line = (...changes) => [
        state('initial', null),
        ...changes.map((one, i) =>
            state(`c${i + 1}`, i ? `c${i}` : 'initial', {
                exec_count: i + 1,
                changes: one && { added: [], changed: [], removed: [], more: 0, ...one },
            }),
        ),
    ];
    const told = (...changes) =>
        Object.fromEntries(
            [...changedBy(line(...changes))].map(([name, { exec_count }]) => [name, exec_count]),
        );
    assert.deepEqual(told({ added: ['x', 'y'] }, { changed: ['x'] }, { removed: ['y'], added: ['z'] }), {
        x: 2,
        z: 3,
    });
    assert.deepEqual(
        told({ added: ['x'] }, null, { added: ['z'] }),
        { z: 3 },
        'the cell between may have changed x',
    );
    assert.deepEqual(
        told({ added: ['x', 'y'] }, { changed: ['y'], more: 5 }),
        { y: 2 },
        'x may be among the changed variables that are not listed',
    );
    assert.deepEqual(told(), {});
});

function open() {
    const answers = [];
    const page = new Page(new Model(), {
        send: (command) => new Promise((answer) => answers.push({ command, answer })),
        requestPaint: () => {},
        paintNow: () => {},
        paintIfDue: () => {},
        ask: async () => true,
        setAddress: () => {},
        recall: () => null,
        remember: () => {},
    });
    page.onScope('owner');
    page.onConnection('open');
    page.onSnapshot(
        snapshot({
            states: [root, state('a', 'initial', { exec_count: 1 }), state('b', 'a', { exec_count: 2 })],
            runs: ['a', 'b'].map((id) => run(`run-${id}`, 'initial', { code: id, state: id })),
        }),
        'a',
    );
    return { page, answers };
}

test('old variables stay visible, marked as old, until the new ones arrive', async () => {
    const { page, answers } = open();
    assert.equal(page.variables.shown, null);
    page.variables.show(true);
    answers[0].answer({ kind: 'variables', variables: ALL });
    await new Promise(setImmediate);
    assert.deepEqual([page.variables.shown?.state, page.variables.shown?.isOld], ['a', false]);
    page.goTo('b');
    assert.deepEqual([page.variables.shown?.state, page.variables.shown?.isOld], ['a', true]);
    answers[1].answer({ kind: 'variables', variables: ALL.slice(1) });
    await new Promise(setImmediate);
    assert.deepEqual(
        [page.variables.shown?.state, page.variables.shown?.list.length, page.variables.shown?.isOld],
        ['b', 4, false],
    );
    page.goTo('a');
    assert.equal(page.variables.shown?.list.length, 5);
    assert.equal(answers.length, 2, 'a state never changes: it is requested once');
});

test('while a cell runs at the current state, its variables may change', () => {
    const { page } = open();
    const begin = (id, on) =>
        page.onEvent({
            event: 'run_added',
            run: run(id, on, { status: 'running', duration_ms: null }),
        });
    assert.equal(page.variables.mayChange, false);
    begin('theirs', 'b');
    assert.equal(page.variables.mayChange, false, 'the cell runs at another state');
    begin('ours', 'a');
    assert.equal(page.variables.mayChange, true);
});

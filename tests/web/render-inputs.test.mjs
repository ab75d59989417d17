// What one event or one keystroke makes the page render again: one cell, however many there are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { haveSameItems, renderInputs } from '../../web/notebook/cell-list.js';
import { Page } from '../../web/notebook/page.js';
import { Model } from '../../web/shell/model.js';

const CELLS = 200;

const state = (i) => ({
    id: `s${i}`,
    parent: i === 0 ? 'initial' : `s${i - 1}`,
    exec_id: `r${i}`,
    exec_count: i + 1,
    created_at: 0,
    label: null,
    prose: [],
    warnings: [],
    forks: true,
    pinned: false,
    living: 'memory',
    checkpoint: null,
    saving: { now: 'idle' },
    revival: null,
    memory_bytes: null,
    changes: null,
});
const root = { ...state(0), id: 'initial', parent: null, exec_id: null, exec_count: 0 };
const run = (i) => ({
    exec_id: `r${i}`,
    on: { state: i === 0 ? 'initial' : `s${i - 1}` },
    code: `x = ${i}`,
    status: 'ok',
    draft: null,
    outputs: [],
    error: null,
    prompt: null,
    started_at: 1,
    duration_ms: 1,
    state: `s${i}`,
});

/** A page with `CELLS` cells that ran, a draft, and the empty cell at the end. */
function open() {
    const page = new Page(new Model('n'), {
        send: () => new Promise(() => {}),
        requestPaint: () => {},
        paintNow: () => {},
        paintIfDue: () => {},
        setAddress: () => {},
        ask: async () => true,
        recall: () => null,
        remember: () => {},
    });
    page.scope = 'owner';
    const each = Array.from({ length: CELLS }, (_, i) => i);
    const drafts = [{ id: 'd', on: `s${CELLS - 1}`, kind: 'code', source: 'y', version: 1 }];
    page.onSnapshot(
        {
            name: 'n',
            states: [root, ...each.map(state)],
            runs: each.map(run),
            drafts,
            trouble: null,
            people: [],
        },
        '',
    );
    return page;
}

/** The keys of the cells that look different after `act`. */
function changedBy(page, act) {
    const inputs = () => new Map(page.cells().map((cell) => [cell.key, renderInputs(cell)]));
    const before = inputs();
    act();
    const now = inputs();
    assert.equal(before.size, CELLS + 2);
    return [...now.keys()].filter((key) => !before.has(key) || !haveSameItems(before.get(key), now.get(key)));
}

test('an output renders the cell of its run again, and no other', () => {
    const page = open();
    const output = { output_type: 'stream', name: 'stdout', text: 'hello' };
    const act = () => page.onEvent({ event: 'output_added', exec_id: 'r7', output });
    assert.deepEqual(changedBy(page, act), ['s7']);
});

test('a keystroke renders the cell that it goes into again, and no other', () => {
    const page = open();
    const cell = (key) => page.cells().find((one) => one.key === key);
    assert.deepEqual(
        changedBy(page, () => page.type(cell('d'), 'yz')),
        ['d'],
    );
    assert.deepEqual(
        changedBy(page, () => page.type(cell('s9'), 'changed')),
        ['s9'],
    );
});

test('what only the graph shows renders no cell, what the cell shows does', () => {
    const page = open();
    const measured = (id) => () => page.onEvent({ event: 'memory_measured', state: id, memory_bytes: 5 });
    assert.deepEqual(changedBy(page, measured('s3')), []);
    assert.deepEqual(changedBy(page, measured(`s${CELLS - 1}`)), [`s${CELLS - 1}`]);
    const now = { ...page.model.states.get('s5'), label: 'best' };
    const relabelled = () => page.onEvent({ event: 'state_changed', state: now });
    assert.deepEqual(changedBy(page, relabelled), ['s5']);
});

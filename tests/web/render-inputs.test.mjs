// An event or a keystroke renders only one cell again, however many cells there are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { haveSameItems, renderInputs } from '../../web/notebook/cell-list.js';
import { Page } from '../../web/notebook/page.js';
import { Model } from '../../web/shell/model.js';
import { root, run as runOn, snapshot, state as stateAt } from './records.mjs';

const CELLS = 200;

const before = (i) => (i === 0 ? 'initial' : `s${i - 1}`);
const state = (i) => stateAt(`s${i}`, before(i), { exec_id: `r${i}`, exec_count: i + 1 });
const run = (i) => runOn(`r${i}`, before(i), { code: `x = ${i}`, state: `s${i}` });

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
    page.ownScope = 'owner';
    const each = Array.from({ length: CELLS }, (_, i) => i);
    /** @type {import('../../web/shell/protocol-types.d.ts').Draft[]} */
    const drafts = [{ id: 'd', on: `s${CELLS - 1}`, kind: 'code', source: 'y', version: 1 }];
    page.onSnapshot(snapshot({ states: [root, ...each.map(state)], runs: each.map(run), drafts }), '');
    return page;
}

/** The keys of the cells whose render inputs `act` changes. */
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
    const output = /** @type {const} */ ({ output_type: 'stream', name: 'stdout', text: 'hello' });
    const act = () => page.onEvent({ event: 'output_added', exec_id: 'r7', output });
    assert.deepEqual(changedBy(page, act), ['s7']);
});

test('a keystroke renders its own cell again, and no other', () => {
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

test('a change that only the graph shows renders no cell, a change that a cell shows renders it', () => {
    const page = open();
    const measured = (id) => () =>
        page.onEvent({ event: 'memory_measured', state: id, memory_bytes: 5, shared_bytes: 6 });
    assert.deepEqual(changedBy(page, measured('s3')), []);
    assert.deepEqual(changedBy(page, measured(`s${CELLS - 1}`)), [`s${CELLS - 1}`]);
    const now = { ...page.model.states.get('s5'), label: 'best' };
    const relabelled = () => page.onEvent({ event: 'state_changed', state: now });
    assert.deepEqual(changedBy(page, relabelled), ['s5']);
});

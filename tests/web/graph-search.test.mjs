import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Nodes } from '../../web/graph/nodes.js';
import { search, termsOf } from '../../web/graph/node-search.js';
import { Growing } from './graph-growing.mjs';

const changes = (added, changed = []) => ({ changes: { added, changed, removed: [], more: 0 } });

/** A notebook with successful cells, a failed cell and a running cell. */
function notebook() {
    const growing = new Growing();
    const a = growing.run('initial', 'ok', changes(['df']), 'df = load("a.csv")');
    const b = growing.run(a, 'ok', changes([], ['df']), 'df.dropna(inplace=True)');
    const c = growing.run(b, 'ok', changes(['df_small']), 'df_small = df.head()');
    const d = growing.run(c, 'ok', { ...changes(['Model']), label: 'Best df so far' }, 'Model = fit(x)');
    growing.run(d, 'error', {}, 'df.nope()');
    growing.begin(d, 'train(Model)');
    const nodes = new Nodes();
    nodes.update(growing.model);
    return nodes.list;
}

const found = (query) => search(notebook(), query).map(({ at }) => at);

test('a name finds first the cell that changed it last, then cells that mention it, newest first', () => {
    assert.deepEqual(search(notebook(), 'df'), [
        { at: 2, changes: 'df' },
        { at: 1, changes: 'df' },
        { at: 5, changes: null },
        { at: 4, changes: null },
        { at: 3, changes: null },
    ]);
});

test('a text that only outputs contain is found, too, after the code that contains it', () => {
    const growing = new Growing();
    const print = (code, text) => {
        const exec_id = growing.begin('initial', code);
        const output = /** @type {const} */ ({ output_type: 'stream', name: 'stdout', text });
        growing.model.fold({ event: 'output_added', exec_id, output });
        growing.end(exec_id);
    };
    print('score(a)', 'R2 = 0.7197\n');
    print('score(0.7197)', 'done\n');
    print('score(c)', `${'x'.repeat(30_000)}0.7197${'x'.repeat(30_000)}`);
    const nodes = new Nodes();
    nodes.update(growing.model);
    const at = (query) => search(nodes.list, query).map((hit) => hit.at);
    assert.deepEqual(at('0.7197'), [2, 1], 'of a long text, the begin and the end');
    assert.deepEqual(at('r2 score'), [1]);
    assert.deepEqual(at('label:R2'), []);
});

test('var: finds cells that created or changed a variable with this prefix', () => {
    assert.deepEqual(search(notebook(), 'var:df'), [
        { at: 3, changes: 'df_small' },
        { at: 2, changes: 'df' },
        { at: 1, changes: 'df' },
    ]);
    assert.deepEqual(found('var:Mod'), [4]);
    assert.deepEqual(found('var:mod'), [], 'the case of names matters');
});

test('a search finds labels, failed cells and running cells, and can combine them', () => {
    assert.deepEqual(found('label:best'), [4]);
    assert.deepEqual(found('failed'), [5]);
    assert.deepEqual(found('running'), [6]);
    assert.deepEqual(found('FIT model'), [4]);
    assert.deepEqual(found('df failed'), [5]);
    assert.deepEqual(found('nothing like it'), []);
    assert.deepEqual(found('   '), []);
});

test('a query is split into words', () => {
    assert.deepEqual(termsOf(' var:x label:Y Failed a:b '), [
        { kind: 'var', text: 'x' },
        { kind: 'label', text: 'Y' },
        { kind: 'failed', text: '' },
        { kind: 'any', text: 'a:b' },
    ]);
});

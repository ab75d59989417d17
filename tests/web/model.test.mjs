import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodesOf } from '../../web/graph-layout.js';
import { Model } from '../../web/model.js';

const root = { id: 'initial', name: 'initial', parent: null, exec_id: null, exec_count: 0, created_at: 0, label: null, prose: [], warnings: [], living: 'memory' };
const run = (id, more) => ({ exec_id: id, on: { state: 'initial' }, code: '', status: 'running', draft: null, outputs: [], error: null, prompt: null, started_at: 1, duration_ms: null, state: null, ...more });

function loaded(snapshot = {}) {
    const model = new Model();
    model.load({ name: 'main', states: [root], runs: [], drafts: [], ...snapshot });
    return model;
}

/** Outputs as text, after these events for run r. */
function outputs(...events) {
    const model = loaded({ runs: [run('r')] });
    for (const event of events) model.fold({ exec_id: 'r', ...event });
    return model.runs.get('r').outputs.map((item) => (item.output_type === 'stream' ? `${item.name}:${item.pieces.join('')}` : `${item.display_id}:${item.data['text/plain']}`));
}

const out = (text, name = 'stdout') => ({ event: 'output_added', output: { output_type: 'stream', name, text } });
const display = (text, display_id) => ({ event: 'output_added', output: { output_type: 'display_data', data: { 'text/plain': text }, metadata: {}, display_id } });

test('text of one stream is one item, in order with the others', () => {
    assert.deepEqual(outputs(out('a'), out('b'), out('c', 'stderr'), out('d')), ['stdout:ab', 'stderr:c', 'stdout:d']);
});

test('cleared at once, or when the next comes', () => {
    assert.deepEqual(outputs(out('a'), { event: 'outputs_cleared', wait: false }), []);
    assert.deepEqual(outputs(out('a'), { event: 'outputs_cleared', wait: true }), ['stdout:a']);
    assert.deepEqual(outputs(out('a'), { event: 'outputs_cleared', wait: true }, out('b')), ['stdout:b']);
});

test('a display is updated wherever it is shown', () => {
    const updated = { event: 'display_updated', display_id: 'one', data: { 'text/plain': 'new' }, metadata: {} };
    assert.deepEqual(outputs(display('old', 'one'), display('other', 'two'), updated), ['one:new', 'two:other']);
});

test('a run keeps its row in the graph when it becomes a state', () => {
    const model = loaded();
    model.fold({ event: 'run_added', run: run('r1') });
    model.fold({ event: 'run_added', run: run('r2') });
    assert.deepEqual(nodesOf(model).map((node) => node.id), ['initial', 'r1', 'r2']);
    model.fold({ event: 'state_added', state: { ...root, id: 's2', parent: 'initial', exec_id: 'r2' } });
    model.fold({ event: 'run_ended', exec_id: 'r2', status: 'ok', error: null, duration_ms: 1, state: 's2' });
    assert.deepEqual(nodesOf(model).map((node) => node.id), ['initial', 'r1', 's2']);
});

test('a run that waits for another hangs below it', () => {
    const model = loaded({ runs: [run('r1'), run('r2', { on: { run: 'r1' }, status: 'queued', started_at: null })] });
    assert.deepEqual(nodesOf(model).map((node) => node.parent), [null, 'initial', 'r1']);
    model.fold({ event: 'run_ended', exec_id: 'r2', status: 'interrupted', error: null, duration_ms: null, state: null });
    assert.equal(nodesOf(model).length, 2, 'one that never began leaves no node');
});

test('snapshot and events lead to the same', () => {
    const child = { ...root, id: 's', parent: 'initial', exec_id: 'r', exec_count: 1 };
    const one = loaded();
    one.fold({ event: 'run_added', run: run('r', { status: 'queued' }) });
    one.fold({ event: 'run_started', exec_id: 'r', on: { state: 'initial' }, started_at: 1 });
    one.fold({ exec_id: 'r', ...out('a') });
    one.fold({ event: 'state_added', state: child });
    one.fold({ event: 'run_ended', exec_id: 'r', status: 'ok', error: null, duration_ms: 2, state: 's' });
    const other = loaded({ states: [root, child], runs: [run('r', { status: 'ok', duration_ms: 2, state: 's', outputs: [{ output_type: 'stream', name: 'stdout', text: 'a' }] })] });
    const plain = (model) => JSON.parse(JSON.stringify([[...model.states], [...model.children], [...model.runs.values()]], (key, value) => (['key', 'rev'].includes(key) ? undefined : value)));
    assert.deepEqual(plain(one), plain(other));
    assert.deepEqual(one.lineage('s').map((state) => state.id), ['initial', 's']);
});

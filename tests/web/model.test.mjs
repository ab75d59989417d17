import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodesOf } from '../../web/graph/nodes.js';
import { Model } from '../../web/shell/model.js';
import { python, root, run as runOn, snapshot } from './records.mjs';

const run = (id, more = {}) =>
    runOn(id, 'initial', { code: '', status: 'running', duration_ms: null, ...more });

function loaded(more = {}) {
    const model = new Model();
    model.load(snapshot(more));
    return model;
}

/** The outputs of run r as text, after the given events. */
function outputs(...events) {
    const model = loaded({ runs: [run('r')] });
    for (const event of events) model.fold({ exec_id: 'r', ...event });
    return model.runs
        .get('r')
        .outputs.map((/** @type {any} */ item) =>
            item.output_type === 'stream'
                ? `${item.name}:${item.pieces.join('')}`
                : `${item.display_id}:${item.data['text/plain']}`,
        );
}

/** @param {string} text @param {'stdout' | 'stderr'} [name] */
const out = (text, name = 'stdout') =>
    /** @type {const} */ ({ event: 'output_added', output: { output_type: 'stream', name, text } });
const display = (text, display_id) => ({
    event: 'output_added',
    output: { output_type: 'display_data', data: { 'text/plain': text }, metadata: {}, display_id },
});

test('consecutive text of one stream is one item, in order with the others', () => {
    assert.deepEqual(outputs(out('a'), out('b'), out('c', 'stderr'), out('d')), [
        'stdout:ab',
        'stderr:c',
        'stdout:d',
    ]);
});

test('outputs are cleared at once, or when the next one arrives', () => {
    assert.deepEqual(outputs(out('a'), { event: 'outputs_cleared', wait: false }), []);
    assert.deepEqual(outputs(out('a'), { event: 'outputs_cleared', wait: true }), ['stdout:a']);
    assert.deepEqual(outputs(out('a'), { event: 'outputs_cleared', wait: true }, out('b')), ['stdout:b']);
});

test('an update changes every display with its id', () => {
    const updated = {
        event: 'display_updated',
        display_id: 'one',
        data: { 'text/plain': 'new' },
        metadata: {},
    };
    assert.deepEqual(outputs(display('old', 'one'), display('other', 'two'), updated), [
        'one:new',
        'two:other',
    ]);
});

test('a run keeps its row in the graph when it becomes a state', () => {
    const model = loaded();
    model.fold({ event: 'run_added', run: run('r1') });
    model.fold({ event: 'run_added', run: run('r2') });
    assert.deepEqual(
        nodesOf(model).map((node) => node.id),
        ['initial', 'r1', 'r2'],
    );
    model.fold({ event: 'state_added', state: { ...root, id: 's2', parent: 'initial', exec_id: 'r2' } });
    model.fold({ event: 'run_ended', exec_id: 'r2', status: 'ok', error: null, duration_ms: 1, state: 's2' });
    assert.deepEqual(
        nodesOf(model).map((node) => node.id),
        ['initial', 'r1', 's2'],
    );
});

test('a run that waits for another is its child in the graph', () => {
    const model = loaded({
        runs: [run('r1'), run('r2', { on: { run: 'r1' }, status: 'queued', started_at: null })],
    });
    assert.deepEqual(
        nodesOf(model).map((node) => node.from),
        [-1, 0, 1],
    );
    model.fold({
        event: 'run_ended',
        exec_id: 'r2',
        status: 'interrupted',
        error: null,
        duration_ms: null,
        state: null,
    });
    assert.equal(nodesOf(model).length, 2, 'a run that never began leaves no node');
});

test('a snapshot and its events give the same model', () => {
    const child = { ...root, id: 's', parent: 'initial', exec_id: 'r', exec_count: 1 };
    const one = loaded();
    one.fold({ event: 'run_added', run: run('r', { status: 'queued' }) });
    one.fold({ event: 'run_started', exec_id: 'r', on: { state: 'initial' }, started_at: 1 });
    one.fold({ exec_id: 'r', ...out('a') });
    one.fold({ event: 'state_added', state: child });
    one.fold({ event: 'run_ended', exec_id: 'r', status: 'ok', error: null, duration_ms: 2, state: 's' });
    const other = loaded({
        states: [root, child],
        runs: [
            run('r', {
                status: 'ok',
                duration_ms: 2,
                state: 's',
                outputs: [{ output_type: 'stream', name: 'stdout', text: 'a' }],
            }),
        ],
    });
    const plain = (model) =>
        JSON.parse(
            JSON.stringify(
                [[...model.states], [...model.children], [...model.runs.values()]],
                (key, value) => (['key', 'rev'].includes(key) ? undefined : value),
            ),
        );
    assert.deepEqual(plain(one), plain(other));
    assert.deepEqual(
        one.lineage('s').map((state) => state.id),
        ['initial', 's'],
    );
});

test('saving a checkpoint marks the node and does not change the shape of the graph', () => {
    const model = loaded();
    const { graphRev } = model;
    const [node] = nodesOf(model);
    /** @type {import('../../web/shell/protocol.js').Saving[]} */
    const all = [
        { now: 'waiting' },
        { now: 'writing', percent: 40 },
        { now: 'failed', why: 'no space' },
        { now: 'idle' },
    ];
    for (const saving of all) {
        model.fold({ event: 'saving_changed', state: 'initial', saving });
        assert.deepEqual(node.state.saving, saving, 'a rendered node has the new value');
        assert.equal(model.marksRev, model.rev);
    }
    model.fold({ event: 'state_changed', state: { ...root, living: 'disk', pinned: true } });
    model.fold({ event: 'memory_measured', state: 'initial', memory_bytes: 5, shared_bytes: 6 });
    assert.deepEqual([node.state.living, node.state.pinned, node.state.memory_bytes], ['disk', true, 5]);
    assert.equal(node.state.shared_bytes, 6);
    assert.equal(model.graphRev, graphRev);
    model.fold({ event: 'saving_changed', state: 'unknown', saving: { now: 'waiting' } });
    assert.equal(model.states.size, 1);
    assert.equal(root.living, 'memory', 'the received record is not changed');
});

test('the progress of a replay is kept until the state is restored', () => {
    const model = loaded();
    const replaying = (done) => model.fold({ event: 'replaying', state: 'initial', done, total: 3 });
    replaying(1);
    assert.deepEqual(model.replays.get('initial'), { done: 1, total: 3 });
    replaying(3);
    assert.equal(model.replays.size, 0);
    replaying(2);
    model.fold({ event: 'replaying', state: 'initial', done: 0, total: 0 });
    assert.equal(model.replays.size, 0, 'given up');
    replaying(2);
    model.fold({ event: 'state_changed', state: root });
    assert.equal(model.replays.size, 0);
});

test('trouble with the disk begins and ends; states created meanwhile are not on disk yet', () => {
    const model = loaded();
    const trouble = { what: 'save it', why: 'the disk is full', how: 'free some space' };
    model.fold({ event: 'trouble_changed', trouble });
    for (const id of ['a', 'b'])
        model.fold({ event: 'state_added', state: { ...root, id, parent: 'initial', exec_id: id } });
    model.fold({ event: 'state_saved', state: 'a' });
    assert.deepEqual([model.trouble, [...model.unsaved]], [trouble, ['b']]);
    model.fold({ event: 'trouble_changed', trouble: null });
    assert.deepEqual([model.trouble, [...model.unsaved]], [null, []]);
    assert.deepEqual(loaded({ trouble }).trouble, trouble);
    const task = { task_id: 't', version: 1, state: null, values: {}, token_usage: {}, metadata: {} };
    model.fold({ event: 'task_saved', checkpoint: { ...task, created_at: 0 } });
    assert.equal(model.states.size, 3);
});

test('a new snapshot keeps the outputs that are already shown, and adds new ones', () => {
    const text = (said) => ({ output_type: 'stream', name: 'stdout', text: said });
    const html = (said) => ({ output_type: 'display_data', data: { 'text/html': said }, metadata: {} });
    const model = loaded({ runs: [run('r', { outputs: [text('a'), html('<b>'), text('c')] })] });
    const before = [...model.runs.get('r').outputs];
    model.load({
        name: 'main',
        states: [root],
        drafts: [],
        python: python(),
        trouble: null,
        people: [],
        runs: [run('r', { outputs: [text('a and b'), html('<b>'), text('other'), html('<i>')] })],
    });
    const after = model.runs.get('r').outputs;
    assert.deepEqual(
        after.map((item, i) => item === before[i]),
        [true, true, false, false],
    );
    assert.deepEqual(
        after.map((/** @type {any} */ item) => item.pieces?.join('') ?? item.data['text/html']),
        ['a and b', '<b>', 'other', '<i>'],
    );
});

test('changed drafts get their new positions, and the others stay', () => {
    const draft = (id, on = 'initial', source = '') => ({ id, on, kind: 'code', source, version: 1 });
    const model = loaded({ drafts: [draft('a'), draft('b'), draft('c')] });
    const ids = (state) =>
        model
            .draftsOn(state)
            .map(({ id, source }) => id + source)
            .join(' ');
    const change = (on, put, removed = []) =>
        model.fold({
            event: 'drafts_changed',
            on,
            removed,
            put: put.map(([one, after]) => ({ draft: one, after })),
        });
    change('initial', [[draft('b', 'initial', '!'), 'a']]);
    assert.equal(ids('initial'), 'a b! c');
    change('initial', [
        [draft('c'), null],
        [draft('d'), 'a'],
    ]);
    assert.equal(ids('initial'), 'c a d b!');
    change('s', [
        [draft('d', 's'), null],
        [draft('b', 's'), 'd'],
    ]);
    assert.equal(`${ids('initial')} | ${ids('s')}`, 'c a | d b');
    assert.equal(model.draft('b').on, 's');
    change('initial', [], ['c', 'a']);
    assert.equal(model.drafts.has('initial'), false);
    assert.equal(model.draft('a'), undefined);
    model.fold({ event: 'removed', states: ['s'], runs: [], deleted_at: 1 });
    assert.equal(model.draft('d'), undefined);
});

test('restored states return to their places among their siblings', () => {
    const model = new Model();
    model.load(snapshot());
    const state = (id, parent, created_at) => ({ ...model.states.get('initial'), id, parent, created_at });
    const all = ['a', 'b', 'c'].map((id, i) => state(id, 'initial', 10 + i));
    for (const one of all) model.fold({ event: 'state_added', state: one });
    const below = state('d', 'b', 20);
    model.fold({ event: 'state_added', state: below });
    model.fold({ event: 'removed', states: ['d', 'b'], runs: [], deleted_at: 1 });
    model.fold({ event: 'state_changed', state: { ...all[2], living: 'deleted' } });
    model.fold({ event: 'restored', states: [all[1], all[2], below], runs: [] });
    assert.deepEqual(
        model.childrenOf('initial').map(({ id, living }) => [id, living]),
        ['a', 'b', 'c'].map((id) => [id, all[0].living]),
    );
    assert.deepEqual(
        model.lineage('d').map(({ id }) => id),
        ['initial', 'b', 'd'],
    );
});

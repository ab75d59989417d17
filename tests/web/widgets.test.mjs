// The models of widgets: how they look in each branch, which of them a view needs, and whether they
// are live.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Model } from '../../web/shell/model.js';
import { root, run, snapshot, state } from './records.mjs';
import {
    applied,
    isSameLook,
    looks,
    modelsOf,
    references,
    runsOfLook,
    target,
} from '../../web/widgets/models.js';

/** @typedef {import('../../web/shell/protocol-types').WidgetMessage} WidgetMessage */
/** @typedef {import('../../web/shell/model.js').Run} Run */

const theRun = (/** @type {Model} */ model, /** @type {string} */ id) =>
    /** @type {Run} */ (model.runs.get(id));
/** @param {string} id @param {number} value @param {object} [more] */
const runOf = (id, value, more = {}) =>
    run(`run-${id}`, id === 'a' ? 'initial' : 'a', {
        state: id,
        widgets: { m: { state: { value, ...more } } },
    });

/** initial ─ a ┬ b, with the slider's values: a 1, b 2, c 3 (a branch of a). */
function branches() {
    const model = new Model('main');
    model.load(
        snapshot({
            states: [root, state('a', 'initial'), state('b', 'a'), state('c', 'a', { living: 'disk' })],
            runs: [runOf('a', 1, { description: 'n' }), runOf('b', 2), runOf('c', 3)],
        }),
    );
    return model;
}

/** @type {(model: Model, here: string, of: string) => any} */
const valueAt = (model, here, of) => looks(runsOfLook(model, here, theRun(model, of))).get('m')?.state;

test('a widget looks in each branch as its cells have left it', () => {
    const model = branches();
    assert.deepEqual(valueAt(model, 'a', 'run-a'), { value: 1, description: 'n' });
    assert.deepEqual(valueAt(model, 'b', 'run-a'), { value: 2, description: 'n' });
    assert.deepEqual(valueAt(model, 'c', 'run-a'), { value: 3, description: 'n' });
    // A run beside the lineage shows its own end.
    assert.equal(valueAt(model, 'b', 'run-c').value, 3);
    model.fold({ event: 'run_added', run: run('run-d', 'b', { status: 'running' }) });
    /** @type {WidgetMessage[]} */
    const messages = [{ method: 'update', model: 'm', state: { value: 4 } }];
    model.fold({ event: 'widgets_changed', exec_id: 'run-d', messages });
    assert.equal(valueAt(model, 'b', 'run-a').value, 4);
    assert.equal(valueAt(model, 'c', 'run-a').value, 3);
});

test('messages replace parts of a state and its binary data', () => {
    const bytes = (/** @type {(string | number)[]} */ path, /** @type {string} */ data) => ({ path, data });
    /** @type {WidgetMessage[]} */
    const messages = [
        {
            method: 'open',
            model: 'm',
            state: { a: null, n: 1 },
            buffers: [bytes(['a'], 'AA=='), bytes(['b', 0], 'AQ==')],
        },
        { method: 'update', model: 'm', state: { a: 7 } },
        { method: 'custom', model: 'm', content: {} },
        { method: 'open', model: 'x', state: {} },
        { method: 'close', model: 'x' },
    ];
    const models = applied({}, messages);
    assert.deepEqual(models.m, { state: { a: 7, n: 1 }, buffers: [bytes(['b', 0], 'AQ==')] });
    assert.equal(looks([/** @type {any} */ ({ widgets: models })]).has('x'), false);
    assert.deepEqual(applied(models, [{ method: 'open', model: 'm', state: { n: 0 } }]).m.state, { n: 0 });
});

test('a view gets the models that it refers to, and those linked with them', () => {
    const look = (/** @type {any} */ state) => ({ state, buffers: [] });
    const models = new Map(
        Object.entries({
            box: look({ children: ['IPY_MODEL_slider', 'IPY_MODEL_missing'] }),
            slider: look({ layout: 'IPY_MODEL_layout' }),
            layout: look({}),
            out: look({
                outputs: [{ data: { 'application/vnd.jupyter.widget-view+json': { model_id: 'box' } } }],
            }),
            link: look({
                _model_name: 'LinkModel',
                source: ['IPY_MODEL_slider', 'value'],
                target: ['IPY_MODEL_far', 'value'],
            }),
            far: look({}),
            other: look({}),
        }),
    );
    assert.deepEqual(references(models.get('box').state, models), ['slider']);
    assert.deepEqual([...modelsOf('out', models).keys()].sort(), [
        'box',
        'far',
        'layout',
        'link',
        'out',
        'slider',
    ]);
    assert.deepEqual([...modelsOf('other', models).keys()], ['other']);
});

test('looks are compared by their parts', () => {
    const list = [1];
    const a = { state: { list, n: 1 }, buffers: [] };
    assert.ok(isSameLook(a, { state: { n: 1, list }, buffers: [] }));
    assert.ok(!isSameLook(a, { state: { n: 2, list }, buffers: [] }));
    assert.ok(!isSameLook(a, { state: { n: 1, list: [1] }, buffers: [] }));
    assert.ok(!isSameLook(a, { state: { n: 1, list }, buffers: [{ path: ['x'], data: '' }] }));
});

test('widgets are live at the last state of a lineage, and while a cell runs', () => {
    const model = branches();
    /** @type {(here: string, of: string, mayRun?: boolean) => any} */
    const at = (here, of, mayRun = true) => target(model, here, theRun(model, of), mayRun);
    assert.deepEqual(at('b', 'run-a'), { state: 'b' });
    assert.deepEqual(at('a', 'run-a'), { why: 'past' });
    assert.deepEqual(at('c', 'run-a'), { why: 'unloaded' });
    assert.deepEqual(at('b', 'run-a', false), { why: 'view' });
    assert.deepEqual(at('c', 'run-b'), { state: 'b' }, 'of another branch: at its own state');
    model.fold({ event: 'state_changed', state: state('b', 'a', { revival: { by: 'replay' } }) });
    assert.deepEqual(at('b', 'run-a'), { why: 'gone' }, 'the cells made new widgets');
    const failed = run('run-f', 'b', { status: 'error' });
    model.fold({ event: 'run_added', run: failed });
    assert.deepEqual(at('b', 'run-f'), { why: 'failed' });
    model.fold({ event: 'run_added', run: run('run-d', 'a', { status: 'running' }) });
    assert.deepEqual(at('a', 'run-d'), { state: 'a' }, 'messages wait for the end of the cell');
});

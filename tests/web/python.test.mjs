// The notebook's Python: names of environments, which checkpoints it can load, and what the
// question before a restart says.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellsToReplay, savedByOther } from '../../web/checkpoints/residency.js';
import { environmentOf, nameOf, otherSeries, seriesOf } from '../../web/python/python-names.js';
import { restartPlan } from '../../web/python/restart-plan.js';
import { Model } from '../../web/shell/model.js';
import { checkpoint, python, root, snapshot, state } from './records.mjs';

test('an environment is named by its directory', () => {
    for (const [path, name] of [
        ['/usr/bin/python3', ''],
        ['/usr/local/bin/python3.12', ''],
        ['/bin/python3', ''],
        ['/opt/pythons/3.12.1/bin/python', '3.12.1'],
        ['/srv/me/miniconda3/envs/torch/bin/python', 'torch'],
        ['/srv/me/project/.venv/bin/python', 'project/.venv'],
        ['/srv/me/project/venv/bin/python3', 'project/venv'],
        ['/odd/python', ''],
    ])
        assert.equal(environmentOf(/** @type {string} */ (path)), name, path);
    assert.equal(seriesOf('3.12.1'), '3.12');
    assert.equal(nameOf('3.12.1', '/opt/pythons/3.12.1/bin/python'), 'Python 3.12.1');
    assert.equal(nameOf('3.12.1', '/srv/me/envs/torch/bin/python'), 'Python 3.12.1 · torch');
});

test('only plain values are loaded from a checkpoint of another Python version', () => {
    const by = (/** @type {string | null} */ series, more = {}) => checkpoint({ python: series, ...more });
    const now = { version: '3.13.0' };
    assert.equal(otherSeries(by('3.12'), now), '3.12');
    assert.equal(otherSeries(by('3.13'), now), null);
    assert.equal(otherSeries(by(null), now), null);
    assert.equal(otherSeries(by('3.12', { form: 'data' }), now), null);
    assert.equal(otherSeries(by('3.12', { is_trusted: false }), now), null);
    assert.equal(otherSeries(null, now), null);
    const saved = (/** @type {any} */ living, /** @type {any} */ revival) =>
        savedByOther(state('a', 'initial', { checkpoint: by('3.12'), living, revival }), python(now));
    assert.equal(saved('disk', null), '3.12');
    assert.equal(saved('memory', { by: 'checkpoint', missing: [] }), '3.12');
    assert.equal(saved('memory', { by: 'replay' }), null);
    assert.equal(saved('memory', null), null);
});

test('a replay does not start from a state that another Python version saved', () => {
    const model = new Model('main');
    const on = (/** @type {string} */ series) => ({
        living: /** @type {const} */ ('disk'),
        checkpoint: checkpoint({ python: series }),
    });
    const states = [root, state('a', 'initial', on('3.12')), state('b', 'a', on('3.11'))];
    const cells = (/** @type {string} */ version) => {
        model.load(snapshot({ states, python: python({ version }) }));
        return cellsToReplay(model, 'b').map(({ id }) => id);
    };
    assert.deepEqual([cells('3.12.9'), cells('3.13.0')], [['b'], ['a', 'b']]);
    model.fold({ event: 'python_changed', python: python({ version: '3.12.1' }) });
    assert.deepEqual(
        cellsToReplay(model, 'b').map(({ id }) => id),
        ['b'],
    );
});

test('the question before a restart says which states are restored, and how', () => {
    const saved = (/** @type {any} */ more) => ({ checkpoint: checkpoint(more) });
    const lack = [{ name: 'f', type: 'generator', reason: 'a generator' }];
    const states = [
        root,
        state('whole', 'initial', saved({ python: '3.12' })),
        state('lacking', 'initial', saved({ python: '3.12', missing: lack })),
        state('older', 'initial', saved({ python: '3.11' })),
        state('foreign', 'initial', saved({ is_trusted: false })),
        state('unsaved', 'initial'),
        state('gone', 'initial', { living: 'deleted' }),
    ];
    assert.deepEqual(restartPlan(states, '3.12.4'), [
        'One state comes back from its checkpoint.',
        'One state comes back with plain values only, because Python 3.11 saved it. A replay restores the rest.',
        'One state comes back without some variables that could not be saved. A replay restores these variables.',
        'One state comes back with plain values only, because its checkpoint is not trusted.',
        'One state comes back by running its cells again, unless saved before the restart.',
    ]);
    assert.deepEqual(restartPlan([root, ...states.slice(1, 2)], null), [
        'One state comes back from its checkpoint.',
        'If this is not Python 3.12, the states that Python 3.12 saved come back with plain values only. ' +
            'A replay restores the rest.',
    ]);
    assert.deepEqual(restartPlan([root], '3.13.0'), []);
});

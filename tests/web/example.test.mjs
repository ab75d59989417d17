// The example: its cells, and the steps of its guide.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleCells, PACKAGES } from '../../web/example/example-cells.js';
import { NOTHING_SEEN, seenNow, stepIn } from '../../web/example/guide.js';
import { Growing } from './graph-growing.mjs';

/** The codes of the example's cells in a Python without packages. */
const [load, choose, guess, score] = exampleCells(new Set())
    .filter(({ kind }) => kind === 'code')
    .map(({ source }) => source);

test('the example uses a package only where it is installed', () => {
    const codeFor = (...names) =>
        exampleCells(new Set(names))
            .map(({ source }) => source)
            .join('\n');
    assert.doesNotMatch(codeFor(), /pd\.|plot/);
    assert.doesNotMatch(codeFor('matplotlib'), /pd\.|plot/);
    assert.match(codeFor('pandas'), /pd\.read_csv/);
    assert.doesNotMatch(codeFor('pandas'), /plot/);
    assert.match(codeFor(...PACKAGES), /plot\.scatter/);
});

test('the guide reads from the graph what the user has done, and follows deletions', () => {
    const growing = new Growing();
    const { model } = growing;
    const step = () => stepIn(model, NOTHING_SEEN);
    const line = (on, ...codes) => codes.reduce((at, code) => growing.run(at, 'ok', {}, code), on);
    assert.equal(step(), 'run');
    const loaded = line('initial', load);
    line(loaded, choose, guess);
    assert.equal(step(), 'run');
    line(model.newest(), score);
    assert.equal(step(), 'branch');
    const second = line(loaded, choose);
    assert.equal(step(), 'below');
    line(second, guess, score);
    assert.equal(step(), 'third');
    const third = line(loaded, choose);
    assert.equal(step(), 'below');
    const end = line(third, guess, score);
    assert.equal(step(), 'compare');
    model.fold({ event: 'state_changed', state: { ...model.states.get(end), living: 'deleted' } });
    assert.equal(step(), 'below');
});

test('the last steps are done when the user has compared and then gone to another state', () => {
    const growing = new Growing();
    const { model } = growing;
    growing.run('initial', 'ok', {}, score);
    const compared = seenNow(NOTHING_SEEN, { isComparing: true, here: 'a' });
    assert.equal(stepIn(model, compared), 'back');
    assert.equal(seenNow(compared, { isComparing: false, here: 'a' }), compared);
    // Another comparison, from another state.
    assert.equal(stepIn(model, seenNow(compared, { isComparing: true, here: 'b' })), 'back');
    const back = seenNow(compared, { isComparing: false, here: 'b' });
    assert.equal(stepIn(model, back), 'done');
    assert.equal(seenNow(back, { isComparing: true, here: 'a' }), back);
});

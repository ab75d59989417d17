// How kept outputs follow their cells.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followed, shownOf, withHeld, withOutput } from '../../web/kept/kept-outputs.js';
import { run } from './records.mjs';

/** A model with these runs. Runs are named after their outputs. */
const modelOf = (...runs) => /** @type {any} */ ({ runs: new Map(runs.map((one) => [one.exec_id, one])) });
const ran = (key, own, more = {}) => /** @type {any} */ ({ kind: 'ran', key, run: own, shown: own, ...more });
const draft = (key, own, more = {}) =>
    /** @type {any} */ ({ kind: 'draft', key, draft: { id: key, stale_run: null }, run: own, ...more });
/** The draft that takes the place of a cell after a change above it. */
const madeFrom = (key, stale, more = {}) =>
    draft(key, undefined, { draft: { id: key, stale_run: stale.exec_id }, stale, ...more });

/** What is shown: the run, its status and its place. */
const said = (kept, cells, model) =>
    kept.map((one) => {
        const { cell, run: shown, status, place } = shownOf(one, cells, model);
        return [cell?.key ?? '-', shown?.exec_id ?? '-', status, place].filter(Boolean).join(' ');
    });

test('a kept output follows its cell from draft to run to the next version', () => {
    const one = /** @type {any} */ (run('one', 'initial', { draft: 'd', status: 'running' }));
    const two = /** @type {any} */ (run('two', 'initial', { draft: 'd', status: 'queued' }));
    const model = modelOf(one, two);
    let cells = [draft('d', one)];
    let kept = withOutput([], cells, one);
    assert.deepEqual(kept, [{ keys: ['d'], run: 'one' }]);
    assert.deepEqual(said(kept, cells, model), ['d one running here']);
    one.status = 'ok';
    cells = [ran('d', one)];
    assert.equal(followed(kept, cells, model), kept, 'nothing to remember');
    assert.deepEqual(said(kept, cells, model), ['d one here']);
    cells = [ran('d', one, { shown: two })];
    kept = followed(kept, cells, model);
    assert.deepEqual(said(kept, cells, model), ['d two queued here']);
    two.status = 'error';
    assert.deepEqual(said(kept, cells, model), ['d two failed here']);
    // The edit is undone.
    cells = [ran('d', one)];
    assert.deepEqual(said(followed(kept, cells, model), cells, model), ['d one here']);
    assert.deepEqual(said(kept, [ran('d', two, { isAsked: true })], model), ['d two queued here']);
    assert.deepEqual(said(kept, [ran('d', two, { isOutdated: true })], model), ['d two failed stale']);
});

test('after a change above, it follows the draft in place of the cell, and back on the earlier branch', () => {
    const old = /** @type {any} */ (run('old', 'a', { draft: 'd', state: 'b' }));
    const next = /** @type {any} */ (run('next', 'c', { draft: 'e', status: 'running' }));
    const model = modelOf(old, next);
    const before = [ran('d', old)];
    let kept = withOutput([], before, old);
    let cells = [madeFrom('e', old)];
    kept = followed(kept, cells, model);
    assert.deepEqual(kept, [{ keys: ['d', 'e'], run: 'old' }]);
    assert.deepEqual(said(kept, cells, model), ['e old stale']);
    cells = [draft('e', next)];
    kept = followed(kept, cells, model);
    assert.deepEqual(said(kept, cells, model), ['e next running here']);
    kept = followed(kept, before, model);
    assert.deepEqual(said(kept, before, model), ['d old here']);
    // A pasted copy is another cell.
    const copied = [...before, madeFrom('f', old)];
    assert.deepEqual(said(followed(kept, copied, model), copied, model), ['d old here']);
    // The draft has lost its stale output; the pane still shows it.
    assert.deepEqual(said(kept, [draft('d', undefined)], model), ['d old stale']);
    // The button beside the stale output keeps the draft.
    assert.deepEqual(withOutput([], cells, next), [{ keys: ['e'], run: 'next' }]);
    assert.deepEqual(withOutput([], [madeFrom('e', old)], old), [{ keys: ['e'], run: 'old' }]);
    // A draft that failed is copied to the new branch without its output.
    const copy = (source) => [draft('g', undefined, { draft: { id: 'g', source } })];
    assert.deepEqual(said(kept, copy('code of next'), model), ['- old elsewhere']);
    assert.deepEqual(said(kept, copy('code of old'), model), ['g old stale']);
});

test('on another branch it keeps its last run, and says when that was deleted', () => {
    const own = /** @type {any} */ (run('own', 'a', { state: 'b' }));
    const kept = withOutput([], [ran('b', own)], own);
    assert.deepEqual(said(kept, [], modelOf(own)), ['- own elsewhere']);
    assert.equal(followed(kept, [], modelOf(own)), kept);
    assert.deepEqual(said(kept, [], modelOf()), ['- - gone']);
    // An attempt has its run as key; the state that it leaves has another.
    const open = /** @type {any} */ (run('open', 'a', { draft: 'd' }));
    const attempt = withOutput([], [/** @type {any} */ ({ kind: 'attempt', key: 'open', run: open })], open);
    assert.deepEqual(followed(attempt, [ran('d', open)], modelOf(open)), [
        { keys: ['open', 'd'], run: 'open' },
    ]);
});

test('the newest kept output is first; a cell is kept once, and the oldest are dropped', () => {
    const runs = Array.from(
        { length: 25 },
        (_, i) => /** @type {any} */ (run(`${i}`, 'a', { draft: `d${i}` })),
    );
    const cells = runs.map((one) => ran(one.draft, one));
    const keep = (all, i) => withOutput(all, cells, runs[i]);
    const order = (all) => all.map((one) => one.run).join(' ');
    assert.equal(order(keep(keep(keep([], 0), 1), 0)), '0 1');
    const all = runs.reduce((kept, _, i) => keep(kept, i), []);
    assert.equal(all.length, 20);
    assert.equal(order(all).slice(0, 8), '24 23 22');
    // Changes above give the cell new keys without end.
    let [one] = all;
    for (let i = 0; i < 30; i += 1) [one] = followed([one], [madeFrom(`k${i}`, runs[24])], modelOf(runs[24]));
    assert.equal(one.keys.length, 20);
    assert.equal(one.keys.at(-1), 'k29');
});

test('a held output stays while another one of its cell follows; released, it follows in its place', () => {
    const one = /** @type {any} */ (run('one', 'a', { draft: 'd', state: 'b' }));
    const two = /** @type {any} */ (run('two', 'a', { draft: 'd', state: 'c' }));
    const model = modelOf(one, two);
    let kept = withHeld(withOutput([], [ran('d', one)], one), 0);
    assert.deepEqual(kept, [{ keys: ['d'], run: 'one', isHeld: true }]);
    assert.deepEqual(said(kept, [ran('d', one)], model), ['d one here']);
    const cells = [ran('d', two)];
    assert.equal(followed(kept, cells, model), kept);
    assert.deepEqual(said(kept, cells, model), ['- one elsewhere']);
    kept = withOutput(kept, cells, two);
    assert.deepEqual(said(kept, cells, model), ['d two here', '- one elsewhere']);
    assert.deepEqual(said(kept, [ran('d', one)], model), ['d two stale', 'd one here']);
    kept = withHeld(kept, 1);
    assert.deepEqual(said(followed(kept, cells, model), cells, model), ['d two here']);
    assert.equal(withHeld(kept, 5), kept);
});

// The rows of sweeps in the graph: one node for a folded sweep, and nodes of its own for each row
// that somebody looks at or has continued from.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Branches } from '../../web/graph/branches.js';
import { nodesOf } from '../../web/graph/nodes.js';
import { Scene } from '../../web/graph/scene.js';
import { treeOf } from '../../web/graph/layout.js';
import { branchRows } from '../../web/branches/branch-rows.js';
import { cellsOf } from '../../web/notebook/cell-list.js';
import { memberOf } from '../../web/sweep/sweeps.js';
import { Growing } from './graph-growing.mjs';
import { run, state } from './records.mjs';
import { ended, sweep } from './sweep-records.mjs';

/** @typedef {Parameters<Scene['update']>[1]} Look */
/** @param {string} here @param {Partial<Look>} [more] @returns {Look} */
const look = (here, more = {}) => ({ here, standing: [], seen: [0, 0], ...more });
const ids = (scene) => scene.rows.map(({ id }) => id);

/** A notebook whose runs may belong to a sweep. */
class Sweeping extends Growing {
    begin(on, code, exec_id) {
        if (!exec_id) return super.begin(on, code);
        this.model.fold({
            event: 'run_added',
            run: run(exec_id, on, { code: '', status: 'queued', started_at: null, duration_ms: null }),
        });
        this.model.fold({ event: 'run_started', exec_id, on: { state: on }, started_at: 1 });
        return exec_id;
    }

    /** Begins a sweep with `count` rows. */
    sweep(id, at, count, more) {
        this.model.fold({ event: 'sweep_added', sweep: sweep(id, at, count, more) });
    }

    /** Runs a row, or a rung of a row, and returns its state. */
    row(id, row, metric = row, rung = 0) {
        const { at, rows } = this.model.sweeps.get(id);
        const on = rung ? rows[row].ends.at(-1).state : at;
        const exec_id = rung ? `${id}.${row}.${rung}` : `${id}.${row}`;
        this.begin(on, '', exec_id);
        const left = `at ${exec_id}`;
        this.model.fold({ event: 'state_added', state: state(left, on, { exec_id, created_at: 1 }) });
        this.model.fold({
            event: 'run_ended',
            exec_id,
            status: 'ok',
            error: null,
            duration_ms: 1,
            state: left,
        });
        const end = ended(metric, { state: left });
        this.model.fold({ event: 'sweep_row_ended', sweep: id, row, end });
        return left;
    }

    /** Runs a row that fails. */
    failed(id, row) {
        const exec_id = `${id}.${row}`;
        this.begin(this.model.sweeps.get(id).at, '', exec_id);
        const error = { ename: 'E', evalue: '', traceback: [] };
        this.model.fold({
            event: 'run_ended',
            exec_id,
            status: 'error',
            error,
            duration_ms: 1,
            state: null,
        });
        const end = ended(null, { status: 'error', state: null, error: 'E' });
        this.model.fold({ event: 'sweep_row_ended', sweep: id, row, end });
    }
}

test('a run belongs to the row that its id names', () => {
    const sweeps = new Map([
        ['s', sweep('s', 'initial', 3)],
        ['t.1', sweep('t.1', 'initial', 2)],
    ]);
    const at = (id) => {
        const found = memberOf(sweeps, id);
        return found && [found.sweep.id, found.row, found.rung];
    };
    assert.deepEqual(at('s.2'), ['s', 2, 0]);
    assert.deepEqual(at('s.2.1'), ['s', 2, 1]);
    assert.deepEqual(at('t.1.1'), ['t.1', 1, 0]);
    assert.deepEqual(at('t.1.1.2'), ['t.1', 1, 2]);
    for (const id of ['s', 's.3', 's.x', 's.02', 'u.1', 't.1', '', null]) assert.equal(at(id), null, id);
});

test('a thousand rows of a folded sweep are one node, and their events lay out nothing', () => {
    const growing = new Sweeping();
    const base = growing.line('initial', 1);
    growing.sweep('s', base, 1000);
    const scene = new Scene();
    scene.update(growing.model, look(base));
    assert.deepEqual(ids(scene), ['initial', base, 'sweep s']);
    const rows = scene.rows;
    for (let row = 0; row < 1000; row += 1) {
        growing.row('s', row);
        const change = scene.update(growing.model, look(base));
        assert.equal(change.isMoved, false, 'no layout');
    }
    assert.equal(scene.rows, rows, 'the rows are the same objects');
    assert.equal(scene.nodes.list.length, 3);
    assert.equal(treeOf(scene.nodes.list).order.length, 3, 'laid-out nodes');
    assert.equal(scene.nodes.open.size, 0);
    assert.equal(scene.rowAt('at s.7'), 2, 'a hidden row is at the row of its sweep');
    assert.equal(scene.rows[2].closed, 1000);
    const { tally } = growing.model.sweeps.get('s');
    assert.deepEqual(tally, { runs: 1000, ok: 1000, failed: 0, stopped: 0, best: 999 });
});

test('the row where the user is has a node, until the user leaves', () => {
    const growing = new Sweeping();
    growing.sweep('s', 'initial', 20);
    const states = Array.from({ length: 20 }, (_, row) => growing.row('s', row));
    const scene = new Scene();
    scene.update(growing.model, look('initial'));
    const change = scene.update(growing.model, look(states[7]));
    assert.deepEqual(ids(scene), ['initial', 'sweep s', states[7]]);
    assert.equal(change.followed, false);
    assert.equal(scene.rows[2].node.name, 'row 8: x = 7');
    scene.update(growing.model, look(states[2]));
    assert.deepEqual(ids(scene), ['initial', 'sweep s', states[2]]);
    scene.update(growing.model, look('initial'));
    assert.deepEqual(ids(scene), ['initial', 'sweep s']);
});

test('a failed row that the page shows has a node', () => {
    const growing = new Sweeping();
    growing.sweep('s', 'initial', 20);
    growing.failed('s', 3);
    const scene = new Scene();
    scene.update(growing.model, look('initial', { attempt: 's.3' }));
    assert.deepEqual(ids(scene), ['initial', 'sweep s', 's.3']);
    assert.ok(scene.rows[2].node.isFailedLeaf);
});

test('rows from which somebody continued keep their nodes, in the order of the rows', () => {
    const growing = new Sweeping();
    growing.sweep('s', 'initial', 20);
    const states = Array.from({ length: 20 }, (_, row) => growing.row('s', row));
    const scene = new Scene();
    scene.update(growing.model, look('initial'));
    const later = growing.run(states[9]);
    scene.update(growing.model, look(later));
    const earlier = growing.run(states[4]);
    scene.update(growing.model, look(earlier));
    const wanted = ['initial', 'sweep s', states[4], earlier, states[9], later];
    assert.deepEqual(ids(scene), wanted);
    scene.update(growing.model, look('initial'));
    assert.deepEqual(ids(scene), wanted, 'they stay');
    const anew = new Scene();
    anew.update(growing.model, look('initial'));
    assert.deepEqual(ids(anew), wanted, 'as if built at once');
});

test('a run and its row that both are new reach the graph together', () => {
    const growing = new Sweeping();
    growing.sweep('s', 'initial', 20);
    const scene = new Scene();
    scene.update(growing.model, look('initial'));
    growing.begin('initial', '', 's.0');
    scene.update(growing.model, look('initial'));
    growing.model.fold({ event: 'state_added', state: state('left', 'initial', { exec_id: 's.0' }) });
    const next = growing.run('left');
    scene.update(growing.model, look('initial'));
    assert.deepEqual(ids(scene), ['initial', 'sweep s', 'left', next]);
});

test('a short sweep is unfolded; folding and unfolding move no other lane', () => {
    const growing = new Sweeping();
    const base = growing.line('initial', 1);
    growing.sweep('s', base, 3);
    for (let row = 0; row < 3; row += 1) growing.row('s', row);
    const beside = growing.run(base);
    const scene = new Scene();
    scene.update(growing.model, look(beside));
    const open = ['initial', base, beside, 'sweep s', 'at s.0', 'at s.1', 'at s.2'];
    assert.deepEqual(ids(scene), open);
    const lanes = () => new Map(scene.rows.map(({ id, place }) => [id, [place.lane, place.colour]]));
    const before = lanes();
    scene.close(scene.nodes.get('sweep s'), true);
    assert.deepEqual(ids(scene), ['initial', base, beside, 'sweep s']);
    for (const [id, place] of lanes()) assert.deepEqual(place, before.get(id), id);
    scene.update(growing.model, look('at s.1'));
    assert.deepEqual(lanes().get('at s.1'), before.get('at s.1'), 'a single row has its usual place');
    scene.close(scene.nodes.get('sweep s'), false);
    assert.deepEqual(lanes(), before);
    const branches = new Branches();
    for (const [id, [, colour]] of before)
        if (id !== 'sweep s') assert.equal(branches.colourOf(growing.model, id), colour, id);
});

test('the cells of rungs continue their row', () => {
    const growing = new Sweeping();
    growing.sweep('s', 'initial', 20, { rungs: { code: 'more()', count: 2, factor: 3 } });
    for (let row = 0; row < 20; row += 1) growing.row('s', row);
    growing.row('s', 5, 50, 1);
    growing.row('s', 5, 60, 2);
    const scene = new Scene();
    scene.update(growing.model, look('initial'));
    assert.deepEqual(ids(scene), ['initial', 'sweep s']);
    scene.update(growing.model, look('at s.5.1'));
    assert.deepEqual(ids(scene), ['initial', 'sweep s', 'at s.5', 'at s.5.1']);
    assert.equal(growing.model.sweeps.get('s').tally.best, 5);
    scene.update(growing.model, look('initial'));
    assert.deepEqual(ids(scene), ['initial', 'sweep s']);
});

test('a sweep of a row is below that row; when a sweep is deleted, what stays is ordinary', () => {
    const growing = new Sweeping();
    growing.sweep('s', 'initial', 20);
    growing.row('s', 0);
    growing.sweep('t', 'at s.0', 20);
    growing.row('t', 1);
    const scene = new Scene();
    scene.update(growing.model, look('initial'));
    assert.deepEqual(ids(scene), ['initial', 'sweep s', 'at s.0', 'sweep t']);
    growing.model.fold({ event: 'sweep_removed', sweep: 's' });
    scene.update(growing.model, look('initial'));
    assert.deepEqual(ids(scene), ['initial', 'at s.0', 'sweep t']);
});

test('the table of branches has the states that rows of sweeps continue, and no other row', () => {
    const growing = new Sweeping();
    const base = growing.line('initial', 1);
    growing.sweep('s', base, 20);
    for (let row = 0; row < 20; row += 1) growing.row('s', row);
    assert.deepEqual(
        branchRows(growing.model).map(({ state }) => state.id),
        [base],
    );
    const later = growing.run('at s.4');
    assert.deepEqual(
        branchRows(growing.model).map(({ state }) => state.id),
        [later],
    );
    assert.equal(nodesOf(growing.model).length, 5);
});

test('random sweeps look as if built at once', () => {
    const growing = new Sweeping();
    const scene = new Scene();
    let here = growing.line('initial', 2);
    growing.sweep('s', here, 12);
    growing.sweep('t', 'initial', 5);
    let seed = 1;
    const next = (below) => {
        seed = (seed * 48271) % 2147483647;
        return seed % below;
    };
    const states = [here];
    const left = [...Array(12).keys()].map((row) => ['s', row]);
    left.push(...[...Array(5).keys()].map((row) => ['t', row]));
    for (let step = 0; step < 80; step += 1) {
        if (left.length && next(2)) states.push(growing.row(...left.splice(next(left.length), 1)[0]));
        else if (next(3) === 0) states.push(growing.run(states[next(states.length)]));
        here = states[next(states.length)];
        scene.update(growing.model, look(here));
        const anew = new Scene();
        anew.update(growing.model, look(here));
        const plain = ({ id, closed, place }) => ({ id, closed, place });
        assert.deepEqual(scene.rows.map(plain), anew.rows.map(plain), `step ${step}`);
    }
});

test('the page opens and goes on beside the rows of sweeps', () => {
    const growing = new Sweeping();
    const base = growing.line('initial', 1);
    growing.sweep('s', base, 3);
    for (let row = 0; row < 3; row += 1) growing.row('s', row);
    assert.equal(growing.model.newest(), base);
    assert.equal(growing.model.newestBelow('initial'), base);
    const later = growing.run('at s.1');
    assert.equal(growing.model.newest(), later);
    growing.begin(base, '', 's.2.1');
    const look = {
        here: base,
        attempt: /** @type {string | null} */ (null),
        newVersions: new Map(),
        editOf: () => undefined,
        freshId: 'fresh',
        mayType: false,
        openedDrafts: new Set(),
        otherBranches: new Set(),
        progressOf: () => undefined,
        colourOf: () => 0,
        orderOf: () => 0,
        requestedRuns: new Map(),
        waiting: new Map(),
        draftsOn: () => [],
        pendingDeletion: new Set(),
    };
    const kinds = (more = {}) => cellsOf(growing.model, { ...look, ...more }).map(({ kind }) => kind);
    assert.deepEqual(kinds(), ['ran'], 'a running row is no cell of the state');
    assert.deepEqual(kinds({ attempt: 's.2.1' }), ['ran', 'attempt']);
});

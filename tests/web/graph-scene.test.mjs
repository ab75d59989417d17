import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scene } from '../../web/graph/scene.js';
import { nodesOf, Nodes } from '../../web/graph/nodes.js';
import { baseOf, dice, grown, Growing } from './graph-growing.mjs';
import { run } from './records.mjs';

/** @typedef {Parameters<Scene['update']>[1]} Look */

/** @param {string} here @param {Partial<Look>} [more] @returns {Look} */
const look = (here, more = {}) => ({ here, standing: [], seen: [0, 0], ...more });
/** Id, row and lane of each drawn row. */
const drawn = (scene) => scene.rows.map(({ id, place }) => [id, place.row, place.lane]);
const ids = (scene) => scene.rows.map(({ id, fold }) => (fold ? `${fold.length} cells` : id));

test('nothing moves when something is added, whatever grows from where', () => {
    for (let seed = 1; seed <= 12; seed += 1) {
        const next = dice(seed);
        const growing = grown(60, seed);
        const scene = new Scene();
        let here = growing.states[next(growing.states.length)];
        scene.update(growing.model, look(here));
        const open = [];
        for (let step = 0; step < 80; step += 1) {
            const before = drawn(scene);
            const isOurs = next(3) > 0;
            if (open.length && next(2)) {
                const [ended] = open.splice(next(open.length), 1);
                const on = baseOf(growing.model.runs.get(ended));
                const state = growing.end(ended, next(4) ? 'ok' : 'error');
                const followed = isOurs && state !== null && on === here;
                if (followed) here = state;
                scene.update(growing.model, look(here, { seen: [0, 1e9] }));
                const renamed = before.map(([id, ...place]) => [
                    id === ended ? (state ?? ended) : id,
                    ...place,
                ]);
                assert.deepEqual(drawn(scene), renamed, `seed ${seed}, step ${step}: an end moves nothing`);
            } else {
                const states = [...growing.model.states.keys()];
                open.push(growing.begin(isOurs ? here : states[next(states.length)]));
                scene.update(growing.model, look(here, { seen: [0, 1e9] }));
                assert.deepEqual(
                    drawn(scene).slice(0, before.length),
                    before,
                    `seed ${seed}, step ${step}: a beginning moves nothing`,
                );
                assert.equal(scene.rows.length, before.length + 1);
            }
        }
    }
});

test('what was kept up to date is what one would find anew', () => {
    const growing = grown(50, 5);
    const nodes = new Nodes();
    nodes.update(growing.model);
    const runs = [growing.begin('initial'), growing.begin('s3'), growing.begin('s3')];
    nodes.update(growing.model);
    growing.end(runs[1]);
    growing.end(runs[2], 'error');
    nodes.update(growing.model);
    growing.end(runs[0]);
    growing.begin('s3');
    nodes.update(growing.model);
    const plain = (list) =>
        list.map(({ id, from, children, isFailedLeaf, name, state, run }) => ({
            id,
            from,
            children,
            isFailedLeaf,
            name,
            state: state?.id,
            run: run?.exec_id,
        }));
    assert.deepEqual(plain(nodes.list), plain(nodesOf(growing.model)));
    growing.model.fold({ event: 'removed', states: [`s${runs[0].slice(1)}`], runs: [runs[0]] });
    assert.equal(nodes.update(growing.model).from, 0);
    assert.deepEqual(plain(nodes.list), plain(nodesOf(growing.model)));
});

test('an attempt whose variables are kept is a state like others: cells grow from it', () => {
    const growing = grown(3, 5);
    const scene = new Scene();
    scene.update(growing.model, look('initial'));
    const failed = growing.begin('initial');
    scene.update(growing.model, look('initial'));
    growing.end(failed, 'error');
    scene.update(growing.model, look('initial'));
    assert.equal(scene.nodes.get(failed).isFailedLeaf, true);
    const state = growing.keep(failed);
    const next = growing.begin(state);
    scene.update(growing.model, look(state));
    assert.equal(scene.nodes.get(failed), scene.nodes.get(state));
    assert.deepEqual([scene.nodes.get(state).isFailedLeaf, scene.nodes.get(next).parent], [false, state]);
    assert.deepEqual(ids(scene).slice(-2), [state, next]);
    const anew = new Scene();
    anew.update(growing.model, look(state));
    assert.deepEqual(drawn(scene), drawn(anew));
});

test('a run that is called off before it began leaves no row', () => {
    const growing = new Growing();
    const nodes = new Nodes();
    growing.model.fold({
        event: 'run_added',
        run: run('q', 'initial', { status: 'queued', started_at: null, duration_ms: null }),
    });
    nodes.update(growing.model);
    assert.equal(nodes.list.length, 2);
    growing.model.fold({
        event: 'run_ended',
        exec_id: 'q',
        status: 'interrupted',
        error: null,
        duration_ms: null,
        state: null,
    });
    nodes.update(growing.model);
    assert.equal(nodes.list.length, 1);
});

test('the line that was chosen is straight; looking back on it moves nothing, another line is straightened', () => {
    const growing = new Growing();
    const fork = growing.line('initial', 2);
    const one = growing.line(fork, 3);
    const other = growing.line(fork, 3);
    const scene = new Scene();
    const lanes = (tip) => growing.model.lineage(tip).map(({ id }) => scene.rows[scene.rowAt(id)].place.lane);
    scene.update(growing.model, look(one));
    assert.deepEqual(lanes(one), [0, 0, 0, 0, 0, 0]);
    for (const at of [fork, 'initial', one])
        assert.equal(scene.update(growing.model, look(at)).isAnew, false);
    assert.equal(scene.update(growing.model, look(other)).slid, true);
    assert.deepEqual(lanes(other), [0, 0, 0, 0, 0, 0]);
    assert.deepEqual(
        scene.rows.map(({ place }) => place.row),
        [...scene.rows.keys()],
        'rows stay where they are',
    );
    assert.equal(scene.update(growing.model, look(fork)).slid, false);
});

test('what we grow ourselves from an older state is not straightened under our eyes, nor when we look back on it', () => {
    const growing = new Growing();
    const tip = growing.line('initial', 5);
    const scene = new Scene();
    scene.update(growing.model, look(tip));
    scene.update(growing.model, look('s2'));
    const before = drawn(scene);
    const branch = growing.run('s2');
    assert.equal(scene.update(growing.model, look(branch)).slid, false);
    assert.deepEqual(drawn(scene).slice(0, 6), before);
    for (const at of ['s1', branch]) assert.equal(scene.update(growing.model, look(at)).slid, false);
});

test('a long plain line is one row; its ends, what is special and what is near stay', () => {
    const growing = new Growing();
    const a = growing.line('initial', 10);
    growing.model.fold({
        event: 'state_changed',
        state: { ...growing.model.states.get(a), label: 'loaded' },
    });
    const b = growing.line(a, 20);
    growing.run(b, 'error');
    const scene = new Scene();
    scene.update(growing.model, look(b));
    assert.deepEqual(ids(scene), [
        'initial',
        '9 cells',
        's10',
        '16 cells',
        's27',
        's28',
        's29',
        's30',
        'r31',
    ]);
    assert.equal(scene.hidden, 9 + 16 - 2);
    assert.equal(scene.rowAt('s5'), 1, 'a folded state is in the row of its fold');
    scene.open(scene.rows[1].fold);
    assert.equal(scene.rows.length, 9 + 8);
    scene.showAll(true);
    assert.equal(scene.rows.length, 32);
    scene.showAll(false);
    assert.equal(scene.rows.length, 9);
});

test('pinned, warned, deleted, looked at by somebody, with a picture, or a fork: never folded', () => {
    const growing = new Growing();
    growing.line('initial', 40);
    const set = (id, values) =>
        growing.model.fold({ event: 'state_changed', state: { ...growing.model.states.get(id), ...values } });
    set('s6', { pinned: true });
    for (const id of ['s12', 's13', 's14']) set(id, { warnings: ['holds a thread'] });
    set('s18', { living: 'deleted' });
    growing.model.fold({
        event: 'output_added',
        exec_id: 'r24',
        output: { output_type: 'display_data', data: { 'image/png': 'AAAA' }, metadata: {} },
    });
    growing.run('s30');
    const scene = new Scene();
    scene.update(growing.model, look('s40', { standing: ['s36'] }));
    for (const id of ['s6', 's12', 's18', 's24', 's30', 's36', 's40', 's41'])
        assert.ok(ids(scene).includes(id), id);
    assert.deepEqual(
        ids(scene).filter((id) => id.includes('cells')),
        ['5 cells', '5 cells', '5 cells', '5 cells', '5 cells', '5 cells'],
    );
});

test('going to a state that is folded away opens the fold, and it stays open', () => {
    const growing = new Growing();
    const tip = growing.line('initial', 30);
    const scene = new Scene();
    scene.update(growing.model, look(tip));
    assert.equal(scene.update(growing.model, look('s9')).isAnew, true);
    assert.ok(ids(scene).includes('s9') && ids(scene).includes('s2'));
    scene.update(growing.model, look(tip));
    assert.ok(ids(scene).includes('s9'));
});

test('a small graph folds nothing', () => {
    const growing = new Growing();
    const tip = growing.line('initial', 20);
    const scene = new Scene();
    scene.update(growing.model, look(tip));
    assert.equal(scene.hidden, 0);
});

test('a long session folds by itself, but only what is out of sight', () => {
    const growing = new Growing();
    let here = growing.line('initial', 10);
    const scene = new Scene();
    scene.update(growing.model, look(here));
    let folded = 0;
    for (let i = 0; i < 60; i += 1) {
        here = growing.run(here);
        const seen = /** @type {[number, number]} */ ([
            Math.max(0, scene.rows.length - 10),
            scene.rows.length - 1,
        ]);
        const sight = scene.rows.slice(...seen).map(({ node }) => node.id);
        const { isAnew } = scene.update(growing.model, look(here, { seen }));
        if (isAnew) folded += 1;
        const at = scene.rowAt(sight[0]);
        assert.deepEqual(
            scene.rows.slice(at, at + sight.length).map(({ node }) => node.id),
            sight,
            'what is in sight is the same',
        );
    }
    assert.ok(folded > 0);
    assert.ok(scene.rows.length < 40, `${scene.rows.length}`);
});

test('one more among 10,000 is no matter', (t) => {
    const growing = grown(10_000);
    const scene = new Scene();
    let here = growing.states.at(-1);
    const cost = (what) => {
        const began = process.cpuUsage();
        what();
        const { user, system } = process.cpuUsage(began);
        return (user + system) / 1000;
    };
    t.diagnostic(`10,000 at first: ${cost(() => scene.update(growing.model, look(here))).toFixed(1)} ms`);
    scene.showAll(true);
    const times = Array.from({ length: 101 }, () => {
        const run = growing.begin(here);
        return cost(() => {
            scene.update(growing.model, look(here));
            here = growing.end(run);
            scene.update(growing.model, look(here));
        });
    }).sort((a, b) => a - b);
    t.diagnostic(`one more: median of ${times[50].toFixed(3)} ms`);
    assert.ok(times[50] < 50, 'it would be another order of growth');
});

test('where another line becomes straight no row goes up or down, and no fold opens', () => {
    const growing = new Growing();
    const fork = growing.line('initial', 12);
    const one = growing.line(fork, 12);
    const other = growing.line(fork, 12);
    const scene = new Scene();
    scene.update(growing.model, look(one));
    const before = ids(scene);
    assert.ok(before.some((id) => id.includes('cells')));
    assert.equal(scene.update(growing.model, look(other)).slid, true);
    assert.deepEqual(ids(scene), before);
});

test('the straight line is the one that was asked for first, however empty the page began', () => {
    const growing = new Growing();
    const scene = new Scene();
    scene.update(growing.model, look('initial'));
    const fork = growing.line('initial', 3);
    growing.line(fork, 3);
    const other = growing.line(fork, 3);
    growing.model.load({
        name: 'main',
        states: [...growing.model.states.values()],
        runs: [...growing.model.runs.values()].map((run) => ({ ...run, outputs: [] })),
        drafts: [],
        trouble: null,
        people: [],
    });
    scene.update(growing.model, look(other));
    for (const { id } of growing.model.lineage(other))
        assert.equal(scene.rows[scene.rowAt(id)].place.lane, 0, id);
});

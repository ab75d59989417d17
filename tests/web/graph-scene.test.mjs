import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Scene } from '../../web/graph/scene.js';
import { takenEdges } from '../../web/graph/edges.js';
import { nodesOf, Nodes } from '../../web/graph/nodes.js';
import { revsOf } from '../../web/graph/row-annotations.js';
import { baseOf, dice, grown, Growing } from './graph-growing.mjs';
import { run, state } from './records.mjs';

/** @typedef {Parameters<Scene['update']>[1]} Look */

/** @param {string} here @param {Partial<Look>} [more] @returns {Look} */
const look = (here, more = {}) => ({ here, standing: [], seen: [0, 0], ...more });
/** Id, lane and colour of each drawn row, from top to bottom. */
const drawn = (scene) => scene.rows.map(({ id, place }) => [id, place.lane, place.colour]);
const plainRow = ({ id, closed, place }) => ({ id, closed, place });
const laneOf = (scene, id) => scene.rows[scene.rowAt(id)].place.lane;
const ids = (scene) => scene.rows.map(({ id, fold }) => (fold ? `${fold.length} cells` : id));

test('when nodes are added and runs end, the others keep their order, lanes and colours', () => {
    for (let seed = 1; seed <= 12; seed += 1) {
        const next = dice(seed);
        const growing = grown(60, seed);
        const scene = new Scene({ isWhole: true });
        let here = growing.states[next(growing.states.length)];
        scene.update(growing.model, look(here));
        const open = [];
        for (let step = 0; step < 80; step += 1) {
            const before = drawn(scene);
            let renamed = before;
            if (open.length && next(2)) {
                const [ended] = open.splice(next(open.length), 1);
                const on = baseOf(growing.model.runs.get(ended));
                const state = growing.end(ended);
                if (next(3) && on === here) here = state;
                renamed = before.map(([id, ...more]) => [id === ended ? state : id, ...more]);
            } else {
                const states = [...growing.model.states.keys()];
                open.push(growing.begin(next(3) ? here : states[next(states.length)]));
            }
            scene.update(growing.model, look(here));
            const known = new Set(renamed.map(([id]) => id));
            assert.deepEqual(
                drawn(scene).filter(([id]) => known.has(id)),
                renamed,
                `seed ${seed}, step ${step}`,
            );
            const anew = new Scene({ isWhole: true });
            anew.update(growing.model, look(here));
            assert.deepEqual(anew.rows.map(plainRow), scene.rows.map(plainRow), 'as if built at once');
        }
    }
});

test('for screen readers, a row is below its nearest shown ancestor, among the rows with the same one', () => {
    const growing = new Growing();
    const first = growing.line('initial', 1);
    const branch = growing.line(first, 1);
    const tip = growing.line(first, 2);
    const scene = new Scene({ isWhole: true });
    scene.update(growing.model, look(tip));
    const tree = () =>
        scene.rows.map(({ place }) => [place.depth, place.nth, scene.rows[place.from]?.place.children ?? 1]);
    assert.deepEqual(tree(), [
        [0, 0, 1],
        [1, 0, 1],
        [2, 0, 2],
        [3, 0, 1],
        [2, 1, 2],
    ]);
    scene.search([scene.nodes.get(branch).at]);
    assert.deepEqual(tree(), [
        [0, 0, 1],
        [1, 0, 2],
        [1, 1, 2],
    ]);
});

test('a failed attempt gives its lane to the next cell', () => {
    const growing = new Growing();
    const scene = new Scene();
    const tip = growing.line('initial', 2);
    const failed = growing.begin(tip);
    scene.update(growing.model, look(tip));
    assert.equal(laneOf(scene, failed), 0);
    growing.end(failed, 'error');
    scene.update(growing.model, look(tip));
    assert.equal(laneOf(scene, failed), 1);
    const next = growing.run(tip);
    scene.update(growing.model, look(next));
    assert.deepEqual([laneOf(scene, failed), laneOf(scene, next)], [1, 0]);
});

test('a scene that was updated step by step equals a new scene', () => {
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
    growing.model.fold({
        event: 'removed',
        states: [`s${runs[0].slice(1)}`],
        runs: [runs[0]],
        deleted_at: null,
    });
    assert.equal(nodes.update(growing.model).from, 0);
    assert.deepEqual(plain(nodes.list), plain(nodesOf(growing.model)));
});

test('a partial state is a state like others: cells can grow from it', () => {
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
    assert.deepEqual(
        [scene.nodes.get(state).isFailedLeaf, scene.nodes.get(next).from],
        [false, scene.nodes.get(state).at],
    );
    assert.equal(scene.rows[scene.rowAt(next)].place.from, scene.rowAt(state));
    const anew = new Scene();
    anew.update(growing.model, look(state));
    assert.deepEqual(drawn(scene), drawn(anew));
});

test('siblings are told apart, also those whose parent was running when they were asked for', () => {
    const { model } = new Growing();
    const nodes = new Nodes();
    const begin = (
        /** @type {string} */ id,
        /** @type {import('../../web/shell/protocol.js').Run['on']} */ on,
        code,
    ) =>
        model.fold({
            event: 'run_added',
            run: run(id, '', { on, code, status: 'queued', duration_ms: null }),
        });
    begin('r1', { state: 'initial' }, 'load()');
    begin('r2', { run: 'r1' }, 'model = fit(data, depth=3)');
    nodes.update(model);
    model.fold({ event: 'state_added', state: state('s1', 'initial', { exec_id: 'r1' }) });
    model.fold({ event: 'run_ended', exec_id: 'r1', status: 'ok', error: null, duration_ms: 1, state: 's1' });
    begin('r3', { state: 's1' }, 'model = fit(data, depth=9)');
    nodes.update(model);
    assert.deepEqual(
        nodes.list.map(({ name }) => name),
        ['', 'load()', '… depth=3)', '… depth=9)'],
    );
});

test('a state that took variables has a second edge, also from a fold or a closed subtree', () => {
    const growing = new Growing();
    const base = growing.end(growing.begin('initial'), 'ok');
    const ours = growing.end(growing.begin(base), 'ok');
    const theirs = growing.end(growing.begin(base), 'ok');
    const below = growing.end(growing.begin(theirs), 'ok');
    const taken = growing.end(growing.begin(ours), 'ok');
    growing.model.states.get(taken).taken_from = below;
    const scene = new Scene();
    scene.update(growing.model, look(taken));
    assert.deepEqual(scene.takings, [{ from: scene.rowAt(below), to: scene.rowAt(taken) }]);
    const drawnEdges = (first, last) =>
        takenEdges(scene.rows, scene.takings, first, last).map(({ props }) => props.d);
    assert.match(drawnEdges(0, 9)[0], /^M\d+ \d+H13Q4 \d+ 4 \d+V\d+Q4 \d+ 13 \d+H\d+$/);
    assert.deepEqual(drawnEdges(0, 0), [], 'outside of the painted rows');
    scene.close(scene.nodes.get(theirs), true);
    assert.deepEqual(scene.takings, [{ from: scene.rowAt(theirs), to: scene.rowAt(taken) }]);
    // A state whose source is gone has no second edge.
    growing.model.states.get(taken).taken_from = 'gone';
    scene.showAll(true);
    assert.deepEqual(scene.takings, []);
});

test('a run that is cancelled before it begins leaves no row', () => {
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

test('going to a state moves nothing', () => {
    const growing = grown(80, 4);
    const scene = new Scene({ isWhole: true });
    scene.update(growing.model, look('initial'));
    const before = drawn(scene);
    for (const id of growing.states) {
        assert.equal(scene.update(growing.model, look(id)).isMoved, false);
        assert.deepEqual(drawn(scene), before);
    }
});

test('a subtree can be closed and opened; going to one of its states opens it', () => {
    const growing = new Growing();
    const fork = growing.line('initial', 2);
    const tip = growing.line(fork, 2);
    const other = growing.line(fork, 3);
    const scene = new Scene();
    scene.update(growing.model, look(tip));
    const all = ids(scene);
    assert.deepEqual(all, ['initial', 's1', 's2', 's5', 's6', 's7', 's3', 's4']);
    scene.close(scene.nodes.get('s5'), true);
    assert.deepEqual(ids(scene), ['initial', 's1', 's2', 's5', 's3', 's4']);
    const row = scene.rows[scene.rowAt(other)];
    assert.deepEqual([row.id, row.closed], ['s5', 2], 'a hidden state is in the row that hides it');
    assert.deepEqual(
        [row.place.straight, row.place.lastBranch],
        [-1, -1],
        'no line goes down from a closed node',
    );
    const grownInside = growing.run(other);
    scene.update(growing.model, look(tip));
    assert.equal(scene.rows[scene.rowAt(grownInside)].closed, 3);
    assert.equal(scene.update(growing.model, look(other)).isMoved, true);
    assert.deepEqual(ids(scene).slice(3, 7), ['s5', 's6', 's7', grownInside]);
    scene.close(scene.nodes.get('s2'), true);
    assert.deepEqual(ids(scene), ['initial', 's1', 's2']);
    assert.equal(scene.rowAt(other), 2, 'also the current state can be hidden');
    scene.close(scene.nodes.get('s2'), false);
    assert.equal(scene.rows.length, 9);
    scene.close(scene.nodes.get(grownInside), true);
    assert.equal(scene.rows.length, 9, 'a leaf hides nothing');
});

test('a search shows only its hits, the root and the current state; lanes stay', () => {
    const growing = new Growing();
    const fork = growing.line('initial', 20);
    const tip = growing.line(fork, 20);
    const branch = growing.line(fork, 5);
    const scene = new Scene({ closed: ['s41'] });
    scene.update(growing.model, look(tip));
    const before = ids(scene);
    const at = (id) => scene.nodes.get(id).at;
    assert.equal(scene.search([at('s3'), at('s30'), at(branch)]), true);
    assert.deepEqual(ids(scene), ['initial', 's3', branch, 's30', tip]);
    assert.deepEqual(
        scene.rows.map(({ place }) => [place.from, place.lane]),
        [
            [-1, 0],
            [0, 0],
            [1, 1],
            [1, 0],
            [3, 0],
        ],
        'each hangs from the nearest shown ancestor',
    );
    assert.equal(scene.update(growing.model, look('s8')).isMoved, true);
    assert.deepEqual(ids(scene), ['initial', 's3', 's8', branch, 's30']);
    scene.update(growing.model, look(tip));
    assert.equal(scene.search([]), true);
    assert.deepEqual(ids(scene), before);
    assert.equal(scene.search([]), false);
});

test('a long linear section is one row; its ends, labelled states and states near the current one stay', () => {
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
    assert.equal(scene.folded, 9 + 16 - 2);
    assert.equal(scene.rowAt('s5'), 1, 'a folded state is in the row of its fold');
    scene.open(scene.rows[1].fold);
    assert.equal(scene.rows.length, 9 + 8);
    scene.showAll(true);
    assert.equal(scene.rows.length, 32);
    scene.showAll(false);
    assert.equal(scene.rows.length, 9);
});

test('a state is never folded if it is pinned, has a new warning, a viewer or an image, or branches', () => {
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
    for (const id of ['s6', 's12', 's24', 's30', 's36', 's40', 's41']) assert.ok(ids(scene).includes(id), id);
    assert.deepEqual(
        ids(scene).filter((id) => id.includes('cells')),
        ['5 cells', '5 cells', '10 cells', '5 cells', '5 cells'],
    );
});

test('deleted states have no row, from the moment of their deletion; what grew from them stays', () => {
    const growing = new Growing();
    growing.line('initial', 4);
    const fork = growing.run('s2');
    const scene = new Scene();
    const seen = (here, going) => (scene.update(growing.model, look(here, { going })), ids(scene));
    assert.deepEqual(seen('s4', new Set()), ['initial', 's1', 's2', fork, 's3', 's4']);
    const [branch, tip] = [laneOf(scene, fork), laneOf(scene, 's4')];
    assert.deepEqual(seen('s4', new Set(['s2', 's3'])), ['initial', 's1', fork, 's4']);
    assert.deepEqual([laneOf(scene, fork), laneOf(scene, 's4')], [branch, tip], 'in their lanes');
    const { place } = scene.rows[scene.rowAt('s4')];
    assert.equal(place.from, scene.rowAt('s1'));
    assert.equal(scene.rowAt('s3'), scene.rowAt('s1'), 'who is there is shown above');
    scene.close(scene.nodes.get('s1'), true);
    assert.equal(scene.rows[1].closed, 2, 'only states with rows are counted');
    scene.close(scene.nodes.get('s1'), false);
    const change = (id, values) =>
        growing.model.fold({ event: 'state_changed', state: { ...growing.model.states.get(id), ...values } });
    for (const id of ['s2', 's3']) change(id, { living: 'deleted' });
    assert.deepEqual(seen('s4', new Set()), ['initial', 's1', fork, 's4']);
    assert.deepEqual(seen('s3', new Set()), ['initial', 's1', fork, 's3', 's4'], 'a link leads to one');
    assert.deepEqual(seen('s4', new Set()), ['initial', 's1', fork, 's4']);
    change('s3', { living: 'memory' });
    assert.deepEqual(seen('s4', new Set()), ['initial', 's1', fork, 's3', 's4'], 'it was restored');
});

test('going to a folded state opens the fold, and it stays open', () => {
    const growing = new Growing();
    const tip = growing.line('initial', 30);
    const scene = new Scene();
    scene.update(growing.model, look(tip));
    assert.equal(scene.update(growing.model, look('s9')).isMoved, true);
    assert.ok(ids(scene).includes('s9') && ids(scene).includes('s2'));
    scene.update(growing.model, look(tip));
    assert.ok(ids(scene).includes('s9'));
});

test('after a reload, what was in sight before it is not folded', () => {
    const growing = new Growing();
    const tip = growing.line('initial', 30);
    const scene = new Scene({ seen: ['s9', 's10', 's11', 'gone'] });
    scene.update(growing.model, look(tip));
    assert.deepEqual(ids(scene).slice(0, 6), ['initial', '8 cells', 's9', 's10', 's11', '15 cells']);
    // Later rows fold as ever.
    growing.run(tip);
    scene.update(growing.model, look(tip, { seen: [0, 1] }));
    assert.ok(!ids(scene).includes('s9'));
});

test('an event changes only the row that shows what it changes', () => {
    const growing = new Growing();
    const { model } = growing;
    growing.line('initial', 3);
    const stamps = () =>
        new Map(
            nodesOf(model).map((node) => [node.run?.exec_id ?? node.id, JSON.stringify(revsOf(node, model))]),
        );
    const changedBy = (happens) => {
        const before = stamps();
        happens();
        return [...stamps()].flatMap(([id, stamp]) => (before.get(id) === stamp ? [] : id));
    };
    const by = (event) => changedBy(() => model.fold(event));
    assert.deepEqual(by({ event: 'state_changed', state: { ...model.states.get('s2'), label: 'a' } }), [
        'r2',
    ]);
    const saving = { now: 'writing', percent: 40 };
    assert.deepEqual(by({ event: 'saving_changed', state: 's2', saving }), ['r2']);
    const sizes = { memory_bytes: 9e8, shared_bytes: 0 };
    assert.deepEqual(by({ event: 'memory_measured', state: 's2', ...sizes }), ['r2']);
    assert.deepEqual(by({ event: 'replaying', state: 's2', done: 1, total: 3 }), ['r2']);
    const output = { output_type: 'stream', name: 'stdout', text: 'printed' };
    assert.deepEqual(by({ event: 'output_added', exec_id: 'r1', output }), ['r1']);
    const put = [{ draft: { id: 'd', on: 's2', kind: 'code', source: 'x' }, after: null }];
    assert.deepEqual(by({ event: 'drafts_changed', on: 's2', removed: [], put }), ['r2']);
    const trouble = { what: 'write', why: 'no space', how: 'free some' };
    assert.deepEqual(by({ event: 'trouble_changed', trouble }), ['r1', 'r2', 'r3'], 'all unsaved');
    assert.deepEqual(
        changedBy(() => growing.run('s3')),
        ['r3', 'r4'],
        'it can hide what is below',
    );
});

test('a small graph has no folds', () => {
    const growing = new Growing();
    const tip = growing.line('initial', 20);
    const scene = new Scene();
    scene.update(growing.model, look(tip));
    assert.equal(scene.folded, 0);
});

test('a growing graph folds by itself, but only out of sight', () => {
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
        const before = scene.folded;
        scene.update(growing.model, look(here, { seen }));
        if (scene.folded > before) folded += 1;
        const at = scene.rowAt(sight[0]);
        assert.deepEqual(
            scene.rows.slice(at, at + sight.length).map(({ node }) => node.id),
            sight,
            'the visible rows are the same',
        );
    }
    assert.ok(folded > 0);
    assert.ok(scene.rows.length < 40, `${scene.rows.length}`);
});

/** Counts the lookups in maps while a function runs. */
function lookups(what) {
    const { get } = Map.prototype;
    let count = 0;
    Map.prototype.get = function (key) {
        count += 1;
        return get.call(this, key);
    };
    try {
        what();
    } finally {
        Map.prototype.get = get;
    }
    return count;
}

test('adding a node to 10,000 nodes looks at each a few times', (t) => {
    const growing = grown(10_000);
    const scene = new Scene();
    let here = growing.states.at(-1);
    const first = lookups(() => scene.update(growing.model, look(here)));
    scene.showAll(true);
    const run = growing.begin(here);
    const more = lookups(() => {
        scene.update(growing.model, look(here));
        here = growing.end(run);
        scene.update(growing.model, look(here));
    });
    t.diagnostic(`${first} lookups at first, ${more} for one more`);
    assert.ok(first < 20 * 10_000 && more < 10 * 10_000, 'more would mean another order of growth');
});

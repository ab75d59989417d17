import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLOURS, treeOf } from '../../web/graph/layout.js';
import { dice } from './graph-growing.mjs';

/** 'a a>b b>c b>!x' → nodes; `!` marks a failed attempt. */
function nodes(text) {
    const index = new Map();
    const list = [];
    for (const [at, word] of text.split(' ').entries()) {
        const [parent, child] = word.includes('>') ? word.split('>') : [null, word];
        const id = child.replace('!', '');
        index.set(id, at);
        add(list, id, index.get(parent) ?? -1, child.startsWith('!'));
    }
    return list;
}

/** Adds a node with what the layout reads of it. */
function add(list, id, from, isFailedLeaf = false) {
    list[from]?.children.push(list.length);
    list.push({ id, at: list.length, from, children: [], isFailedLeaf });
}

/** One line per row: the node in its lane. */
function picture(text) {
    const list = nodes(text);
    const { order, lanes } = treeOf(list);
    return order.map((at) => '  '.repeat(lanes[at]) + list[at].id).join('\n');
}

/** A graph that is mostly one lineage, with some branches and failures. Deterministic. */
function random(count, seed = 1, failures = 10) {
    const next = dice(seed);
    const list = [];
    add(list, '0', -1);
    const states = [0];
    for (let i = 1; i < count; i += 1) {
        const from = next(10) < 7 ? states.at(-1) : states[next(states.length)];
        const isFailedLeaf = failures > 0 && next(failures) === 0;
        add(list, `${i}`, from, isFailedLeaf);
        if (!isFailedLeaf) states.push(i);
    }
    return list;
}

/** The first `count` nodes, as they were before the others were added. */
const first = (list, count) =>
    list
        .slice(0, count)
        .map((node) => ({ ...node, children: node.children.filter((child) => child < count) }));

test('a lineage without branches keeps its lane', () => {
    assert.equal(picture('a a>b b>c'), 'a\nb\nc');
});

test('a branch stands directly below its fork, one lane to the right', () => {
    assert.equal(picture('a a>b b>c c>d a>x x>y'), 'a\n  x\n  y\nb\nc\nd');
});

test('branches of one node are in creation order, in one lane', () => {
    assert.equal(picture('a a>b a>x a>y a>z b>c'), 'a\n  x\n  y\n  z\nb\nc');
});

test('a branch of a branch stands one lane further to the right', () => {
    assert.equal(picture('a a>b a>x x>y x>p p>q'), 'a\n  x\n    p\n    q\n  y\nb');
});

test('a failed attempt is a branch, and the next cell continues the lane', () => {
    assert.equal(picture('a a>!x a>!y a>b b>c'), 'a\n  x\n  y\nb\nc');
});

test('while the graph grows, lanes, colours and the order of the nodes stay', () => {
    for (let seed = 1; seed <= 8; seed += 1) {
        const all = random(400, seed, 0);
        const whole = treeOf(all);
        for (const count of [1, 2, 10, 150, 399]) {
            const part = treeOf(first(all, count));
            assert.deepEqual(part.lanes, whole.lanes.slice(0, count), `seed ${seed}`);
            assert.deepEqual(part.colours, whole.colours.slice(0, count), `seed ${seed}`);
            assert.deepEqual(
                part.order,
                whole.order.filter((at) => at < count),
                `seed ${seed}`,
            );
        }
    }
});

test('a line passes no node of another branch', () => {
    const list = random(1500);
    const { order, lanes } = treeOf(list);
    const rows = new Map(order.map((at, row) => [at, row]));
    for (const { at, from } of list) {
        if (from < 0) continue;
        for (let row = rows.get(from) + 1; row < rows.get(at); row += 1)
            assert.ok(lanes[order[row]] > lanes[from], `the line from ${from} to ${at} at row ${row}`);
    }
});

test('every node is shown once, after its parent', () => {
    const list = random(1500, 3);
    const { order } = treeOf(list);
    const shown = new Set();
    for (const at of order) {
        assert.ok(list[at].from < 0 || shown.has(list[at].from));
        shown.add(at);
    }
    assert.equal(shown.size, list.length);
});

test('a branch has another colour than its parent, and than its siblings while there are enough', () => {
    const star = nodes(['a', ...'bcdefghijk'].map((id, i) => (i ? `a>${id}` : id)).join(' '));
    const { colours } = treeOf(star);
    assert.equal(colours[1], colours[0], 'the first child continues');
    const branches = colours.slice(2, 2 + COLOURS - 1);
    assert.equal(new Set([colours[0], ...branches]).size, COLOURS);
    const tree = random(500, 2);
    const all = treeOf(tree);
    for (const { at, from } of tree)
        if (from >= 0 && all.lanes[at] !== all.lanes[from])
            assert.notEqual(all.colours[at], all.colours[from]);
});

test('a failed attempt changes the colour of no branch', () => {
    const colour = (text, id) => {
        const list = nodes(text);
        return treeOf(list).colours[list.findIndex((node) => node.id === id)];
    };
    assert.equal(colour('a a>b a>x', 'x'), colour('a a>b a>!f a>x', 'x'));
});

test('a branch keeps its colour while others are deleted and restored', () => {
    const given = new Map();
    const colours = (text) => {
        const list = nodes(text);
        const tree = treeOf(list, given);
        return Object.fromEntries(list.map(({ id }, at) => [id, tree.colours[at]]));
    };
    const before = colours('a a>b a>c c>d a>e');
    const { c, d, e } = colours('a a>c c>d a>e');
    assert.deepEqual([c, d, e], [before.c, before.d, before.e], 'also if it is now the first child');
    assert.equal(colours('a a>e').e, before.e);
    const { f } = colours('a a>e a>f');
    assert.notEqual(f, before.e);
    assert.deepEqual(colours('a a>b a>c c>d a>e'), before, 'also after they are restored');
    colours('a a>c c>d a>e');
    assert.deepEqual(colours('a a>c c>d a>e a>b'), before, 'also if the first child is now the last');
});

test('10,000 nodes are laid out at once, whatever their shape', (t) => {
    const star = [];
    add(star, 'r', -1);
    for (let i = 1; i < 10_000; i += 1) add(star, `${i}`, 0);
    const line = [];
    for (let i = 0; i < 10_000; i += 1) add(line, `${i}`, i - 1);
    const comb = [];
    for (let i = 0; i < 10_000; i += 1) add(comb, `${i}`, i === 0 ? -1 : i % 2 ? i - 1 : Math.max(0, i - 2));
    for (const [name, shape] of Object.entries({ star, line, comb, random: random(10_000) })) {
        treeOf(shape);
        const times = Array.from({ length: 9 }, () => {
            const began = process.cpuUsage();
            treeOf(shape);
            const { user, system } = process.cpuUsage(began);
            return (user + system) / 1000;
        }).sort((a, b) => a - b);
        t.diagnostic(`${name}: median of ${times[4].toFixed(1)} ms`);
        assert.ok(times[4] < 1000, 'one second would mean another order of growth');
    }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Layout, layout } from '../../web/graph/layout.js';

/** 'a a>b b>c b>!x' → rows; `!` marks a failed attempt, `*` the trunk. */
function nodes(text) {
    const rows = new Map();
    return text.split(' ').map((word, row) => {
        const [parent, child] = word.includes('>') ? word.split('>') : [null, word];
        const id = child.replace(/[!*]/, '');
        rows.set(id, row);
        return {
            id,
            from: rows.get(parent) ?? -1,
            isFailedLeaf: child.startsWith('!'),
            isTrunk: child.startsWith('*'),
        };
    });
}

/** One line per row: the node in its lane; `+` before a node drawn beside its lane. */
function picture(text) {
    return layout(nodes(text))
        .places.map((p) => ' '.repeat(p.lane * 2) + (p.beside ? '+' : '') + p.id)
        .join('\n');
}

test('a straight line keeps its lane', () => {
    assert.equal(picture('a a>b b>c'), 'a\nb\nc');
});

test('a branch gets a lane of its own and goes on in it', () => {
    assert.equal(picture('a a>b b>c a>d d>e c>f'), 'a\nb\nc\n  d\n  e\nf');
});

test('failed attempts sit beside the line and do not bend it', () => {
    assert.equal(picture('a a>!x a>!y a>b b>c'), 'a\n+x\n+y\nb\nc');
});

test('an attempt against an older state gets a lane', () => {
    assert.equal(picture('a a>b b>c a>!x c>d'), 'a\nb\nc\n  x\nd');
});

test('the trunk has the first lane for itself, whatever grew first', () => {
    assert.equal(picture('*a a>b b>c a>*d c>e d>*f f>g'), 'a\n  b\n  c\nd\n  e\nf\ng');
});

test('a branch takes the free lane that is nearest on the right of where it begins', () => {
    // Four branches. The second and third have ended when a new branch begins at the second.
    assert.equal(
        picture('a a>b a>c a>d a>e b>f a>g f>h f>!x'),
        ['a', 'b', '  c', '    d', '      e', 'f', '        g', 'h', '  x'].join('\n'),
    );
});

test('a failed attempt steps aside if nothing came after it, and the next stands in its place', () => {
    const whole = new Layout();
    for (const item of nodes('a a>b b>c')) whole.add(item);
    assert.ok(whole.fail(2));
    assert.equal(whole.places[2].beside, true);
    assert.equal(whole.add({ id: 'd', from: 1, isFailedLeaf: false }).lane, 0);
    assert.equal(whole.fail(1), false, 'something grew in its lane');
});

test('nothing moves when the graph grows', () => {
    const all = random(2000);
    const whole = layout(all).places;
    for (const cut of [1, 2, 10, 500, 1999])
        assert.deepEqual(layout(all.slice(0, cut)).places, whole.slice(0, cut));
});

test('no two lines share a lane in the same row', () => {
    const { places } = layout(random(1500));
    const used = new Set();
    for (const place of places) {
        const parent = places[place.from];
        // An edge occupies the child's lane from the row below the parent down to the child's row.
        // The parent's row belongs to the parent.
        if (place.beside) continue;
        for (let row = (parent?.row ?? place.row - 1) + 1; row <= place.row; row += 1) {
            const spot = `${place.lane}:${row}`;
            assert.ok(!used.has(spot), `lane ${place.lane} is used twice in row ${row}`);
            used.add(spot);
        }
    }
});

test('10,000 nodes are laid out at once, whatever their shape', (t) => {
    const star = [{ id: 'r', from: -1, isFailedLeaf: false }];
    for (let i = 1; i < 10_000; i += 1) star.push({ id: `${i}`, from: 0, isFailedLeaf: false });
    for (const shape of [star, random(10_000)]) {
        layout(shape.slice(0, 500));
        const times = Array.from({ length: 9 }, () => {
            const began = process.cpuUsage();
            layout(shape);
            const { user, system } = process.cpuUsage(began);
            return (user + system) / 1000;
        }).sort((a, b) => a - b);
        t.diagnostic(`median of ${times[4].toFixed(1)} ms`);
        assert.ok(times[4] < 1000, 'a second would be another order of growth');
    }
});

/** A graph that is mostly one line, with some branches and failures. Deterministic. */
function random(count) {
    let seed = 1;
    const next = (below) => {
        seed = (seed * 48271) % 2147483647;
        return seed % below;
    };
    const list = [{ id: '0', from: -1, isFailedLeaf: false }];
    const states = [0];
    for (let i = 1; i < count; i += 1) {
        const from = next(10) < 7 ? states.at(-1) : states[next(states.length)];
        const isFailedLeaf = next(10) === 0;
        list.push({ id: `${i}`, from, isFailedLeaf });
        if (!isFailedLeaf) states.push(i);
    }
    return list;
}

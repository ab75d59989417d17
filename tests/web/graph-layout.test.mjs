import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layout } from '../../web/graph-layout.js';

/** 'a a>b b>c b>!x' → nodes; `!` marks a failed attempt. */
function nodes(text) {
    return text.split(' ').map((word) => {
        const [parent, child] = word.includes('>') ? word.split('>') : [null, word];
        return { id: child.replace('!', ''), parent, bud: child.startsWith('!') };
    });
}

/** One line per row: the node in its lane; `+` before a node that sits beside its lane. */
function picture(text) {
    return layout(nodes(text)).places.map((p) => ' '.repeat(p.lane * 2) + (p.beside ? '+' : '') + p.id).join('\n');
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

test('nothing moves when the graph grows', () => {
    const all = random(2000);
    const whole = layout(all).places;
    for (const cut of [1, 2, 10, 500, 1999]) assert.deepEqual(layout(all.slice(0, cut)).places, whole.slice(0, cut));
});

test('no two lines share a lane in the same row', () => {
    const { places } = layout(random(1500));
    const used = new Set();
    for (const place of places) {
        const parent = places[place.from];
        // In its own lane, a line occupies the rows below its parent down to its own; parent and child in one lane share
        // the parent's row, which belongs to the parent.
        if (place.beside) continue;
        for (let row = (parent?.row ?? place.row - 1) + 1; row <= place.row; row += 1) {
            const spot = `${place.lane}:${row}`;
            assert.ok(!used.has(spot), `lane ${place.lane} is used twice in row ${row}`);
            used.add(spot);
        }
    }
});

test('10,000 nodes in less than 50 ms, whatever their shape', () => {
    const star = [{ id: 'r', parent: null, bud: false }];
    for (let i = 1; i < 10_000; i += 1) star.push({ id: `${i}`, parent: 'r', bud: false });
    for (const shape of [star, random(10_000)]) {
        layout(shape.slice(0, 500));
        // The best of five: what the code costs, not what else the machine does.
        const times = [1, 2, 3, 4, 5].map(() => {
            const began = performance.now();
            layout(shape);
            return performance.now() - began;
        });
        assert.ok(Math.min(...times) < 50, `took ${Math.min(...times)} ms`);
    }
});

/** A graph that grows mostly straight, branches now and then and fails now and then; the same each time. */
function random(count) {
    let seed = 1;
    const next = (below) => {
        seed = (seed * 48271) % 2147483647;
        return seed % below;
    };
    const list = [{ id: '0', parent: null, bud: false }];
    const states = ['0'];
    for (let i = 1; i < count; i += 1) {
        const parent = next(10) < 7 ? states.at(-1) : states[next(states.length)];
        const bud = next(10) === 0;
        list.push({ id: `${i}`, parent, bud });
        if (!bud) states.push(`${i}`);
    }
    return list;
}

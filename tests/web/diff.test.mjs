// Differences between two texts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diff, diffLines, diffWords, fold, likeness } from '../../web/text/diff.js';

/** A diff as text: equal items without a sign, `-` before removed and `+` before added ones. */
const told = (a, b) =>
    diff([...a], [...b])
        .map(({ sign, a: i, b: j }) => (sign === '+' ? `+${b[j]}` : sign === '-' ? `-${a[i]}` : a[i]))
        .join(' ');
const marked = (parts) => parts.map(({ text, isMarked }) => (isMarked ? `[${text}]` : text)).join('');
const rows = (before, after) =>
    diffLines(before, after).map(
        ({ sign, a, b, parts }) => `${sign}${a ?? '·'} ${b ?? '·'} ${marked(parts)}`,
    );

test('a diff has the fewest possible steps', () => {
    assert.equal(
        told('abcabba', 'cbabac')
            .split(' ')
            .filter((step) => step.length > 1).length,
        5,
    );
    assert.equal(told('abc', 'abc'), 'a b c');
    assert.equal(told('', 'ab'), '+a +b');
    assert.equal(told('ab', ''), '-a -b');
    assert.equal(told('axc', 'ayc'), 'a -x +y c');
    assert.equal(told('abcd', 'acbd'), 'a -b c +b d');
    assert.deepEqual(diff([], []), []);
});

test('the steps of a diff contain both lists in order', () => {
    let seed = 1;
    const next = (n) => (seed = (seed * 48271) % 2147483647) % n;
    for (let round = 0; round < 300; round += 1) {
        const [a, b] = [0, 1].map(() => Array.from({ length: next(30) }, () => next(4)));
        const steps = diff(a, b);
        assert.deepEqual(
            steps.filter(({ sign }) => sign !== '+').map((step) => a[step.a]),
            a,
        );
        assert.deepEqual(
            steps.filter(({ sign }) => sign !== '-').map((step) => b[step.b]),
            b,
        );
        for (const { sign, a: i, b: j } of steps) assert.ok(sign !== '=' || a[i] === b[j]);
        assert.deepEqual(
            steps.filter(({ sign }) => sign !== '+').map((step) => step.a),
            a.map((_, i) => i),
        );
    }
});

test('a diff of long lists is fast, whether they are almost equal or have nothing in common', () => {
    const long = Array.from({ length: 20_000 }, (_, i) => i);
    const steps = diff(
        long,
        long.filter((i) => i % 1000 !== 500),
    );
    assert.equal(steps.filter(({ sign }) => sign === '-').length, 20);
    const other = diff(
        long,
        long.map((i) => -1 - i),
    );
    assert.equal(other.length, 40_000);
    assert.deepEqual([other[0].sign, other.at(-1)?.sign], ['-', '+']);
});

test('a line diff has line numbers and marks the changed words', () => {
    assert.deepEqual(rows('x = 1\ny = 2\nz = 3', 'x = 1\ny = 20\nz = 3\nw = 4'), [
        '=1 1 x = 1',
        '-2 · y = [2]',
        '+· 2 y = [20]',
        '=3 3 z = 3',
        '+· 4 w = 4',
    ]);
    assert.deepEqual(rows('a\n', 'a'), ['=1 1 a'], 'a final line end is not a line');
    assert.deepEqual(rows('', 'a'), ['+· 1 a']);
});

test('a line that was replaced as a whole has no marked words', () => {
    const [before, after] = diffWords('import numpy as np', 'for row in table: print(row)');
    assert.deepEqual([marked(before), marked(after)], ['import numpy as np', 'for row in table: print(row)']);
    assert.deepEqual(diffWords('größe = 1', 'größe = 12').map(marked), ['größe = [1]', 'größe = [12]']);
});

test('runs of equal lines far from a change are folded', () => {
    const text = (middle) => [...Array(10).fill('same'), middle, ...Array(4).fill('same')].join('\n');
    const folded = fold(diffLines(text('a = 1'), text('a = 2')));
    assert.deepEqual(
        folded.map((one) => ('folded' in one ? one.folded.length : one.sign)),
        [7, '=', '=', '=', '-', '+', '=', '=', '=', '='],
    );
    assert.deepEqual(
        fold(diffLines('a\nb', 'a\nb')).map((one) => 'folded' in one),
        [true],
    );
});

test('the likeness of two cells is between 0 and 1', () => {
    assert.equal(likeness('a\nb\nc', 'a\nb\nc'), 1);
    assert.equal(likeness('x = 1', 'x = 2'), 0.5, 'punctuation does not count');
    assert.ok(likeness('import numpy', 'print(model.score(test))') < 0.2);
});

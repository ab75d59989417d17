// The names of nodes in the graph.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duration } from '../../web/text/format.js';
import { Names } from '../../web/graph/node-names.js';

const node = (from, code) => ({ from, run: code === null ? null : { code } });

/** A name for each node. */
function namesOf(nodes) {
    const names = new Names();
    const named = nodes.map((node) => ({ ...node, name: '' }));
    for (const node of named) names.add(node);
    return named.map(({ name }) => name);
}

test('a node is named by its last assignment, in one line', () => {
    assert.deepEqual(namesOf([node(-1, null), node(1, '# %%\nx = 1\ny = 2'), node(1, 'z = 3')]), [
        '',
        'y = 2',
        'z = 3',
    ]);
});

test('siblings that begin alike are named by where they differ', () => {
    const variants = [1, 2, 3].map((n) => node(1, `import time; time.sleep(3); x = ${n}`));
    assert.deepEqual(namesOf(variants), ['… x = 1', '… x = 2', '… x = 3']);
    assert.deepEqual(namesOf([3, 4].map((n) => node(1, `model = fit(data, depth=${n})`))), [
        '… depth=3)',
        '… depth=4)',
    ]);
    assert.deepEqual(namesOf([node(1, 'import numpy\na = 1'), node(1, 'import numpy\nb = 1')]), [
        'a = 1',
        'b = 1',
    ]);
    assert.deepEqual(namesOf([node(1, 'import numpy'), node(1, 'import numpy\nb = 1')]), [
        'import numpy',
        'b = 1',
    ]);
    assert.deepEqual(namesOf([node(1, 'import numpy'), node(1, 'import numpy')]), [
        'import numpy',
        'import numpy',
    ]);
    assert.deepEqual(namesOf([node(1, 'import numpy'), node(2, 'import numpy')]), [
        'import numpy',
        'import numpy',
    ]);
});

test('each sibling is named from where it differs from the one most like it', () => {
    const codes = ['flipper", "mass"]', 'bill", "depth"]', 'bill", "depth", "flipper"]'];
    assert.deepEqual(namesOf(codes.map((rest) => node(1, `features = ["${rest}`))), [
        '… flipper", "mass"]',
        '… "depth"]',
        '… "depth", "flipper"]',
    ]);
});

test('cells that begin with the same lines are named by the first line that differs from the others', () => {
    const json = (last) => node(1, `import json\n${last}`);
    assert.deepEqual(namesOf([json('a = 1'), json('b = 1'), node(1, 'import jsonschema')]), [
        'a = 1',
        'b = 1',
        'import jsonschema',
    ]);
    assert.deepEqual(namesOf([json('x = 1\nprint(1)'), json('x = 1\nprint(2)'), json('y = 1')]), [
        'print(1)',
        'print(2)',
        'y = 1',
    ]);
});

test('the beginning of the statement before a difference is known, for use where there is room', () => {
    const names = new Names();
    const named = ['pred', 'prd'].map((last) => ({
        ...node(1, `model.fit(X, y)\npred = 1\nprint(mean_squared_error(y_test, ${last}))`),
        name: '',
        lead: '',
    }));
    for (const one of named) names.add(one);
    assert.deepEqual(
        named.map(({ name, lead }) => [lead, name]),
        [
            ['print(mean_squared_error(y_test, ', '… pred))'],
            ['print(mean_squared_error(y_test, ', '… prd))'],
        ],
    );
});

test('a duration changes its unit where rounding would reach the next one', () => {
    const told = [0.4, 999.4, 999.6, 9940, 9970, 59_400, 59_800, 125_000, 4_800_000].map(duration);
    assert.deepEqual(told, [
        '< 1 ms',
        '999 ms',
        '1.0 s',
        '9.9 s',
        '10 s',
        '59 s',
        '1 min 0 s',
        '2 min 5 s',
        '1 h 20 min',
    ]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullName, siblingNames } from '../../web/graph/node-names.js';
import { deletedNames } from '../../web/trash/deleted-names.js';

const names = (...siblings) =>
    siblingNames(siblings.map((one) => (typeof one === 'string' ? { label: null, code: one } : one))).map(
        fullName,
    );

test('siblings are named by their labels, and by the codes in which they differ', () => {
    assert.deepEqual(names('x = 1', 'print(x)'), ['x = 1', 'print(x)']);
    assert.deepEqual(
        names(
            'from statistics import mean\nt = mean(x)',
            'from statistics import median\nt = median(x)',
            'import re',
        ),
        ['t = mean(x)', 't = median(x)', 'import re'],
    );
    assert.deepEqual(
        names('import numpy\nmodel = fit(data, depth=3)', 'import numpy\nmodel = fit(data, depth=9)', {
            label: 'best',
            code: 'import numpy\nmodel = fit(data, depth=5)',
        }),
        ['model = fit(data, depth=3)', 'model = fit(data, depth=9)', 'best'],
    );
});

test('long words that differ at their ends have the end as the part that stays when room is short', () => {
    const told = siblingNames(
        ['mean', 'median'].map((kind) => ({ label: null, code: `typical_price_${kind} = ${kind}(prices)` })),
    );
    assert.deepEqual(told, [
        { name: '… mean = mean(prices)', lead: 'typical_price_' },
        { name: '… median = median(prices)', lead: 'typical_price_' },
    ]);
});

test('siblings with the same code or label are numbered', () => {
    assert.deepEqual(names('draw()', 'draw()', 'x = 1'), ['draw() (1)', 'draw() (2)', 'x = 1']);
    const same = { label: 'run', code: 'a' };
    assert.deepEqual(names(same, same), ['run (1)', 'run (2)']);
});

test('in the list of deleted states, code that begins alike is told apart', () => {
    const item = (...codes) => ({
        at: 1,
        states: codes.map((code, i) => ({ id: `s${i}`, label: null, code })),
        runs: [{ exec_id: 'r', code: '1/0' }],
    });
    assert.deepEqual(
        deletedNames([
            item('model = fit(\n    df,\n    depth=3)', 'x = 1'),
            item('model = fit(\n    df,\n    depth=9)'),
        ]),
        [
            ['model = fit( … depth=3)', 'x = 1', '1/0 (1)'],
            ['model = fit( … depth=9)', '1/0 (2)'],
        ],
    );
    assert.deepEqual(deletedNames([]), []);
});

test('a single continuation has its first line as name', () => {
    assert.deepEqual(names('# fit\nmodel = 1'), ['# fit']);
});

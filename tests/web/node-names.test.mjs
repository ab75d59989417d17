import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeName } from '../../web/graph/code-name.js';
import { fullName, siblingNames } from '../../web/graph/node-names.js';
import { deletedNames } from '../../web/trash/deleted-names.js';

const names = (...siblings) =>
    siblingNames(siblings.map((one) => (typeof one === 'string' ? { label: null, code: one } : one))).map(
        fullName,
    );

test('a cell is named by its last assignment, else by its last expression, not by its imports', () => {
    const named = {
        'import random\ndata = [3, 1, 2]': 'data = [3, 1, 2]',
        'a = 1\nb = f(\n    c=2,\n)\nprint(b)': 'b = f(',
        'a = 1\n\nb += 2  # two\n': 'b += 2  # two',
        'x: int = 5': 'x: int = 5',
        'f(x)\nprint(y == 3, z=4)': 'f(x)',
        'print(1)\nprint(y == 3, z=4)': 'print(y == 3, z=4)',
        'for epoch in range(9):\n    train()\nprint("done")': 'for epoch in range(9):',
        'assert a == b\nif a:\n    c = 3': 'assert a == b',
        'for x in y:\n    total = x\nelse:\n    z = 1': 'for x in y:',
        'def f(a=1):\n    b = 2\n    return b': 'def f(a=1):',
        'def f(a=1):\n    return a\nf(2)': 'f(2)',
        '@cache\ndef f(): pass': 'def f(): pass',
        'text = """\na = 1\nb = 2\n"""\nshow(text)': 'text = """',
        "s = 'it\\'s = 1'\nt('#') # = ": "s = 'it\\'s = 1'",
        'a = b \\\n    + c\nd(e)': 'a = b \\',
        '# The baseline\nmodel = fit()': '# The baseline',
        '%%timeit\nx = 1': '%%timeit',
        '%matplotlib inline\nimport pandas as pd': '%matplotlib inline',
        '%matplotlib inline\nplot(x)': 'plot(x)',
        'import re': 'import re',
        'from time import sleep; sleep(1); done = True': 'from time import sleep; sleep(1); done = True',
        'match = 3\nmatch x:\n    case 1: y = 2': 'match = 3',
        "open = '": "open = '",
        'a = (1,\nb = 2': 'a = (1,',
        '': '',
    };
    for (const [code, name] of Object.entries(named)) assert.equal(codeName(code), name, code);
});

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

test('siblings with the same last assignment are named by the line in which they differ', () => {
    assert.deepEqual(names('x = 1\nprint(x)', 'y = 5\nx = 1\nprint(x)'), ['x = 1', 'y = 5']);
    assert.deepEqual(names('a = 1\nfit = f(a)', 'a = 2\nfit = f(a)', 'a = 2\nb = 3'), [
        'a = 1',
        'a = 2',
        'b = 3',
    ]);
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

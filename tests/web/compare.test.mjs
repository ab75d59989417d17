// The differences between states, and the address of a comparison.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
    compareCells,
    compareOutputs,
    compareVariables,
    MOST_LINES,
    valueText,
} from '../../web/compare/differences.js';
import { addressOf, Comparison, statesIn } from '../../web/compare/comparison.js';
import { codeRows, outputRows, variableRows } from '../../web/compare/many-differences.js';
import { comparedNames } from '../../web/compare/state-names.js';
import { Branches } from '../../web/graph/branches.js';
import { fullName } from '../../web/graph/node-names.js';
import { Model } from '../../web/shell/model.js';
import { Page } from '../../web/notebook/page.js';
import { difference, grouped, numberOf, shortly } from '../../web/text/number.js';
import { root, run, snapshot, state, variable as typed } from './records.mjs';

const print = (text) => ({ output_type: 'stream', name: 'stdout', text });
const show = (data) => ({ output_type: 'display_data', data, metadata: {} });
const variable = (name, repr, more = {}) => typed(name, 'int', repr, more);

/** [id, parent, code, outputs] of each state. */
function snapshotOf(lines) {
    return snapshot({
        states: [root, ...lines.map(([id, parent]) => state(id, parent))],
        runs: lines.map(([id, parent, code, ...outputs]) =>
            run(`run-${id}`, parent, { code, outputs, state: id }),
        ),
    });
}
function modelOf(...lines) {
    const model = new Model();
    model.load(snapshotOf(lines));
    return model;
}

/** Cells as text: `=a/b`, `~a/b`, `-a`, `+b`. */
const told = (cells) =>
    cells
        .map((cell) =>
            'state' in cell ? `${cell.sign}${cell.state.id}` : `${cell.sign}${cell.a.id}/${cell.b.id}`,
        )
        .join(' ');

const BRANCHES = [
    ['load', 'initial', 'df = load()'],
    ['a1', 'load', 'df = df.dropna()\nmodel = fit(df)'],
    ['a2', 'a1', 'score(model)'],
    ['a3', 'a2', 'save(model)'],
    ['b1', 'load', 'df = df.fillna(0)\nmodel = fit(df)'],
    ['b2', 'b1', 'score(model)'],
    ['b3', 'b2', 'import seaborn\nseaborn.pairplot(df)'],
];

test('cells are equal, changed, or in one lineage only', () => {
    const { ancestor, shared, cells } = compareCells(modelOf(...BRANCHES), { a: 'a3', b: 'b3' });
    assert.equal(ancestor.id, 'load');
    assert.equal(shared, 1);
    assert.equal(told(cells), '~a1/b1 =a2/b2 -a3 +b3');
    assert.deepEqual(cells[0].sign === '~' && cells[0].rows.map(({ sign }) => sign), ['-', '+', '=']);
});

test('between a state and its ancestor only the cells since the ancestor differ', () => {
    const model = modelOf(...BRANCHES);
    assert.equal(told(compareCells(model, { a: 'load', b: 'a2' }).cells), '+a1 +a2');
    assert.equal(told(compareCells(model, { a: 'a2', b: 'load' }).cells), '-a1 -a2');
    assert.deepEqual(compareCells(model, { a: 'a2', b: 'a2' }).cells, []);
    assert.equal(compareCells(model, { a: 'initial', b: 'b1' }).shared, 0);
});

test('of two cells with the same first line, the lines that differ are shown', () => {
    const cell = (...lines) => ['model = fit(', ...lines, ')'].join('\n');
    const { cells } = compareCells(
        modelOf(
            [
                'a',
                'initial',
                cell('    df,', '    depth=3,', '    trees=10,', '    seed=1,', '    fast=True,'),
            ],
            ['b', 'initial', cell('    other,', '    kind="linear",', '    rate=0.1,')],
        ),
        { a: 'a', b: 'b' },
    );
    assert.equal(told(cells), '~a/b');
    assert.equal(cells[0].sign === '~' && cells[0].rows[0].sign, '=');
    const empty = compareCells(modelOf(['a', 'initial', ''], ['b', 'initial', 'x = 1']), { a: 'a', b: 'b' });
    assert.equal(told(empty.cells), '-a +b');
});

test('long lineages without similar cells are compared quickly', () => {
    const lines = [];
    for (const side of ['a', 'b'])
        for (let i = 0; i < 400; i += 1)
            lines.push([
                `${side}${i}`,
                i ? `${side}${i - 1}` : 'initial',
                `${side === 'a' ? 'one' : 'print'}(${side}${i * 7})`,
            ]);
    const { cells } = compareCells(modelOf(...lines), { a: 'a399', b: 'b399' });
    assert.equal(cells.length, 800);
});

test('variables are added, removed, changed or equal', () => {
    const found = compareVariables(
        [
            variable('x', '1'),
            variable('y', '2'),
            variable('old', '3'),
            variable('f', '<function f at 0x7f01>', { type: 'function' }),
        ],
        [
            variable('x', '1'),
            variable('y', '5'),
            variable('new', '4'),
            variable('f', '<function f at 0x7f02>', { type: 'function' }),
        ],
    );
    assert.deepEqual(
        [found.added, found.removed].map(([one]) => one.name),
        ['new', 'old'],
    );
    assert.deepEqual(
        found.changed.map(({ name, detail }) => [name, detail]),
        [['y', { kind: 'number', before: '2', after: '5', difference: '+3 (+150 %)' }]],
    );
    assert.deepEqual(
        [found.equal, found.alike],
        [['x'], ['f']],
        'functions are only known to have equal text',
    );
});

test('an import that one state lacks is no difference of its variables; a definition is', () => {
    const of = (...names) =>
        names.map((name) => {
            const [module, type] = name === 'np' ? ['numpy', 'module'] : ['sklearn', 'ABCMeta'];
            return variable(name, name === 'Own' ? `<class '__main__.Own'>` : `<${module}.${name}>`, {
                type,
            });
        });
    const found = compareVariables(of('np', 'PCA'), of('Isomap', 'np', 'Own'));
    assert.deepEqual(found.imports, ['Isomap', 'PCA']);
    assert.deepEqual(
        [found.added.map(({ name }) => name), found.removed, found.equal],
        [['Own'], [], ['np']],
    );
    const many = variableRows([of('np', 'PCA'), of('np', 'PCA', 'Own'), of('np', 'Isomap')]);
    assert.deepEqual(many.imports, ['PCA', 'Isomap']);
    assert.deepEqual(
        many.rows.map(({ name }) => name),
        ['Own'],
    );
});

test('values are equal if their fingerprints are equal, whatever text is shown', () => {
    const big = (fingerprint, repr = 'array([0, …])') => [
        variable('a', repr, { type: 'ndarray', fingerprint }),
    ];
    assert.deepEqual(compareVariables(big('f1', 'one'), big('f1', 'other')).equal, ['a']);
    assert.equal(compareVariables(big('f1'), big('f2')).changed.length, 1);
    assert.deepEqual(compareVariables(big(null), big('f1')).alike, ['a']);
    assert.equal(
        compareVariables([variable('a', '1')], [variable('a', '1', { type: 'float', repr: '1' })]).changed
            .length,
        1,
    );
});

/** The detail of a changed variable. @returns {any} because each test knows the kind */
const detail = (before, after) => compareVariables([before], [after]).changed[0].detail;
const facts = (all) =>
    all.map(
        ({ what, before, after, difference: by, differs }) =>
            `${what} ${before} → ${after}${differs ? ` !${by}` : ''}`,
    );

test('arrays are compared by shape, type and statistics', () => {
    const array = (shape, more) =>
        variable('a', 'array', {
            type: 'ndarray',
            bytes: 800,
            fingerprint: JSON.stringify(more),
            summary: { kind: 'array', shape, dtype: 'float64', ...more },
        });
    const { facts: all } = detail(
        array([3, 4], { min: 0, max: 1, mean: 0.5, nulls: 0 }),
        array([5], { min: 0, max: 2, mean: 1, nulls: 0 }),
    );
    assert.deepEqual(facts(all), [
        'shape (3, 4) → (5,) !',
        'dtype float64 → float64',
        'min 0 → 0',
        'max 1 → 2 !+1 (+100 %)',
        'mean 0.5 → 1 !+0.5 (+100 %)',
        'nulls 0 → 0',
        'bytes 800 → 800',
    ]);
    const { facts: near } = detail(
        array([3], { mean: -0.0392961, nulls: 0 }),
        array([3], { mean: -0.03929609999999842, nulls: 0 }),
    );
    assert.ok(
        !facts(near).some((one) => one.startsWith('mean') && one.includes('!')),
        'a rounding error of a sum is not a difference',
    );
});

test('data frames are compared by rows and by added, removed and changed columns', () => {
    const column = (name, fingerprint, more = {}) => ({ name, dtype: 'int64', fingerprint, ...more });
    const frame = (rows, columns, more = 0) =>
        variable('df', 'frame', {
            type: 'DataFrame',
            fingerprint: String(rows),
            summary: { kind: 'frame', rows, columns, more },
        });
    const told = detail(
        frame(10, [column('id', 'i'), column('age', 'a1', { mean: 40, nulls: 3 }), column('old', 'o')]),
        frame(8, [column('id', 'i'), column('age', 'a2', { mean: 38, nulls: 0 }), column('new', 'n')]),
    );
    assert.deepEqual(facts(told.facts), ['rows 10 → 8 !−2 (−20 %)', 'columns 3 → 3']);
    assert.deepEqual(
        told.columns.map(({ sign, name }) => `${sign}${name}`),
        ['~age', '+new', '-old'],
    );
    assert.deepEqual(facts(told.columns[0].facts), [
        'dtype int64 → int64',
        'mean 40 → 38 !−2 (−5 %)',
        'nulls 3 → 0 !−3 (−100 %)',
    ]);
    assert.equal(told.equal, 1);
});

const column = (name, fingerprint, more = {}) => ({ name, dtype: 'str', fingerprint, ...more });
const frame = (fingerprint, columns, { rows = 3000, more = 0 } = {}) =>
    variable('df', 'frame', {
        type: 'DataFrame',
        fingerprint,
        summary: { kind: 'frame', rows, columns, more },
    });
const ofColumns = ({ columns, equal, unknown, more, elsewhere }) => [
    columns.map(({ sign, name }) => sign + name).join(' '),
    equal,
    unknown.join(' '),
    more,
    elsewhere,
];

test('columns are equal only if their fingerprints prove it, and columns that were not compared are named', () => {
    const n = (fingerprint, mean) => column('n', fingerprint, { dtype: 'int64', mean, nulls: 0 });
    assert.deepEqual(
        ofColumns(
            detail(
                frame('1', [column('city', null, { nulls: 0 }), n('a', 1)]),
                frame('2', [column('city', null, { nulls: 0 }), n('b', 2)]),
            ),
        ),
        ['~n', 0, 'city', 0, null],
    );
    assert.deepEqual(
        ofColumns(
            detail(
                frame('1', [column('city', null), n('a', 1)]),
                frame('2', [column('city', null), n('a', 1)]),
            ),
        ),
        ['', 1, 'city', 0, 'unknown'],
    );
    assert.deepEqual(
        ofColumns(detail(frame('1', [n('a', 1)], { more: 10 }), frame('2', [n('a', 1)], { more: 10 }))),
        ['', 1, '', 10, 'unknown'],
    );
    assert.deepEqual(
        ofColumns(
            detail(frame('1', [column('city', null)]), frame('2', [column('city', null)], { rows: 2000 })),
        ),
        ['~city', 0, '', 0, null],
        'another number of rows changes a column',
    );
    assert.deepEqual(
        ofColumns(
            detail(
                frame('1', [column('s', 'a', { sampled: true })]),
                frame('2', [column('s', 'a', { sampled: true })]),
            ),
        ),
        ['', 0, 's', 0, 'unknown'],
        'samples prove nothing',
    );
    assert.deepEqual(
        ofColumns(detail(frame('1', [column('s', 'a', { sampled: true })]), frame('2', [column('s', 'b')]))),
        ['', 0, 's', 0, 'unknown'],
    );
});

test('frames with equal columns can differ in order or index, and the comparison says in which', () => {
    const [a, b] = [column('a', '1'), column('b', '2')];
    assert.deepEqual(ofColumns(detail(frame('1', [a, b]), frame('2', [b, a]))), ['', 2, '', 0, 'order']);
    assert.deepEqual(ofColumns(detail(frame('1', [a, b]), frame('2', [a, b]))), ['', 2, '', 0, 'index']);
    assert.deepEqual(
        ofColumns(detail(frame('1', [a, column('a', '2')]), frame('2', [column('a', '2')]))),
        ['~a -a', 0, '', 0, null],
        'two columns may have one name',
    );
});

test('a fingerprint of samples, or in one state only, does not make a value equal', () => {
    const large = (fingerprint) => [
        variable('a', 'array([0, …])', { type: 'ndarray', fingerprint, sampled: true }),
    ];
    assert.deepEqual(compareVariables(large('f'), large('f')).alike, ['a']);
    assert.equal(compareVariables(large('f'), large('g')).changed.length, 1);
    const known = frame('1', [column('s', 'a', { nulls: 0 })]);
    assert.deepEqual(compareVariables([known], [frame(null, [column('s', null)])]).alike, ['df']);
    assert.deepEqual(
        compareVariables([known], [frame(null, [column('s', null, { nulls: 1 })])]).changed.length,
        1,
    );
});

test('whole numbers and fractions are formatted alike', () => {
    const told = detail(variable('n', '195455'), variable('n', '128965'));
    assert.deepEqual(told, {
        kind: 'number',
        before: '195,455',
        after: '128,965',
        difference: '−66,490 (−34 %)',
    });
    const array = (mean, max) =>
        variable('a', 'array', {
            type: 'ndarray',
            fingerprint: String(mean),
            summary: { kind: 'array', shape: [3000], dtype: 'float64', mean, max },
        });
    const { facts: all } = detail(array(1501.5, 218352), array(1502, 145802.625));
    assert.deepEqual(facts(all).slice(2), [
        'max 218,352 → 145,803 !−72,549.4 (−33.2 %)',
        'mean 1,501.5 → 1,502 !+0.5 (+0.0333 %)',
    ]);
    assert.deepEqual([1234567.8, -1500.25, 0.1 + 0.2, 1e21, 1.5e-7, -0.5].map(shortly), [
        '1,234,568',
        '−1,500.25',
        '0.3',
        '1e+21',
        '1.5e-7',
        '−0.5',
    ]);
    assert.deepEqual([0.1 + 0.2, 12345678901234567890n, -1234.5, 1e-7].map(grouped), [
        '0.30000000000000004',
        '12,345,678,901,234,567,890',
        '−1,234.5',
        '1e-7',
    ]);
    assert.equal(shortly('2020-01-01'), '2020-01-01');
});

test('differences of integers are exact, and differences of fractions are rounded', () => {
    const of = (repr, type = 'float') => numberOf({ repr, type });
    assert.equal(difference(5000n, 1n), '−4,999 (−99.98 %)', 'a remainder is not −100 %');
    assert.equal(difference(5000n, 0n), '−5,000 (−100 %)');
    assert.equal(difference(1000n, 2001n), '+1,001 (+100.1 %)');
    assert.equal(
        difference(of('9007199254740993', 'int'), of('9007199254740995', 'int')).split(' ')[0],
        '+2',
    );
    assert.equal(difference(of('0.1'), of('0.3')), '+0.2 (+200 %)');
    assert.equal(of('np.float64(2.5)', 'float64'), 2.5);
    assert.equal(of('True', 'bool'), null);
    assert.equal(of('nan'), null);
    assert.equal(difference(0, 3), '+3', 'zero has no percentage');
    assert.equal(difference(of('-2', 'int'), of('2', 'int')), '+4 (+200 %)');
});

test('long texts and lists are compared by lines, and escapes in a text are decoded', () => {
    assert.equal(valueText(variable('s', "'one\\ntwo \\'three\\''", { type: 'str' })), "one\ntwo 'three'");
    assert.equal(valueText(variable('s', "'plain'", { type: 'str' })), "'plain'");
    const { kind, rows } = detail(
        variable('s', "'a\\nb\\nc'", { type: 'str' }),
        variable('s', "'a\\nX\\nc'", { type: 'str' }),
    );
    assert.deepEqual([kind, rows.map(({ sign }) => sign)], ['lines', ['=', '-', '+', '=']]);
});

test('outputs of differing cells are compared, and always those of the last two cells', () => {
    const model = modelOf(
        ['a1', 'initial', 'x = 1\nplot(x)', show({ 'image/png': 'AAAA' })],
        ['a2', 'a1', 'print(x)', print('1\n')],
        ['a3', 'a2', 'done()', print('done\n')],
        ['b1', 'initial', 'x = 2\nplot(x)', show({ 'image/png': 'BBBB' })],
        ['b2', 'b1', 'print(x)', print('2\n')],
        ['b3', 'b2', 'done()', print('done\n')],
    );
    const pair = { a: 'a3', b: 'b3' };
    const pairs = compareOutputs(model, pair, compareCells(model, pair).cells);
    assert.deepEqual(
        pairs.map(({ a, isTip, isSame, rows }) => [
            a.id,
            isTip,
            isSame,
            rows?.map(({ sign }) => sign).join('') ?? null,
        ]),
        [
            ['a1', false, false, null],
            ['a2', false, false, '-+'],
            ['a3', true, true, null],
        ],
        'images are shown side by side, texts are compared',
    );
});

test('a very long output is compared up to a limit', () => {
    const long = (word) => print(Array.from({ length: 50_000 }, (_, i) => `${word} ${i}`).join('\n'));
    const model = modelOf(['a1', 'initial', 'a', long('a')], ['b1', 'initial', 'b', long('b')]);
    const [{ rows, isCut }] = compareOutputs(model, { a: 'a1', b: 'b1' }, []);
    assert.equal(rows.length, 2 * MOST_LINES);
    assert.ok(isCut);
});

test('an address names two or more states, even if their names contain dots', () => {
    const model = modelOf(['v1..0', 'initial', 'a'], ['b', 'initial', 'b'], ['0', 'initial', 'c']);
    for (const states of [
        ['v1..0', 'b'],
        ['b', 'v1..0'],
        ['b', 'v1..0', '0', 'initial'],
    ])
        assert.deepEqual(statesIn(model, addressOf(states)), states);
    for (const wrong of ['b', 'compare=b', 'compare=b..c', 'compare=..', 'compare=b..0..b'])
        assert.equal(statesIn(model, wrong), null);
    const hostile = `compare=${'b..'.repeat(5000)}c`;
    assert.equal(statesIn(model, hostile), null, 'an address of any length is read quickly');
});

/** Opens a page on the branches and records the addresses that it shows. */
function open(address = '') {
    const addresses = [];
    const sent = [];
    const page = new Page(new Model(), {
        send: (command) => (sent.push(command), new Promise(() => {})),
        requestPaint: () => {},
        paintNow: () => {},
        paintIfDue: () => {},
        ask: async () => true,
        setAddress: (id) => addresses.push(id),
        recall: () => null,
        remember: () => {},
    });
    page.onConnection('open');
    page.onSnapshot(snapshotOf(BRANCHES), address);
    return { page, addresses, sent };
}

test('a comparison keeps the current state, and the address names both states until it is closed', () => {
    const { page, addresses, sent } = open('a2');
    page.compare('a1', 'b1');
    assert.ok(page.comparison instanceof Comparison);
    assert.deepEqual(page.comparison.states, ['a1', 'b1']);
    assert.deepEqual(
        sent.map((one) => `${one.do} ${one.state}`),
        ['look_at_variables a1', 'look_at_variables b1'],
    );
    page.comparison.swap();
    assert.equal(addresses.at(-1), 'compare=b1..a1');
    page.comparison.close();
    assert.equal(page.here, 'a2');
    assert.equal(addresses.at(-1), 'a2');
    page.compare('a1', 'a1');
    assert.deepEqual(page.comparison.states, []);
});

test('a comparison is restored from its address after a reload, and a click on a state closes it', () => {
    const { page } = open('compare=a3..b2');
    assert.deepEqual(page.comparison.states, ['a3', 'b2']);
    assert.equal(page.here, 'b2');
    page.onSnapshot(snapshotOf(BRANCHES), 'compare=a3..b2');
    assert.deepEqual([page.here, page.comparison.states[0]], ['b2', 'a3'], 'a reconnection changes nothing');
    page.goTo('a1');
    assert.deepEqual([page.here, page.comparison.isOpen], ['a1', false]);
});

test('when one of its states is deleted, a comparison closes with a notice', () => {
    const { page, addresses } = open('a2');
    page.compare('a1', 'b3');
    page.onEvent({ event: 'removed', states: ['b3'], runs: ['run-b3'], deleted_at: null });
    assert.equal(page.comparison.isOpen, false);
    assert.equal(addresses.at(-1), 'a2');
    assert.match(page.notice.text, /was deleted/);
});

test('states join and leave a comparison, and a deleted one leaves it', () => {
    const { page, addresses } = open('a2');
    page.compare('a1', 'b1', 'a1', 'b3');
    assert.equal(addresses.at(-1), 'compare=a1..b1..b3');
    page.comparison.add('a3');
    page.comparison.swap();
    page.comparison.remove('b1');
    assert.equal(addresses.at(-1), 'compare=a1..b3..a3', 'only two sides can be swapped');
    page.onEvent({ event: 'removed', states: ['b3'], runs: ['run-b3'], deleted_at: null });
    assert.deepEqual(page.comparison.states, ['a1', 'a3']);
    assert.match(page.notice.text, /was deleted/);
    page.comparison.remove('a1');
    assert.equal(addresses.at(-1), 'a2');
});

test('too many states are refused, and nothing changes', () => {
    const { page, addresses } = open('a2');
    const many = Array.from({ length: 30 }, (_, i) => [`m${i}`, 'initial', `x = ${i}`]);
    page.onSnapshot(snapshotOf([...BRANCHES, ...many]), 'a2');
    const before = addresses.length;
    page.compare(...many.map(([id]) => id));
    assert.deepEqual([page.comparison.isOpen, addresses.length], [false, before]);
    assert.match(page.notice.text, /At most 26 states/);
});

const THREE = [
    ...BRANCHES,
    ['c1', 'load', 'df = df.dropna()\nmodel = fit(df)'],
    ['c2', 'c1', 'score(model)'],
];
const statesOf = (model, ...ids) => ids.map((id) => model.states.get(id));

test('the cells of three lineages are aligned in rows', () => {
    const model = modelOf(...THREE);
    const { ancestor, shared, rows } = codeRows(model, statesOf(model, 'a3', 'b3', 'c2'));
    assert.deepEqual([ancestor.id, shared], ['load', 1]);
    const cell = (one) => one && `${one.state.id}${one.same === null ? '' : `=${one.same}`}`;
    assert.deepEqual(
        rows.map(({ cells, isEqual }) => [...cells.map(cell), isEqual]),
        [
            ['a1', 'b1', 'c1=0', false],
            ['a2', 'b2=0', 'c2=0', true],
            ['a3', 'b3', null, false],
        ],
    );
    assert.deepEqual(rows[0].cells[1].lines, [
        { text: 'df = df.fillna(0)', isOther: true },
        { text: 'model = fit(df)', isOther: false },
    ]);
    const line = codeRows(model, statesOf(model, 'load', 'a1', 'a2'));
    assert.deepEqual(
        line.rows.map(({ cells }) => cells.map(cell)),
        [
            [null, 'a1', 'a1=1'],
            [null, null, 'a2'],
        ],
        'states of one lineage',
    );
});

test('the variables of many states are compared, also if those of one are unknown', () => {
    const lists = [
        [variable('r2', '1'), variable('n', '7'), variable('only', '1')],
        null,
        [variable('r2', '3'), variable('n', '7')],
        [variable('r2', '1'), variable('n', '7')],
    ];
    const { rows, equal } = variableRows(lists);
    assert.deepEqual(equal, ['n']);
    assert.deepEqual(
        rows.map(({ name, values }) => [
            name,
            ...values.map((one) => one && [one.text, one.same, one.difference]),
        ]),
        [
            ['r2', ['1', null, ''], null, ['3', null, '+2 (+200 %)'], ['1', 0, '+0 (+0 %)']],
            ['only', ['1', null, ''], null, null, null],
        ],
    );
});

test('outputs that are equal name the first column that has them', () => {
    const model = modelOf(
        ['load', 'initial', 'load()'],
        ...['a', 'b', 'c'].flatMap((side, i) => [
            [`${side}1`, 'load', `fit(${side})`, print(i < 2 ? 'same' : 'other')],
            [`${side}2`, `${side}1`, 'plot()', show({ 'image/png': side })],
        ]),
    );
    const states = statesOf(model, 'a2', 'b2', 'c2');
    const found = outputRows(model, states, codeRows(model, states).rows);
    assert.deepEqual(
        found.map(({ same, isTip }) => [same, isTip]),
        [
            [[null, 0, null], false],
            [[null, null, null], true],
        ],
    );
});

test('compared states always have different names', () => {
    const model = modelOf(...THREE, ['d1', 'load', 'score(model)'], ['d2', 'load', 'score(model)']);
    const branches = new Branches();
    const names = (...ids) => comparedNames({ model, branches }, statesOf(model, ...ids)).map(fullName);
    assert.deepEqual(names('a1', 'b1'), ['df = df.dropna()', 'df = df.fillna(0)']);
    assert.deepEqual(
        names('a2', 'b2', 'a3'),
        ['df = df.dropna() › score(model)', 'df = df.fillna(0) › score(model)', 'save(model)'],
        'equal cells of two branches',
    );
    assert.deepEqual(names('d1', 'd2'), ['score(model) (1)', 'score(model) (2)'], 'nothing tells them apart');
    for (const all of [[...model.states.keys()], ['a1', 'c1', 'a2', 'c2'], ['initial', 'load']])
        assert.equal(new Set(names(...all)).size, all.length);
    model.states.get('a2').label = 'best';
    model.states.get('b2').label = 'best';
    assert.equal(new Set(names('a2', 'b2')).size, 2, 'equal labels');
});

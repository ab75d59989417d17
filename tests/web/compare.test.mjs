// The differences between two states, and the address of a comparison.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
    compareCells,
    compareOutputs,
    compareVariables,
    MOST_LINES,
    nameBeside,
    valueText,
} from '../../web/compare/differences.js';
import { addressOf, Comparison, pairOf } from '../../web/compare/comparison.js';
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

test('cells: what both have, what changed, what only one has', () => {
    const { ancestor, shared, cells } = compareCells(modelOf(...BRANCHES), { a: 'a3', b: 'b3' });
    assert.equal(ancestor.id, 'load');
    assert.equal(shared, 1);
    assert.equal(told(cells), '~a1/b1 =a2/b2 -a3 +b3');
    assert.deepEqual(cells[0].sign === '~' && cells[0].rows.map(({ sign }) => sign), ['-', '+', '=']);
});

test('a state and an ancestor of it: what came since', () => {
    const model = modelOf(...BRANCHES);
    assert.equal(told(compareCells(model, { a: 'load', b: 'a2' }).cells), '+a1 +a2');
    assert.equal(told(compareCells(model, { a: 'a2', b: 'load' }).cells), '-a1 -a2');
    assert.deepEqual(compareCells(model, { a: 'a2', b: 'a2' }).cells, []);
    assert.equal(compareCells(model, { a: 'initial', b: 'b1' }).shared, 0);
});

test('long lineages with nothing alike are compared without weighing each with each', () => {
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

test('variables: added, removed, changed, equal', () => {
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
        'of a function only that it reads the same is known',
    );
});

test('equal fingerprints are equal values, whatever is shown of them; others are not', () => {
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

/** @returns {any} because each test knows the kind */
const detail = (before, after) => compareVariables([before], [after]).changed[0].detail;
const facts = (all) =>
    all.map(
        ({ what, before, after, difference: by, differs }) =>
            `${what} ${before} → ${after}${differs ? ` !${by}` : ''}`,
    );

test('arrays: shape, type of values and statistics before and after', () => {
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
        'what rounding does to a sum is no difference',
    );
});

test('frames: rows, and columns that came, went and changed', () => {
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

test('columns are equal only where that is known, and those that were not compared are named', () => {
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
        'fewer rows are another column',
    );
    assert.deepEqual(
        ofColumns(
            detail(
                frame('1', [column('s', 'a', { sampled: true })]),
                frame('2', [column('s', 'a', { sampled: true })]),
            ),
        ),
        ['', 0, 's', 0, 'unknown'],
        'samples promise nothing',
    );
    assert.deepEqual(
        ofColumns(detail(frame('1', [column('s', 'a', { sampled: true })]), frame('2', [column('s', 'b')]))),
        ['', 0, 's', 0, 'unknown'],
    );
});

test('where frames differ although each column is equal is told', () => {
    const [a, b] = [column('a', '1'), column('b', '2')];
    assert.deepEqual(ofColumns(detail(frame('1', [a, b]), frame('2', [b, a]))), ['', 2, '', 0, 'order']);
    assert.deepEqual(ofColumns(detail(frame('1', [a, b]), frame('2', [a, b]))), ['', 2, '', 0, 'index']);
    assert.deepEqual(
        ofColumns(detail(frame('1', [a, column('a', '2')]), frame('2', [column('a', '2')]))),
        ['~a -a', 0, '', 0, null],
        'two columns may have one name',
    );
});

test('a value whose fingerprint is of samples, or was found in one state only, is not called equal or changed', () => {
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

test('numbers are written in one way, whether they are whole or not', () => {
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

test('numbers: integers stay exact, and fractions lose their noise', () => {
    const of = (repr, type = 'float') => numberOf({ repr, type });
    assert.equal(difference(5000n, 1n), '−4,999 (−99.98 %)', 'it is not gone altogether');
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
    assert.equal(difference(0, 3), '+3', 'nothing is no measure');
    assert.equal(difference(of('-2', 'int'), of('2', 'int')), '+4 (+200 %)');
});

test('long texts and lists are compared by lines, and a text is read as it was written', () => {
    assert.equal(valueText(variable('s', "'one\\ntwo \\'three\\''", { type: 'str' })), "one\ntwo 'three'");
    assert.equal(valueText(variable('s', "'plain'", { type: 'str' })), "'plain'");
    const { kind, rows } = detail(
        variable('s', "'a\\nb\\nc'", { type: 'str' }),
        variable('s', "'a\\nX\\nc'", { type: 'str' }),
    );
    assert.deepEqual([kind, rows.map(({ sign }) => sign)], ['lines', ['=', '-', '+', '=']]);
});

test('outputs: of cells that differ, and always of the two last', () => {
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
        'pictures stand side by side, texts are compared',
    );
});

test('an output without end is compared as far as anyone reads', () => {
    const long = (word) => print(Array.from({ length: 50_000 }, (_, i) => `${word} ${i}`).join('\n'));
    const model = modelOf(['a1', 'initial', 'a', long('a')], ['b1', 'initial', 'b', long('b')]);
    const [{ rows, isCut }] = compareOutputs(model, { a: 'a1', b: 'b1' }, []);
    assert.equal(rows.length, 2 * MOST_LINES);
    assert.ok(isCut);
});

test('an address names both states, even if their names hold dots', () => {
    const model = modelOf(['v1..0', 'initial', 'a'], ['b', 'initial', 'b']);
    for (const pair of [
        { a: 'v1..0', b: 'b' },
        { a: 'b', b: 'v1..0' },
    ])
        assert.deepEqual(pairOf(model, addressOf(pair)), pair);
    for (const wrong of ['b', 'compare=b', 'compare=b..c', 'compare=..'])
        assert.equal(pairOf(model, wrong), null);
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

test('comparing keeps where we stand, and the address says what is compared until it is over', () => {
    const { page, addresses, sent } = open('a2');
    page.compare('a1', 'b1');
    assert.ok(page.comparison instanceof Comparison);
    assert.deepEqual(page.comparison.pair, { a: 'a1', b: 'b1' });
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
    assert.equal(page.comparison.pair, null);
});

test('an address of a comparison is followed after a reload, and a click on a state ends it', () => {
    const { page } = open('compare=a3..b2');
    assert.deepEqual(page.comparison.pair, { a: 'a3', b: 'b2' });
    assert.equal(page.here, 'b2');
    page.onSnapshot(snapshotOf(BRANCHES), 'compare=a3..b2');
    assert.deepEqual(
        [page.here, page.comparison.pair?.a],
        ['b2', 'a3'],
        'a line that came back changes nothing',
    );
    page.goTo('a1');
    assert.deepEqual([page.here, page.comparison.pair], ['a1', null]);
});

test('when one of the two is removed the comparison ends and says so', () => {
    const { page, addresses } = open('a2');
    page.compare('a1', 'b3');
    page.onEvent({ event: 'removed', states: ['b3'], runs: ['run-b3'] });
    assert.equal(page.comparison.pair, null);
    assert.equal(addresses.at(-1), 'a2');
    assert.match(page.notice.text, /was removed/);
});

test('a state is called by what tells it from the other', () => {
    assert.equal(nameBeside('# Fit\na = 1', '# Plot\na = 1'), '# Fit');
    assert.equal(nameBeside('# Fit\na = 1\nb = 3', '# Fit\na = 1\nb = 2'), 'b = 3');
    assert.equal(nameBeside('# Fit\na = 1', '# Fit\na = 1\nb = 2'), '# Fit');
});

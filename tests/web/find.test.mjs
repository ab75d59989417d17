// Find and replace in texts, and the editor's own analysis of Python code.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patternOf, nextMatch, matchesIn, replaceIn } from '../../web/find/matches.js';
import { searchedOutputs } from '../../web/find/searched-outputs.js';
import { piecesOf, rowOf, tableText } from '../../web/find/table-text.js';
import { toPoints, toUnits } from '../../web/text/points.js';
import {
    asksByItself,
    callAt,
    closesTriple,
    isInCode,
    leavesBlock,
    magicLines,
} from '../../web/text/python.js';

/** @returns {any} a pattern, or an error text */
const query = (text, more = {}) => patternOf({ text, isCase: false, isWord: false, isRegex: false, ...more });
const found = (text, pattern) => matchesIn(text, pattern).spans.map(({ from, to }) => text.slice(from, to));

test('a text is found literally, by case, as a word, or as a regular expression', () => {
    assert.deepEqual(found('X = x[0]', query('x')), ['X', 'x']);
    assert.deepEqual(found('X = x[0]', query('x', { isCase: true })), ['x']);
    assert.deepEqual(found('a.b + a*b', query('a.b')), ['a.b']);
    assert.deepEqual(found('df_x, x, x2, größex', query('x', { isWord: true })), ['x']);
    assert.deepEqual(found('x1 x22', query('x\\d+', { isRegex: true })), ['x1', 'x22']);
    assert.deepEqual(found('abc', query('x*', { isRegex: true })), [], 'an empty match is not a match');
    assert.equal(query(''), null);
    assert.equal(typeof query('(', { isRegex: true }), 'string');
});

test('all matches are replaced, or one; groups are filled in for regular expressions only', () => {
    assert.equal(replaceIn('a b a', query('a'), '$&x', false), '$&x b $&x');
    assert.equal(replaceIn('a b a', query('a'), 'c', false, 4), 'a b c');
    assert.equal(
        replaceIn('f(x, y)', query('(\\w), (?<last>\\w)', { isRegex: true }), '$<last>, $1$$\\n', true),
        'f(y, x$\n)',
    );
    assert.equal(replaceIn('a1', query('(\\w)(\\d)(z)?', { isRegex: true }), '$2$1$3$9', true), '1a$9');
});

test('Find next goes from match to match and wraps around', () => {
    const places = [
        { cell: 0, from: 3 },
        { cell: 0, from: 9 },
        { cell: 2, from: 50 },
        { cell: 3, from: 10 },
    ];
    const next = (cell, at, step) => nextMatch(places, { cell, at }, step);
    assert.equal(next(0, 4, 1), 1);
    assert.equal(next(1, 0, 1), 2);
    assert.equal(next(2, 51, 1), 3);
    assert.equal(next(3, 11, 1), 0);
    assert.equal(next(3, 10, -1), 2);
    assert.equal(next(2, 50, -1), 1);
    assert.equal(next(0, 3, -1), 3);
    assert.equal(nextMatch([], { cell: 0, at: 0 }, 1), -1);
    assert.equal(nextMatch([], { cell: 0, at: 0 }, -1), -1);
});

test('Find goes through the outputs of a cell after its code', () => {
    const places = [
        { cell: 0, part: 0, from: 30 },
        { cell: 0, part: 1, from: 2 },
        { cell: 0, part: 2, from: 0 },
        { cell: 1, part: 0, from: 0 },
    ];
    assert.equal(nextMatch(places, { cell: 0, at: 31 }, 1), 1);
    assert.equal(nextMatch(places, { cell: 0, part: 1, at: 3 }, 1), 2);
    assert.equal(nextMatch(places, { cell: 1, at: 0 }, -1), 2);
});

test('the searched outputs are prints, plain results, tables and error messages', () => {
    const stream = { output_type: 'stream', name: 'stdout', pieces: ['\x1b[31mre', 'd\x1b[0m\n', '1%\r2%'] };
    const value = (data) => ({ output_type: 'execute_result', data, metadata: {} });
    const run = /** @type {any} */ ({
        rev: 1,
        error: { ename: 'KeyError', evalue: "'k'", traceback: [] },
        outputs: [
            stream,
            value({ 'text/plain': '42' }),
            value({ 'text/plain': '<Figure>', 'image/png': 'iVBO' }),
            value({ 'text/plain': 'a b', 'text/html': '<table></table>' }),
        ],
    });
    const outputTexts = (of) => searchedOutputs(of).map(({ text }) => text);
    assert.deepEqual(outputTexts(run), ['red\n2%', '42', '', 'a b', "KeyError: 'k'"]);
    stream.pieces.push('\nmore');
    run.rev = 2;
    assert.equal(outputTexts(run)[0], 'red\n2%\nmore');
    assert.deepEqual(outputTexts(undefined), []);
});

test('a text has at most 10,000 matches, and more are not counted', () => {
    assert.equal(matchesIn('a'.repeat(10_000), query('a')).isCut, false);
    const { spans, isCut } = matchesIn('a'.repeat(10_001), query('a'));
    assert.deepEqual([spans.length, isCut], [10_000, true]);
});

test('the text of a table is that of its cells, and a match is in one or more of them', () => {
    const table = tableText(
        '<style>td { }</style><table class="dataframe">\n<thead><tr style="x"><th></th><th>a&amp;b</th></tr></thead>' +
            '<tr>\n <th>0</th>\n <td><b>x</b>&lt;&#121;&#x7a;&unknown;</td></tr></table><p>1 row</p>',
    );
    assert.equal(table.text, '\ta&b\n0\tx<yz&unknown;');
    assert.deepEqual(table.starts, [0, 1, 5, 7]);
    const pieces = (text) => {
        const from = table.text.indexOf(text);
        return piecesOf(table, { from, to: from + text.length });
    };
    assert.deepEqual(pieces('<y'), [{ cell: 3, from: 1, to: 3, text: '<y' }]);
    assert.deepEqual(pieces('b\n0\tx'), [
        { cell: 1, from: 2, to: 3, text: 'b' },
        { cell: 2, from: 0, to: 1, text: '0' },
        { cell: 3, from: 0, to: 1, text: 'x' },
    ]);
    assert.deepEqual(pieces('\n'), []);
});

test('a table that leaves rows out tells the row of a match', () => {
    const table = { text: '\tcity\n0\tOslo\n1\tBonn\n...\t...\n99\tRome', starts: [], heads: 1 };
    const row = (text, total) => rowOf(table, table.text.indexOf(text), total);
    assert.equal(row('city', 100), null);
    assert.equal(row('Bonn', 100), 1);
    assert.equal(row('Rome', 100), 99);
    assert.equal(row('...', 100), null);
    assert.equal(rowOf({ text: 'city\nOslo\nBonn', starts: [], heads: 1 }, 11, 2), 1);
    assert.equal(rowOf({ text: 'city\nOslo\nBonn', starts: [], heads: 1 }, 11, 9), null);
});

test('offsets are converted to code points for the server', () => {
    const text = '🌱 = "é"';
    assert.equal(toPoints(text, 2), 1);
    assert.equal(toUnits(text, 1), 2);
    for (const units of [0, 2, 5, text.length]) assert.equal(toUnits(text, toPoints(text, units)), units);
    assert.equal(toUnits(text, 99), text.length);
});

const call = (text) => callAt(text.replace('|', ''), text.indexOf('|'));

test('the call at the cursor and its argument are found', () => {
    assert.deepEqual(call('f(|'), { from: 1, argument: 0, keyword: null });
    assert.deepEqual(call('f(a, [1, 2], g(3, 4), |)'), { from: 1, argument: 3, keyword: null });
    assert.deepEqual(call('f(a, g(3, |'), { from: 6, argument: 1, keyword: null });
    assert.deepEqual(call('df.plot(x="a, (b", kind=|'), { from: 7, argument: 1, keyword: 'kind' });
    assert.deepEqual(call('rows[0](|'), { from: 7, argument: 0, keyword: null });
    assert.deepEqual(call('f(1 == |'), { from: 1, argument: 0, keyword: null });
    for (const none of [
        'f(1)|',
        'f |',
        '(1, |',
        'def f(|',
        'class A(|',
        'if (|',
        'f([1, |',
        'f("|',
        'f("a, |b")',
        "f('''a\n|",
        'f(  # why, |',
        'print (|',
    ])
        assert.equal(call(none), null, none);
});

test('offsets in strings and comments are not code', () => {
    const isCode = (text) => isInCode(text.replace('|', ''), text.indexOf('|'));
    for (const code of ['x|', '"a"|', "'it''s'|", 'x = 1  # c\ny|', '"""a"""|', "r'\\'|  "])
        assert.equal(isCode(code), code !== "r'\\'|  ", code);
    for (const text of ['"|', '"|"', '# x|', '"""a\n|', "'\\'|'"]) assert.equal(isCode(text), false, text);
});

test('the indentation ends after return and similar statements, once the statement is complete', () => {
    const leaves = (text) => leavesBlock(text, text.length);
    for (const yes of [
        'def f():\n    return 1',
        'for x in y:\n\tpass',
        '    raise',
        '    return f(1, [2])',
        '    continue ',
    ])
        assert.equal(leaves(yes), true, yes);
    for (const no of [
        'return 1',
        '    returned = 1',
        '    return (1,',
        '    return "a',
        '    return 1 + \\',
        '    return 1  # why',
        'x = """\n    return 1',
        '    if x: pass',
        '',
    ])
        assert.equal(leaves(no), false, no);
});

test('the quotes that close a triple-quoted string are found', () => {
    const closes = (text) => closesTriple(text.replace('|', ''), text.indexOf('|'));
    for (const yes of ['"""a|"""', '"""a"|""', 'x = r"""a\n""|"', "'''|'''"])
        assert.equal(closes(yes), true, yes);
    for (const no of ['|"""a"""', '"|"', '""|', '"""a|', `"""a|'"""`, '# """|"""', ''])
        assert.equal(closes(no), false, no);
});

test('lines of IPython syntax are recognised', () => {
    assert.deepEqual(
        magicLines('%matplotlib inline\nx = (1\n % 2)\n!ls\ny = """\n%no\n"""\ndf?\nx %= 2'),
        [0, 3, 7],
    );
    assert.deepEqual(magicLines('\n%%bash\necho 1\n'), [1, 2, 3]);
    assert.deepEqual(magicLines('files = !ls\nx = 1'), []);
});

test('typing requests completions after a dot and after two letters', () => {
    for (const yes of ['df.', 'df.he', 'pr', 'x = gr', 'f(größ', '"a".', 'rows[0].'])
        assert.equal(asksByItself(yes), true, yes);
    for (const no of ['', 'x', 'x = 1', '3.', '12', 'a + b', 'x = 1e'])
        assert.equal(asksByItself(no), false, no);
});
